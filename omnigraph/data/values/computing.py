"""Computing: functions and operators of values over columns, exactly or not at all.

A result is null where an argument is. Arguments without a result raise `Uncomputable`, which names
the first of them: no number ever wraps, and none becomes infinite or NaN.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import FIRST_DAY, LAST_DAY, to_timestamps
from omnigraph.data.values.comparison import (
    Operand,
    broadcast,
    compare,
    is_array,
    to_comparable,
)
from omnigraph.data.values.equality import Mask
from omnigraph.data.values.floats import FLOAT_OPERATORS, FloatOperation, operate
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.types import (
    DATE,
    DATETIME,
    FLOATS,
    INTEGER_BOUNDS,
    STRING,
    U64,
    ValueType,
)
from omnigraph.schema.values import Value

_BY_ZERO = "a number is divided by zero"
_TOO_LARGE = "the result is too large for a float"
_NO_NUMBER = "the result is not a number"
_DAY_MS = 86_400_000
_LONGEST = 2**31
# No date is so many days from another.
_ALL_DAYS = LAST_DAY - FIRST_DAY + 1
_CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide_checked,
    "%": pc.remainder_checked,
}
_FLOATING: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide,
    "%": pc.remainder,
}


class Uncomputable(Exception):
    """Some arguments have no result; `values` are the first of them."""

    def __init__(self, reason: str, values: Sequence[Value | None] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.values = tuple(values)


def compute(function: str, arguments: Sequence[Operand], kind: ValueType) -> Operand:
    """Return a function of columns, a value of type `kind` for each row; raises Uncomputable.

    `coalesce` is not among them: what comes after its first argument is computed only for the rows
    that need it.
    """
    if not any(map(is_array, arguments)):
        return compute(function, [pa.repeat(each, 1) for each in arguments], kind)[0]
    first = arguments[0]
    if function in _CHECKED and len(arguments) == 2:
        return _operate(function, first, arguments[1], kind)
    if function == "-":
        return _negate(first, kind)
    if function == "abs":
        return _absolute(first, kind)
    if function == "substring":
        return _substring(*arguments)
    return _PLAIN[function](first, arrow_type(kind))


def convert_exactly(column: Operand, kind: ValueType) -> Operand:
    """Return the same values as another type; raises Uncomputable for one that it does not have."""
    wide = arrow_type(kind)
    if column.type == wide:
        return column
    found = column.cast(wide, safe=False)
    if pa.types.is_integer(column.type):
        at = _first_true(_is_true(compare(column, Operator.NOT_EQUAL, found)))
        if at is not None:
            raise Uncomputable(f"no {kind} has this value", (_pick(column, at),))
    return found


def spread(values: pa.Array, mask: Mask) -> pa.Array:
    """Return values at the places of a mask, in their order, and null elsewhere."""
    return values.take(pa.array(np.cumsum(mask) - 1, mask=~mask))


def _operate(sign: str, left: Operand, right: Operand, kind: ValueType) -> Operand:
    if kind == STRING:
        texts = [each.cast(pa.utf8()) for each in (left, right)]
        return pc.binary_join_element_wise(*texts, "")
    if kind in (DATE, DATETIME):
        return _move_date(sign, left, right, kind)
    if pa.types.is_date(left.type):
        return pc.subtract(*(each.cast(pa.int32()).cast(pa.int64()) for each in (left, right)))
    if kind in FLOATS:
        return _operate_floats(sign, left, right, kind)
    wide = arrow_type(kind)
    try:
        return _CHECKED[sign](left.cast(wide), right.cast(wide))
    except pa.ArrowInvalid:
        # An argument does not fit the wide type, where the result still may, or there is none.
        return _each(lambda one, other: operate_integers(sign, one, other, kind), left, right, kind)


def operate_integers(sign: str, left: int, right: int, kind: ValueType) -> int:
    """Return `left sign right` for two whole numbers; a quotient is cut towards zero."""
    if sign in ("/", "%") and right == 0:
        raise Uncomputable(_BY_ZERO, (left, right))
    quotient = (
        0 if right == 0 else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    )
    found = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "/": quotient,
        "%": left - quotient * right,
    }[sign]
    least, most = INTEGER_BOUNDS[kind]
    if not least <= found <= most:
        raise Uncomputable(f"the result {found} does not fit {kind}", (left, right))
    return found


def _operate_floats(sign: str, left: Operand, right: Operand, kind: ValueType) -> Operand:
    wide = arrow_type(kind)
    if sign in FLOAT_OPERATORS:
        quick = operate(FloatOperation(sign, left, right, wide))
        if quick is not None:
            return quick
    one, other = (each.cast(wide, safe=False) for each in (left, right))
    found = _FLOATING[sign](one, other)
    if _is_finite(found):
        return found
    lost = _is_true(pc.invert(pc.is_finite(found)), _all_finite(one, other))
    if sign in ("/", "%"):
        lost = pc.or_kleene(lost, _is_true(pc.equal(other, pa.scalar(0.0, wide)), _all_finite(one)))
    # As of 0 times infinity, which a column or a parameter may hold.
    is_new = _is_true(pc.is_nan(found), *(pc.invert(pc.is_nan(each)) for each in (one, other)))
    at = _first_true(pc.or_kleene(lost, is_new))
    if at is not None:
        values = (_pick(one, at), _pick(other, at))
        if sign in ("/", "%") and values[1] == 0:
            raise Uncomputable(_BY_ZERO, values)
        raise Uncomputable(_TOO_LARGE if all(map(isfinite, values)) else _NO_NUMBER, values)
    return found


def _is_finite(found: Operand) -> bool:
    """Return whether every result that is there is a number, so that nothing was lost."""
    tests = pc.is_finite(found)
    return pc.all(tests).as_py() is not False if is_array(tests) else tests.as_py() is not False


def _all_finite(*columns: Operand) -> Operand:
    return reduce(pc.and_kleene, map(pc.is_finite, columns))


def _is_true(*tests: Operand) -> Operand:
    return pc.fill_null(reduce(pc.and_kleene, tests), fill_value=False)


def _first_true(mask: Operand) -> int | None:
    """Return the first place where a mask is true; that of a single value is 0."""
    if not is_array(mask):
        return 0 if mask.as_py() else None
    at = pc.index(mask, pa.scalar(value=True)).as_py()
    return None if at < 0 else at


def _pick(column: Operand, at: int) -> Any:  # noqa: ANN401
    return (column[at] if is_array(column) else column).as_py()


def _each(
    operate: Callable[[int, int], int], left: Operand, right: Operand, kind: ValueType
) -> Operand:
    """Compute row by row, in whole numbers of any size."""
    count = len(left) if is_array(left) else len(right)
    rows = zip(broadcast(left, count).to_pylist(), broadcast(right, count).to_pylist(), strict=True)
    found = [None if None in row else operate(*row) for row in rows]
    return pa.array(found, arrow_type(kind))


def _negate(number: Operand, kind: ValueType) -> Operand:
    try:
        return _operate("-", pa.scalar(0, arrow_type(kind)), number, kind)
    except Uncomputable as failed:
        raise Uncomputable(failed.reason, failed.values[1:]) from None


def _move_date(sign: str, left: Operand, right: Operand, kind: ValueType) -> Operand:
    """Return dates some days later or earlier."""
    count = len(left) if is_array(left) else len(right)
    one, other = broadcast(left, count), broadcast(right, count)
    date, days = (other, one) if pa.types.is_integer(one.type) else (one, other)
    too_far = pc.or_(
        compare(days, Operator.GREATER, pa.scalar(_ALL_DAYS)),
        compare(days, Operator.LESS, pa.scalar(-_ALL_DAYS)),
    )
    near = pc.if_else(too_far, pa.scalar(0, days.type), days).cast(pa.int64())
    start = date.cast(pa.int32()).cast(pa.int64()) if kind == DATE else date.view(pa.int64())
    unit = 1 if kind == DATE else _DAY_MS
    distance = pc.multiply(near, pa.scalar(unit))
    moved = pc.add(start, distance) if sign == "+" else pc.subtract(start, distance)
    before = pc.less(moved, pa.scalar(FIRST_DAY * unit))
    after = pc.greater(moved, pa.scalar(LAST_DAY * unit + unit - 1))
    outside = pc.or_kleene(too_far, pc.or_kleene(before, after))
    at = _first_true(_is_true(outside, date.is_valid()))
    if at is not None:
        values = tuple(_pick(to_comparable(each), at) for each in (one, other))
        raise Uncomputable("the result is not a date of the years 1 to 9999", values)
    return moved.cast(pa.int32()).cast(pa.date32()) if kind == DATE else moved.view(pa.date64())


def _absolute(number: Operand, kind: ValueType) -> Operand:
    if kind in FLOATS or kind == U64:
        return pc.abs(number)
    wide = number.cast(pa.int64())
    at = _first_true(_is_true(pc.equal(wide, pa.scalar(-(2**63)))))
    if at is not None:
        raise Uncomputable(f"the result {2**63} does not fit I64", (-(2**63),))
    return pc.abs(wide)


def _substring(text: Operand, start: Operand, count: "Operand | None" = None) -> Operand:
    text = text.cast(pa.utf8())
    bounds = [each for each in (start, count) if each is not None]
    # A row with a null is null, whatever the others are.
    known = reduce(pc.and_, (pc.is_valid(each) for each in (text, *bounds)))
    for each in bounds:
        if each.type == pa.uint64():
            continue
        is_negative = pc.less(each.cast(pa.int64()), pa.scalar(0))
        at = _first_true(_is_true(pc.and_(is_negative, known)))
        if at is not None:
            raise Uncomputable("start and count are not negative", (_pick(each, at),))
    if not any(map(is_array, bounds)):
        first, *rest = (each.as_py() for each in bounds)
        if first is None or None in rest:
            return pa.scalar(None, pa.utf8())
        # No text is longer, and Arrow takes no larger numbers.
        first, stop = min(first, _LONGEST), min(first + rest[0], _LONGEST) if rest else None
        return pc.utf8_slice_codeunits(text, first, stop)
    rows = max(len(each) for each in (text, *bounds) if is_array(each))
    columns = [broadcast(each, rows).to_pylist() for each in (text, *bounds)]
    return pa.array([_cut(*row) for row in zip(*columns, strict=True)], pa.utf8())


def _cut(text: str | None, start: int | None, *count: int | None) -> str | None:
    if text is None or start is None or None in count:
        return None
    return text[start:] if not count else text[start : start + (count[0] or 0)]


def _round(number: Operand, kind: pa.DataType) -> Operand:
    if pa.types.is_integer(number.type):
        return number.cast(kind)
    return pc.round(number, round_mode="half_towards_infinity")


def _floor(number: Operand, kind: pa.DataType) -> Operand:
    return number.cast(kind) if pa.types.is_integer(number.type) else pc.floor(number)


def _ceil(number: Operand, kind: pa.DataType) -> Operand:
    return number.cast(kind) if pa.types.is_integer(number.type) else pc.ceil(number)


def _length(value: Operand, kind: pa.DataType) -> Operand:
    is_text = pa.types.is_string(value.type) or pa.types.is_large_string(value.type)
    count = pc.utf8_length if is_text else pc.list_value_length
    return count(value).cast(kind)


def _calendar(part: Callable[[Operand], Operand]) -> Callable[[Operand, pa.DataType], Operand]:
    def found(date: Operand, kind: pa.DataType) -> Operand:
        is_time = pa.types.is_date64(date.type)
        return part(to_timestamps(date) if is_time else date).cast(kind)

    return found


def _of_text(change: Callable[[Operand], Operand]) -> Callable[[Operand, pa.DataType], Operand]:
    return lambda text, kind: change(text.cast(kind))


_PLAIN: dict[str, Callable[[Operand, pa.DataType], Operand]] = {
    "lower": _of_text(pc.utf8_lower),
    "upper": _of_text(pc.utf8_upper),
    "trim": _of_text(pc.utf8_trim_whitespace),
    "length": _length,
    "round": _round,
    "floor": _floor,
    "ceil": _ceil,
    "year": _calendar(pc.year),
    "month": _calendar(pc.month),
    "day": _calendar(pc.day),
}
