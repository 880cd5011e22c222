"""Values: converts values from JSON or Python to their types, or says why they do not fit."""

import base64
import math
import re
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from omnigraph.errors import Json
from omnigraph.schema.types import (
    DATE,
    DATETIME,
    F32,
    INTEGER_BOUNDS,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    ValueType,
    VectorType,
)
from omnigraph.syntax.literal import datetime_text
from omnigraph.syntax.problems import list_names, suggest

Value: TypeAlias = str | bool | int | float | bytes | date | datetime | tuple["Value", ...]

JS_SAFE_INTEGER = 2**53 - 1

_WIDE = (Scalar.I64, Scalar.U64)
_BOUNDS = {
    kind.scalar: bounds for kind, bounds in INTEGER_BOUNDS.items() if isinstance(kind, ScalarType)
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_RFC_3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_DECIMAL = re.compile(r"-?\d{1,20}", re.ASCII)
_BASE64 = "base64:"
# Characters of base64 that are checked at a time.
_PIECE = 4 << 18
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", re.ASCII)
_EPOCH = date(1970, 1, 1)
_EPOCH_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class BadValue(ValueError):
    """A value does not fit its type; the message says why."""


def coerce(value: object, kind: ValueType) -> Value:
    """Convert a value from JSON or Python to its type; raise BadValue.

    Dates are read from ISO text or days, times from RFC 3339 text or milliseconds and kept in
    UTC to the millisecond, 64-bit integers also from decimal text (JSON in a browser cannot
    carry them otherwise), blobs from bytes, `base64:` text or a URI.
    """
    match kind:
        case ScalarType(scalar):
            return _scalar(value, scalar)
        case EnumType():
            return _enum(value, kind)
        case VectorType(dimension):
            return _vector(value, dimension)
        case ListType(item):
            return tuple(_item(each, item, at) for at, each in enumerate(_sequence(value)))


def coerce_literal(value: object, kind: ValueType) -> Value:
    """Convert a literal of either language to a type; raise BadValue.

    Stricter than `coerce`: a string is not a number there, and a number is not a date.
    """
    if isinstance(value, str) and kind in INTEGER_BOUNDS:
        raise _mismatch(value, str(kind))
    if isinstance(value, int) and kind in (DATE, DATETIME):
        raise _mismatch(value, str(kind))
    return coerce(value, kind)


def parse_date(text: str) -> date:
    """Parse an ISO date, `YYYY-MM-DD`; raise BadValue."""
    if _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise BadValue(f"{_shown(text)} is not a date; write YYYY-MM-DD")


def parse_datetime(text: str) -> datetime:
    """Parse an RFC 3339 time to UTC, cut to the millisecond; raise BadValue."""
    if found := _RFC_3339.fullmatch(text):
        day, clock, fraction, offset = found.groups()
        try:
            whole = datetime.fromisoformat(f"{day}T{clock}{offset.upper()}").astimezone(UTC)
            return whole.replace(microsecond=int((fraction or "").ljust(3, "0")[:3]) * 1000)
        except (ValueError, OverflowError):
            pass
    raise BadValue(f"{_shown(text)} is not an RFC 3339 time; write 2024-01-31T12:00:00Z")


def round_to_f32(number: float) -> float:
    """Return the 32-bit float nearest to a number; raise BadValue when it is too large."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        raise BadValue(f"{number!r} does not fit F32") from None
    return rounded


def match_f32(number: float) -> float:
    """Return a number as it is compared with an F32: a fraction becomes the nearest F32.

    0.1 would equal no F32 otherwise, because none is 0.1 to 64 bits. A whole number is exact
    and stays, as does a number that is too large for an F32.
    """
    try:
        return round_to_f32(number) if isinstance(number, float) else number
    except BadValue:
        return number


def _scalar(value: object, scalar: Scalar) -> Value:
    match scalar:
        case Scalar.STRING:
            return _string(value)
        case Scalar.BOOL:
            if isinstance(value, bool):
                return value
        case Scalar.I32 | Scalar.I64 | Scalar.U32 | Scalar.U64:
            return _integer(value, scalar)
        case Scalar.F32 | Scalar.F64:
            return _float(value, scalar)
        case Scalar.DATE:
            return _date(value)
        case Scalar.DATETIME:
            return _datetime(value)
        case Scalar.BLOB:
            return _blob(value)
    raise _mismatch(value, str(scalar))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _mismatch(value, "String")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadValue("invalid Unicode: half of a surrogate pair") from None
    return value


def _enum(value: object, kind: EnumType) -> str:
    values = kind.values
    if isinstance(value, str):
        if value in kind.members:
            return value
        hint = suggest(value, values)
        reason = f"{_shown(value)} is not one of {list_names(values)}"
        raise BadValue(reason if hint is None else f"{reason}; {hint}")
    raise _mismatch(value, f"one of {list_names(values)}")


def _integer(value: object, scalar: Scalar) -> int:
    if isinstance(value, str) and scalar in _WIDE and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _mismatch(value, str(scalar))
    least, most = _BOUNDS[scalar]
    if not least <= value <= most:
        raise BadValue(f"{_shown(value)} does not fit {scalar}")
    return value


def _float(value: object, scalar: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, str(scalar))
    try:
        number = float(value)
    except OverflowError:
        raise BadValue(f"{_shown(value)} does not fit {scalar}") from None
    return round_to_f32(number) if ScalarType(scalar) == F32 else number


def _date(value: object) -> date:
    if isinstance(value, str):
        return parse_date(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return _EPOCH + timedelta(days=value)
        except OverflowError:
            raise BadValue(f"day {_shown(value)} is outside the years 1 to 9999") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _mismatch(value, "Date")


def _datetime(value: object) -> datetime:
    if isinstance(value, str):
        return parse_datetime(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return _EPOCH_TIME + timedelta(milliseconds=value)
        except OverflowError:
            raise BadValue(f"{_shown(value)} ms is outside the years 1 to 9999") from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise BadValue("a DateTime needs a time zone; this datetime has none")
        try:
            utc = value.astimezone(UTC)
        except OverflowError:
            raise BadValue(f"{value} is outside the years 1 to 9999 in UTC") from None
        return utc.replace(microsecond=utc.microsecond // 1000 * 1000)
    raise _mismatch(value, "DateTime")


def _blob(value: object) -> str | bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        if value.startswith(_BASE64):
            _check_base64(value)
            return value
        if _URI.fullmatch(value):
            return _string(value)
        raise BadValue("expected a Blob as base64:… or as a URI")
    raise _mismatch(value, "Blob")


def _check_base64(value: str) -> None:
    """Check the text of a blob piece by piece, because it may be large; the padding is in one."""
    last = max(len(_BASE64), len(_BASE64) + (len(value) - len(_BASE64) - 8) // 4 * 4)
    try:
        for first in range(len(_BASE64), last, _PIECE):
            piece = value[first : min(first + _PIECE, last)]
            if "=" in piece:
                raise ValueError
            base64.b64decode(piece, validate=True)
        base64.b64decode(value[last:], validate=True)
    except ValueError:
        raise BadValue("the text after base64: is not valid base64") from None


def _vector(value: object, dimension: int) -> tuple[float, ...]:
    items = _sequence(value)
    if len(items) != dimension:
        raise BadValue(f"expected {dimension} numbers, got {len(items)}")
    numbers = _round_all(items)
    if numbers is None:
        numbers = tuple(_float(_present(item, at), Scalar.F32) for at, item in enumerate(items))
    if not all(map(math.isfinite, numbers)):
        raise BadValue("a Vector takes only finite numbers")
    return numbers


def _round_all(items: Sequence[object]) -> tuple[float, ...] | None:
    """Return numbers as 32-bit floats; None when one is no number or does not fit."""
    if not set(map(type, items)) <= {float, int}:
        return None
    layout = f"<{len(items)}f"
    try:
        return struct.unpack(layout, struct.pack(layout, *items))
    except (OverflowError, struct.error):
        return None


def _item(value: object, scalar: Scalar, at: int) -> Value:
    return _scalar(_present(value, at), scalar)


def _present(value: object, at: int) -> object:
    if value is None:
        raise BadValue(f"item {at} is null")
    return value


def _sequence(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    # NumPy arrays and other sequences of libraries
    to_list = getattr(value, "tolist", None)
    items = to_list() if callable(to_list) else None
    if isinstance(items, list):
        return items
    raise _mismatch(value, "a list")


def _mismatch(value: object, expected: str) -> BadValue:
    return BadValue(f"expected {expected}, got {_shown(value)}")


def _shown(value: object) -> str:
    """Return a value as a message quotes it: short, with JSON's names."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            # A part of a surrogate pair, which JSON and Python can hold, cannot be written.
            text = value.encode(errors="backslashreplace").decode()
            return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}…"'
        case int() if abs(value) > 10**30:
            return "an integer of many digits"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a Python {type(value).__name__}"


def to_json_value(value: object) -> Json:
    """Return a value as JSON that any client reads exactly."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return value if abs(value) <= JS_SAFE_INTEGER else str(value)
        case float():
            return value if value - value == 0 else None
        case datetime():
            return datetime_text(value)
        case date():
            return value.isoformat()
        case bytes():
            return value.decode()
        case Mapping():
            return {str(name): to_json_value(each) for name, each in value.items()}
        case Sequence():
            return [to_json_value(each) for each in value]
        case _:
            raise TypeError(f"a result holds no {type(value).__name__}")
