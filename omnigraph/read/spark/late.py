"""Late: what only a result shows of nodes is read for the rows that a limit keeps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column
from omnigraph.query.expr import (
    ColumnRef,
    EntityKind,
    EntityType,
    Expr,
    PropertyRef,
    VariableRef,
    columns_of,
    map_leaves,
)
from omnigraph.query.plan import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Limit,
    NodeScan,
    Operator,
    Order,
    Project,
    Union,
)
from omnigraph.read.spark.frames import SnapshotFrames
from omnigraph.read.spark.matches import TypedProperty
from omnigraph.read.spark.usage import find_properties, is_led_on
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import FLOATS, STRING

# Up to this many rows are sent to the tasks that read the tables of their nodes.
_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class LateNode:
    """What is read of a variable after the limit; of groups, `id_column` tells which node."""

    kind: EntityType
    properties: list[TypedProperty]
    id_column: str | None


@dataclass(frozen=True, slots=True)
class LatePlan:
    """The operators of a read, and what they read of each variable before and after a limit."""

    operators: tuple[Operator, ...]
    early: Mapping[str, list[TypedProperty]]
    late: Mapping[str, LateNode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The end of a read: groups and conditions on them, if any, an order, a limit, and columns."""

    pattern: tuple[Operator, ...]
    groups: Aggregate | None
    tests: tuple[Operator, ...]
    order: Order
    limit: Limit
    shown: Project

    @property
    def before(self) -> tuple[Operator, ...]:
        """All that is done before the limit."""
        groups = () if self.groups is None else (self.groups,)
        return (*self.pattern, *groups, *self.tests, self.order)

    @property
    def operators(self) -> tuple[Operator, ...]:
        return (*self.before, self.limit, self.shown)


def plan_late(
    operators: Sequence[Operator], frames: SnapshotFrames, catalog: Catalog, kept: int | None
) -> LatePlan:
    """Return a read whose limit keeps so many rows, with what can wait until then put off.

    What is not read off an id costs a join of all rows with the table of the nodes. The nodes of
    the rows that are kept are joined instead, where this does not change which rows these are.
    """
    tail = _split(operators)
    if tail is None or kept is None or kept > _MOST_KEPT:
        return LatePlan(tuple(operators), find_properties(operators, catalog))
    return _Postponing(frames, catalog).plan(tail)


def _split(operators: Sequence[Operator]) -> _Tail | None:
    match operators:
        case [*before, Order() as order, Limit() as limit, Project() as shown]:
            at = next((at for at, each in enumerate(before) if isinstance(each, Aggregate)), None)
            if any(isinstance(each, Distinct | Union | Project) for each in before):
                return None
            if at is None:
                return _Tail(tuple(before), None, (), order, limit, shown)
            groups, tests = before[at], tuple(before[at + 1 :])
            assert isinstance(groups, Aggregate)
            return _Tail(tuple(before[:at]), groups, tests, order, limit, shown)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Postponing:
    """Puts off what is read of nodes whose tables do not travel with the query."""

    frames: SnapshotFrames
    catalog: Catalog

    def plan(self, tail: _Tail) -> LatePlan:
        """Return the read with all put off that can wait."""
        late: dict[str, LateNode] = {}
        for name, kind in _joined(tail.pattern):
            found = (tail, None) if tail.groups is None else self._group_by_id(tail, name, kind)
            if found is None or all(map(self.frames.is_sent, kind.types)):
                continue
            changed, id_column = found
            if shown := self._find_shown(changed, name, kind):
                tail = changed
                late[name] = LateNode(kind, shown, id_column)
        early = dict(find_properties(tail.operators, self.catalog))
        before = find_properties(tail.before, self.catalog)
        early |= {name: before.get(name, []) for name in late}
        return LatePlan(tail.operators, early, late)

    def _find_shown(self, tail: _Tail, name: str, kind: EntityType) -> list[TypedProperty]:
        """Return what is shown of a node, if that takes a join and nothing before takes one."""
        before = find_properties(tail.before, self.catalog).get(name, [])
        shown = find_properties((tail.shown,), self.catalog).get(name, [])
        can_wait = all(self.frames.is_told(kind, item) for item in before)
        return (
            shown if can_wait and not all(self.frames.is_told(kind, item) for item in shown) else []
        )

    def _group_by_id(self, tail: _Tail, name: str, kind: EntityType) -> tuple[_Tail, str] | None:
        """Return groups by the id of a node instead of by what else the keys show of it.

        The second is the column with the ids, or with the numbers if groups are by these anyway.

        So the groups stay the same if a key tells the node from all others. Their order stays the
        same if by then, of two nodes, such a key has said which comes first.
        """
        assert tail.groups is not None
        own = {each.name: each.expr for each in tail.groups.keys if _is_of(each.expr, name)}
        telling = {column for column, expr in own.items() if self._tells(kind, expr)}
        asked = _asked_columns(tail)
        late = {
            column: expr
            for column, expr in own.items()
            if column not in asked and self._can_wait(kind, expr)
        }
        by = [key.expr.column for key in tail.order.keys if isinstance(key.expr, ColumnRef)]
        places = [*by, *tail.order.ties]
        first = min((places.index(column) for column in telling if column in places), default=None)
        if first is None or len(kind.types) > 1 or not late:
            return None
        if any(places.index(column) < first for column in late):
            return None
        numbers = [column for column, expr in own.items() if self._is_number(kind, expr)]
        if numbers and not any(isinstance(each, VariableRef) for each in late.values()):
            return _show_late(tail, late), numbers[0]
        return _put_off(tail, name, late), _id_column(name)

    def _tells(self, kind: EntityType, expr: Expr) -> bool:
        """Return whether a key of groups tells a node from all others."""
        return isinstance(expr, VariableRef) or (
            isinstance(expr, PropertyRef) and self.frames.is_told(kind, (expr.property, expr.type))
        )

    def _is_number(self, kind: EntityType, expr: Expr) -> bool:
        """Return whether a key of groups is the integer that is the key of a node."""
        is_key = isinstance(expr, PropertyRef) and expr.property != "id"
        return is_key and self._tells(kind, expr) and self.frames.is_numbered(kind)

    def _can_wait(self, kind: EntityType, expr: Expr) -> bool:
        """Return whether a key of groups is shown as it is read: of zeros, groups keep one."""
        if isinstance(expr, PropertyRef):
            known = self.frames.is_told(kind, (expr.property, expr.type))
            return not known and expr.type not in FLOATS
        return isinstance(expr, VariableRef)


def _put_off(tail: _Tail, name: str, late: Mapping[str, Expr]) -> _Tail:
    """Return groups by the id of a node, and columns that show of it what was a key before."""
    row_id = Column(_id_column(name), PropertyRef(name, "id", STRING))
    # Objects are ordered by their ids.
    objects = {column for column, expr in late.items() if isinstance(expr, VariableRef)}
    ties = [row_id.name if each in objects else each for each in tail.order.ties]
    changed = replace(tail, order=replace(tail.order, ties=tuple(dict.fromkeys(ties))))
    found = _show_late(changed, late)
    assert found.groups is not None
    groups = replace(found.groups, keys=(*found.groups.keys, row_id))
    return replace(found, groups=groups)


def _show_late(tail: _Tail, late: Mapping[str, Expr]) -> _Tail:
    """Return groups without some keys, and columns that show these instead."""
    assert tail.groups is not None
    keys = tuple(each for each in tail.groups.keys if each.name not in late)
    ties = tuple(each for each in tail.order.ties if each not in late)

    def shown(expr: Expr) -> Expr:
        return late.get(expr.column, expr) if isinstance(expr, ColumnRef) else expr

    columns = (replace(each, expr=map_leaves(each.expr, shown)) for each in tail.shown.columns)
    return replace(
        tail,
        groups=replace(tail.groups, keys=keys),
        order=replace(tail.order, ties=ties),
        shown=Project(tuple(columns)),
    )


def _joined(pattern: Sequence[Operator]) -> Iterator[tuple[str, EntityType]]:
    """Yield the variables whose properties are joined to the rows of a pattern."""
    for at, operator in enumerate(pattern):
        following = pattern[at + 1] if at + 1 < len(pattern) else None
        if isinstance(operator, NodeScan) and at == 0 and is_led_on(operator, following):
            yield operator.variable, EntityType(EntityKind.NODE, operator.types)
        if isinstance(operator, Expand) and not operator.closes and not operator.counted:
            yield operator.target, EntityType(EntityKind.NODE, operator.types)


def _is_of(expr: Expr, name: str) -> bool:
    return isinstance(expr, PropertyRef | VariableRef) and expr.variable == name


def _asked_columns(tail: _Tail) -> set[str]:
    """Return the columns of groups that conditions and the keys of the order read."""
    tests = [each.predicate for each in tail.tests if isinstance(each, Filter)]
    return set().union(*map(columns_of, (*tests, *(key.expr for key in tail.order.keys))))


def _id_column(variable: str) -> str:
    return f"#id {variable}"
