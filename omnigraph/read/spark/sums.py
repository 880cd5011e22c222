"""Sums: sums of floats on Spark that equal those of the engine, to the last bit.

A sum is the float nearest to the exact sum, in whatever order the rows come. The rows of a group
come to one task, which adds them up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from math import isinf
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.data.values.sums import ExactSum, average_floats, sum_floats
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sum_groups(frame: "DataFrame", *, weighed: bool, averages: bool) -> "DataFrame":
    """Return for each group the sum or the average of a column; those before it are its key.

    With `weighed` the last column says how often each value counts. The columns keep their names.
    """
    keys = frame.columns[: -2 if weighed else -1]
    together = frame.repartition(*keys) if keys else frame.repartition(1)
    summed = frame.drop(frame.columns[-1]) if weighed else frame
    rows = together.sortWithinPartitions(*keys) if keys else together
    return rows.mapInArrow(_Add(len(keys), averages), summed.schema)


@dataclass(slots=True)
class _Total:
    """What was added up of a group, and how many values that are."""

    exact: ExactSum = field(default_factory=ExactSum)
    count: int = 0

    def add(self, values: "np.ndarray", weights: "np.ndarray | None") -> None:
        """Add values, each as often as its weight says."""
        self.exact.add(values, weights)
        self.count += len(values) if weights is None else int(weights.sum())

    def result(self, *, averages: bool) -> float:
        """Return the sum or the average, which is divided as `average_floats` does."""
        found = self.exact.round()
        if not averages:
            return found
        is_lost = isinf(found) and not self.exact.special
        return self.exact.round(self.count) if is_lost else found / self.count


@dataclass(frozen=True, slots=True)
class _Add:
    """Adds up a column of rows; those of one group follow each other."""

    keys: int
    averages: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        last: pa.RecordBatch | None = None
        total = _Total()
        for batch in batches:
            if not batch.num_rows:
                continue
            firsts = self._firsts(batch)
            firsts[0] = last is None or not self._is_same(last, batch)
            bounds = [*np.flatnonzero(firsts).tolist(), batch.num_rows]
            if last is not None and bounds[0]:
                total.add(*self._weighed(batch.slice(0, bounds[0])))
            if len(bounds) == 1:
                continue
            if last is not None:
                yield self._summed(last, np.array([total.result(averages=self.averages)]))
            inside = batch.slice(bounds[0], bounds[-2] - bounds[0])
            if inside.num_rows:
                yield self._sum_whole(inside, firsts[bounds[0] : bounds[-2]])
            rest = batch.slice(bounds[-2])
            last, total = rest.slice(0, 1), _Total()
            total.add(*self._weighed(rest))
        if last is not None:
            yield self._summed(last, np.array([total.result(averages=self.averages)]))

    def _sum_whole(self, rows: pa.RecordBatch, firsts: "np.ndarray") -> pa.RecordBatch:
        """Return the sums or averages of groups all of whose rows are here."""
        values, weights = self._weighed(rows)
        places, groups = np.flatnonzero(firsts), np.cumsum(firsts) - 1
        if self.averages:
            own = np.ones(len(values), np.int64) if weights is None else weights
            totals = average_floats(values, groups, np.add.reduceat(own, places), weights)
        else:
            totals = sum_floats(values, groups, len(places), weights)
        return self._summed(rows.take(pa.array(places)), totals)

    def _summed(self, groups: pa.RecordBatch, totals: "np.ndarray") -> pa.RecordBatch:
        """Return the first row of each group with its sum instead of its value."""
        found = groups.select(list(range(self.keys + 1)))
        return found.set_column(self.keys, groups.schema.field(self.keys), pa.array(totals))

    def _weighed(self, rows: pa.RecordBatch) -> tuple["np.ndarray", "np.ndarray | None"]:
        values = rows.column(self.keys).to_numpy(zero_copy_only=False)
        if rows.num_columns == self.keys + 1:
            return values, None
        return values, rows.column(self.keys + 1).to_numpy(zero_copy_only=False)

    def _is_same(self, last: pa.RecordBatch, batch: pa.RecordBatch) -> bool:
        """Return whether the first row of a batch is of the group of another row."""
        pairs = zip(last.columns[: self.keys], batch.columns[: self.keys], strict=True)
        codes = (
            pa.concat_arrays([one, other.slice(0, 1).cast(one.type)]).dictionary_encode("encode")
            for one, other in pairs
        )
        return all(code.indices[0] == code.indices[1] for code in codes)

    def _firsts(self, rows: pa.RecordBatch) -> "np.ndarray":
        """Return which rows after the first are the first of their group."""
        firsts = np.zeros(rows.num_rows, bool)
        for column in rows.columns[: self.keys]:
            codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy()
            firsts[1:] |= codes[1:] != codes[:-1]
        return firsts
