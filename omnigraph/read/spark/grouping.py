"""Grouping: rows of a frame with the same keys become one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column as Named
from omnigraph.query.comparing import result_type_of, type_of
from omnigraph.query.expr import (
    Aggregate,
    Collect,
    ColumnRef,
    Constant,
    EntityKind,
    EntityType,
    EveryRow,
    Expr,
    ListOf,
    Now,
    ParamRef,
    PropertyRef,
    VariableRef,
)
from omnigraph.query.plan import Aggregate as Grouping
from omnigraph.read.operators.project import object_fields
from omnigraph.read.spark.collecting import collect_lists, leaves_of
from omnigraph.read.spark.expressions import FrameExpressions, unify_zeros
from omnigraph.read.spark.matches import (
    ID,
    TYPE,
    ColumnNames,
    ComputedColumn,
    FrameMatches,
    join_null_safe,
)
from omnigraph.read.spark.overflow import check_sum, sum_counts
from omnigraph.read.spark.sums import sum_groups
from omnigraph.schema.types import FLOATS, is_integer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIXED = (Constant, ParamRef, Now, ListOf)

_WIDE = "decimal(20,0)"


def show(expressions: FrameExpressions, expr: Expr) -> "Column":
    """Return the value of an expression for a result: a whole node or edge with its properties."""
    if not isinstance(expr, VariableRef):
        return expressions.value(expr)
    entity = expressions.matches.entities[expr.variable]
    fields = object_fields(expr.type, expressions.execution.reader.snapshot.catalog)
    columns = [fn.col(entity.column_of(item)) for item in fields.items() if item[0] != "id"]
    named = [column.alias(f"p{at}") for at, column in enumerate(columns)]
    own = [fn.col(entity.id).alias(ID), fn.col(entity.type).alias(TYPE)]
    return fn.when(fn.col(entity.id).isNotNull(), fn.struct(*own, *named))


def project(
    expressions: FrameExpressions, columns: Sequence[Named], names: ColumnNames
) -> FrameMatches:
    """Return rows of the named columns alone; values that all rows share are added when packing."""
    found: dict[str, ComputedColumn] = {}
    made: list[Column] = []
    for each in columns:
        kind = result_type_of(each.expr)
        if isinstance(each.expr, FIXED):
            found[each.name] = ComputedColumn(kind, fixed=each.expr)
        elif (
            isinstance(each.expr, ColumnRef) and expressions.matches.columns[each.expr.column].fixed
        ):
            found[each.name] = expressions.matches.columns[each.expr.column]
        else:
            found[each.name] = ComputedColumn(kind, names.new())
            made.append(show(expressions, each.expr).alias(found[each.name].column))
    frame = expressions.matches.frame.select(*(made or [fn.lit(1).alias(names.new())]))
    return FrameMatches(frame, columns=found)


def drop_duplicates(matches: FrameMatches, names: ColumnNames) -> FrameMatches:
    """Return each different row of computed columns once."""
    made = {name: each for name, each in matches.columns.items() if each.fixed is None}
    if not made:
        # Not the first row alone: one of those after it may fail.
        rows = matches.frame.agg(fn.count(fn.lit(1)).alias(count := names.new()))
        return FrameMatches(rows.filter(fn.col(count) > 0), columns=matches.columns)
    keys = [_GroupKey(name, each.kind, fn.col(each.column)) for name, each in made.items()]
    groups = _KeyedFrame(matches.frame, keys, names)
    frame = groups.frame.groupBy(*groups.parts).agg(*groups.shown, fn.count(fn.lit(1)))
    return FrameMatches(frame, columns={**matches.columns, **groups.columns})


def group(expressions: FrameExpressions, plan: Grouping, names: ColumnNames) -> FrameMatches:
    """Return one row for each different set of keys; without keys exactly one."""
    keys = [
        _GroupKey(each.name, type_of(each.expr), show(expressions, each.expr)) for each in plan.keys
    ]
    if _are_groups(expressions, plan):
        return _count_rows(expressions, plan, keys, names)
    groups = _KeyedFrame(expressions.matches.frame, keys, names)
    aggregation = _FrameAggregation(expressions, groups, names)
    collects = {each.name: each.expr for each in plan.aggregates if isinstance(each.expr, Collect)}
    for column in plan.aggregates:
        if isinstance(column.expr, Aggregate):
            aggregation.add(column.name, column.expr)
    found = aggregation.matches()
    return _with_lists(expressions, groups, found, collects, names) if collects else found


def _are_groups(expressions: FrameExpressions, plan: Grouping) -> bool:
    """Return whether every row is a group of its own, of which only the rows are counted.

    So it is when the keys tell which nodes a row is of: no two rows are of the same ones.
    """
    matches = expressions.matches
    if matches.columns or not matches.entities or not all(map(_counts, plan.aggregates)):
        return False
    given: dict[str, set[str]] = {}
    for each in plan.keys:
        if not isinstance(each.expr, PropertyRef) or each.expr.type in FLOATS:
            return False
        given.setdefault(each.expr.variable or "", set()).add(each.expr.property)
    return all(
        _tell_apart(expressions, entity.kind, given.get(name, set()))
        for name, entity in matches.entities.items()
    )


def _counts(column: Named) -> bool:
    expr = column.expr
    return isinstance(expr, Aggregate) and expr.function == "count" and not expr.distinct


def _tell_apart(expressions: FrameExpressions, kind: EntityType, given: set[str]) -> bool:
    """Return whether properties tell a node from all others that a variable can stand for."""
    if len(kind.types) != 1 or kind.kind is not EntityKind.NODE:
        return False
    key = expressions.execution.reader.stored(kind.types[0]).key
    return "id" in given or (bool(key) and given.issuperset(key))


def _count_rows(
    expressions: FrameExpressions, plan: Grouping, keys: "Sequence[_GroupKey]", names: ColumnNames
) -> FrameMatches:
    """Return the rows with their keys, and with their weights as counts."""
    matches = expressions.matches
    weight = fn.lit(1) if matches.weight is None else fn.col(matches.weight)
    columns = {each.name: ComputedColumn(each.kind, names.new()) for each in keys}  # type: ignore[arg-type]
    made = [each.value.alias(columns[each.name].column) for each in keys]
    for each in plan.aggregates:
        assert isinstance(each.expr, Aggregate)
        columns[each.name] = ComputedColumn(each.expr.type, names.new())
        number = fn.when(_is_present(expressions, each.expr), weight).otherwise(0)
        made.append(number.cast("bigint").alias(columns[each.name].column))
    return FrameMatches(matches.frame.select(*made), columns=columns)


def _is_present(expressions: FrameExpressions, expr: Aggregate) -> "Column":
    """Return where the argument of a count is not null; what was only counted never is."""
    argument, entities = expr.argument, expressions.matches.entities
    is_counted = isinstance(argument, VariableRef) and argument.variable not in entities
    if is_counted or isinstance(argument, EveryRow):
        return fn.lit(col=True)
    return expressions.value(argument).isNotNull()


def _with_lists(
    expressions: FrameExpressions,
    groups: "_KeyedFrame",
    found: FrameMatches,
    collects: Mapping[str, Collect],
    names: ColumnNames,
) -> FrameMatches:
    """Return the groups with the lists that are made of their rows."""
    leaves = dict.fromkeys(leaf for each in collects.values() for leaf in leaves_of(each))
    shown = {leaf: show(expressions, leaf) for leaf in leaves}
    made = collect_lists(
        expressions, groups.frame, groups.parts, list(collects.values()), shown, names
    )
    on = list(zip(groups.parts, made.parts, strict=True))
    frame = join_null_safe(found.frame, made.frame, on, "left")
    lists = zip(collects.items(), made.lists, strict=True)
    own = {name: ComputedColumn(each.type, column) for (name, each), column in lists}
    return replace(found, frame=frame, columns={**found.columns, **own})


@dataclass(frozen=True, slots=True)
class _GroupKey:
    """A key of groups: its name, type and value; a node or edge equals only itself."""

    name: str
    kind: object
    value: "Column"


class _KeyedFrame:
    """The rows of a frame with the columns to group by, and what each group shows."""

    def __init__(self, frame: "DataFrame", keys: Sequence[_GroupKey], names: ColumnNames) -> None:
        self.parts: list[str] = []
        self.shown: list[Column] = []
        self.columns: dict[str, ComputedColumn] = {}
        values: list[Column] = []
        for key in keys:
            if isinstance(key.kind, EntityType):
                whole, own, result = names.new(), names.new_list(2), names.new()
                values += [key.value.alias(whole), key.value[ID].alias(own[0])]
                values.append(key.value[TYPE].alias(own[1]))
                self.parts += own
                self.shown.append(fn.first(whole).alias(result))
            else:
                result = names.new()
                values.append(unify_zeros(key.value, key.kind).alias(result))
                self.parts.append(result)
            self.columns[key.name] = ComputedColumn(key.kind, result)  # type: ignore[arg-type]
        self.frame = frame.select("*", *values)


class _FrameAggregation:
    """Aggregates over groups of rows; a row of weight n counts n times."""

    def __init__(
        self, expressions: FrameExpressions, groups: _KeyedFrame, names: ColumnNames
    ) -> None:
        self._expressions = expressions
        self._groups = groups
        self._names = names
        self._weight = expressions.matches.weight
        self._made: list[Column] = []
        self._sums: list[str] = []
        self._floats: dict[str, Aggregate] = {}
        self._columns: dict[str, ComputedColumn] = dict(groups.columns)

    def add(self, name: str, expr: Aggregate) -> None:
        """Compute one more aggregate; nulls do not take part."""
        column = self._names.new()
        self._columns[name] = ComputedColumn(expr.type, column)
        kind = type_of(expr.argument)
        match expr.function:
            case "count":
                self._made.append(self._count(expr).alias(column))
            case "min" | "max":
                extreme = fn.min if expr.function == "min" else fn.max
                value = unify_zeros(self._value(expr), kind)
                self._made.append(extreme(value).alias(column))
            case _ if is_integer(kind):
                self._made.append(self._sum_integers(expr, column))
            case _:
                self._floats[column] = expr

    def matches(self) -> FrameMatches:
        """Return the groups with all aggregates."""
        groups = self._groups
        made = [*groups.shown, *self._made, fn.count(fn.lit(1)).alias(self._names.new())]
        frame = groups.frame.groupBy(*groups.parts).agg(*made)
        for column in self._sums:
            frame = frame.filter(check_sum(fn.col(column)))
            frame = frame.withColumn(column, fn.col(column).cast("bigint"))
        for column, expr in self._floats.items():
            frame = self._add_float(frame, column, expr)
        return FrameMatches(frame, columns=self._columns)

    def _value(self, expr: Aggregate) -> "Column":
        return self._expressions.value(expr.argument)

    def _count(self, expr: Aggregate) -> "Column":
        argument, entities = expr.argument, self._expressions.matches.entities
        is_counted = isinstance(argument, VariableRef) and argument.variable not in entities
        if expr.distinct and not is_counted and not isinstance(argument, EveryRow):
            return fn.count_distinct(unify_zeros(self._value(expr), type_of(argument)))
        present = _is_present(self._expressions, expr)
        if self._weight is None:
            return fn.count(fn.when(present, 1))
        weights = fn.when(present, fn.col(self._weight))
        return fn.coalesce(sum_counts(weights), fn.lit(0).cast("bigint"))

    def _sum_integers(self, expr: Aggregate, column: str) -> "Column":
        """Return an exact sum, or an average, of whole numbers."""
        value = self._value(expr).cast(_WIDE)
        if expr.distinct:
            total = fn.sum_distinct(value)
        elif self._weight is None:
            total = fn.sum(value)
        else:
            total = fn.sum(value * fn.col(self._weight).cast("decimal(19,0)"))
        if expr.function == "sum":
            self._sums.append(column)
            return total.alias(column)
        return (total.cast("double") / self._count(expr).cast("double")).alias(column)

    def _add_float(self, frame: "DataFrame", column: str, expr: Aggregate) -> "DataFrame":
        """Return the groups with a sum or an average of floats."""
        parts = self._groups.parts
        value = self._value(expr).cast("double")
        weight = None if expr.distinct else self._weight
        if expr.distinct:
            value = unify_zeros(self._value(expr), type_of(expr.argument)).cast("double")
        names = self._names.new_list(len(parts) + 1)
        weights = [] if weight is None else [fn.col(weight).alias(self._names.new())]
        single = self._groups.frame.select(
            *(fn.col(part).alias(name) for part, name in zip(parts, names[:-1], strict=True)),
            value.alias(names[-1]),
            *weights,
        )
        single = single.filter(fn.col(names[-1]).isNotNull())
        single = single.distinct() if expr.distinct else single
        averages = expr.function == "avg"
        sums = sum_groups(single, weighed=weight is not None, averages=averages)
        both = join_null_safe(frame, sums, list(zip(parts, names[:-1], strict=True)), "left")
        return both.withColumn(column, fn.col(names[-1]))
