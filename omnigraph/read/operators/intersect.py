"""Intersect: targets that several bound nodes lead to at once, as in the last corner of a triangle.

For each row the node with the fewest edges leads on, and the others only test what it leads to. It
is done in blocks, so that memory follows the rows that are left, not the paths that are tried.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from omnigraph.data.derived.adjacency import AnyAdjacency
from omnigraph.data.derived.numbering import Numbers, row_range
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction, Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.plan import Expand, Operator
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.traverse import test_predicates
from omnigraph.read.reader import Leg

# Paths that are tried at a time, and pairs of a node and a target that are marked for it.
_BLOCK = 1 << 20
_MOST_MARKS = 1 << 23
# So few paths are tested faster by searching than by marks.
_FEW = 1 << 15
_FLIPPED = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}


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
    one = expand.hops.minimum == 1 and expand.hops.maximum == 1
    return one and expand.edge_variable is None


def intersect_edges(
    execution: Execution, rows: Matches, expand: Expand, closing: Sequence[Expand]
) -> Matches:
    """Return a row for every target to which an expand leads and that all others close."""
    target, reader = expand.target, execution.reader
    assert isinstance(reader, DenseReader)
    execution.bind(target, EntityType(EntityKind.NODE, expand.types))
    sources = [expand.source, *(_other_end(each, target) for each in closing)]
    for name in sources:
        rows = rows.where_bound(name)
    legs = [execution.leg_of(expand), *(_leg_to(execution, each, target) for each in closing)]
    ends = [
        _End(reader.adjacency(leg), rows.codes[name])
        for name, leg in zip(sources, legs, strict=True)
    ]
    kept = _test_domain(execution, expand)
    fewest = np.argmin([end.degrees for end in ends], axis=0)
    owners, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    width, found = len(rows.codes) + 1, 0
    for driver in range(len(ends)):
        places = np.flatnonzero(fewest == driver)
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
    steps = tuple(
        Step(step.edge, _FLIPPED.get(step.direction, step.direction)) for step in expand.steps
    )
    return Leg(steps, execution.domains[expand.target], execution.domains[target])


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


@dataclass(frozen=True, slots=True)
class _Search:
    """Rows whose targets come from one end and are tested by the others.

    The targets of the first of the others are marked in an array of `width` nodes for each of a
    few sources. The rows are taken in the order of these sources, so that each is marked once.
    """

    driver: _End
    tests: list[_End]
    width: int

    def blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield rows, by place, with the targets that all ends lead to."""
        if int(self.driver.degrees.sum()) <= _FEW:
            owners, nodes, _ = self.driver.adjacency.follow(self.driver.codes)
            yield self._test(self.tests, owners, nodes)
            return
        marker = self.tests[0]
        order = np.argsort(marker.codes, kind="stable")
        sources = marker.codes[order]
        is_first = np.concatenate([[True], sources[1:] != sources[:-1]])
        numbers = np.cumsum(is_first) - 1
        at_once = max(1, _MOST_MARKS // self.width)
        marks = np.zeros(min(at_once, int(numbers[-1]) + 1) * self.width, bool)
        for first, last in _cut(numbers // at_once, self.driver.degrees[order]):
            part = order[first:last]
            distinct = sources[first:last][is_first[first:last]]
            if not is_first[first]:
                distinct = np.concatenate([sources[first : first + 1], distinct])
            starts, targets, _ = marker.adjacency.follow(distinct)
            marked = starts * self.width + targets
            marks[marked] = True
            owners, nodes, _ = self.driver.adjacency.follow(self.driver.codes[part])
            base = (numbers[first:last] - numbers[first]) * self.width
            joined = np.flatnonzero(marks[base[owners] + nodes])
            marks[marked] = False
            yield self._test(self.tests[1:], part[owners[joined]], nodes[joined])

    def _test(
        self, ends: Sequence[_End], owners: Numbers, nodes: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the pairs of a row and a target to which other ends lead too, by searching."""
        for end in ends:
            joined = np.flatnonzero(end.adjacency.are_joined(end.codes[owners], nodes))
            owners, nodes = owners[joined], nodes[joined]
        return owners, nodes


def _cut(groups: Numbers, sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Yield where blocks begin and end: within one group, and of about _BLOCK entries at most."""
    filled = np.cumsum(sizes) // _BLOCK
    changes = (np.diff(groups) != 0) | (np.diff(filled) != 0)
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(groups)]
    yield from pairwise(bounds)
