"""Expressions: what a plan computes for a row, as columns of Spark.

Everything means what it means to the engine: numbers of different types are compared by their exact
values, null is unknown, and NaN equals nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as fn

from omnigraph.frozen import dataclass
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import (
    And,
    Call,
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
    PathPart,
    Predicate,
    PropertyRef,
    TextMatch,
    VariableRef,
    map_leaves,
    map_operands,
    may_fail,
    parts,
    path_column,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.query.planning.explain import expr_text
from omnigraph.read.execution import Execution
from omnigraph.read.matches import ONE_ROW
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.spark.computing import Computation, compute_column
from omnigraph.read.spark.matches import ID, TYPE, FixedExpr, FrameMatches
from omnigraph.schema.types import (
    BOOL,
    F32,
    FLOATS,
    I32,
    U32,
    ListType,
    ScalarType,
    ValueType,
)
from omnigraph.spark.connector import to_spark_type

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
# Integers of these types are exact as 64-bit floats.
_EXACT = (I32, U32)
_HALF = 2**32
_DECIMAL = "decimal(20,0)"


def evaluate_fixed(execution: Execution, expr: FixedExpr) -> pa.Scalar:
    """Return the one value that an expression has for all rows."""
    return Evaluation(execution, ONE_ROW).value(expr)


@dataclass(frozen=True, slots=True)
class FrameExpressions:
    """Expressions over the rows of a frame."""

    execution: Execution
    matches: FrameMatches

    def value(self, expr: Expr) -> "Column":
        """Return the value of an expression; a node or edge is a struct of its id and type."""
        match expr:
            case PropertyRef(variable, name, kind):
                return fn.col(self.matches.entities[variable or ""].column_of((name, kind)))
            case VariableRef(variable, _):
                entity = self.matches.entities[variable]
                own = fn.struct(fn.col(entity.id).alias(ID), fn.col(entity.type).alias(TYPE))
                return fn.when(fn.col(entity.id).isNotNull(), own)
            case ColumnRef(name, _):
                return fn.col(self.matches.columns[name].column)
            case PathPart(path, part, _):
                return fn.col(self.matches.columns[path_column(path, part)].column)
            case Constant() | ParamRef() | Now() | ListOf():
                shown = type_of(expr)
                assert shown is not None
                assert not isinstance(shown, EntityType)
                return to_literal(evaluate_fixed(self.execution, expr), shown)
            case TextMatch():
                return self.truth(expr)
            case Call("coalesce", arguments, kind) if not may_fail(expr):
                known = (self.value(each).cast(to_spark_type(kind)) for each in arguments)
                return fn.coalesce(*known)
            case Call():
                return self._compute(expr)
            case _:
                raise AssertionError(f"{expr} is computed by an operator of its own")

    def truth(self, predicate: Predicate) -> "Column":
        """Return the truth of a predicate: true, false or unknown."""
        if may_fail(predicate):
            return self._compute(predicate)
        match predicate:
            case And(items):
                return _balanced([self.truth(each) for each in items], and_)
            case Or(items):
                return _balanced([self.truth(each) for each in items], or_)
            case Not(item):
                return ~self.truth(item)
            case NullTest(operand, negated):
                missing = self._is_null(operand)
                return ~missing if negated else missing
            case TextMatch(field=field, query=query):
                if self.execution.constant(query) is None:
                    return fn.lit(None).cast("boolean")
                found = fn.col(self.matches.found[predicate]).isNotNull()
                return fn.when(self.value(field).isNotNull(), found)
            case Comparison(left, operator, right):
                return self._compare(left, operator, right)

    def _compute(self, node: Call | Predicate) -> "Column":
        """Return what the engine's own code computes, from what Spark holds for it."""
        inputs = _Inputs(self)
        own = inputs.of_call(node) if isinstance(node, Call) else inputs.of_condition(node)
        named = {part.name for part in parts(node) if isinstance(part, ParamRef)}
        params = {name: self.execution.params[name] for name in named}
        computation = Computation(own, inputs.kinds, params, self.execution.now)
        return compute_column(computation, inputs.columns)

    def _is_null(self, operand: Expr) -> "Column":
        if isinstance(operand, ListOf):
            return fn.lit(col=False)
        if isinstance(operand, Constant | ParamRef | Now):
            return fn.lit(self.execution.constant(operand) is None)
        return self.value(operand).isNull()

    def _compare(self, left: Expr, operator: Operator, right: Expr) -> "Column":
        match operator:
            case Operator.IN:
                return self._is_among(left, right)
            case Operator.CONTAINS if type_of(left) is None or isinstance(type_of(left), ListType):
                return self._is_among(right, left)
            case Operator.CONTAINS:
                return self.value(left).contains(self.value(right))
            case Operator.STARTS_WITH:
                return self.value(left).startswith(self.value(right))
            case _:
                kinds = type_of(left), type_of(right)
                return compare(self.value(left), kinds[0], operator, self.value(right), kinds[1])

    def _is_among(self, item: Expr, members: Expr) -> "Column":
        """Return where a value is in a list; unknown for null, except in an empty list."""
        if isinstance(members, ListOf):
            by_type: dict[ValueType, list[pa.Scalar]] = {}
            for each in members.items:
                by_type.setdefault(each.type, []).append(evaluate_fixed(self.execution, each))
            tests = [self._equals_one(item, found, own) for own, found in by_type.items()]
            return reduce(or_, tests, fn.lit(col=False))
        listed = type_of(members)
        assert isinstance(listed, ListType)
        own = ScalarType(listed.item)
        if isinstance(members, Constant | ParamRef):
            found = evaluate_fixed(self.execution, members)
            if not found.is_valid:
                return fn.lit(None).cast("boolean")
            return self._equals_one(item, list(found.values), own)
        return _equals_any(self.value(item), type_of(item), self.value(members), own)

    def _equals_one(self, item: Expr, items: Sequence[pa.Scalar], own: ValueType) -> "Column":
        """Return where a value is one of many; a chain of comparisons would be too deep for Spark.

        The values are given as one text: each literal of its own is several calls of the JVM, so
        that 8,192 of them would take a quarter of a minute.
        """
        if not items:
            return fn.lit(col=False)
        kind, texts = type_of(item), ", ".join(_literal_text(each, own) for each in items)
        if own == kind and own not in FLOATS and isinstance(item, PropertyRef):
            entity = self.matches.entities[item.variable or ""]
            name = entity.column_of((item.property, item.type))
            return fn.expr(f"{_quote_name(name)} IN ({texts})")
        return _equals_any(self.value(item), kind, fn.expr(f"array({texts})"), own)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The columns that something is computed from, by the names that it then has for them.

    The name of a property is its text, which is what an error shows.
    """

    expressions: FrameExpressions
    columns: "dict[str, Column]" = field(default_factory=dict)
    kinds: dict[str, ValueType] = field(default_factory=dict)

    def of_call(self, expr: Expr) -> Call:
        """Return a function of these columns."""
        found = map_leaves(expr, self._leaf)
        assert isinstance(found, Call)
        return found

    def of_condition(self, predicate: Predicate) -> Predicate:
        """Return a condition on these columns; what cannot fail in it is a column of its own."""
        if not may_fail(predicate):
            known = self._add(f"#truth{len(self.columns)}", self.expressions.truth(predicate), BOOL)
            return Comparison(known, Operator.EQUAL, Constant(value=True, type=BOOL))
        match predicate:
            case And(items):
                return And(tuple(map(self.of_condition, items)))
            case Or(items):
                return Or(tuple(map(self.of_condition, items)))
            case Not(item):
                return Not(self.of_condition(item))
            case _:
                return map_operands(predicate, lambda each: map_leaves(each, self._leaf))

    def _leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Constant | ParamRef | Now | ListOf):
            return expr
        kind = type_of(expr)
        assert kind is not None
        assert not isinstance(kind, EntityType)
        name = expr.column if isinstance(expr, ColumnRef) else expr_text(expr)
        if self.kinds.get(name, kind) != kind:
            name = f"{name}: {kind}"
        return self._add(name, self.expressions.value(expr), kind)

    def _add(self, name: str, column: "Column", kind: ValueType) -> ColumnRef:
        self.columns[name], self.kinds[name] = column, kind
        return ColumnRef(name, kind)


def _balanced(items: "Sequence[Column]", combine: Callable[..., Any]) -> "Column":
    """Combine columns as a tree of little depth; a chain of hundreds is too deep for Spark."""
    while len(items) > 1:
        pairs = [items[at : at + 2] for at in range(0, len(items), 2)]
        items = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return items[0]


def _quote_name(name: str) -> str:
    """Return the name of a column as Spark's SQL writes it."""
    return f"`{name.replace('`', '``')}`"


def _literal_text(value: pa.Scalar, kind: ValueType) -> str:
    """Return a value as Spark's SQL writes those of a type."""
    wanted = to_spark_type(kind).simpleString()
    if not value.is_valid:
        return f"cast(NULL AS {wanted})"
    if pa.types.is_date64(value.type):
        return f"timestamp_millis({value.value})"
    plain = str(value) if pa.types.is_unsigned_integer(value.type) else value.as_py()
    if isinstance(plain, str) and wanted == "string":
        return f"cast(X'{plain.encode().hex()}' AS string)"  # whatever characters it has
    return f"cast('{plain}' AS {wanted})"


def _equals_any(
    value: "Column", kind: "ValueType | EntityType | None", members: "Column", own: ValueType
) -> "Column":
    """Return where a value equals an item of a list."""

    def is_among(value: "Column") -> "Column":
        return fn.exists(members, lambda each: compare(each, own, Operator.EQUAL, value, kind))

    # A function of Python may be the argument of a lambda of Spark, but not stand within one.
    return fn.element_at(fn.transform(fn.array(value), is_among), 1)


def compare(
    left: "Column",
    ours: "ValueType | EntityType | None",
    operator: Operator,
    right: "Column",
    theirs: "ValueType | EntityType | None",
) -> "Column":
    """Compare two values exactly; a node or edge equals only itself."""
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
        exact = compare(*map(_to_decimal, (left, right), floats))
        found = fn.when(one == other, exact).otherwise(found)
    known = one.isNotNull() & other.isNotNull()
    has_nan = fn.isnan(one) | fn.isnan(other)
    truth = fn.when(has_nan, fn.lit(operator is Operator.NOT_EQUAL)).otherwise(found)
    return fn.when(known, truth)


def _to_decimal(number: "Column", is_float: bool) -> "Column":
    """Return a whole number without loss. Spark would make a decimal of the digits it prints."""
    if not is_float:
        return number.cast(_DECIMAL)
    wide = number.cast("double")
    upper = fn.floor(wide / float(_HALF))
    lower = (wide - upper.cast("double") * float(_HALF)).cast("bigint")
    return upper.cast(_DECIMAL) * fn.lit(_HALF).cast("decimal(10,0)") + lower.cast(_DECIMAL)


def to_literal(value: pa.Scalar, kind: ValueType) -> "Column":
    """Return a value as Spark holds those of a type."""
    if not value.is_valid:
        return fn.lit(None).cast(to_spark_type(kind))
    if isinstance(kind, ListType):
        items = [to_literal(each, ScalarType(kind.item)) for each in value.values]
        return fn.array(*items).cast(to_spark_type(kind))
    if pa.types.is_date64(value.type):
        return fn.timestamp_millis(fn.lit(value.value))
    if pa.types.is_date32(value.type):
        # PySpark would send a java.sql.Date, whose calendar lacks ten days and is Julian before.
        return fn.date_from_unix_date(fn.lit(value.value))
    plain = str(value) if pa.types.is_unsigned_integer(value.type) else value.as_py()
    return fn.lit(plain).cast(to_spark_type(kind))


def unify_zeros(column: "Column", kind: object) -> "Column":
    """Return floats with -0.0 replaced by 0.0, where values are compared by their bits."""
    return (
        column + fn.lit(0).cast("float" if kind == F32 else "double") if kind in FLOATS else column
    )
