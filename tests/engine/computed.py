"""Computed: what the functions and operators of the language mean, value by value."""

import math
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from omnigraph.schema.types import F32, FLOATS, INTEGER_BOUNDS, STRING, ValueType


class NoValue(Exception):
    """Something that is computed has no value."""


def called(function: str, values: Sequence[Any], kind: ValueType) -> object:
    """Return the value of a function or operator; raises NoValue."""
    if function in _FUNCTIONS:
        found = _FUNCTIONS[function](*values)
    elif len(values) == 1:
        found = 0 - values[0]
    else:
        left, right = values
        found = _operated(function, left, right, kind)
    return _fitting(found, kind)


def converted(value: Any, kind: ValueType) -> object:
    """Return the same value in another type; raises NoValue when it has none."""
    found = _fitting(value, kind)
    if found != value:
        raise NoValue
    return found


def _operated(sign: str, left: Any, right: Any, kind: ValueType) -> Any:
    if kind == STRING:
        return left + right
    if isinstance(left, date) or isinstance(right, date):
        return _moved(sign, left, right)
    if sign in ("/", "%") and right == 0:
        raise NoValue
    if kind in FLOATS:
        left, right = float(left), float(right)
    try:
        return _number(sign, left, right)
    except OverflowError:
        raise NoValue from None


def _number(sign: str, left: Any, right: Any) -> Any:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if isinstance(left, float):
            return left / right
        case "/":
            quotient = abs(left) // abs(right)
            return quotient if (left < 0) == (right < 0) else -quotient
        case _ if isinstance(left, float):
            return math.fmod(left, right)
        case _:
            return int(math.copysign(1, left)) * (abs(left) % abs(right))


def _moved(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, date) and isinstance(right, date):
        return (left - right).days
    day, days = (left, right) if isinstance(left, date) else (right, left)
    try:
        return day + timedelta(days=days if sign == "+" else -days)
    except OverflowError:
        raise NoValue from None


def _fitting(value: Any, kind: ValueType) -> Any:
    """Return a number as its type holds it; raises NoValue if it does not."""
    if kind in INTEGER_BOUNDS:
        least, most = INTEGER_BOUNDS[kind]
        if not least <= value <= most:
            raise NoValue
        return value
    if kind not in FLOATS:
        return value
    if not math.isfinite(value):
        raise NoValue
    return _narrow(float(value)) if kind == F32 else float(value)


def _narrow(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        raise NoValue from None
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, int):
        return value
    return (
        float(Decimal(value).quantize(Decimal(1), ROUND_HALF_UP)) if abs(value) < 2**53 else value
    )


def _part(text: str, start: int, count: int | None = None) -> str:
    if start < 0 or (count is not None and count < 0):
        raise NoValue
    return text[start:] if count is None else text[start : start + count]


_FUNCTIONS: dict[str, Any] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "length": len,
    "substring": _part,
    "abs": abs,
    "round": _rounded,
    "floor": lambda value: value if isinstance(value, int) else float(math.floor(value)),
    "ceil": lambda value: value if isinstance(value, int) else float(math.ceil(value)),
    "year": lambda when: _day(when).year,
    "month": lambda when: _day(when).month,
    "day": lambda when: _day(when).day,
}


def _day(when: date) -> date:
    return when.date() if isinstance(when, datetime) else when
