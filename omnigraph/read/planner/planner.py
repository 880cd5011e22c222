"""Planner: a plan with its patterns in the cheapest order, and about how many rows to expect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from math import log2, prod

from omnigraph.data.derived.memory import MOST_DECISIONS
from omnigraph.data.derived.topology import Topology
from omnigraph.frozen import dataclass
from omnigraph.query.expr import (
    ColumnRef,
    Constant,
    Expr,
    ParamRef,
    Predicate,
    PropertyRef,
    variables,
)
from omnigraph.query.plan import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Limit,
    Mark,
    NodeScan,
    Operator,
    Optional,
    Order,
    Path,
    Project,
    Rank,
    ReadPlan,
    Union,
    flatten,
)
from omnigraph.query.planning.arrange import Move, Orders, PatternGraph, rearrange, take_apart
from omnigraph.query.planning.rewrite import find_uncountable
from omnigraph.read.planner.estimate import Estimator, ValueOf
from omnigraph.read.planner.order import PatternOrder, check_nothing
from omnigraph.schema.values import Value
from omnigraph.versioning.snapshot import Snapshot

_Types = dict[str, tuple[str, ...]]

# Of what a `not` block or a ranking drops, nothing is known.
_KEPT = 0.5


@dataclass(frozen=True, slots=True)
class ArrangedPlan:
    """A plan with its patterns in the cheapest orders.

    `given` is the plan as it was compiled. It is held because its identity is part of a cache key.
    """

    given: ReadPlan
    plan: ReadPlan
    orders: Orders

    @property
    def nbytes(self) -> int:
        return 4_096  # about what it takes


def arrange_plan(
    plan: ReadPlan,
    snapshot: Snapshot,
    topology: Topology,
    params: Mapping[str, Value | None] | None = None,
    check: Callable[[], None] = check_nothing,
) -> ArrangedPlan:
    """Return the plan with its patterns in the orders that cost least on a snapshot.

    The rows and their order stay the same. An order is cached as long as the sizes of the tables
    and the shares of rows that the conditions let through stay about what they were. `check` is
    asked now and then, and raises when there is no time left.
    """
    if isinstance(plan.operators[0], Union):
        return _arrange_union(plan, plan.operators[0], snapshot, topology, params, check)
    if not plan.follows_edges:
        return ArrangedPlan(plan, plan, ())
    given = None if params is None else tuple(params.items())
    sizes = _sizes_of(snapshot, topology).classes
    asked = ("asked", id(plan), sizes, topology.generation, given)
    ready = topology.cache.peek(asked)
    if isinstance(ready, ArrangedPlan) and ready.given is plan:
        return ready
    found = _find_alike(plan, Estimator(snapshot, topology, _value_of(params)), check)
    return topology.cache.get(asked, lambda: found, family="asked", most=MOST_DECISIONS)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """About how large each table of a snapshot is."""

    classes: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return 8 * len(self.classes)


def _sizes_of(snapshot: Snapshot, topology: Topology) -> _Sizes:
    def classify() -> _Sizes:
        counts = [each.row_count for each in snapshot.commit.tables.values()]
        return _Sizes(tuple(map(_class_of, counts)))

    return topology.cache.get(("sizes", snapshot.commit.id), classify, family="sizes")


def _arrange_union(
    plan: ReadPlan,
    union: Union,
    snapshot: Snapshot,
    topology: Topology,
    params: Mapping[str, Value | None] | None,
    check: Callable[[], None],
) -> ArrangedPlan:
    """Return a union whose reads are each in their cheapest orders."""
    found_reads = (arrange_plan(each, snapshot, topology, params, check) for each in union.reads)
    reads = tuple(each.plan for each in found_reads)
    if reads == union.reads:
        return ArrangedPlan(plan, plan, ())
    key = ("union", id(plan), *map(id, reads))
    ready = topology.cache.peek(key)
    if isinstance(ready, ArrangedPlan) and ready.given is plan:
        return ready
    found = replace(plan, operators=(Union(reads), *plan.operators[1:]))
    return topology.cache.get(
        key, lambda: ArrangedPlan(plan, found, ()), family="union", most=MOST_DECISIONS
    )


def _find_alike(plan: ReadPlan, estimator: Estimator, check: Callable[[], None]) -> ArrangedPlan:
    """Return the orders that were found for about the same sizes and shares, or new ones."""
    key = ("order", id(plan), _classify(plan, estimator))
    ready = estimator.topology.cache.peek(key)
    if isinstance(ready, ArrangedPlan) and ready.given is plan:
        return ready
    grouped = _grouped_by(plan.operators)
    arrangement = _Arrangement(estimator, find_uncountable(plan.operators), grouped, check)
    arrangement.add(plan.operators, {}, 1.0)
    orders = tuple(arrangement.orders)
    found = ArrangedPlan(plan, rearrange(plan, orders, estimator.snapshot.catalog), orders)
    return estimator.topology.cache.get(key, lambda: found, family="order", most=MOST_DECISIONS)


def expect_rows(
    plan: ReadPlan,
    snapshot: Snapshot,
    topology: Topology,
    params: Mapping[str, Value | None] | None = None,
) -> tuple[int, ...]:
    """Return about how many rows there will be after each operator of a plan."""
    expectation = _Expectation(Estimator(snapshot, topology, _value_of(params)))
    return tuple(round(each) for each in expectation.after_each(plan.operators, 1.0, {}))


def _value_of(params: Mapping[str, Value | None] | None) -> ValueOf:
    def value(of: Constant | ParamRef) -> Value | None:
        if isinstance(of, Constant):
            return of.value
        return None if params is None else params.get(of.name)

    return value


def _classify(plan: ReadPlan, estimator: Estimator) -> tuple[int, ...]:
    """Return numbers that are the same while the same order is likely to be the best."""
    found: list[int] = []
    for operator in flatten(plan.operators):
        match operator:
            case NodeScan(types=types, filters=filters):
                found.append(_class_of(estimator.count(types)))
            case Expand(types=types, filters=filters):
                found.append(_class_of(estimator.entries(operator.steps)))
                if operator.edge_filters:
                    edges = tuple(step.edge for step in operator.steps)
                    found.append(_class_of(estimator.share(operator.edge_filters, edges)))
            case _:
                continue
        if filters and types:
            found.append(_class_of(estimator.share(filters, types)))
    return tuple(found)


@lru_cache(maxsize=4_096)
def _class_of(size: float) -> int:
    return round(2 * log2(size)) if size > 0 else -1_000


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """Orders the patterns of a plan, those of blocks with the outer variables bound."""

    estimator: Estimator
    needed: frozenset[str]
    grouped: frozenset[str]
    check: Callable[[], None]
    orders: list[tuple[Move, ...]] = field(default_factory=list)

    def add(
        self, operators: Sequence[Operator], outer: _Types, rows: float, *, inside: bool = False
    ) -> None:
        """Find the order of a pattern, and of those in blocks after it."""
        graph, rest = take_apart(operators, self.estimator.snapshot.catalog)
        types = {**outer, **{each.variable: each.types for each in graph.nodes}}
        needed = frozenset(_all_names(graph)) if inside else self.needed
        read = needed | _names_of(graph.filters)
        order = PatternOrder(graph, self.estimator, outer, read, self.grouped, self.check)
        found = order.best(rows)
        self.orders.append(found.moves)
        for each in rest:
            if isinstance(each, AntiJoin | Optional | Mark):
                self.add(each.inner, types, max(found.rows, 1.0), inside=True)
                types |= _types_of(each.inner)
            elif isinstance(each, Path):
                types |= _types_of((each,))


def _grouped_by(operators: Sequence[Operator]) -> frozenset[str]:
    """Return the variables that the keys of groups read."""
    keys = [key for each in operators if isinstance(each, Aggregate) for key in each.keys]
    return frozenset(name for key in keys for name in variables(key.expr))


def _all_names(graph: PatternGraph) -> Iterable[str]:
    for node in graph.nodes:
        yield node.variable
    for link in graph.links:
        yield from (*link.ends, *(() if link.edge_variable is None else (link.edge_variable,)))


def _names_of(predicates: Iterable[Predicate]) -> frozenset[str]:
    return frozenset(name for each in predicates for name in variables(each))


def _types_of(operators: Sequence[Operator]) -> _Types:
    """Return the types of the variables that some operators bind."""
    found: _Types = {}
    for operator in flatten(operators):
        match operator:
            case NodeScan(variable=name, types=types):
                found[name] = types
            case Expand(target=name, types=types) | Path(target=name, types=types):
                if not operator.closes:
                    found[name] = types
    return found


@dataclass(frozen=True, slots=True)
class _Expectation:
    """About how many rows there are after each operator."""

    estimator: Estimator

    def after_each(self, operators: Sequence[Operator], rows: float, outer: _Types) -> list[float]:
        """Return the rows after each of some operators, starting from about `rows`."""
        types = {**outer, **_types_of(operators)}
        found = []
        for operator in operators:
            rows = max(self._after(operator, rows, types), 0.0)
            found.append(rows)
        return found

    def _after(self, operator: Operator, rows: float, types: _Types) -> float:
        match operator:
            case NodeScan():
                return rows if operator.counted else rows * self._scanned(operator)
            case Expand():
                return self._expanded(operator, rows, types)
            case Filter(predicate):
                return rows * self._filtered(predicate, types)
            case AntiJoin():
                return rows * _KEPT
            case Optional(inner=inner):
                return max(rows, self.after_each(inner, rows, types)[-1])
            case Rank(restricts=restricts):
                return rows * _KEPT if restricts else rows
            case Aggregate(keys, _):
                return self._groups([key.expr for key in keys], rows, types) if keys else 1.0
            case Limit():
                return self._limited(operator, rows)
            case Path():
                return rows if operator.closes else rows * self.estimator.count(operator.types)
            case Union(reads):
                return sum(self.after_each(read.operators, 1.0, {})[-1] for read in reads)
            case Project() | Distinct() | Order() | Mark():
                return rows

    def _scanned(self, scan: NodeScan) -> float:
        if scan.point is not None:
            return 1.0 * self.estimator.share(scan.filters, scan.types) if scan.filters else 1.0
        return self.estimator.count(scan.types) * self.estimator.share(scan.filters, scan.types)

    def _expanded(self, expand: Expand, rows: float, types: _Types) -> float:
        near, far = types[expand.source], types[expand.target]
        degree = self.estimator.degree(expand.steps, near, far)
        count = float(self.estimator.count(far))
        reach = self.estimator.reach(expand.hops, degree, count)
        edges = tuple(step.edge for step in expand.steps)
        share = self.estimator.share(expand.edge_filters, edges) if expand.edge_filters else 1.0
        if expand.closes:
            return rows * min(reach / max(count, 1.0), 1.0) * share
        share *= self.estimator.share(expand.filters, far) if expand.filters else 1.0
        return rows * min(reach * share, 1.0) if expand.counted else rows * reach * share

    def _filtered(self, predicate: Predicate, types: _Types) -> float:
        names = _names_of([predicate])
        if len(names) == 1 and (name := next(iter(names))) in types:
            return self.estimator.share((predicate,), types[name])
        return self.estimator.share_between((predicate,))

    def _groups(self, keys: Sequence[Expr], rows: float, types: _Types) -> float:
        return min(rows, prod(self._distinct(key, rows, types) for key in keys))

    def _distinct(self, key: Expr, rows: float, types: _Types) -> float:
        if isinstance(key, ColumnRef):
            return rows
        name = getattr(key, "variable", None)
        if name not in types:
            return rows
        column = key.property if isinstance(key, PropertyRef) else None
        return float(self.estimator.distinct(types[name], column))

    def _limited(self, limit: Limit, rows: float) -> float:
        skip, most = (
            None if each is None else self.estimator.value_of(each)
            for each in (limit.skip, limit.limit)
        )
        left = max(rows - skip, 0.0) if isinstance(skip, int) else rows
        return min(left, most) if isinstance(most, int) else left
