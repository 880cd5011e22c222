"""Estimate: about how many rows a condition lets through, and how many an edge leads to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from math import prod

from omnigraph.data.derived.statistics import ColumnStatistics
from omnigraph.data.derived.topology import Topology
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction, Step
from omnigraph.query.expr import (
    And,
    Comparison,
    Constant,
    Expr,
    ListOf,
    Not,
    NullTest,
    Or,
    ParamRef,
    Predicate,
    PropertyRef,
    TextMatch,
    equality,
)
from omnigraph.query.parsing.ast import TURNED, Hops, Operator
from omnigraph.query.planning.arrange import PatternLink, PatternNode
from omnigraph.read.pushdown import pick_indexed
from omnigraph.schema.catalog import StoredType, column_name
from omnigraph.schema.values import Value
from omnigraph.storage.indexes import IndexKind, indexes_of
from omnigraph.versioning.snapshot import Snapshot

# What is assumed of a column without statistics.
_EQUAL = 0.05
_RANGE = 0.3
# A column without statistics that has an index most likely has few rows of each value.
_INDEXED = 100
_TEXT = {Operator.STARTS_WITH: 0.02, Operator.CONTAINS: 0.05}
_MATCH = 0.02
_NULL = 0.05
# Two bounds of one range leave at least this part of what the closer one leaves.
_LEAST_RANGE = 0.1
_MOST_HOPS = 16
_ORDERINGS = (Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL)

KnownValue = Constant | ParamRef
ValueOf = Callable[[KnownValue], Value | None]


@dataclass(slots=True)
class Estimator:
    """Estimates over one snapshot; `value_of` returns None for a parameter not given yet."""

    snapshot: Snapshot
    topology: Topology
    value_of: ValueOf
    _columns: dict[tuple[str, str], ColumnStatistics | None] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _degrees: dict[object, float] = field(default_factory=dict)

    def count(self, types: Iterable[str]) -> int:
        """Return how many rows some types have."""
        return sum(map(self._count, types))

    def share(self, predicates: Sequence[Predicate], types: tuple[str, ...]) -> float:
        """Return the share of a variable's rows for which all conditions are true.

        Conditions on one variable often say the same, so each further one counts for less.
        """
        found = sorted(self._shares(predicates, types))
        combined = prod(float(share ** (0.5**at)) for at, share in enumerate(found))
        return min(max(combined, 1 / max(self.count(types), 1)), 1.0)

    def rows(self, node: PatternNode) -> float:
        """Return about how many rows a variable stands for by itself."""
        return self.count(node.types) * self.share(node.filters, node.types)

    def distinct(self, types: tuple[str, ...], column: str | None) -> int:
        """Return about how many different values a column has, or how many rows there are."""
        known = [] if column is None else [self._column(name, column) for name in types]
        found = [each.distinct for each in known if each is not None]
        return sum(found) if found and len(found) == len(types) else self.count(types)

    def is_point(self, node: PatternNode) -> bool:
        """Return whether a scan finds a variable's only row by its id or its key."""
        found = (equality(each) for each in node.filters)
        given = {each[0].property for each in found if each is not None}
        key = self._stored(node.types[0]).key if len(node.types) == 1 else ()
        return "id" in given or (bool(key) and given.issuperset(key))

    def must_be_read(self, node: PatternNode) -> int:
        """Return how many rows a scan has to read first: all that no index helps to find."""
        is_point, found = self.is_point(node), 0
        for name in node.types:
            stored = self._stored(name)
            table = self.snapshot.table(stored.identity)
            has_index = is_point or bool(pick_indexed(node.filters, stored))
            if not (table.takes_conditions and has_index) and not self.topology.has_numbering(
                table
            ):
                found += self._count(name)
        return found

    def degree(
        self, steps: Sequence[Step], source: tuple[str, ...], target: tuple[str, ...]
    ) -> float:
        """Return the mean number of nodes that one step leads to from a node of some types."""
        key = (tuple(steps), source, target)
        if key not in self._degrees:
            edges = sum(self._edges(step, source, target) for step in steps)
            self._degrees[key] = edges / max(self.count(source), 1)
        return self._degrees[key]

    def leads_to_one(self, steps: Sequence[Step], source: tuple[str, ...]) -> bool:
        """Return whether a step leads to one node at most, as from a person to a city.

        Of edges that were not followed that way yet, it is assumed when they are few enough.
        """
        if len(steps) != 1 or steps[0].direction is Direction.BOTH:
            return False
        table = self.snapshot.table(self._stored(steps[0].edge).identity)
        found = self.topology.degrees(table, backwards=steps[0].direction is Direction.IN)
        if found is None:
            return self._count(steps[0].edge) <= self.count(source)
        return found.most <= 1

    def entries(self, steps: Sequence[Step]) -> int:
        """Return how many edges there are of some steps."""
        return sum(self._count(step.edge) for step in steps)

    def reach(self, hops: Hops, degree: float, most: float) -> float:
        """Return about how many nodes are within the hops of one, of `most` at all."""
        if hops.is_single:
            return degree
        reached, level = float(hops.minimum == 0), 1.0
        for distance in range(1, min(hops.maximum or _MOST_HOPS, _MOST_HOPS) + 1):
            level = min(level * degree, most)
            reached += level if distance >= hops.minimum else 0.0
        return min(reached, most)

    def share_of_link(self, link: PatternLink) -> float:
        """Return the share of a named edge's rows for which its conditions are true."""
        edges = tuple(dict.fromkeys(step.edge for step in link.steps))
        return self.share(link.edge_filters, edges)

    def share_between(self, predicates: Sequence[Predicate]) -> float:
        """Return the share of rows for which conditions on several variables are true."""
        return prod(_EQUAL if _is_equality(each) else _RANGE for each in predicates)

    def _edges(self, step: Step, source: tuple[str, ...], target: tuple[str, ...]) -> float:
        edge = self.snapshot.catalog.edges[step.edge]
        found = 0.0
        if step.direction is not Direction.IN and edge.source in source and edge.target in target:
            found += self._count(step.edge)
        if step.direction is not Direction.OUT and edge.target in source and edge.source in target:
            found += self._count(step.edge)
        return found

    def _shares(self, predicates: Sequence[Predicate], types: tuple[str, ...]) -> Iterator[float]:
        """Yield the shares of conditions; the bounds of one column's range count as one."""
        ranges: dict[str, list[float]] = {}
        for each in predicates:
            share = self._share(each, types)
            column = _range_of(each)
            if column is None:
                yield share
            else:
                ranges.setdefault(column, []).append(share)
        for shares in ranges.values():
            yield max(sum(shares) - len(shares) + 1, min(shares) * _LEAST_RANGE)

    def _share(self, predicate: Predicate, types: tuple[str, ...]) -> float:
        match predicate:
            case And(items):
                return self.share(items, types)
            case Or(items):
                return 1.0 - prod(1.0 - self._share(each, types) for each in items)
            case Not(item):
                return 1.0 - self._share(item, types)
            case NullTest(operand, negated):
                nulls = self._nulls(operand, types)
                return 1.0 - nulls if negated else nulls
            case TextMatch():
                return _MATCH
            case Comparison(PropertyRef() as field, operator, right):
                return self._compare(field, operator, right, types)
            case Comparison(left, operator, PropertyRef() as field) if operator is not Operator.IN:
                return self._compare(field, TURNED.get(operator, operator), left, types)
            case _:
                return _RANGE

    def _compare(
        self, field: PropertyRef, operator: Operator, right: Expr, types: tuple[str, ...]
    ) -> float:
        """Return the mean share over the types, by the rows that each of them has."""
        total = max(self.count(types), 1)
        return sum(
            self._count(name) / total * self._compare_column(name, field.property, operator, right)
            for name in types
        )

    def _compare_column(self, name: str, column: str, operator: Operator, right: Expr) -> float:
        if operator in _TEXT:
            return _TEXT[operator]
        known = self._column(name, column)
        if operator is Operator.IN:
            items = self._items(right)
            return min(sum(self._share_equal(name, column, known, each) for each in items), 1.0)
        value = self.value_of(right) if isinstance(right, Constant | ParamRef) else None
        if operator in _ORDERINGS:
            return self._share_ordered(known, operator, value)
        equal = self._share_equal(name, column, known, value)
        return equal if operator is Operator.EQUAL else 1.0 - equal

    def _share_equal(
        self, name: str, column: str, known: ColumnStatistics | None, value: object
    ) -> float:
        stored = self._stored(name)
        if column == "id" or stored.key == (column,):
            return 1 / max(self._count(name), 1)
        if known is not None:
            return known.share_equal(value)
        return (
            min(_EQUAL, _INDEXED / max(self._count(name), 1))
            if self._is_indexed(name, column)
            else _EQUAL
        )

    def _share_ordered(
        self, known: ColumnStatistics | None, operator: Operator, value: object
    ) -> float:
        if known is None or value is None:
            return _RANGE
        inclusive = operator in (Operator.LESS_EQUAL, Operator.GREATER)
        below = known.share_below(value, inclusive=inclusive)
        if below is None:
            return _RANGE
        is_below = operator in (Operator.LESS, Operator.LESS_EQUAL)
        return below if is_below else max(1.0 - known.nulls - below, 0.0)

    def _items(self, right: Expr) -> Sequence[object]:
        match right:
            case ListOf(items, _):
                return [self.value_of(each) for each in items]
            case Constant() | ParamRef():
                found = self.value_of(right)
                return found if isinstance(found, tuple) else (None,) * 3
            case _:
                return (None,) * 3

    def _nulls(self, operand: Expr, types: tuple[str, ...]) -> float:
        if not isinstance(operand, PropertyRef):
            return _NULL
        known = [self._column(name, operand.property) for name in types]
        shares = [_NULL if each is None else each.nulls for each in known]
        return sum(shares) / max(len(shares), 1)

    def _column(self, name: str, column: str) -> ColumnStatistics | None:
        key = (name, column)
        if key not in self._columns:
            stored = self._stored(name)
            has = column != "id" and stored.column(column) is not None
            table = self.snapshot.table(stored.identity)
            self._columns[key] = (
                self.topology.statistics(table, column_name(stored, column)) if has else None
            )
        return self._columns[key]

    def _is_indexed(self, name: str, column: str) -> bool:
        specs = indexes_of(self._stored(name))
        return any(spec.column == column and spec.kind is IndexKind.BTREE for spec in specs)

    def _count(self, name: str) -> int:
        if name not in self._counts:
            self._counts[name] = self.snapshot.state(self._stored(name).identity).row_count
        return self._counts[name]

    def _stored(self, name: str) -> StoredType:
        found = self.snapshot.catalog.stored(name)
        assert found is not None
        return found


def _range_of(predicate: Predicate) -> str | None:
    """Return the column of which a condition is a bound, or None."""
    if not isinstance(predicate, Comparison) or predicate.operator not in _ORDERINGS:
        return None
    sides = (predicate.left, predicate.right)
    return next((each.property for each in sides if isinstance(each, PropertyRef)), None)


def _is_equality(predicate: Predicate) -> bool:
    return isinstance(predicate, Comparison) and predicate.operator is Operator.EQUAL
