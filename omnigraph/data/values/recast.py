"""Recast: stored columns in the types that files and Spark have for the same values."""

import pyarrow as pa

from omnigraph.data.values.columns import replace_items, to_timestamps


def recast(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same values as another type, which can hold them all."""
    if column.type == target:
        return column
    if pa.types.is_list(target):
        return replace_items(column, recast(column.flatten(), target.value_type), target)
    if pa.types.is_date64(column.type):  # which means a day to Arrow, and to us a millisecond
        return to_timestamps(column).cast(target)
    return column.cast(target)
