"""Counting: variables that nothing reads multiply the rows instead of being made."""

import numpy as np

from omnigraph.engine.rows import Rows, check_total, dot, product, total
from omnigraph.engine.run import Run
from omnigraph.engine.scan import scanned
from omnigraph.engine.topology import Numbers
from omnigraph.engine.traverse import adjacency, edge_domain, reached, satisfying
from omnigraph.query.expr import EntityKind, EntityType, Predicate
from omnigraph.query.plan import Expand, NodeScan


class Counted:
    """The counted operators of a pattern, as trees that hang from variables or stand alone."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._roots: list[NodeScan] = []
        self._children: dict[str, list[Expand]] = {}
        self._counted: set[str] = set()

    @property
    def pending(self) -> bool:
        """Whether anything is noted that the rows were not multiplied by."""
        return bool(self._roots or self._children)

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
            distinct, inverse = np.unique(rows.codes[name], return_inverse=True)
            rows = rows.weighted(self._below(name, distinct)[inverse])
        self._roots, self._children = [], {}
        return rows

    def _total(self, root: NodeScan) -> int:
        """Give how often a variable that stands alone, with all below it, occurs."""
        domain, children = self._run.domains[root.variable], self._children.get(root.variable, [])
        everywhere = root.point is None and not root.filters
        if everywhere and len(children) == 1 and _is_plain(children[0]):
            target = self._run.domains[children[0].target]
            step = adjacency(self._run, children[0], domain, target)
            return dot(step.indegrees(len(target)), self._worth(children[0]))
        return total(self._below(root.variable, scanned(self._run, root)))

    def _weights(self, variable: str, filters: tuple[Predicate, ...]) -> Numbers:
        """Give for every row of a variable's domain how often it occurs with all below it."""
        domain = self._run.domains[variable]
        weights = self._below(variable, np.arange(len(domain)))
        return weights * satisfying(self._run, variable, filters) if filters else weights

    def _below(self, variable: str, codes: Numbers) -> Numbers:
        """Give for some rows of a variable how often all that hangs from it occurs."""
        weights = np.ones(len(codes), np.int64)
        for child in self._children.get(variable, ()):
            weights = product(weights, self._along(child, codes))
        return weights

    def _along(self, expand: Expand, codes: Numbers) -> Numbers:
        source, target = self._run.domains[expand.source], self._run.domains[expand.target]
        worth = self._worth(expand)
        if expand.edge_variable is not None:
            return self._along_edges(expand, codes, worth)
        if _is_plain(expand) and len(codes) == len(source):
            step = adjacency(self._run, expand, source, target)
            check_total(worth, step.targets)
            return step.sums(worth)
        owners, nodes = reached(self._run, codes, expand, source, target)
        return _summed(owners, worth[nodes], len(codes))

    def _along_edges(self, expand: Expand, codes: Numbers, worth: Numbers) -> Numbers:
        source, target = self._run.domains[expand.source], self._run.domains[expand.target]
        edges = edge_domain(self._run, expand)
        step = self._run.reader.adjacency(expand.steps, source, target, edges=edges)
        assert step.edges is not None
        assert expand.edge_variable is not None
        owners, places = step.entries(codes)
        values = worth[step.targets[places]]
        if expand.edge_filters:
            sound = satisfying(self._run, expand.edge_variable, expand.edge_filters)
            values = values * sound[step.edges[places]]
        return _summed(owners, values, len(codes))

    def _worth(self, expand: Expand) -> Numbers:
        return self._weights(expand.target, expand.filters)


def _is_plain(expand: Expand) -> bool:
    """Tell whether an expand follows exactly one edge that has no name."""
    one = expand.hops.minimum == 1 and expand.hops.maximum == 1
    return one and expand.edge_variable is None


def _summed(owners: Numbers, values: Numbers, count: int) -> Numbers:
    """Give the sum of the values of each owner; owners are in their order."""
    total(values)
    sums: Numbers = np.concatenate([[0], np.cumsum(values)])
    bounds = np.searchsorted(owners, np.arange(count + 1))
    return sums[bounds[1:]] - sums[bounds[:-1]]
