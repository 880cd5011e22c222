"""Kinds: the type of a column, from all of its values."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import (
    convert,
    convert_whole,
    decode,
    python_values,
    replace_items,
    to_timestamps,
)
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
    enum_of,
)

_MOST_MEMBERS = 12
_ROWS_PER_MEMBER = 5
_MEMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WHOLE = r"^-?(0|[1-9][0-9]*)$"
# Whole numbers of fewer digits are exact as F64.
_LONG = r"^-?[1-9][0-9]{15,}$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_FAR = "times outside the years 1 to 9999 are kept as text"
_BY_ARROW = {
    pa.bool_(): BOOL,
    pa.int8(): I32,
    pa.int16(): I32,
    pa.int32(): I32,
    pa.int64(): I64,
    pa.uint8(): U32,
    pa.uint16(): U32,
    pa.uint32(): U32,
    pa.uint64(): U64,
    pa.float16(): F32,
    pa.float32(): F32,
    pa.float64(): F64,
    pa.date32(): DATE,
    pa.utf8(): STRING,
}


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """A column with its type, as a load takes it; `note` says what had to be assumed."""

    kind: ValueType
    values: pa.Array
    note: str | None = None

    @property
    def is_nullable(self) -> bool:
        return bool(self.values.null_count)


def infer_column(column: pa.ChunkedArray, *, is_text: bool) -> InferredColumn:
    """Return the narrowest type that holds all values of a column, and these values."""
    values = decode(column.combine_chunks())
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    is_empty_text = is_text and values.null_count == len(values)
    if pa.types.is_null(values.type) or is_empty_text:
        return InferredColumn(STRING, values.cast(pa.utf8()), "holds no value; taken for text")
    if is_text and pa.types.is_string(values.type):
        return _from_text(values)
    return _from_arrow(values)


def with_members(column: InferredColumn) -> InferredColumn:
    """Return a column of texts as an enum when it has few values, each of them often."""
    if column.kind != STRING:
        return column
    found = [each for each in pc.unique(column.values).to_pylist() if each is not None]
    is_often = len(column.values) - column.values.null_count >= _ROWS_PER_MEMBER * len(found)
    is_named = all(_MEMBER.fullmatch(each) for each in found)
    if not found or len(found) > _MOST_MEMBERS or not is_often or not is_named:
        return column
    return InferredColumn(enum_of(found), column.values, column.note)


def _from_text(values: pa.Array) -> InferredColumn:
    if _all_match(values, _WHOLE):
        for kind in (I64, U64):
            whole = _cast(values, arrow_type(kind))
            if whole is not None:
                return InferredColumn(kind, whole)
        return InferredColumn(STRING, values, "whole numbers beyond 64 bits are kept as text")
    if _all_match(values, _NUMBER):
        numbers = _cast(values, pa.float64())
        if numbers is not None and pc.all(pc.is_finite(numbers)).as_py() is not False:
            if _are_exact(values):
                return InferredColumn(F64, numbers)
            return InferredColumn(STRING, values, "whole numbers that F64 rounds are kept as text")
    if _all_match(values, r"^(true|false)$"):
        return InferredColumn(BOOL, pc.equal(values, "true"))
    for kind in (DATE, DATETIME):
        found = convert_whole(values, kind)
        if found is not None:
            return InferredColumn(kind, values)
    return InferredColumn(STRING, values)


def _are_exact(values: pa.Array) -> bool:
    """Whether the whole numbers among texts are the same as F64."""
    long = pc.unique(values.filter(pc.match_substring_regex(values, _LONG))).to_pylist()
    return all(int(each) == float(each) for each in long)


def _from_arrow(values: pa.Array) -> InferredColumn:
    """Return the type of a column of any other kind; what no type holds is kept as text."""
    found = _typed(values)
    if found is None:
        every = python_values(values)
        texts = [None if each is None else json.dumps(each, default=str) for each in every]
        return InferredColumn(STRING, pa.array(texts, pa.utf8()), "kept as JSON text")
    if found.kind in (DATE, DATETIME) and convert(found.values, found.kind).reasons:
        return InferredColumn(STRING, _time_texts(found.values), _FAR)
    return found


def _typed(values: pa.Array) -> InferredColumn | None:
    given = values.type
    if pa.types.is_floating(given) and pc.any(pc.is_nan(values)).as_py():
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, given), values)
        return InferredColumn(_BY_ARROW[given], values, "not-a-number became null")
    if given in _BY_ARROW:
        kind = _BY_ARROW[given]
        return InferredColumn(kind, values.cast(arrow_type(kind)))
    if pa.types.is_date64(given):
        return InferredColumn(DATETIME, to_timestamps(values))
    if pa.types.is_timestamp(given):
        return _from_times(values)
    if pa.types.is_binary(given) or pa.types.is_large_binary(given):
        return InferredColumn(BLOB, values)
    if pa.types.is_fixed_size_list(given) and pa.types.is_floating(given.value_type):
        vector = VectorType(given.list_size)
        fits = given.list_size > 0 and not convert(values, vector).reasons
        return InferredColumn(vector, values) if fits else None
    if pa.types.is_list(given) and given.value_type in _BY_ARROW:
        return _from_lists(values)
    if pa.types.is_decimal(given):
        return InferredColumn(F64, values.cast(pa.float64()), "decimal numbers became F64")
    return None


def _from_lists(values: pa.Array) -> InferredColumn | None:
    item = _BY_ARROW[values.type.value_type]
    assert isinstance(item, ScalarType)
    if values.flatten().null_count:
        return None
    if item == DATE and convert(values.flatten(), DATE).reasons:
        texts = replace_items(values, _time_texts(values.flatten()), pa.list_(pa.utf8()))
        return InferredColumn(ListType(STRING.scalar), texts, _FAR)
    return InferredColumn(ListType(item.scalar), values.cast(pa.list_(arrow_type(item))))


def _time_texts(values: pa.Array) -> pa.Array:
    """Return days or times as texts; those of Arrow have a wrong year beyond 32767."""
    is_day = pa.types.is_date32(values.type)
    unit = "D" if is_day else values.type.unit
    ticks = values.cast(pa.int32() if is_day else pa.int64()).fill_null(0).cast(pa.int64())
    times = ticks.to_numpy(zero_copy_only=False).view(f"datetime64[{unit}]")
    texts = np.datetime_as_string(times, timezone="naive" if is_day else "UTC")
    return pa.array(texts.tolist(), pa.utf8(), mask=np.asarray(values.is_null()))


def _from_times(values: pa.Array) -> InferredColumn:
    if values.type.tz is not None:
        return InferredColumn(DATETIME, values)
    told = "times without a zone are taken for UTC"
    return InferredColumn(DATETIME, pc.assume_timezone(values, "UTC"), told)


def _all_match(values: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(values, pattern)).as_py() is True


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return None
