"""Counting: variables that nothing reads multiply the weights of rows instead of being bound."""

from collections.abc import Sequence

import numpy as np

from omnigraph.data.derived.adjacency import AnyAdjacency
from omnigraph.data.derived.numbering import Numbers, row_range
from omnigraph.data.values.equality import Mask
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Predicate
from omnigraph.query.plan import Expand, NodeScan, Operator
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Execution
from omnigraph.read.matches import (
    Matches,
    can_add,
    multiply_counts,
    sum_counts,
    sum_products,
)
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.operators.scan import find_nodes
from omnigraph.read.operators.traverse import (
    find_targets,
    follow_named,
    test_predicates,
)

# From more rows than this part of all, whole arrays are summed.
_MOST_PARTS = 16
# So few rows are weighed faster than it is found out which of them are equal.
_FEW = 256
# Sums of whole numbers below this are exact as floats.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class _Ones:
    """A weight of 1 for each of `count` rows."""

    count: int


class PatternCounter:
    """The counted operators of a pattern, as trees that hang from variables or stand alone.

    With `once`, rows are not multiplied: those that have a match stay, and counts are 0 or 1.
    """

    def __init__(self, execution: Execution, *, once: bool = False) -> None:
        self._execution = execution
        self._once = once
        self._roots: list[NodeScan] = []
        self._children: dict[str, list[Expand]] = {}
        self._counted: set[str] = set()
        # Whether there are operators that the rows have not been multiplied by yet.
        self.is_pending = False

    @property
    def pending(self) -> list[NodeScan | Expand]:
        """The operators that the rows have not been multiplied by yet."""
        return [*self._roots, *(each for below in self._children.values() for each in below)]

    def add(self, operator: NodeScan | Expand) -> None:
        """Note a counted operator; nothing is computed yet."""
        self.is_pending = True
        if isinstance(operator, NodeScan):
            self._roots.append(operator)
            self._counted.add(operator.variable)
            self._execution.bind(operator.variable, operator.types)
        else:
            self._children.setdefault(operator.source, []).append(operator)
            self._counted.add(operator.target)
            self._execution.bind(operator.target, operator.types)

    def continues_in(self, operators: Sequence[Operator]) -> bool:
        """Return whether more hangs from what is counted, so that it is not all known yet."""
        return any(isinstance(each, Expand) and each.source in self._counted for each in operators)

    def apply(self, rows: Matches) -> Matches:
        """Return the rows multiplied by everything that was noted."""
        for root in self._roots:
            rows = self._multiply(rows, np.full(rows.count, self._count_root(root), np.int64))
        for name in self._children.keys() - self._counted:
            rows = rows.where_bound(name)
            rows = self._multiply(rows, self._weigh_distinct(name, rows.codes[name]))
        self._roots, self._children, self.is_pending = [], {}, False
        return rows

    def _multiply(self, rows: Matches, factors: Numbers) -> Matches:
        return rows.keep(factors > 0) if self._once else rows.multiply(factors)

    def _weigh_distinct(self, name: str, codes: Numbers) -> Numbers:
        """Return for each row how often all below a variable occurs, weighing equal rows once."""
        if len(codes) <= len(self._execution.domains[name]):
            return self._weigh(name, codes)
        distinct, inverse = np.unique(codes, return_inverse=True)
        return self._weigh(name, distinct)[inverse]

    def _weigh(self, name: str, codes: Numbers) -> Numbers:
        below = self._weigh_below(name, codes)
        assert not isinstance(below, _Ones)
        return below

    def _count_root(self, root: NodeScan) -> int:
        """Return how often a variable that stands alone, with all below it, occurs."""
        execution, children = self._execution, self._children.get(root.variable, [])
        if root.filters and root.point is None and not children and execution.reader.is_whole:
            codes = execution.domains[root.variable].all()
            every = Matches(len(codes), {root.variable: codes})
            return Evaluation(execution, every).count(root.filters)
        if root.point is not None or root.filters:
            return _add_up(self._weigh_below(root.variable, find_nodes(execution, root)))
        if not children:
            return sum(execution.reader.count(name) for name in root.types)
        step = self._whole_step(children[0]) if len(children) == 1 else None
        if step is None:
            return _add_up(self._weigh_below(root.variable, find_nodes(execution, root)))
        worth = self._weigh_domain(children[0].target, children[0].filters)
        if worth is None:
            return sum_counts(step.degrees)
        indegrees = step.indegrees(len(worth))
        if can_add(worth, step.size):
            return int(np.dot(indegrees, worth))
        return sum_products(indegrees, worth)

    def _weigh_below(self, variable: str, codes: Numbers | None) -> Numbers | _Ones:
        """Return for some rows of a variable, or all, how often everything below it occurs."""
        weights: Numbers | None = None
        for child in self._children.get(variable, ()):
            more = self._weigh_expand(child, codes)
            if self._once:
                more = np.minimum(more, 1)
            weights = more if weights is None else multiply_counts(weights, more)
        if weights is not None:
            return weights
        return _Ones(len(self._execution.domains[variable]) if codes is None else len(codes))

    def _weigh_domain(self, variable: str, filters: tuple[Predicate, ...]) -> Numbers | Mask | None:
        """Return for every row of a variable's domain how often it occurs with all below it.

        None means that each occurs once.
        """
        weights = self._weigh_below(variable, None)
        if not filters:
            return None if isinstance(weights, _Ones) else weights
        domain = self._execution.domains[variable]
        every = domain.all()  # of which columns are read as they are
        codes = every if len(every) == len(domain) else row_range(len(domain))
        return _multiply_by_truth(
            weights, test_predicates(self._execution, variable, codes, filters)
        )

    def _weigh_expand(self, expand: Expand, codes: Numbers | None) -> Numbers:
        """Return for some rows, or all, how often an expand leads on from each."""
        source = self._execution.domains[expand.source]
        many = codes is None or len(codes) * _MOST_PARTS > len(source)
        step = self._whole_step(expand) if many else None
        if step is None:
            return self._weigh_few(expand, np.arange(len(source)) if codes is None else codes)
        worth = self._weigh_domain(expand.target, expand.filters)
        if worth is None:
            sums = step.degrees
        else:
            _check_sums(worth, step)
            sums = step.sum_targets(worth)
        if codes is None or (codes is source.all() and len(codes) == len(sums)):
            return sums
        return sums[codes]

    def _weigh_few(self, expand: Expand, codes: Numbers) -> Numbers:
        """Follow the expand from the rows, and weigh only the targets that they reach."""
        execution = self._execution
        if expand.edge_variable is None:
            owners, nodes = find_targets(execution, codes, expand)
            kept: Mask | slice = slice(None)
        else:
            owners, nodes, edges = follow_named(execution, codes, expand, 2)
            kept = self._are_true(expand.edge_variable, edges, expand.edge_filters)
        execution.check(len(owners), 2)
        if not expand.filters and expand.target not in self._children:
            return np.bincount(owners[kept], minlength=len(codes))
        distinct, inverse = _number_distinct(nodes)
        sound = test_predicates(execution, expand.target, distinct, expand.filters)
        worth = self._weigh_sound(expand.target, distinct, sound)
        return _sum_by_owner(owners[kept], worth[inverse[kept]], len(codes))

    def _weigh_sound(self, variable: str, codes: Numbers, sound: Mask) -> Numbers | Mask:
        """Return how often rows with all below them occur; what is not sound is not followed."""
        if variable not in self._children or sound.all():
            return _multiply_by_truth(self._weigh_below(variable, codes), sound)
        worth = np.zeros(len(codes), np.int64)
        worth[sound] = self._weigh(variable, codes[sound])
        return worth

    def _are_true(
        self, variable: str, codes: Numbers, filters: tuple[Predicate, ...]
    ) -> "np.ndarray":
        """Return for each row whether all predicates are true; equal rows are tested once."""
        distinct, inverse = _number_distinct(codes)
        found: np.ndarray = test_predicates(self._execution, variable, distinct, filters)[inverse]
        return found

    def _whole_step(self, expand: Expand) -> AnyAdjacency | None:
        """Return the adjacency of an expand of one unnamed hop, if whole tables are in memory."""
        reader = self._execution.reader
        if (
            not expand.hops.is_single
            or expand.edge_variable is not None
            or not isinstance(reader, DenseReader)
        ):
            return None
        return reader.adjacency(self._execution.leg_of(expand))


def _check_sums(worth: Numbers | Mask, step: AnyAdjacency) -> None:
    """Raise ResultOverflowError when the sum of what all entries lead to does not fit 64 bits."""
    if not can_add(worth, step.size):
        sum_products(step.indegrees(len(worth)), worth)


def _number_distinct(codes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the different codes and the place of each among them; few are taken as they are."""
    if len(codes) <= _FEW:
        return codes, row_range(len(codes))
    distinct, inverse = np.unique(codes, return_inverse=True)
    return distinct, inverse


def _add_up(weights: Numbers | _Ones) -> int:
    return weights.count if isinstance(weights, _Ones) else sum_counts(weights)


def _multiply_by_truth(weights: Numbers | _Ones, sound: Mask) -> Numbers | Mask:
    """Return the weights where `sound` is true, and 0 elsewhere; of ones, `sound` itself."""
    return sound if isinstance(weights, _Ones) else weights * sound


def _sum_by_owner(owners: Numbers, values: Numbers | Mask, count: int) -> Numbers:
    """Return the sum of the values of each owner; owners must be sorted."""
    if sum_counts(values) < _EXACT:
        return np.bincount(owners, weights=values, minlength=count).astype(np.int64)
    sums: Numbers = np.concatenate([[0], np.cumsum(values)])
    bounds = np.searchsorted(owners, np.arange(count + 1))
    return sums[bounds[1:]] - sums[bounds[:-1]]
