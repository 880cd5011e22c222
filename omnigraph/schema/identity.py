"""Identity: stable identities of types and properties, and the ids of nodes with a key."""

import json
import math
from collections.abc import Collection, Sequence
from datetime import date, datetime

from omnigraph.schema.types import F32, ValueType
from omnigraph.schema.values import Value, match_f32
from omnigraph.syntax.literal import datetime_text

_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_U64 = 2**64 - 1
_TO_JSON = json.JSONEncoder(ensure_ascii=False)


def mint(wanted: str, taken: Collection[str]) -> str:
    """Return a new identity: the wanted name, numbered if something renamed still has it."""
    identity, number = wanted, 1
    while identity in taken:
        number += 1
        identity = f"{wanted}#{number}"
    return identity


def fnv1a64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a text's UTF-8 bytes."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _FNV_PRIME) & _U64
    return value


def key_id(values: Sequence[Value], kinds: Sequence[ValueType]) -> str:
    """Return the id that a key stands for: one value as text, several as a JSON array."""
    if len(values) == 1:
        value = _key_json(values[0], kinds[0])
        return value if isinstance(value, str) else _json(value, kinds[0])
    parts = (_json(_key_json(value, kind), kind) for value, kind in zip(values, kinds, strict=True))
    return f"[{','.join(parts)}]"


def _key_json(value: Value, kind: ValueType) -> str | int | float:
    match value:
        case datetime():
            return datetime_text(value)
        case date():
            return value.isoformat()
        case float() if not math.isfinite(value):
            raise ValueError("a key cannot hold NaN or infinity")
        case str() | int() | float():
            return value
        case _:
            raise TypeError(f"{kind} cannot be part of a key")


def _json(value: str | int | float, kind: ValueType) -> str:
    if isinstance(value, float):
        return _float_key(value, kind)
    if type(value) is int:
        return str(value)
    return _TO_JSON.encode(value)


def _float_key(value: float, kind: ValueType) -> str:
    """Return the shortest decimal that reads back to the same float; never `-0.0`."""
    value = value or 0.0
    if kind == F32:
        shortest = (float(f"{value:.{digits}g}") for digits in range(1, 10))
        value = next(short for short in shortest if match_f32(short) == value)
    return repr(value)
