"""Blobs: how a table stores a Blob: a mark and its bytes, or the text that it was given as.

Rows in memory have a Blob as text, `base64:…` or a URI, or as it is stored; what is read from a
table is text unless something else is asked for. A URI begins with a letter, so the mark cannot be
taken for one. Storing loses nothing: base64 that would not come back as it is stays a text, as do
the texts that releases up to 0.1 stored.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MARK = b"\0"
BASE64 = b"base64:"

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

_KIND = pa.large_binary()
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# The last four characters of base64 whose unused bits are zero, as they are when it is encoded.
_TAIL = re.compile(rb"[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==")
# Characters that are worked on at a time, so that a large blob is not copied as a whole.
_PIECE = 4 << 18


def pack_rows(rows: Rows) -> Rows:
    """Return rows with their blobs as a table stores them."""
    return _with_blobs(rows, pack)


def unpack_rows(rows: Rows) -> Rows:
    """Return rows with their blobs as texts."""
    return _with_blobs(rows, unpack)


def has_blobs(schema: pa.Schema) -> bool:
    """Whether a table has a column of blobs."""
    return _KIND in schema.types


def pack(column: pa.Array) -> pa.Array:
    """Return a column of blobs as a table stores them."""
    if not _some_begin(column, BASE64):
        return column
    return _build([_view(each) for each in column])


def unpack(column: pa.Array) -> pa.Array:
    """Return a column of blobs as texts, `base64:…` or a URI."""
    if not _some_begin(column, MARK):
        return column
    views = [_view(each) for each in column]
    sizes = [0 if each is None else _text_size(each) for each in views]
    return _fill(views, sizes, _write_text)


def pack_values(values: Sequence[str | bytes | None]) -> pa.Array:
    """Return contents, texts and nulls as a table stores them; none of them is copied twice."""
    return _build(values)


def content_of(value: pa.Buffer) -> pa.Buffer | None:
    """Return the bytes of a blob as a table stores it; None for a URI."""
    text = memoryview(value).cast("B")
    if text[:1] == MARK:
        return value.slice(len(MARK))
    return pa.py_buffer(a2b_base64(text[len(BASE64) :])) if _is_base64(text) else None


def _with_blobs(rows: Rows, change: Callable[[pa.Array], pa.Array]) -> Rows:
    if _KIND not in rows.schema.types:
        return rows
    for at, field in enumerate(rows.schema):
        if field.type == _KIND:
            rows = rows.set_column(at, field, _changed(rows.column(at), change))
    return rows


def _changed(
    column: pa.Array | pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]
) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array(map(change, column.chunks), column.type)
    return change(column)


def _some_begin(column: pa.Array, prefix: bytes) -> bool:
    return pc.any(pc.starts_with(column, pattern=prefix)).as_py() is True


def _view(value: pa.Scalar) -> memoryview | None:
    buffer = value.as_buffer()
    return None if buffer is None else memoryview(buffer).cast("B")


def _build(values: Sequence[str | bytes | memoryview | None]) -> pa.Array:
    return _fill(values, list(map(_stored_size, values)), _write_stored)


def _fill(
    values: Sequence[str | bytes | memoryview | None],
    sizes: Sequence[int],
    write: Callable[[str | bytes | memoryview, memoryview], None],
) -> pa.Array:
    """Return an array of values that are written one by one into its memory."""
    offsets = np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)
    data = pa.allocate_buffer(int(offsets[-1]))
    memory = memoryview(data).cast("B")
    for value, first, end in zip(values, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if value is not None:
            write(value, memory[first:end])
    known = pa.array([each is not None for each in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(_KIND, len(values), [known, pa.py_buffer(offsets), data])


def _stored_size(value: str | bytes | memoryview | None) -> int:
    if value is None:
        return 0
    if isinstance(value, bytes):
        return len(MARK) + len(value)
    size = _content_size(value)
    if size is not None:
        return len(MARK) + size
    return len(value.encode()) if isinstance(value, str) else len(value)


def _write_stored(value: str | bytes | memoryview, memory: memoryview) -> None:
    if isinstance(value, bytes):
        memory[:1], memory[1:] = MARK, value
    elif len(memory) < len(value):  # the content is always shorter than the text
        memory[:1] = MARK
        _decode(value, memory[1:])
    else:
        memory[:] = value.encode() if isinstance(value, str) else value


def _content_size(text: str | memoryview) -> int | None:
    """Return the size of what a text encodes; None unless it is just as it would be encoded."""
    first, end = len(BASE64), len(text) - 4
    if not _is_base64(text) or (len(text) - first) % 4:
        return None
    if len(text) == first:
        return 0
    if not _TAIL.fullmatch(_piece(text, end, len(text))):
        return None
    for start in range(first, end, _PIECE):
        if _piece(text, start, min(start + _PIECE, end)).translate(None, _ALPHABET):
            return None
    return (len(text) - first) // 4 * 3 - _piece(text, end, len(text)).count(b"=")


def _is_base64(text: str | memoryview) -> bool:
    return _piece(text, 0, len(BASE64)) == BASE64


def _decode(text: str | memoryview, memory: memoryview) -> None:
    written = 0
    for start in range(len(BASE64), len(text), _PIECE):
        decoded = a2b_base64(_piece(text, start, start + _PIECE))
        memory[written : written + len(decoded)] = decoded
        written += len(decoded)


def _piece(text: str | memoryview, first: int, end: int) -> bytes:
    part = text[first:end]
    return part.encode() if isinstance(part, str) else bytes(part)


def _text_size(value: memoryview) -> int:
    if value[:1] != MARK:
        return len(value)
    return len(BASE64) + (len(value) - len(MARK) + 2) // 3 * 4


def _write_text(value: str | bytes | memoryview, memory: memoryview) -> None:
    assert isinstance(value, memoryview)
    if value[:1] != MARK:
        memory[:] = value
        return
    memory[: len(BASE64)] = BASE64
    written, step = len(BASE64), _PIECE // 4 * 3
    for start in range(len(MARK), len(value), step):
        encoded = b2a_base64(value[start : start + step], newline=False)
        memory[written : written + len(encoded)] = encoded
        written += len(encoded)
