"""Recast: stored columns in the types that files and Spark have for the same values."""

import numpy as np
import pyarrow as pa


def recast(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Give the same values as another type that can hold them all."""
    if column.type == target:
        return column
    if pa.types.is_list(target):
        return relisted(column, recast(column.flatten(), target.value_type), target)
    if pa.types.is_date64(column.type):  # which means a day to Arrow, and to us a millisecond
        return column.view(pa.int64()).cast(pa.timestamp("ms", "UTC")).cast(target)
    return column.cast(target)


def relisted(column: pa.Array, items: pa.Array, target: pa.DataType) -> pa.Array:
    """Give lists as long as those of a column, or null as there, of other items."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=target, mask=mask)
