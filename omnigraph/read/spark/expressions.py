"""Expressions: what the plan of a query computes for a row, as columns of Spark.

Everything means just what it means to the engine: numbers of different types are compared by their
exact values, null is unknown, and what is not a number is equal to nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as fn

from omnigraph.query.ast import Operator
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    EntityType,
    Expr,
    ListOf,
    Not,
    Now,
    NullTest,
    Or,
    ParamRef,
    Predicate,
    PropertyRef,
    TextMatch,
    VariableRef,
)
from omnigraph.read.execution import Run
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.rows import ONE
from omnigraph.read.spark.matches import ID, TYPE, Fixed, Matches
from omnigraph.schema.types import (
    F32,
    FLOATS,
    I32,
    U32,
    ListType,
    ScalarType,
    ValueType,
)
from omnigraph.spark.connector import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column


_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_EQUAL: ge,
}
# Whole numbers of these types are the same as floats.
_EXACT = (I32, U32)
_HALF = 2**32
_DECIMAL = "decimal(20,0)"


def fixed_value(run: Run, expr: Fixed) -> pa.Scalar:
    """Give the value that an expression has for all rows."""
    return Evaluation(run, ONE).value(expr)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Expressions over the rows of a frame."""

    run: Run
    matches: Matches

    def value(self, expr: Expr) -> "Column":
        """Give the value of an expression; of a whole node or edge, a struct of its id and type."""
        match expr:
            case PropertyRef(variable, name, kind):
                return fn.col(self.matches.entities[variable or ""].of((name, kind)))
            case VariableRef(variable, _):
                entity = self.matches.entities[variable]
                own = fn.struct(fn.col(entity.id).alias(ID), fn.col(entity.type).alias(TYPE))
                return fn.when(fn.col(entity.id).isNotNull(), own)
            case ColumnRef(name, _):
                computed = self.matches.columns[name]
                return fn.col(computed.column)
            case Constant() | ParamRef() | Now():
                kind = expr.type
                assert not isinstance(kind, ListType)
                return literal(fixed_value(self.run, expr), kind)
            case TextMatch():
                return self.truth(expr)
            case _:
                raise AssertionError(f"{expr} is computed by an operator of its own")

    def truth(self, predicate: Predicate) -> "Column":
        """Give the truth of a predicate: true, false or unknown."""
        match predicate:
            case And(items):
                return reduce(and_, map(self.truth, items))
            case Or(items):
                return reduce(or_, map(self.truth, items))
            case Not(item):
                return ~self.truth(item)
            case NullTest(operand, negated):
                missing = self._is_null(operand)
                return ~missing if negated else missing
            case TextMatch(field=field, query=query):
                if self.run.constant(query) is None:
                    return fn.lit(None).cast("boolean")
                found = fn.col(self.matches.found[predicate]).isNotNull()
                return fn.when(self.value(field).isNotNull(), found)
            case Comparison(left, operator, right):
                return self._compared(left, operator, right)

    def _is_null(self, operand: Expr) -> "Column":
        if isinstance(operand, ListOf):
            return fn.lit(col=False)
        if isinstance(operand, Constant | ParamRef | Now):
            return fn.lit(self.run.constant(operand) is None)
        return self.value(operand).isNull()

    def _compared(self, left: Expr, operator: Operator, right: Expr) -> "Column":
        match operator:
            case Operator.IN:
                return self._among(left, right)
            case Operator.CONTAINS if type_of(left) is None or isinstance(type_of(left), ListType):
                return self._among(right, left)
            case Operator.CONTAINS:
                return self.value(left).contains(self.value(right))
            case Operator.STARTS_WITH:
                return self.value(left).startswith(self.value(right))
            case _:
                kinds = type_of(left), type_of(right)
                return compared(self.value(left), kinds[0], operator, self.value(right), kinds[1])

    def _among(self, item: Expr, members: Expr) -> "Column":
        """Tell where a value is in a list; null is in none, and nobody knows whether in others."""
        value, kind = self.value(item), type_of(item)
        if isinstance(members, ListOf):
            by_type: dict[ValueType, list[pa.Scalar]] = {}
            for each in members.items:
                by_type.setdefault(each.type, []).append(fixed_value(self.run, each))
            tests = [_member(value, kind, found, own) for own, found in by_type.items()]
            return reduce(or_, tests, fn.lit(col=False))
        listed = type_of(members)
        assert isinstance(listed, ListType)
        own = ScalarType(listed.item)
        if isinstance(members, Constant | ParamRef):
            found = fixed_value(self.run, members)
            if not found.is_valid:
                return fn.lit(None).cast("boolean")
            return _member(value, kind, list(found.values), own)
        return _any(value, kind, self.value(members), own)


def _member(
    value: "Column",
    kind: "ValueType | EntityType | None",
    items: Sequence[pa.Scalar],
    own: ValueType,
) -> "Column":
    """Tell where a value is one of many; a chain of comparisons would be too deep for Spark."""
    if not items:
        return fn.lit(col=False)
    literals = [literal(each, own) for each in items]
    if own == kind and own not in FLOATS:
        return value.isin(literals)
    return _any(value, kind, fn.array(*literals), own)


def _any(
    value: "Column", kind: "ValueType | EntityType | None", members: "Column", own: ValueType
) -> "Column":
    """Tell where a value is equal to an item of a list."""
    return fn.exists(members, lambda each: compared(each, own, Operator.EQUAL, value, kind))


def compared(
    left: "Column",
    ours: "ValueType | EntityType | None",
    operator: Operator,
    right: "Column",
    theirs: "ValueType | EntityType | None",
) -> "Column":
    """Compare two values by their exact values; a node or edge is equal to itself only."""
    compare = _COMPARE[operator]
    if isinstance(ours, EntityType):
        same = (left[ID] == right[ID]) & (left[TYPE] == right[TYPE])
        return same if operator is Operator.EQUAL else ~same
    floats = [kind in FLOATS for kind in (ours, theirs)]
    if not any(floats):
        return compare(left, right)  # type: ignore[no-any-return]
    one, other = left.cast("double"), right.cast("double")
    found = compare(one, other)
    whole = [kind for kind in (ours, theirs) if kind not in FLOATS]
    if whole and whole[0] not in _EXACT:
        exact = compare(*map(_whole, (left, right), floats))
        found = fn.when(one == other, exact).otherwise(found)
    known = one.isNotNull() & other.isNotNull()
    is_no_number = fn.isnan(one) | fn.isnan(other)
    told = fn.when(is_no_number, fn.lit(operator is Operator.NOT_EQUAL)).otherwise(found)
    return fn.when(known, told)


def _whole(number: "Column", is_float: bool) -> "Column":
    """Give a whole number without loss. Spark makes decimals of the digits that it would print."""
    if not is_float:
        return number.cast(_DECIMAL)
    wide = number.cast("double")
    upper = fn.floor(wide / float(_HALF))
    lower = (wide - upper.cast("double") * float(_HALF)).cast("bigint")
    return upper.cast(_DECIMAL) * fn.lit(_HALF).cast("decimal(10,0)") + lower.cast(_DECIMAL)


def literal(value: pa.Scalar, kind: ValueType) -> "Column":
    """Give a value as Spark holds those of a type."""
    if not value.is_valid:
        return fn.lit(None).cast(spark_type(kind))
    if pa.types.is_date64(value.type):
        return fn.timestamp_millis(fn.lit(value.value))
    plain = str(value) if pa.types.is_unsigned_integer(value.type) else value.as_py()
    return fn.lit(plain).cast(spark_type(kind))


def positive_zero(column: "Column", kind: object) -> "Column":
    """Give floats with one zero instead of two, where values are told apart."""
    return (
        column + fn.lit(0).cast("float" if kind == F32 else "double") if kind in FLOATS else column
    )
