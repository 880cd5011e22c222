"""Equality: which rows of two tables hold the same values, bit by bit, null equal to null."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.schema.blobs import pack

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

_BITS = {
    pa.float32(): pa.int32(),
    pa.float64(): pa.int64(),
    pa.date64(): pa.int64(),
}


def equal_rows(one: pa.Table, other: pa.Table) -> Mask:
    """Return for each row whether two tables of one schema and length agree in all columns."""
    found = np.ones(one.num_rows, bool)
    for name in one.column_names:
        found &= equal_values(to_array(one[name]), to_array(other[name]))
    return found


def equal_values(one: pa.Array, other: pa.Array) -> Mask:
    """Return for each row whether two columns hold the same value."""
    if pa.types.is_large_binary(one.type):
        one, other = pack(one), pack(other)
    known = np.asarray(one.is_valid(), bool)
    both = known & np.asarray(other.is_valid(), bool)
    same = known == np.asarray(other.is_valid(), bool)
    places = np.flatnonzero(both)
    taken = (each.take(pa.array(places)) for each in (one, other))
    same[places] = _compare_known(*taken)
    return np.asarray(same)


def _compare_known(one: pa.Array, other: pa.Array) -> Mask:
    """Compare values that are not null."""
    kind = one.type
    if kind in _BITS:
        one, other = one.view(_BITS[kind]), other.view(_BITS[kind])
    if pa.types.is_fixed_size_list(kind):
        rows = [_vector_bits(each, kind.list_size) for each in (one, other)]
        return np.asarray((rows[0] == rows[1]).all(axis=1))
    if pa.types.is_list(kind):
        return _compare_lists(one, other)
    return np.asarray(pc.equal(one, other), bool)


def _vector_bits(vectors: pa.Array, size: int) -> "np.ndarray":
    numbers = vectors.flatten().to_numpy(zero_copy_only=False)
    bits: np.ndarray = numbers.view(np.int32).reshape(-1, size)
    return bits


def _compare_lists(one: pa.Array, other: pa.Array) -> Mask:
    """Compare lists: by length, then item by item."""
    lengths = [np.asarray(pc.list_value_length(each), np.int64) for each in (one, other)]
    found = lengths[0] == lengths[1]
    places = np.flatnonzero(found)
    items = [each.take(pa.array(places)).flatten() for each in (one, other)]
    owners = np.repeat(places, lengths[0][places])
    found[owners[~equal_values(*items)]] = False
    return np.asarray(found)
