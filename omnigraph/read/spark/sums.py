"""Sums: sums of floats on Spark that equal those of the engine, to the last bit.

A sum of floats depends on the order in which they are added. The engine adds those of a group from
the least to the greatest. So they are sorted here too, which Spark does on disk when they are many,
and a task adds them up as they come.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sum_groups(frame: "DataFrame") -> "DataFrame":
    """Return for each group the sum of the last column; all other columns are its key.

    The columns keep their names.
    """
    *keys, _ = frame.columns
    together = frame.repartition(*keys) if keys else frame.repartition(1)
    return together.sortWithinPartitions(frame.columns).mapInArrow(_Add(len(keys)), frame.schema)


@dataclass(frozen=True, slots=True)
class _Add:
    """Adds up the last column of sorted rows; the rows of one group follow each other."""

    keys: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open_group: pa.RecordBatch | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            rows = batch if open_group is None else _concat(open_group, batch)
            firsts = self._firsts(rows)
            values = rows.column(self.keys).to_numpy(zero_copy_only=False)
            groups = np.cumsum(firsts) - 1
            totals = np.bincount(groups, weights=values)
            found = rows.take(pa.array(np.flatnonzero(firsts)))
            found = found.set_column(self.keys, rows.schema.field(self.keys), pa.array(totals))
            yield found.slice(0, found.num_rows - 1)
            open_group = found.slice(found.num_rows - 1)
        if open_group is not None:
            yield open_group

    def _firsts(self, rows: pa.RecordBatch) -> "np.ndarray":
        """Return which rows are the first of their group."""
        firsts = np.zeros(rows.num_rows, bool)
        firsts[0] = True
        for column in rows.columns[: self.keys]:
            codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy()
            firsts[1:] |= codes[1:] != codes[:-1]
        return firsts


def _concat(first: pa.RecordBatch, others: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of two batches as one."""
    pairs: Sequence[tuple[pa.Array, pa.Array]] = list(
        zip(first.columns, others.columns, strict=True)
    )
    arrays = [pa.concat_arrays([one, other.cast(one.type)]) for one, other in pairs]
    return pa.record_batch(arrays, schema=first.schema)
