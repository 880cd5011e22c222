"""Lines: rows of a table as JSON lines, rendered column by column."""

import base64
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import relisted
from omnigraph.errors import InputError
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import (
    BLOB,
    DATE,
    DATETIME,
    F32,
    FLOATS,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
    is_text,
)

_Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# Text grows sixfold at most; a server works for others between two pieces.
_MOST_BYTES = 2 << 20
_NAMED = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES = {"\\": "\\\\", '"': '\\"', **_CONTROLS, **_NAMED}
# The one F32, of all, whose shortest text is rounded to its neighbour when it is read as F64.
_ROUNDED_TWICE = np.uint32(0x15AE43FD).view(np.float32)
_BLOB_TEXT = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\t-\r ]*$"


def lines(stored: StoredType, rows: pa.RecordBatch) -> Iterator[bytes]:
    """Give the rows as records, one to a line, many lines at a time.

    Raises InputError when a number is not finite, because JSON cannot say so.
    """
    if rows.nbytes > _MOST_BYTES and len(rows) > 1:
        half = len(rows) // 2
        yield from lines(stored, rows.slice(0, half))
        yield from lines(stored, rows.slice(half))
    elif len(rows):
        _refuse_infinite(stored, rows)
        yield _record(stored, rows).text()


def blob_texts(column: pa.Array) -> pa.Array:
    """Give blobs in their text form: `base64:…` or a URI; bytes that are neither, as base64."""
    try:
        texts = column.cast(pa.utf8())
        if pc.all(pc.match_substring_regex(texts, _BLOB_TEXT)).as_py() is not False:
            return texts
    except pa.ArrowInvalid:  # it is not UTF-8
        pass
    return pa.array(map(_blob_text, column.to_pylist()), pa.utf8())


def _blob_text(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    return text if re.search(_BLOB_TEXT, text) else f"base64:{base64.b64encode(value).decode()}"


class _Line:
    """Fixed text and columns in turn, joined row by row."""

    def __init__(self) -> None:
        self._parts: list[str | pa.Array] = [""]

    def fixed(self, text: str) -> None:
        last = self._parts[-1]
        if isinstance(last, str):
            self._parts[-1] = last + text
        else:
            self._parts.append(text)

    def cells(self, column: pa.Array, before: str = "", after: str = "") -> None:
        """Add a column, each value between two texts; null is written as such."""
        if column.null_count and (before or after):
            column = pc.binary_join_element_wise(before, column, after, "")
            before = after = ""
        self.fixed(before)
        self._parts.append(column)
        self.fixed(after)

    def text(self) -> bytes:
        joined = pc.binary_join_element_wise(
            *self._parts, "", null_handling="replace", null_replacement="null"
        )
        return bytes(_content(joined))


def _record(stored: StoredType, rows: pa.RecordBatch) -> _Line:
    line = _Line()
    if isinstance(stored, EdgeType):
        line.fixed(f'{{"edge":"{stored.name}","from":')
        line.cells(_escaped(rows["src"]), '"', '"')
        line.fixed(',"to":')
        line.cells(_escaped(rows["dst"]), '"', '"')
    else:
        line.fixed(f'{{"type":"{stored.name}"')
    line.fixed(',"data":{')
    separator = ""
    for name in _fields(stored):
        line.fixed(f'{separator}"{name}":')
        kind = stored.column(name)
        assert kind is not None
        _add(line, rows[name], kind)
        separator = ","
    line.fixed("}}\n")
    return line


def _fields(stored: StoredType) -> Sequence[str]:
    """Give what a record's data holds; a key says the id already."""
    return [*([] if stored.key else ["id"]), *stored.properties]


def _add(line: _Line, column: pa.Array, kind: ValueType) -> None:
    match kind:
        case VectorType():
            line.cells(_lists(column, F32), "[", "]")
        case ListType(item):
            line.cells(_lists(column, ScalarType(item)), "[", "]")
        case _:
            line.cells(_texts(column, kind), *_marks(kind))


def _marks(kind: ValueType) -> tuple[str, str]:
    """Give what stands before and after a single value."""
    if kind == DATETIME:
        return '"', 'Z"'
    return ('"', '"') if is_text(kind) or kind in (DATE, BLOB) else ("", "")


def _texts(column: pa.Array, kind: ValueType) -> pa.Array:
    """Give single values as text, without quotes."""
    if is_text(kind):
        return _escaped(column)
    if kind == BLOB:
        return _escaped(blob_texts(column))
    if kind == DATETIME:
        moments = column.view(pa.int64()).view(pa.timestamp("ms")).cast(pa.utf8())
        return pc.replace_substring(moments, " ", "T")
    return _floats(column) if kind in FLOATS else column.cast(pa.utf8())


def _lists(column: pa.Array, item: ScalarType) -> pa.Array:
    """Give the items of lists or vectors, with commas between."""
    before, after = _marks(item)
    items = _texts(column.flatten(), item)
    if before:
        items = pc.binary_join_element_wise(before, items, after, "")
    return pc.binary_join(relisted(column, items, pa.list_(pa.utf8())), ",")


def _floats(column: pa.Array) -> pa.Array:
    """Give the shortest text that reads back to the same number, by way of 64 bits."""
    texts = column.cast(pa.utf8())
    numbers: _Numbers = column.to_numpy(zero_copy_only=False)
    negative_zero = (numbers == 0) & np.signbit(numbers)
    if negative_zero.any():  # Arrow writes -0, which is an integer and has no sign
        texts = pc.if_else(pa.array(negative_zero), "-0.0", texts)
    if numbers.dtype == np.float32 and (twice := np.abs(numbers) == _ROUNDED_TWICE).any():
        texts = pc.if_else(pa.array(twice), column.cast(pa.float64()).cast(pa.utf8()), texts)
    return texts


def _escaped(column: pa.Array) -> pa.Array:
    """Give texts with the characters escaped that JSON wants so; most columns have none."""
    data = np.frombuffer(_content(column), np.uint8)
    special = data[(data < 0x20) | (data == ord('"')) | (data == ord("\\"))]
    if len(special):
        present = {chr(code) for code in np.unique(special)}
        for char, escape in _ESCAPES.items():  # the backslash comes first
            if char in present:
                column = pc.replace_substring(column, char, escape)
    return column


def _content(column: pa.Array) -> pa.Buffer:
    """Give the bytes of all texts of a column, one after the other."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = column.buffers()[2]
    return pa.py_buffer(b"") if data is None else data.slice(first, last - first)


def _refuse_infinite(stored: StoredType, rows: pa.RecordBatch) -> None:
    for item in stored.properties.values():
        column = rows[item.name]
        values = column.flatten() if pa.types.is_nested(column.type) else column
        if (
            not pa.types.is_floating(values.type)
            or pc.all(pc.is_finite(values)).as_py() is not False
        ):
            continue
        row = next(at for at, value in enumerate(column.to_pylist()) if not _is_finite(value))
        raise InputError(
            f"{stored.name} '{rows['id'][row]}': {item.name} holds NaN or infinity, "
            "which JSON cannot hold",
            hint="Parquet can hold it",
        )


def _is_finite(value: float | list[float] | None) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return all(number is None or math.isfinite(number) for number in numbers)
