"""Lines: rows of a table as JSON lines, rendered column by column."""

import base64
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import replace_items
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

_Floats: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# Text grows sixfold at most; a server works for others between two pieces.
_MOST_BYTES = 2 << 20
_NAMED = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES = {"\\": "\\\\", '"': '\\"', **_CONTROLS, **_NAMED}
# The only F32 whose shortest text, read as F64 first, is rounded to a neighbour.
_ROUNDED_TWICE = np.uint32(0x15AE43FD).view(np.float32)
_BLOB_TEXT = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\t-\r ]*$"


def render_lines(stored: StoredType, rows: pa.RecordBatch) -> Iterator[bytes]:
    """Yield the rows as records, one to a line, many lines at a time.

    Raises InputError when a number is NaN or infinite, which JSON has no form for.
    """
    if rows.nbytes > _MOST_BYTES and len(rows) > 1:
        half = len(rows) // 2
        yield from render_lines(stored, rows.slice(0, half))
        yield from render_lines(stored, rows.slice(half))
    elif len(rows):
        _check_finite(stored, rows)
        yield _build_line(stored, rows).render()


def to_blob_texts(column: pa.Array) -> pa.Array:
    """Return blobs as text: `base64:…` or a URI; bytes that are neither become base64."""
    try:
        texts = column.cast(pa.utf8())
        if pc.all(pc.match_substring_regex(texts, _BLOB_TEXT)).as_py() is not False:
            return texts
    except pa.ArrowInvalid:  # it is not UTF-8
        pass
    return pa.array(map(_to_blob_text, column.to_pylist()), pa.utf8())


def _to_blob_text(value: bytes | None) -> str | None:
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

    def add_text(self, text: str) -> None:
        last = self._parts[-1]
        if isinstance(last, str):
            self._parts[-1] = last + text
        else:
            self._parts.append(text)

    def add_column(self, column: pa.Array, before: str = "", after: str = "") -> None:
        """Add a column, each value between two texts; null is written without them."""
        if column.null_count and (before or after):
            column = pc.binary_join_element_wise(before, column, after, "")
            before = after = ""
        self.add_text(before)
        self._parts.append(column)
        self.add_text(after)

    def render(self) -> bytes:
        joined = pc.binary_join_element_wise(
            *self._parts, "", null_handling="replace", null_replacement="null"
        )
        return bytes(_content(joined))


def _build_line(stored: StoredType, rows: pa.RecordBatch) -> _Line:
    line = _Line()
    if isinstance(stored, EdgeType):
        line.add_text(f'{{"edge":"{stored.name}","from":')
        line.add_column(_escape(rows["src"]), '"', '"')
        line.add_text(',"to":')
        line.add_column(_escape(rows["dst"]), '"', '"')
    else:
        line.add_text(f'{{"type":"{stored.name}"')
    line.add_text(',"data":{')
    separator = ""
    for name in _fields(stored):
        line.add_text(f'{separator}"{name}":')
        kind = stored.column(name)
        assert kind is not None
        _add(line, rows[name], kind)
        separator = ","
    line.add_text("}}\n")
    return line


def _fields(stored: StoredType) -> Sequence[str]:
    """Return the fields of a record's data; a key already says the id."""
    return [*([] if stored.key else ["id"]), *stored.properties]


def _add(line: _Line, column: pa.Array, kind: ValueType) -> None:
    match kind:
        case VectorType():
            line.add_column(_to_lists(column, F32), "[", "]")
        case ListType(item):
            line.add_column(_to_lists(column, ScalarType(item)), "[", "]")
        case _:
            line.add_column(_to_texts(column, kind), *_marks(kind))


def _marks(kind: ValueType) -> tuple[str, str]:
    """Return what stands before and after a single value."""
    if kind == DATETIME:
        return '"', 'Z"'
    return ('"', '"') if is_text(kind) or kind in (DATE, BLOB) else ("", "")


def _to_texts(column: pa.Array, kind: ValueType) -> pa.Array:
    """Return single values as text, without quotes."""
    if is_text(kind):
        return _escape(column)
    if kind == BLOB:
        return _escape(to_blob_texts(column))
    if kind == DATETIME:
        moments = column.view(pa.int64()).view(pa.timestamp("ms")).cast(pa.utf8())
        return pc.replace_substring(moments, " ", "T")
    return _to_float_texts(column) if kind in FLOATS else column.cast(pa.utf8())


def _to_lists(column: pa.Array, item: ScalarType) -> pa.Array:
    """Return the items of lists or vectors, separated by commas."""
    before, after = _marks(item)
    items = _to_texts(column.flatten(), item)
    if before:
        items = pc.binary_join_element_wise(before, items, after, "")
    return pc.binary_join(replace_items(column, items, pa.list_(pa.utf8())), ",")


def _to_float_texts(column: pa.Array) -> pa.Array:
    """Return the shortest texts that read back, as 64-bit floats, to the same numbers."""
    texts = column.cast(pa.utf8())
    numbers: _Floats = column.to_numpy(zero_copy_only=False)
    negative_zero = (numbers == 0) & np.signbit(numbers)
    if negative_zero.any():  # Arrow writes -0, which is an integer and has no sign
        texts = pc.if_else(pa.array(negative_zero), "-0.0", texts)
    if numbers.dtype == np.float32 and (twice := np.abs(numbers) == _ROUNDED_TWICE).any():
        texts = pc.if_else(pa.array(twice), column.cast(pa.float64()).cast(pa.utf8()), texts)
    return texts


def _escape(column: pa.Array) -> pa.Array:
    """Return texts with the escapes that JSON requires; most columns need none."""
    data = np.frombuffer(_content(column), np.uint8)
    special = data[(data < 0x20) | (data == ord('"')) | (data == ord("\\"))]
    if len(special):
        present = {chr(code) for code in np.unique(special)}
        for char, escape in _ESCAPES.items():  # the backslash comes first
            if char in present:
                column = pc.replace_substring(column, char, escape)
    return column


def _content(column: pa.Array) -> pa.Buffer:
    """Return the bytes of all texts of a column, one after the other."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = column.buffers()[2]
    return pa.py_buffer(b"") if data is None else data.slice(first, last - first)


def _check_finite(stored: StoredType, rows: pa.RecordBatch) -> None:
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
            "which JSON cannot represent",
            hint="export as Parquet",
        )


def _is_finite(value: float | list[float] | None) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return all(number is None or math.isfinite(number) for number in numbers)
