"""Nearest: finds rows by vector in the index of a table, and measures its recall."""

import numpy as np
import pyarrow as pa

from omnigraph.frozen import dataclass
from omnigraph.storage import indexes
from omnigraph.storage.failures import report_as
from omnigraph.storage.indexes import IndexKind, IndexSpec, covered_fragments
from omnigraph.storage.reading import ADDRESS, count_bytes
from omnigraph.storage.table import Table

DISTANCE = "_distance"

# Partitions of an index that are searched: a tenth of them, and never fewer than this.
_LEAST_PROBES = 16
_PROBED_OF = 10
# Recall is measured with this many vectors of the table, by their nearest rows that are found.
_SAMPLE = 16
_NEAREST = 10


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The vector index of one column; rows that it does not cover are compared one by one."""

    table: Table
    column: str
    probes: int

    def nearest(self, wanted: "np.ndarray", most: int) -> "np.ndarray":
        """Return the addresses of rows near to a vector by cosine; the index may miss some."""
        return self._found(wanted, most, uses_index=True)

    def recall(self) -> float | None:
        """Return the share of the nearest rows that the index finds; None without any vectors."""
        sample = self._sample()
        if not len(sample):
            return None
        found = 0
        total = 0
        for wanted in sample:
            exact = self._found(wanted, _NEAREST, uses_index=False)
            total += len(exact)
            found += len(np.intersect1d(exact, self.nearest(wanted, _NEAREST)))
        return found / total if total else None

    def measured(self, wanted: "np.ndarray", most: int) -> pa.Table:
        """Return address and cosine distance of rows near to a vector; the index may miss some."""
        return self._measured(wanted, most, uses_index=True)

    def _found(self, wanted: "np.ndarray", most: int, *, uses_index: bool) -> "np.ndarray":
        found = self._measured(wanted, most, uses_index=uses_index)
        addresses: np.ndarray = found[ADDRESS].to_numpy()
        return addresses

    def _measured(self, wanted: "np.ndarray", most: int, *, uses_index: bool) -> pa.Table:
        asked = {
            "column": self.column,
            "q": wanted,
            "k": most,
            "metric": "cosine",
            "nprobes": self.probes,
            "use_index": uses_index,
        }
        with report_as(f"cannot search {self.table.path}"):
            scanner = self.table.dataset.scanner(
                columns=[DISTANCE], nearest=asked, with_row_address=True
            )
            return count_bytes(scanner.to_table())

    def _sample(self) -> list["np.ndarray"]:
        """Return the vectors of rows spread evenly over the table."""
        rows = self.table.count()
        places = np.unique(np.linspace(0, max(rows - 1, 0), _SAMPLE).astype(np.int64))
        with report_as(f"cannot read {self.table.path}"):
            taken = self.table.dataset.take(places.tolist() if rows else [], [self.column])
        values: pa.ChunkedArray = taken[self.column].drop_null()
        vectors = [np.asarray(each, np.float32) for each in values.to_pylist()]
        return [each for each in vectors if np.linalg.norm(each) > 0]


def nearest_rows(table: Table, column: str, wanted: "np.ndarray", most: int) -> pa.Table:
    """Return address and cosine distance of the rows nearest to a vector, by index if there is."""
    index = vector_index(table, column) or VectorIndex(table, column, _LEAST_PROBES)
    return index.measured(wanted, most)


def vector_index(table: Table, column: str) -> VectorIndex | None:
    """Return the index of a vector column, or None when there is none with rows in it."""
    with report_as(f"cannot read {table.path}"):
        covered = covered_fragments(table.dataset, IndexSpec(column, IndexKind.VECTOR))
        if not covered:
            return None
        every = table.dataset.get_fragments()
    rows = sum(each.physical_rows for each in every if each.fragment_id in covered)
    probes = max(_LEAST_PROBES, rows // indexes.VECTORS_PER_PARTITION // _PROBED_OF)
    return VectorIndex(table, column, probes)
