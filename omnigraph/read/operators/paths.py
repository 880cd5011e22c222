"""Paths: the shortest paths between nodes, by the number of their edges or by a weight."""

from collections import deque
from dataclasses import replace
from functools import partial
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import Numbers, to_numbers
from omnigraph.errors import Code, ExpressionError, Problem
from omnigraph.frozen import dataclass
from omnigraph.query.expr import path_column
from omnigraph.query.plan import Path
from omnigraph.read.execution import Execution
from omnigraph.read.matches import LateColumn, Matches
from omnigraph.read.operators.meeting import find_levels, first_path, grow_paths
from omnigraph.read.reader import Domain, Leg
from omnigraph.read.sparse_reader import TooManyLookups

_NODES = "nodes"
# To so many ends from one start, a search from both is quicker than one that visits all nodes.
_FEW_ENDS = 8


def find_paths(execution: Execution, rows: Matches, path: Path) -> Matches:
    """Return a row for each path from the source of a row to its target, or to each it reaches.

    No path meets a node twice. Of several shortest ones the first is that whose nodes have the
    least ids, compared from the start of the path.
    """
    if not execution.reader.is_whole:
        raise TooManyLookups
    search = _PathSearch.of(execution, path)
    starts = search.codes(rows, path.source)
    ends = search.codes(rows, path.target) if path.closes else None
    known = starts >= 0 if ends is None else (starts >= 0) & (ends >= 0)
    rows, starts = rows.keep(known), starts[known]
    ends = None if ends is None else ends[known]
    if not path.closes:
        execution.bind(path.target, path.types)
    owners, found = search.all_from(starts, ends)
    rows = rows.take(owners)
    if not path.closes:
        rows = rows.bind(path.target, found.last())
    if path.backwards:
        found = found.reversed()
    return found.add_to(rows, search)


@dataclass(frozen=True, slots=True)
class _FoundPaths:
    """Paths one after the other: how many nodes each has, its nodes, and its edges if known."""

    counts: Numbers
    nodes: Numbers
    edges: Numbers | None

    def last(self) -> Numbers:
        """Return the last node of each path."""
        return self.nodes[np.cumsum(self.counts) - 1]

    def reversed(self) -> "_FoundPaths":
        """Return the same paths from their ends."""
        edges = None if self.edges is None else _reverse(self.edges, self.counts - 1)
        return _FoundPaths(self.counts, _reverse(self.nodes, self.counts), edges)

    def add_to(self, rows: Matches, search: "_PathSearch") -> Matches:
        """Return rows, one for each path, with the columns of their paths."""
        name = search.path.path.name
        nodes = _lists(self.nodes, self.counts)
        edges: pa.Array | LateColumn
        if self.edges is None:
            only = Matches(len(self.counts), columns={_NODES: nodes})
            edges = LateColumn(only, partial(_pick_edges, search))
        else:
            edges = _lists(self.edges, self.counts - 1)
        columns = {
            path_column(name, "nodes"): nodes,
            path_column(name, "edges"): edges,
            path_column(name, "length"): pa.array(self.counts - 1, pa.int64()),
            # Paths between the same nodes follow each other in their order.
            path_column(name, "number"): pa.array(np.arange(len(self.counts))),
        }
        return replace(rows, columns={**rows.columns, **columns})


@dataclass(slots=True)
class _Room:
    """Checks before paths are made that they fit the budget, with all that were found before."""

    execution: Execution
    held: int = 0

    def check(self, rows: int, columns: int = 1) -> None:
        """Raise if the time is up, or so many rows of numbers are too many."""
        self.execution.check(rows)
        self.check_numbers(rows * columns)

    def check_numbers(self, count: int) -> None:
        """Raise if the time is up, or so many numbers are too many."""
        self.execution.check(0)
        self.execution.check_bytes(8 * (self.held + count))

    def take(self, paths: _FoundPaths, chosen: Numbers) -> _FoundPaths:
        """Return the chosen ones of some paths, which are held from now on."""
        size = int(paths.counts[chosen].sum()) * (1 if paths.edges is None else 2)
        self.check_numbers(size)
        self.held += size
        return _take(paths, chosen)


@dataclass(frozen=True)
class _PathSearch:
    """The search for the paths of one operator; all nodes are of one type."""

    execution: Execution
    path: Path
    domain: Domain
    edges: Domain
    room: _Room

    @classmethod
    def of(cls, execution: Execution, path: Path) -> "_PathSearch":
        reader = execution.reader
        names = tuple(dict.fromkeys(step.edge for step in path.steps))
        node = reader.domain((reader.edge(names[0]).source,))
        edges = reader.domain(names)
        return cls(execution, path, node, edges, _Room(execution))

    @property
    def leg(self) -> Leg:
        """The leg that is followed from the source."""
        return Leg(self.path.steps, self.domain, self.domain)

    @property
    def forward(self) -> Leg:
        """The leg along the direction of the path."""
        return self.flipped() if self.path.backwards else self.leg

    def flipped(self) -> Leg:
        """Return the leg that leads back to the source."""
        steps = tuple(each.flipped() for each in self.path.steps)
        return Leg(steps, self.domain, self.domain)

    def precedence(self, frontier: Numbers) -> Numbers:
        """Return numbers that say which of some nodes the path to another should come by.

        Found from its start, a path is first when the path to the node before is; found from its
        end, when that node, which follows on the path, has the least id.
        """
        return self.domain.ranks(frontier) if self.path.backwards else np.arange(len(frontier))

    def in_order(self, nodes: Numbers, before: Numbers) -> Numbers:
        """Return nodes in the order of their paths, by the places of the nodes before them."""
        return nodes[np.lexsort([self.domain.ranks(nodes), before])]

    def codes(self, rows: Matches, variable: str) -> Numbers:
        """Return the nodes of a variable."""
        known = rows.codes[variable]
        found = self.domain.codes_of(self.execution.domains[variable], known)
        return np.where(known < 0, known, found)

    def all_from(self, starts: Numbers, ends: Numbers | None) -> tuple[Numbers, _FoundPaths]:
        """Return the paths from each start, with the place of the start."""
        owners: list[Numbers] = [np.empty(0, np.int64)]
        found: list[_FoundPaths] = []
        distinct, inverse = np.unique(starts, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(distinct) + 1))
        total = 0
        for at, start in enumerate(distinct):
            mine = order[bounds[at] : bounds[at + 1]]
            wanted = None if ends is None else np.unique(ends[mine])
            paths = self._from(int(start), wanted)
            own, chosen = _match_rows(paths.last(), mine, ends)
            owners.append(own)
            found.append(self.room.take(paths, chosen))
            total += len(own)
            self.execution.check(total, 4)
        return np.concatenate(owners), _join(found)

    def _from(self, start: int, wanted: Numbers | None) -> _FoundPaths:
        if self.path.path.weight is not None:
            return _WeightedSearch(self).run(start, wanted)
        if wanted is not None and len(wanted) <= _FEW_ENDS:
            return _join([self._between(start, int(end)) for end in wanted])
        tree = _Tree.grow(self, start, wanted)
        reached = tree.reached(wanted, self.path.hops.minimum)
        if self.path.path.keeps_all:
            return self._all_shortest(tree, reached)
        return _follow_back(reached, tree.distance, tree.parents, self.room)

    def _between(self, start: int, end: int) -> _FoundPaths:
        """Return the paths between two nodes, which are searched from both."""
        ends = (end, start) if self.path.backwards else (start, end)
        onward, hops = partial(self.follow, self.forward), self.path.hops
        back = partial(self.follow, self.leg if self.path.backwards else self.flipped())
        levels = find_levels(onward, back, ends, len(self.domain), hops.maximum)
        if levels is None or len(levels) <= hops.minimum:
            return _NO_PATHS
        if self.path.path.keeps_all:
            every = grow_paths(levels, onward, self.domain.ranks, self.room.check)
            paths = deque(every, maxlen=1).pop()
        else:
            paths = first_path(levels, onward, self.domain.ranks).reshape(1, -1)
        found = _FoundPaths(np.full(len(paths), len(levels)), paths.reshape(-1), None)
        return found.reversed() if self.path.backwards else found

    def follow(self, leg: Leg, nodes: Numbers) -> tuple[Numbers, Numbers]:
        """Return where a leg leads from some nodes."""
        execution = self.execution
        execution.check(len(nodes), 4)
        owners, found, _ = execution.reader.follow(leg, nodes, check=execution.room(4))
        return owners, found

    def _all_shortest(self, tree: "_Tree", ends: Numbers) -> _FoundPaths:
        """Return every shortest path to some nodes, those of one length at a time."""
        if not len(ends):
            return _NO_PATHS
        is_end = np.zeros(len(self.domain), bool)
        is_end[ends] = True
        found: list[_FoundPaths] = []
        size = 0

        def check(rows: int, columns: int) -> None:
            self.execution.check(rows)
            self.room.check_numbers(size + rows * columns)

        for paths in grow_paths(
            tree.levels_to(ends),
            partial(self.follow, self.leg),
            self.domain.ranks,
            check,
            from_end=self.path.backwards,
        ):
            whole = paths[is_end[paths[:, -1]]]
            size += whole.size
            counts = np.full(len(whole), paths.shape[1])
            found.append(_FoundPaths(counts, whole.reshape(-1), None))
        return _join(found)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The distance of every node from a start, and the node before each on its first path."""

    search: _PathSearch
    distance: Numbers
    parents: Numbers

    @classmethod
    def grow(cls, search: _PathSearch, start: int, wanted: Numbers | None) -> "_Tree":
        """Visit nodes hop by hop, until all that are wanted were met."""
        execution, domain = search.execution, search.domain
        distance = np.full(len(domain), -1)
        parents = np.full(len(domain), -1)
        distance[start] = 0
        frontier, hops = np.array([start]), 0
        most = search.path.hops.maximum
        while len(frontier) and (most is None or hops < most):
            if wanted is not None and (distance[wanted] >= 0).all():
                break
            execution.check(len(frontier), 4)
            leg, room = search.leg, execution.room(4)
            owners, nodes, _ = execution.reader.follow(leg, frontier, check=room)
            fresh = distance[nodes] < 0
            owners, nodes = owners[fresh], nodes[fresh]
            nodes, first = _first_of_each(nodes, search.precedence(frontier)[owners])
            hops += 1
            distance[nodes], parents[nodes] = hops, frontier[owners[first]]
            frontier = search.in_order(nodes, owners[first])
        return cls(search, distance, parents)

    def reached(self, wanted: Numbers | None, minimum: int) -> Numbers:
        """Return the nodes that are at least so far away, of those that are wanted."""
        if wanted is None:
            return np.flatnonzero(self.distance >= max(minimum, 0))
        return wanted[self.distance[wanted] >= minimum]

    def levels_to(self, ends: Numbers) -> list[Numbers]:
        """Return the nodes of all shortest paths to some nodes, by their distance."""
        search = self.search
        order = np.argsort(self.distance[ends], kind="stable")
        lengths = self.distance[ends][order]
        longest = int(lengths.max(initial=0))
        levels = np.split(ends[order], np.searchsorted(lengths, np.arange(1, longest + 1)))
        back = search.flipped()
        for distance in range(longest, 0, -1):
            _, nodes = search.follow(back, levels[distance])
            before = nodes[self.distance[nodes] == distance - 1]
            levels[distance - 1] = np.union1d(levels[distance - 1], before)
        return levels


@dataclass(frozen=True, slots=True)
class _WeightedSearch:
    """Paths of the least weight: all nodes whose path became lighter pass it on, hop by hop."""

    search: _PathSearch

    def run(self, start: int, wanted: Numbers | None) -> _FoundPaths:
        """Return the lightest path to each node, with the fewest hops of those."""
        search, domain = self.search, self.search.domain
        costs, rests = np.full(len(domain), np.inf), np.zeros(len(domain))
        hops = np.full(len(domain), -1)
        costs[start], hops[start] = 0.0, 0
        rounds: list[tuple[Numbers, Numbers, Numbers]] = []
        frontier = np.array([start])
        most = search.path.hops.maximum
        while len(frontier) and (most is None or len(rounds) < most):
            search.execution.check(len(frontier), 6)
            owners, nodes, edges, weights = self._step(frontier)
            before = frontier[owners]
            sums, lost = _add_weights(costs[before], rests[before], weights)
            known = costs[nodes]
            # A sum beyond F64 is passed on once, to find what no other path reaches.
            is_better = np.where(np.isinf(sums), hops[nodes] < 0, lost < rests[nodes])
            lighter = np.flatnonzero((sums < known) | ((sums == known) & is_better))
            nodes, owners, edges = nodes[lighter], owners[lighter], edges[lighter]
            sums, lost = sums[lighter], lost[lighter]
            ranks = (sums, lost, search.precedence(frontier)[owners], search.edges.ranks(edges))
            found, first = _first_of_each(nodes, *ranks)
            rounds.append((found, frontier[owners[first]], edges[first]))
            costs[found], rests[found] = sums[first], lost[first]
            hops[found] = len(rounds)
            frontier = search.in_order(found, owners[first])
        reached = np.flatnonzero(hops >= search.path.hops.minimum)
        if wanted is not None:
            reached = wanted[hops[wanted] >= search.path.hops.minimum]
        self._check_sums(costs[reached])
        return _follow_rounds(reached, hops, rounds, search.room)

    def _step(self, frontier: Numbers) -> tuple[Numbers, Numbers, Numbers, "np.ndarray"]:
        """Return the edges out of some nodes, by place: their ends, and what they weigh."""
        search, execution = self.search, self.search.execution
        owners, nodes, edges = execution.reader.follow(
            search.leg, frontier, edges=search.edges, check=execution.room(6)
        )
        assert edges is not None
        return owners, nodes, edges, self._weights(edges)

    def _weights(self, edges: Numbers) -> "np.ndarray":
        search = self.search
        name = search.path.path.weight
        assert name is not None
        weights = np.full(len(edges), np.nan)
        for kind in search.edges.types:
            mine = search.edges.of_type(kind, edges)
            own = search.execution.reader.values(
                kind, name, edges[mine] - search.edges.offset(kind)
            )
            # Unsafe: an integer beyond 2^53 is rounded, as every other number is.
            weights[mine] = own.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        bad = np.flatnonzero(~(weights >= 0))
        if len(bad):
            problem = unusable_weight(name, float(weights[bad[0]]))
            raise ExpressionError([problem], source=search.execution.source)
        return weights

    def _check_sums(self, sums: "np.ndarray") -> None:
        """Raise ExpressionError if nodes are reached by no path whose weights can be summed."""
        name = self.search.path.path.weight
        if name is not None and np.isinf(sums).any():
            raise ExpressionError([unusable_sum(name)], source=self.search.execution.source)


def _add_weights(
    sums: "np.ndarray", rests: "np.ndarray", weights: "np.ndarray"
) -> tuple["np.ndarray", "np.ndarray"]:
    """Return sums with weights added, and what floats lose of them.

    So a path weighs the same from either end: summed as floats alone, 0.1, 0.2 and 0.3 do not.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rough = sums + weights
        added = rough - sums
        rest = rests + ((sums - (rough - added)) + (weights - added))
        found = rough + rest
        rest = rest - (found - rough)
    return np.where(np.isinf(rough), np.inf, found), np.where(np.isfinite(rest), rest, 0.0)


def unusable_weight(name: str, weight: float) -> Problem:
    """Return what is wrong with a weight that is negative, null or NaN."""
    shown = "null or NaN" if isnan(weight) else f"{weight:g}"
    message = f"the weight '{name}' of a path is {shown}; it has to be 0 or more"
    return Problem(Code.UNCOMPUTABLE, message)


def unusable_sum(name: str) -> Problem:
    """Return what is wrong with a path whose weights add up to infinity."""
    return Problem(
        Code.UNCOMPUTABLE, f"the weights '{name}' of a path add up to more than F64 holds"
    )


_NO_PATHS = _FoundPaths(np.empty(0, np.int64), np.empty(0, np.int64), None)


def _first_of_each(nodes: Numbers, *keys: "np.ndarray") -> tuple[Numbers, Numbers]:
    """Return each node once, sorted, and the place where its keys are least."""
    order = np.lexsort([*reversed(keys), nodes])
    ordered = nodes[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(nodes) else order > 0
    return ordered[is_first], order[is_first]


def _follow_back(ends: Numbers, distance: Numbers, parents: Numbers, room: _Room) -> _FoundPaths:
    """Return the paths to some nodes by way of the node before each."""
    counts = distance[ends] + 1
    room.check_numbers(int(counts.sum()))
    nodes = np.empty(int(counts.sum()), np.int64)
    places, current = np.cumsum(counts) - 1, ends
    while len(current):
        room.check_numbers(len(nodes))
        nodes[places] = current
        onward = distance[current] > 0
        places, current = places[onward] - 1, parents[current[onward]]
    return _FoundPaths(counts, nodes, None)


def _follow_rounds(
    ends: Numbers, hops: Numbers, rounds: list[tuple[Numbers, Numbers, Numbers]], room: _Room
) -> _FoundPaths:
    """Return the paths to some nodes; the node before one was found a round earlier.

    All paths are followed at once, from the last round back to the first: those that are shorter
    join in at the round in which their end was found.
    """
    counts = hops[ends] + 1
    total = int(counts.sum())
    room.check_numbers(2 * total)
    nodes, edges = np.empty(total, np.int64), np.empty(total - len(ends), np.int64)
    order = np.argsort(-counts, kind="stable")
    lengths, current = counts[order] - 1, ends[order]
    firsts = (np.cumsum(counts) - counts)[order]
    nodes[firsts + lengths] = current
    # Of every path before it, there is an edge less than there are nodes.
    first_edges = firsts - order
    for number in range(int(lengths.max(initial=0)), 0, -1):
        room.check_numbers(2 * total)
        long = slice(int(np.searchsorted(-lengths, -number, side="right")))
        found, sources, used = rounds[number - 1]
        at = np.searchsorted(found, current[long])
        current[long] = sources[at]
        nodes[firsts[long] + number - 1] = sources[at]
        edges[first_edges[long] + number - 1] = used[at]
    return _FoundPaths(counts, nodes, edges)


def _match_rows(last: Numbers, rows: Numbers, ends: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return for each row the paths that lead to its end; to any end, if it has none."""
    order = np.argsort(last, kind="stable")
    if ends is None:
        own = np.repeat(rows, len(last))
        return own, np.tile(order, len(rows))
    low = np.searchsorted(last[order], ends[rows], side="left")
    counts = np.searchsorted(last[order], ends[rows], side="right") - low
    before = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(low - before, counts)
    return np.repeat(rows, counts), order[places]


def _take(paths: _FoundPaths, chosen: Numbers) -> _FoundPaths:
    edges = None if paths.edges is None else _gather(paths.edges, paths.counts - 1, chosen)
    return _FoundPaths(paths.counts[chosen], _gather(paths.nodes, paths.counts, chosen), edges)


def _gather(values: Numbers, counts: Numbers, chosen: Numbers) -> Numbers:
    """Return the values of the chosen lists, one after the other."""
    firsts = np.cumsum(counts) - counts
    own = counts[chosen]
    before = np.cumsum(own) - own
    places = np.arange(int(own.sum())) + np.repeat(firsts[chosen] - before, own)
    found: Numbers = values[places]
    return found


def _join(parts: list[_FoundPaths]) -> _FoundPaths:
    parts = [each for each in parts if len(each.counts)]
    if len(parts) < 2:
        return parts[0] if parts else _NO_PATHS
    counts = np.concatenate([each.counts for each in parts])
    nodes = np.concatenate([each.nodes for each in parts])
    known = [each.edges for each in parts if each.edges is not None]
    return _FoundPaths(counts, nodes, np.concatenate(known) if known else None)


def _reverse(values: Numbers, counts: Numbers) -> Numbers:
    """Return each list from its end."""
    lasts = np.repeat(np.cumsum(counts) - 1, counts)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    found: Numbers = values[lasts - (np.arange(len(values)) - firsts)]
    return found


def _lists(values: Numbers, counts: Numbers) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int64()))


def _pick_edges(search: _PathSearch, rows: Matches) -> pa.Array:
    """Return the edges of paths of which the nodes are known: of parallel ones the least id."""
    lists = rows.column(_NODES)
    counts = np.asarray(pc.list_value_length(lists), np.int64)
    nodes, width = to_numbers(lists.flatten()), max(len(search.domain), 1)
    is_last = np.zeros(len(nodes), bool)
    is_last[np.cumsum(counts) - 1] = True
    places = np.flatnonzero(~is_last)
    keys = nodes[places] * width + nodes[places + 1] if len(places) else places
    wanted, inverse = np.unique(keys, return_inverse=True)
    sources = np.unique(wanted // width)
    owners, ends, edges = search.execution.reader.follow(
        search.forward, sources, edges=search.edges, check=search.execution.room(4)
    )
    assert edges is not None
    found = sources[owners] * width + ends
    mine = np.isin(found, wanted)
    _, first = _first_of_each(found[mine], search.edges.ranks(edges[mine]))
    return _lists(edges[mine][first][inverse], counts - 1)
