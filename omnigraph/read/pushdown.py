"""Pushdown: the conditions of a scan that an index of its table can narrow down.

The engine checks again what Lance finds, so a condition may let too many rows through but never too
few.
"""

import operator
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.query.expr import Comparison, Constant, ListOf, ParamRef, Predicate, PropertyRef
from omnigraph.query.parsing.ast import TURNED, Operator
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import DATE, I32, I64, INTEGER_BOUNDS, ValueType, is_text
from omnigraph.schema.values import Value
from omnigraph.storage.indexes import IndexKind, indexes_of

PushedValue: TypeAlias = Constant | ParamRef | ListOf
_BuildComparison: TypeAlias = Callable[[Any, Any], pc.Expression]

_COMPARES: dict[Operator, _BuildComparison] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_EQUAL: operator.ge,
}


def pick_indexed(filters: Sequence[Predicate], stored: StoredType) -> list[Comparison]:
    """Return the conditions on indexed columns, each with the column on its left."""
    indexed = {spec.column for spec in indexes_of(stored) if spec.kind is IndexKind.BTREE}
    found = []
    for predicate in filters:
        turned = _put_column_first(predicate)
        if turned is None or not isinstance(turned.left, PropertyRef):
            continue
        kind = stored.column(turned.left.property)
        if turned.left.property in indexed and kind is not None and _is_plain(kind):
            found.append(turned)
    return found


def build_condition(
    filters: Sequence[Predicate],
    stored: StoredType,
    value_of: Callable[[PushedValue], Value | None],
) -> pc.Expression | None:
    """Return a condition for Lance that narrows a scan; None when no index helps."""
    found: pc.Expression | None = None
    for each in pick_indexed(filters, stored):
        part = _build_expression(each, stored, value_of)
        if part is not None:
            found = part if found is None else found & part
    return found


def _put_column_first(predicate: Predicate) -> Comparison | None:
    if not isinstance(predicate, Comparison):
        return None
    match predicate.left, predicate.operator, predicate.right:
        case PropertyRef(), each, Constant() | ParamRef() if each in _COMPARES:
            return predicate
        case PropertyRef(), Operator.IN, Constant() | ParamRef() | ListOf():
            return predicate
        case ((Constant() | ParamRef()), each, PropertyRef()) if each in _COMPARES:
            return Comparison(predicate.right, TURNED[each], predicate.left)
        case _:
            return None


def _is_plain(kind: ValueType) -> bool:
    """Return whether Lance compares values of a type just as the language does."""
    return is_text(kind) or kind in (I32, I64, DATE)


def _build_expression(
    comparison: Comparison, stored: StoredType, value_of: Callable[[PushedValue], Value | None]
) -> pc.Expression | None:
    field, right = comparison.left, comparison.right
    assert isinstance(field, PropertyRef)
    assert isinstance(right, Constant | ParamRef | ListOf)
    kind, value = stored.column(field.property), value_of(right)
    assert kind is not None
    column = pc.field(field.property)
    if comparison.operator is Operator.IN:
        items = value if isinstance(value, tuple) else ()
        fitting = [each for each in items if _fits(each, kind)]
        is_whole = isinstance(value, tuple) and len(fitting) == len(items)
        return column.isin(pa.array(fitting, arrow_type(kind))) if is_whole else None
    if not _fits(value, kind):
        return None
    return _COMPARES[comparison.operator](column, pa.scalar(value, arrow_type(kind)))


def _fits(value: object, kind: ValueType) -> bool:
    """Return whether a column of a type can hold a value."""
    if is_text(kind):
        return isinstance(value, str)
    if kind == DATE:
        return type(value) is date
    least, most = INTEGER_BOUNDS[kind]
    return type(value) is int and least <= value <= most
