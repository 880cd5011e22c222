"""Intersect: targets that several bound nodes lead to at once, as in the last corner of a triangle.

For each row the node with the fewest edges leads on, and the others only test what it leads to. It
is done in blocks, so that memory follows the rows that are left, not the paths that are tried.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from omnigraph.data.derived.adjacency import AnyAdjacency
from omnigraph.data.derived.numbering import Numbers, row_range
from omnigraph.data.derived.sorting import are_sorted, sort_places
from omnigraph.frozen import dataclass
from omnigraph.query.plan import Expand, Operator
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.traverse import test_predicates
from omnigraph.read.reader import Leg

# Paths that are tried at a time: what is made of them stays about in the processor's cache.
_BLOCK = 1 << 18
# The bits with which the targets of as many nodes are marked at a time.
_BITS = np.uint32(1) << np.arange(32, dtype=np.uint32)
# To sort a row, and to take it out of order, takes as long as to try this many paths.
_SORTED = 30
# So few paths are tested faster by searching than by marks.
_FEW = 1 << 15
# From an end that leads to so few targets in all rows they are taken at once.
_FEW_AT_ONCE = 1 << 12


@dataclass(frozen=True, slots=True)
class _End:
    """One of the bound nodes of each row, and where its edges lead."""

    adjacency: AnyAdjacency
    codes: Numbers

    @property
    def degrees(self) -> Numbers:
        """How many targets each row's node leads to."""
        found: Numbers = self.adjacency.degrees[self.codes]
        return found

    def at(self, places: Numbers) -> "_End":
        return _End(self.adjacency, self.codes[places])


def find_closing(operators: Sequence[Operator]) -> list[Expand]:
    """Return the expands after the first operator that close a cycle through what it binds."""
    first = operators[0]
    found: list[Expand] = []
    if not isinstance(first, Expand) or first.closes or not _is_single(first):
        return found
    for each in operators[1:]:
        if not isinstance(each, Expand) or not each.closes or not _is_single(each):
            break
        if (each.source == first.target) == (each.target == first.target):
            break
        found.append(each)
    return found


def _is_single(expand: Expand) -> bool:
    return expand.hops.is_single and expand.edge_variable is None


def intersect_edges(
    execution: Execution, rows: Matches, expand: Expand, closing: Sequence[Expand]
) -> Matches:
    """Return a row for every target to which an expand leads and that all others close."""
    target, reader = expand.target, execution.reader
    assert isinstance(reader, DenseReader)
    execution.bind(target, expand.types)
    sources = [expand.source, *(_other_end(each, target) for each in closing)]
    for name in sources:
        rows = rows.where_bound(name)
    legs = [execution.leg_of(expand), *(_leg_to(execution, each, target) for each in closing)]
    ends = [
        _End(reader.adjacency(leg), rows.codes[name])
        for name, leg in zip(sources, legs, strict=True)
    ]
    few = _intersect_few(ends)
    if few is not None:
        owners, nodes = few
        if expand.filters:
            kept = np.flatnonzero(test_predicates(execution, target, nodes, expand.filters))
            owners, nodes = owners[kept], nodes[kept]
        return rows.take(owners).bind(target, nodes)
    return _intersect_many(execution, rows, expand, ends)


def _intersect_few(ends: Sequence[_End]) -> tuple[Numbers, Numbers] | None:
    """Return rows with the targets of all ends if one of the ends leads to few; else None."""
    sizes = [int(end.degrees.sum()) for end in ends]
    driver = sizes.index(min(sizes))
    if sizes[driver] > _FEW_AT_ONCE:
        return None
    owners, nodes, _ = ends[driver].adjacency.follow(ends[driver].codes)
    return _test_ends([*ends[:driver], *ends[driver + 1 :]], owners, nodes)


def _intersect_many(
    execution: Execution, rows: Matches, expand: Expand, ends: list[_End]
) -> Matches:
    """Return a row for every target that all ends lead to, of each row from the one with fewest."""
    target = expand.target
    # Rows are tested in the order of an end that does not lead, which those of the first are in.
    ends.sort(key=lambda end: not are_sorted([end.codes]))
    kept = _test_domain(execution, expand)
    drivers = _choose_drivers(ends)
    owners, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    width, found = len(rows.codes) + 1, 0
    for driver in range(len(ends)):
        places = np.flatnonzero(drivers == driver)
        search = _Search(
            ends[driver].at(places),
            [end.at(places) for at, end in enumerate(ends) if at != driver],
            len(execution.domains[target]),
        )
        for some, reached in search.blocks():
            mine = slice(None) if kept is None else np.flatnonzero(kept[reached])
            owners.append(places[some[mine]])
            nodes.append(reached[mine])
            found += len(nodes[-1])
            execution.check(found, width)
    return rows.take(np.concatenate(owners)).bind(target, np.concatenate(nodes))


def _test_domain(execution: Execution, expand: Expand) -> "np.ndarray | None":
    """Return for every node whether it meets the conditions on the target; None without any."""
    if not expand.filters:
        return None
    every = row_range(len(execution.domains[expand.target]))
    return test_predicates(execution, expand.target, every, expand.filters)


def _other_end(expand: Expand, variable: str) -> str:
    return expand.source if expand.target == variable else expand.target


def _leg_to(execution: Execution, expand: Expand, target: str) -> Leg:
    """Return the leg of a closing expand towards a target, whichever way it was written."""
    if expand.target == target:
        return execution.leg_of(expand)
    steps = tuple(each.flipped() for each in expand.steps)
    return Leg(steps, execution.domains[expand.target], execution.domains[target])


def _choose_drivers(ends: Sequence[_End]) -> "np.ndarray":
    """Return for each row the end that leads on: the one with the fewest targets.

    Where the first one leads, which the rows are in the order of, they have to be sorted.
    """
    drivers = np.zeros(len(ends[0].codes), np.int8)
    fewest = ends[0].degrees + _SORTED
    for at, end in enumerate(ends[1:], 1):
        degrees = end.degrees
        drivers[degrees < fewest] = at
        fewest = np.minimum(degrees, fewest)
    return drivers


@dataclass(frozen=True, slots=True)
class _Search:
    """Rows whose targets come from one end and are tested by the others.

    The targets of the first of the others are marked in an array of `width` nodes, with a bit for
    each of a few sources. The rows are taken in the order of these sources.
    """

    driver: _End
    tests: list[_End]
    width: int

    def blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield rows, by place, with the targets that all ends lead to."""
        if int(self.driver.degrees.sum()) <= _FEW:
            owners, nodes, _ = self.driver.adjacency.follow(self.driver.codes)
            yield _test_ends(self.tests, owners, nodes)
            return
        order = sort_places([self.tests[0].codes], len(self.tests[0].codes))
        marks = np.zeros(self.width, _BITS.dtype)
        for first, last in _cut(self.driver.degrees[order]):
            part = order[first:last]
            owners, nodes = _find_marked(self.driver.at(part), self.tests[0].at(part), marks)
            yield _test_ends(self.tests[1:], part[owners], nodes)


def _test_ends(ends: Sequence[_End], owners: Numbers, nodes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the pairs of a row and a target to which other ends lead too, by searching."""
    for end in ends:
        joined = np.flatnonzero(end.adjacency.are_joined(end.codes[owners], nodes))
        owners, nodes = owners[joined], nodes[joined]
    return owners, nodes


def _find_marked(driver: _End, marker: _End, marks: "np.ndarray") -> tuple[Numbers, Numbers]:
    """Return rows, by place, with the targets that two ends lead to.

    Rows of the same marker follow each other. `marks` is zero for every node, before and after.
    """
    begins = _find_changes(marker.codes)
    sources = marker.codes[begins]
    bits = _BITS[row_range(len(sources)) % len(_BITS)]
    marked, counts = marker.adjacency.list_targets(sources), marker.adjacency.degrees[sources]
    marked_bits, marked_ends = np.repeat(bits, counts), _add_up(counts)
    nodes, sizes = driver.adjacency.list_targets(driver.codes), driver.degrees
    ends = _add_up(sizes)
    found = np.empty(len(nodes), _BITS.dtype)
    groups = [*range(0, len(sources), len(_BITS)), len(sources)]
    rows = np.append(begins, len(sizes))[groups]
    for own, tried in zip(_pairs(marked_ends[groups]), _pairs(ends[rows]), strict=True):
        # Each bit of a node is added once, which sets it.
        np.add.at(marks, marked[own], marked_bits[own])
        np.take(marks, nodes[tried], out=found[tried], mode="clip")
        marks[marked[own]] = 0
    found &= np.repeat(np.repeat(bits, np.diff(begins, append=len(sizes))), sizes)
    joined = np.flatnonzero(found != 0)
    return np.searchsorted(ends, joined, side="right") - 1, nodes[joined]


def _find_changes(codes: Numbers) -> Numbers:
    """Return the places at which a code differs from the one before it, and the first place."""
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def _add_up(counts: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(counts)])


def _pairs(bounds: Numbers) -> Iterator[slice]:
    return (slice(first, last) for first, last in pairwise(bounds.tolist()))


def _cut(sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Yield where blocks begin and end, of about _BLOCK entries at most."""
    filled = np.cumsum(sizes) // _BLOCK
    bounds = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), len(sizes)]
    yield from pairwise(bounds)
