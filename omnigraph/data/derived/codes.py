"""Codes: equal values get equal numbers, and so do combinations of them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import NO_ROW, Numbers, is_row_range, to_numbers
from omnigraph.data.derived.sorting import are_sorted
from omnigraph.data.values.comparison import IDENTITY, unify_zeros

_MOST = 2**62
_SPARSE = 4
# So many of the first rows have all of the values, where a column has far fewer values than rows.
_HEAD = 1 << 14
_FEW = 16


def encode(column: pa.Array) -> Numbers:
    """Return numbers that are equal where the values are; null equals null.

    A list can only be a literal of the query, so it is the same for all rows.
    """
    if pa.types.is_struct(column.type):
        return to_numbers(pc.struct_field(column, IDENTITY))
    if pa.types.is_integer(column.type) and not column.null_count and column.type != pa.uint64():
        return to_numbers(column)
    if pa.types.is_list(column.type):
        return np.zeros(len(column), np.int64)
    return to_numbers(unify_zeros(column).dictionary_encode().indices)


def number_combinations(columns: Sequence[Numbers], count: int) -> tuple[Numbers, Numbers]:
    """Return the first row of every different combination, and the combination of each row."""
    if not columns:
        return np.arange(min(count, 1)), np.zeros(count, np.int64)
    if len(columns) == 1 and are_sorted(columns):
        return _number_sorted(columns[0])
    found, width = _close_gaps(columns[0])
    for column in columns[1:]:
        more, wide = _close_gaps(column)
        if width * wide > _MOST:
            found, width = _close_gaps(found)
        found, width = found * wide + more, width * wide
    if len(columns) > 1:
        found, width = _close_gaps(found)
    return _find_first(found, width), found


def _number_sorted(column: Numbers) -> tuple[Numbers, Numbers]:
    """Return the first row of every different number, and which number each row has."""
    if is_row_range(column):
        return column, column
    begins = np.empty(len(column), bool)
    begins[:1] = True
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    found = np.cumsum(begins)
    found -= 1
    return np.flatnonzero(begins), found


def _find_first(codes: Numbers, width: int) -> Numbers:
    """Return the first row of each code; all codes from 0 to `width` are there."""
    if width * _FEW < _HEAD < len(codes):
        first = np.full(width, NO_ROW)
        first[codes[:_HEAD][::-1]] = np.arange(_HEAD - 1, -1, -1)
        if first.min() >= 0:
            return first
    if are_sorted([codes]):
        return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))[:width]
    first = np.empty(width, np.int64)
    # NumPy keeps the last of several writes.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _close_gaps(column: Numbers) -> tuple[Numbers, int]:
    """Return the column as numbers from 0 without gaps, and how many different ones there are."""
    if not len(column):
        return column, 0
    least, most = int(column.min()), int(column.max())
    if most - least <= _SPARSE * len(column):
        shifted = column - least if least else column
        present = np.zeros(most - least + 1, np.int64)
        present[shifted[:_HEAD]] = 1
        if not present.all():
            present[shifted] = 1
        if present.all():
            return shifted, len(present)
        places = np.cumsum(present) - 1
        return places[shifted], int(places[-1]) + 1
    found, inverse = np.unique(column, return_inverse=True)
    return inverse, len(found)
