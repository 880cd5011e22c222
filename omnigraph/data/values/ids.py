"""Ids: every row gets the id of its key, the id it came with, or a new one."""

import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_timestamps
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.identity import key_id
from omnigraph.schema.types import BOOL, DATE, DATETIME, INTEGERS, ScalarType, is_text

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
_ULID_LENGTH = 26
_COUNTED_BITS = 32
_TAIL_BITS = 35  # the counted bits, rounded up to whole digits


def assign_ids(stored: StoredType, batch: pa.RecordBatch) -> pa.Array:
    """Return the id of every row of a batch whose key columns hold no null."""
    if stored.key:
        return _key_ids(stored, batch)
    given = batch["id"]
    if not given.null_count:
        return given
    return pc.coalesce(given, make_ids(len(batch)))


def make_ids(count: int) -> pa.Array:
    """Return `count` new ULIDs: this millisecond and 48 random bits, then counted upwards."""
    first = (time.time_ns() // 1_000_000 << 80) | (int.from_bytes(os.urandom(6)) << _COUNTED_BITS)
    head = [(first >> shift) & 31 for shift in range(125, _TAIL_BITS - 1, -5)]
    text = np.empty((count, _ULID_LENGTH), np.uint8)
    text[:, : len(head)] = _CROCKFORD[head]
    tails = np.arange(count, dtype=np.int64) + (first & ((1 << _TAIL_BITS) - 1))
    for at in range(len(head), _ULID_LENGTH):
        text[:, at] = _CROCKFORD[(tails >> (5 * (_ULID_LENGTH - 1 - at))) & 31]
    offsets = np.arange(0, (count + 1) * _ULID_LENGTH, _ULID_LENGTH, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text.reshape(-1))]
    return pa.Array.from_buffers(pa.utf8(), count, buffers)


def _key_ids(stored: StoredType, batch: pa.RecordBatch) -> pa.Array:
    kinds = [stored.column(name) for name in stored.key]
    known = [kind for kind in kinds if kind is not None]
    if len(known) == 1:
        column, kind = batch[stored.key[0]], known[0]
        if is_text(kind):
            return column
        if isinstance(kind, ScalarType) and (kind in INTEGERS or kind in (BOOL, DATE)):
            return column.cast(pa.utf8())
    pairs = zip(stored.key, known, strict=True)
    columns = [_python_values(batch[name], kind == DATETIME) for name, kind in pairs]
    return pa.array([key_id(values, known) for values in zip(*columns, strict=True)], pa.utf8())


def _python_values(column: pa.Array, is_time: bool) -> list[object]:
    values: list[object] = (to_timestamps(column) if is_time else column).to_pylist()
    return values
