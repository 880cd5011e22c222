"""Comparison: columns compared value by value, exactly, null meaning unknown."""

from collections.abc import Callable, Iterable
from functools import reduce
from math import nan
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.capacity import check_repeated
from omnigraph.data.values.columns import to_timestamps
from omnigraph.data.values.equality import Mask
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.types import F64, ValueType, is_integer

Operand: TypeAlias = "pa.Array | pa.Scalar"
_TableOrBatch = TypeVar("_TableOrBatch", pa.Table, pa.RecordBatch)

# The field that identifies an object among those of all types; results leave it out.
IDENTITY = "#"

_EXACT_FLOAT = 2**53
_DECIMAL = pa.decimal128(38, 0)
_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_EQUAL: pc.greater_equal,
}
_PLAINLY: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_EQUAL: ge,
}


def is_array(column: Operand) -> bool:
    """Return whether there is a value for each row, not one for all."""
    return isinstance(column, pa.Array)


def broadcast(column: Operand, count: int) -> pa.Array:
    """Return a value for each of `count` rows."""
    if is_array(column):
        return column
    check_repeated(column, count)
    return pa.repeat(column, count) if count else pa.array([], column.type)


def unify_zeros(column: Operand) -> Operand:
    """Return floats with one zero and one NaN, where values are compared by their bits."""
    if not pa.types.is_floating(column.type):
        return column
    found = pc.add(column, pa.scalar(0, column.type))
    is_nan = pc.is_nan(found)
    if is_array(found) and not pc.any(is_nan).as_py():
        return found
    return pc.if_else(is_nan, pa.scalar(nan, found.type), found)


def to_comparable(column: pa.Array) -> pa.Array:
    """Return a column whose values Python compares as the language does.

    A date64 would lose its hours in Python, and there are two zeros.
    """
    return to_timestamps(column) if pa.types.is_date64(column.type) else unify_zeros(column)


def drop_incomparable(rows: _TableOrBatch) -> _TableOrBatch:
    """Return the rows that can equal others: those without null and NaN."""
    kept = rows.drop_null()
    for column in kept.columns:
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            return drop_incomparable(kept.filter(pc.invert(pc.is_nan(column))))
    return kept


def compare(left: Operand, operator: Operator, right: Operand) -> Operand:
    """Compare two columns; numbers of different types are compared by their exact values."""
    test = _COMPARE[operator]
    if pa.types.is_struct(left.type):
        left, right = (pc.struct_field(each, IDENTITY) for each in (left, right))
    ours, theirs = left.type, right.type
    if ours == theirs:
        return test(left, right)
    if pa.types.is_integer(ours) and pa.types.is_integer(theirs):
        return test(*_to_one_type(left, right))
    if pa.types.is_floating(ours) or pa.types.is_floating(theirs):
        found = test(_to_float(left), _to_float(right))
        if _is_exact(left) and _is_exact(right):
            return found
        return _compare_ties(left, test, right, found)
    return test(left, right)


def can_compare_plainly(left: ValueType, operator: Operator, right: ValueType) -> bool:
    """Return whether numbers of two types may be compared as a processor does."""
    is_plain = (is_integer(left) and is_integer(right)) or left == right == F64
    return is_plain and operator in _PLAINLY


def compare_plainly(left: pa.Array, operator: Operator, right: object) -> Mask | None:
    """Return where a comparison with a number is true; None when it takes more than that.

    A null is neither true nor false, and a number may not fit the type of the column.
    """
    if left.null_count:
        return None
    numbers = left.to_numpy()
    if numbers.dtype.kind == "f":
        fits = isinstance(right, float)
    else:
        bounds = np.iinfo(numbers.dtype)
        fits = isinstance(right, int) and bounds.min <= right <= bounds.max
    if not fits:
        return None
    return np.asarray(_PLAINLY[operator](numbers, numbers.dtype.type(right)))


def _to_one_type(left: Operand, right: Operand) -> tuple[Operand, Operand]:
    """Return whole numbers of two types as those of one that holds both, at the least cost.

    One number for all rows that fits the type of the column is the only one that is converted.
    """
    if is_array(left) and not is_array(right) and _fits(right, left.type):
        return left, right.cast(left.type)
    if is_array(right) and not is_array(left) and _fits(left, right.type):
        return left.cast(right.type), right
    wide = _DECIMAL if pa.uint64() in (left.type, right.type) else pa.int64()
    return left.cast(wide), right.cast(wide)


def _fits(number: pa.Scalar, kind: pa.DataType) -> bool:
    """Return whether a type of whole numbers holds a number; every type holds null."""
    if not number.is_valid:
        return True
    bounds = np.iinfo(kind.to_pandas_dtype())
    return bool(int(bounds.min) <= number.as_py() <= int(bounds.max))


def contains(text: Operand, part: Operand) -> Operand:
    """Return where a text contains another."""
    return _match_text(text, part, pc.match_substring, str.__contains__)


def starts_with(text: Operand, part: Operand) -> Operand:
    """Return where a text begins with another."""
    return _match_text(text, part, pc.starts_with, str.startswith)


def is_member(item: Operand, members: Operand) -> Operand:
    """Return where a value is in a list; unknown if it is not found in a list with null."""
    if is_array(members):
        return _is_in_lists(item, members)
    if not members.is_valid:
        return pa.scalar(None, pa.bool_())
    known = members.values
    if not len(known) or not _can_be_held(known.type, item.type):
        return equals_any(item, known)
    found = pc.is_in(unify_zeros(item), value_set=_drop_unequal(_held_by(item.type, known)))
    certain = found if known.null_count else pc.is_valid(item)
    return pc.if_else(certain, found, pa.scalar(None, pa.bool_()))


def _can_be_held(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether values of a type may be values of another: those of one type, and numbers."""
    return kind == other or (_is_number(kind) and _is_number(other))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _held_by(kind: pa.DataType, values: pa.Array) -> pa.Array:
    """Return the values that a type holds exactly, as that type: no value of it equals another."""
    if values.type == kind:
        return values
    found = values.cast(kind, safe=False)
    return found.filter(compare(values, Operator.EQUAL, found))


def _drop_unequal(values: pa.Array) -> pa.Array:
    """Return the values that something can equal: no null and, unlike in Arrow, no NaN."""
    known = unify_zeros(values.drop_null())
    return known.filter(pc.equal(known, known)) if pa.types.is_floating(known.type) else known


def equals_any(item: Operand, values: Iterable[pa.Scalar]) -> Operand:
    """Return where a value equals any of `values`; without values, nowhere."""
    tests = [compare(item, Operator.EQUAL, each) for each in values]
    return reduce(pc.or_kleene, tests, pa.scalar(value=False))


def _is_in_lists(item: Operand, lists: pa.Array) -> pa.Array:
    owners = np.asarray(pc.list_parent_indices(lists))
    values = lists.flatten()
    wanted = item.take(pa.array(owners)) if is_array(item) else item
    equal = broadcast(compare(values, Operator.EQUAL, wanted), len(values))
    found = np.zeros(len(lists), bool)
    found[owners[np.asarray(pc.fill_null(equal, fill_value=False), bool)]] = True
    missing = pc.and_(broadcast(pc.is_null(item), len(lists)), pc.greater(_lengths(lists), 0))
    unknown = pc.or_(lists.is_null(), missing)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), pa.array(found))


def _lengths(lists: pa.Array) -> pa.Array:
    return pc.fill_null(pc.list_value_length(lists), 0)


def _match_text(
    text: Operand,
    part: Operand,
    with_one: Callable[[Any, Any], Any],
    with_each: Callable[[str, str], bool],
) -> Operand:
    if not is_array(part):
        if not part.is_valid:
            return pa.scalar(None, pa.bool_())
        return with_one(text, part.as_py())
    # In Python: the strings of NumPy lose the NULs at their ends.
    pairs = zip(broadcast(text, len(part)).to_pylist(), part.to_pylist(), strict=True)
    found = [None if None in pair else with_each(*pair) for pair in pairs]
    return pa.array(found, pa.bool_())


def _to_float(column: Operand) -> Operand:
    return pc.cast(column, pa.float64(), safe=False)


def _is_exact(column: Operand) -> bool:
    """Return whether every value survives as a 64-bit float."""
    if pa.types.is_floating(column.type):
        return True
    bounds = pc.min_max(column)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    return least is None or (least >= -_EXACT_FLOAT and most <= _EXACT_FLOAT)


def _compare_ties(
    left: Operand, test: Callable[[Any, Any], Any], right: Operand, found: Operand
) -> Operand:
    """Compare again, as whole numbers, what may be equal only because floats are coarse."""
    tied = pc.equal(_to_float(left), _to_float(right))
    whole = [pc.if_else(tied, each, pa.scalar(0, each.type)) for each in (left, right)]
    exact = test(*(pc.cast(each, _DECIMAL, safe=False) for each in whole))
    return pc.if_else(tied, exact, found)
