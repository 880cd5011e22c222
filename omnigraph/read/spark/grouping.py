"""Grouping: rows of a frame with the same keys become one, on Spark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.query.checked import Column as Named
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import (
    Aggregate,
    ColumnRef,
    Constant,
    EntityType,
    Expr,
    ListOf,
    Now,
    ParamRef,
    VariableRef,
)
from omnigraph.query.plan import Aggregate as Grouping
from omnigraph.read.operators.project import object_fields
from omnigraph.read.spark.expressions import Expressions, positive_zero
from omnigraph.read.spark.matches import (
    ID,
    TYPE,
    Computed,
    Matches,
    Names,
    joined_null_safe,
)
from omnigraph.read.spark.overflow import counted, fits
from omnigraph.read.spark.sums import sums_of
from omnigraph.schema.types import is_integer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIXED = (Constant, ParamRef, Now, ListOf)

_WIDE = "decimal(20,0)"


def shown(expressions: Expressions, expr: Expr) -> "Column":
    """Give the value of an expression for a result: a whole node or edge with its properties."""
    if not isinstance(expr, VariableRef):
        return expressions.value(expr)
    entity = expressions.matches.entities[expr.variable]
    fields = object_fields(expr.type, expressions.run.reader.snapshot.catalog)
    columns = [fn.col(entity.of(item)) for item in fields.items() if item[0] != "id"]
    named = [column.alias(f"p{at}") for at, column in enumerate(columns)]
    own = [fn.col(entity.id).alias(ID), fn.col(entity.type).alias(TYPE)]
    return fn.when(fn.col(entity.id).isNotNull(), fn.struct(*own, *named))


def projected(expressions: Expressions, columns: Sequence[Named], names: Names) -> Matches:
    """Give rows of the named columns alone; what is the same for all rows is not made yet."""
    found: dict[str, Computed] = {}
    made: list[Column] = []
    for each in columns:
        kind = type_of(each.expr)
        if isinstance(each.expr, FIXED):
            found[each.name] = Computed(kind, fixed=each.expr)
        elif (
            isinstance(each.expr, ColumnRef) and expressions.matches.columns[each.expr.column].fixed
        ):
            found[each.name] = expressions.matches.columns[each.expr.column]
        else:
            found[each.name] = Computed(kind, names.new())
            made.append(shown(expressions, each.expr).alias(found[each.name].column))
    frame = expressions.matches.frame.select(*(made or [fn.lit(1).alias(names.new())]))
    return Matches(frame, columns=found)


def distinct(matches: Matches, names: Names) -> Matches:
    """Give each different row of computed columns once."""
    made = {name: each for name, each in matches.columns.items() if each.fixed is None}
    if not made:
        return Matches(matches.frame.limit(1), columns=matches.columns)
    keys = [_Key(name, each.kind, fn.col(each.column)) for name, each in made.items()]
    groups = _Groups(matches.frame, keys, names)
    frame = groups.frame.groupBy(*groups.parts).agg(*groups.shown, fn.count(fn.lit(1)))
    return Matches(frame, columns={**matches.columns, **groups.columns})


def grouped(expressions: Expressions, plan: Grouping, names: Names) -> Matches:
    """Give one row for each different set of keys; without keys exactly one."""
    keys = [
        _Key(each.name, type_of(each.expr), shown(expressions, each.expr)) for each in plan.keys
    ]
    groups = _Groups(expressions.matches.frame, keys, names)
    aggregation = _Aggregation(expressions, groups, names)
    for column in plan.aggregates:
        assert isinstance(column.expr, Aggregate)
        aggregation.add(column.name, column.expr)
    return aggregation.matches()


@dataclass(frozen=True, slots=True)
class _Key:
    """A key of groups: its name, its type and its value; a node or edge is equal to itself only."""

    name: str
    kind: object
    value: "Column"


class _Groups:
    """The rows of a frame with columns that tell their groups, and what is shown of each group."""

    def __init__(self, frame: "DataFrame", keys: Sequence[_Key], names: Names) -> None:
        self.parts: list[str] = []
        self.shown: list[Column] = []
        self.columns: dict[str, Computed] = {}
        values: list[Column] = []
        for key in keys:
            if isinstance(key.kind, EntityType):
                whole, own, result = names.new(), names.several(2), names.new()
                values += [key.value.alias(whole), key.value[ID].alias(own[0])]
                values.append(key.value[TYPE].alias(own[1]))
                self.parts += own
                self.shown.append(fn.first(whole).alias(result))
            else:
                result = names.new()
                values.append(positive_zero(key.value, key.kind).alias(result))
                self.parts.append(result)
            self.columns[key.name] = Computed(key.kind, result)  # type: ignore[arg-type]
        self.frame = frame.select("*", *values)


class _Aggregation:
    """Aggregates over groups of rows; a row of weight n counts n times."""

    def __init__(self, expressions: Expressions, groups: _Groups, names: Names) -> None:
        self._expressions = expressions
        self._groups = groups
        self._names = names
        self._weight = expressions.matches.weight
        self._made: list[Column] = []
        self._sums: list[str] = []
        self._floats: dict[str, tuple[Aggregate, str]] = {}
        self._columns: dict[str, Computed] = dict(groups.columns)

    def add(self, name: str, expr: Aggregate) -> None:
        """Compute one more aggregate; nulls do not take part."""
        column = self._names.new()
        self._columns[name] = Computed(expr.type, column)
        kind = type_of(expr.argument)
        match expr.function:
            case "count":
                self._made.append(self._count(expr).alias(column))
            case "min" | "max":
                extreme = fn.min if expr.function == "min" else fn.max
                value = positive_zero(self._value(expr), kind)
                self._made.append(extreme(value).alias(column))
            case _ if is_integer(kind):
                self._made.append(self._whole(expr, column))
            case _:
                count = self._names.new()
                self._made.append(self._count(expr).alias(count))
                self._floats[column] = (expr, count)

    def matches(self) -> Matches:
        """Give the groups with all aggregates."""
        groups = self._groups
        made = [*groups.shown, *self._made, fn.count(fn.lit(1)).alias(self._names.new())]
        frame = groups.frame.groupBy(*groups.parts).agg(*made)
        for column in self._sums:
            frame = frame.filter(fits(fn.col(column)))
            frame = frame.withColumn(column, fn.col(column).cast("bigint"))
        for column, (expr, count) in self._floats.items():
            frame = self._with_float(frame, column, expr, count)
        return Matches(frame, columns=self._columns)

    def _value(self, expr: Aggregate) -> "Column":
        return self._expressions.value(expr.argument)

    def _count(self, expr: Aggregate) -> "Column":
        argument, entities = expr.argument, self._expressions.matches.entities
        if isinstance(argument, VariableRef) and argument.variable not in entities:
            present = fn.lit(col=True)  # it was counted, and so it is never null
        elif expr.distinct:
            return fn.count_distinct(positive_zero(self._value(expr), type_of(argument)))
        else:
            present = self._value(expr).isNotNull()
        if self._weight is None:
            return fn.count(fn.when(present, 1))
        weights = fn.when(present, fn.col(self._weight)).cast("decimal(19,0)")
        return fn.coalesce(counted(fn.sum(weights)), fn.lit(0).cast("bigint"))

    def _whole(self, expr: Aggregate, column: str) -> "Column":
        """Give a sum or an average of whole numbers, which are added exactly."""
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

    def _with_float(
        self, frame: "DataFrame", column: str, expr: Aggregate, count: str
    ) -> "DataFrame":
        """Give the groups with a sum or an average of floats."""
        parts = self._groups.parts
        value = self._value(expr).cast("double")
        if expr.distinct:
            value = positive_zero(self._value(expr), type_of(expr.argument)).cast("double")
        elif self._weight is not None:
            value = value * fn.col(self._weight).cast("double")
        names = self._names.several(len(parts) + 1)
        single = self._groups.frame.select(*parts, value.alias("value")).toDF(*names)
        single = single.filter(fn.col(names[-1]).isNotNull())
        sums = sums_of(single.distinct() if expr.distinct else single)
        both = joined_null_safe(frame, sums, list(zip(parts, names[:-1], strict=True)), "left")
        total = fn.col(names[-1])
        if expr.function == "avg":
            total = total / fn.nullif(fn.col(count), fn.lit(0)).cast("double")
        return both.withColumn(column, total)
