"""Filters: the conditions of Spark that Lance decides just as Spark would."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from operator import eq, ge, gt, le, lt
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as spark

from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import (
    BOOL,
    DATE,
    FLOATS,
    I32,
    I64,
    INTEGER_BOUNDS,
    ValueType,
    is_text,
)

_BuildComparison: TypeAlias = Callable[[Any, Any], pc.Expression]

# Above it, Spark's own look-up is faster.
_MOST_VALUES = 1_000
_EQUAL: dict[type[spark.Filter], _BuildComparison] = {spark.EqualTo: eq}
_ORDER: dict[type[spark.Filter], _BuildComparison] = {
    spark.GreaterThan: gt,
    spark.GreaterThanOrEqual: ge,
    spark.LessThan: lt,
    spark.LessThanOrEqual: le,
}
_TEXT: dict[type[spark.Filter], _BuildComparison] = {
    spark.StringStartsWith: pc.starts_with,
    spark.StringEndsWith: pc.ends_with,
    spark.StringContains: pc.match_substring,
}


def to_expression(condition: spark.Filter, stored: StoredType) -> pc.Expression | None:
    """Return a condition for Lance, or None when Spark has to decide it.

    Lance takes none on unsigned integers, times, blobs and vectors. Floats are left to Spark, where
    NaN equals NaN.
    """
    if isinstance(condition, spark.Not):
        inner = to_expression(condition.child, stored)
        return None if inner is None else ~inner
    path: tuple[str, ...] = getattr(condition, "attribute", ())
    kind = stored.column(path[0]) if len(path) == 1 else None
    if kind is None:
        return None
    if isinstance(condition, spark.IsNull | spark.IsNotNull):
        if not (_is_exact(kind) or kind in FLOATS):
            return None
        field = pc.field(path[0])
        return field.is_null() if isinstance(condition, spark.IsNull) else field.is_valid()
    return _build_comparison(condition, pc.field(path[0]), kind) if _is_exact(kind) else None


def _is_exact(kind: ValueType) -> bool:
    return is_text(kind) or kind in (BOOL, I32, I64, DATE)


def _build_comparison(
    condition: spark.Filter, field: pc.Expression, kind: ValueType
) -> pc.Expression | None:
    value: Any = getattr(condition, "value", None)
    if isinstance(condition, spark.In):
        return _build_membership(field, value, kind)
    if isinstance(condition, spark.EqualNullSafe) and value is None:
        return field.is_null()
    scalar = _to_scalar(value, kind)
    if scalar is None:
        return None
    if isinstance(condition, spark.EqualNullSafe):
        return field.is_valid() & (field == scalar)
    compare = _find_builder(type(condition), kind)
    if compare is None:
        return None
    return compare(field, value if type(condition) in _TEXT else scalar)


def _find_builder(condition: type[spark.Filter], kind: ValueType) -> _BuildComparison | None:
    known = _EQUAL | (_ORDER if kind != BOOL else {}) | (_TEXT if is_text(kind) else {})
    return known.get(condition)


def _build_membership(
    field: pc.Expression, values: Sequence[object], kind: ValueType
) -> pc.Expression | None:
    """Return membership in a list; with null among the values, Spark has to decide."""
    scalars = [_to_scalar(value, kind) for value in values[: _MOST_VALUES + 1]]
    if len(scalars) > _MOST_VALUES or None in scalars:
        return None
    return field.isin(pa.array(scalars, arrow_type(kind)))


def _to_scalar(value: object, kind: ValueType) -> pa.Scalar | None:
    """Return a value of exactly the column's type, or None when it has another one."""
    match value:
        case bool():
            fits = kind == BOOL
        case int():
            low, high = INTEGER_BOUNDS.get(kind, (1, 0))
            fits = low <= value <= high
        case str():
            fits = is_text(kind)
        case date():
            fits = kind == DATE and not isinstance(value, datetime)
        case _:
            fits = False
    return pa.scalar(value, arrow_type(kind)) if fits else None
