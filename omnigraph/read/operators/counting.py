"""Counting: variables that nothing reads multiply the rows instead of being made."""

from dataclasses import dataclass

import numpy as np

from omnigraph.data.derived.adjacency import Woven
from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.expr import EntityKind, EntityType, Predicate
from omnigraph.query.plan import Expand, NodeScan
from omnigraph.read.dense import Dense
from omnigraph.read.execution import Run
from omnigraph.read.operators.scan import scanned
from omnigraph.read.operators.traverse import edge_domain, reached, satisfying
from omnigraph.read.rows import Rows, dot, product, total

# When more rows are counted from than this part of all, whole arrays are summed.
_MOST_PARTS = 16
# Sums of whole numbers below this are exact as floats.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class _Ones:
    """So many times 1."""

    count: int


class Counted:
    """The counted operators of a pattern, as trees that hang from variables or stand alone."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._roots: list[NodeScan] = []
        self._children: dict[str, list[Expand]] = {}
        self._counted: set[str] = set()

    @property
    def pending(self) -> list[NodeScan | Expand]:
        """What is noted, and the rows were not multiplied by."""
        return [*self._roots, *(each for below in self._children.values() for each in below)]

    def add(self, operator: NodeScan | Expand) -> None:
        """Note a counted operator; nothing is computed yet."""
        if isinstance(operator, NodeScan):
            self._roots.append(operator)
            self._counted.add(operator.variable)
            self._run.bind(operator.variable, EntityType(EntityKind.NODE, operator.types))
        else:
            self._children.setdefault(operator.source, []).append(operator)
            self._counted.add(operator.target)
            self._run.bind(operator.target, EntityType(EntityKind.NODE, operator.types))

    def applied(self, rows: Rows) -> Rows:
        """Give the rows multiplied by everything that was noted."""
        for root in self._roots:
            rows = rows.weighted(np.full(rows.count, self._total(root), np.int64))
        for name in self._children.keys() - self._counted:
            rows = rows.keep(rows.codes[name] >= 0)
            rows = rows.weighted(self._once_each(name, rows.codes[name]))
        self._roots, self._children = [], {}
        return rows

    def _once_each(self, name: str, codes: Numbers) -> Numbers:
        """Give for rows how often all below a variable occurs; of many equal ones only once."""
        if len(codes) <= len(self._run.domains[name]):
            return self._along_all(name, codes)
        distinct, inverse = np.unique(codes, return_inverse=True)
        return self._along_all(name, distinct)[inverse]

    def _along_all(self, name: str, codes: Numbers) -> Numbers:
        below = self._below(name, codes)
        assert not isinstance(below, _Ones)
        return below

    def _total(self, root: NodeScan) -> int:
        """Give how often a variable that stands alone, with all below it, occurs."""
        run, children = self._run, self._children.get(root.variable, [])
        if root.point is not None or root.filters:
            return _added(self._below(root.variable, scanned(run, root)))
        if not children:
            return sum(run.reader.count(name) for name in root.types)
        step = self._whole_step(children[0]) if len(children) == 1 else None
        if step is None:
            return _added(self._below(root.variable, scanned(run, root)))
        worth = self._everywhere(children[0].target, children[0].filters)
        if worth is None:
            return total(step.degrees)
        return dot(step.indegrees(len(worth)), worth)

    def _below(self, variable: str, codes: Numbers | None) -> Numbers | _Ones:
        """Give for some rows of a variable, or for all, how often all that hangs from it occurs."""
        weights: Numbers | None = None
        for child in self._children.get(variable, ()):
            more = self._along(child, codes)
            weights = more if weights is None else product(weights, more)
        if weights is not None:
            return weights
        return _Ones(len(self._run.domains[variable]) if codes is None else len(codes))

    def _everywhere(self, variable: str, filters: tuple[Predicate, ...]) -> Numbers | None:
        """Give for every row of a variable's domain how often it occurs with all below it.

        None says that each occurs once.
        """
        weights = self._below(variable, None)
        if not filters:
            return None if isinstance(weights, _Ones) else weights
        codes = np.arange(len(self._run.domains[variable]))
        return _times(weights, satisfying(self._run, variable, codes, filters))

    def _along(self, expand: Expand, codes: Numbers | None) -> Numbers:
        """Give for some rows, or for all, how often an expand leads on from each."""
        source = self._run.domains[expand.source]
        many = codes is None or len(codes) * _MOST_PARTS > len(source)
        step = self._whole_step(expand) if many else None
        if step is None:
            return self._along_few(expand, np.arange(len(source)) if codes is None else codes)
        worth = self._everywhere(expand.target, expand.filters)
        if worth is None:
            sums = step.degrees
        else:
            dot(step.indegrees(len(worth)), worth)  # raises when the sums would overflow
            sums = step.sums(worth)
        return sums if codes is None else sums[codes]

    def _along_few(self, expand: Expand, codes: Numbers) -> Numbers:
        """Go from the rows to their targets, and count what hangs from these alone."""
        run = self._run
        source, target = run.domains[expand.source], run.domains[expand.target]
        if expand.edge_variable is None:
            owners, nodes = reached(run, codes, expand, source, target)
            kept = np.ones(len(owners), bool)
        else:
            edges = edge_domain(run, expand)
            owners, nodes, own = run.reader.follow(
                expand.steps, source, target, codes, edges=edges, check=run.room(2)
            )
            assert own is not None
            kept = self._sound(expand.edge_variable, own, expand.edge_filters)
        run.check(len(owners), 2)
        distinct, inverse = np.unique(nodes, return_inverse=True)
        sound = satisfying(run, expand.target, distinct, expand.filters)
        worth = _times(self._below(expand.target, distinct), sound)
        return _summed(owners, worth[inverse] * kept, len(codes))

    def _sound(self, variable: str, codes: Numbers, filters: tuple[Predicate, ...]) -> "np.ndarray":
        """Tell for rows, of which many may be the same, whether all predicates are true."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        found: np.ndarray = satisfying(self._run, variable, distinct, filters)[inverse]
        return found

    def _whole_step(self, expand: Expand) -> Woven | None:
        """Give the adjacency of exactly one edge that has no name, if whole tables are at hand."""
        reader, domains = self._run.reader, self._run.domains
        one = expand.hops.minimum == 1 and expand.hops.maximum == 1
        if not one or expand.edge_variable is not None or not isinstance(reader, Dense):
            return None
        return reader.adjacency(expand.steps, domains[expand.source], domains[expand.target])


def _added(weights: Numbers | _Ones) -> int:
    return weights.count if isinstance(weights, _Ones) else total(weights)


def _times(weights: Numbers | _Ones, sound: "np.ndarray") -> Numbers:
    """Give the weights of what is sound, and 0 for the rest."""
    return sound.astype(np.int64) if isinstance(weights, _Ones) else weights * sound


def _summed(owners: Numbers, values: Numbers, count: int) -> Numbers:
    """Give the sum of the values of each owner; owners are in their order."""
    if total(values) < _EXACT:
        return np.bincount(owners, weights=values, minlength=count).astype(np.int64)
    sums: Numbers = np.concatenate([[0], np.cumsum(values)])
    bounds = np.searchsorted(owners, np.arange(count + 1))
    return sums[bounds[1:]] - sums[bounds[:-1]]
