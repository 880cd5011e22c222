"""Replaced: the rows that others replace, kept by address and removed from their table by tasks."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.frozen import dataclass
from omnigraph.spark.runner import InlineRunner, Parcel, Runner
from omnigraph.storage.reading import ADDRESS, Addresses
from omnigraph.storage.staging import (
    Remains,
    TablePlace,
    fragments_of,
    group_fragments,
    place_of,
    remove_rows,
    without_removed,
)
from omnigraph.storage.table import Table
from omnigraph.write.load.aside import Aside
from omnigraph.write.load.sources.files import file_in

# So many bytes of addresses travel with the answer of a task; more go through a file of the store.
_MOST_HELD = 8_000
# So few rows are removed without a job of Spark, which takes longer to start.
_FEW_ROWS = 50_000
_ROWS_PER_TASK = 2_000_000


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """Addresses of rows in one version of a table, here or in a file of the store."""

    count: int
    held: bytes = b""
    aside: Aside | None = None
    path: str = ""

    def read(self) -> Addresses:
        """Return the addresses, in any process."""
        if self.aside is None:
            return np.frombuffer(self.held, np.uint64)
        with file_in(self.aside.store, self.path, self.path).open() as opened:
            found: Addresses = pq.read_table(opened)[ADDRESS].to_numpy()
        return found


def keep_addresses(
    aside: Aside, addresses: Addresses, most_held: int | None = None
) -> ReplacedRows:
    """Keep the addresses of replaced rows until they are removed."""
    if addresses.nbytes <= (_MOST_HELD if most_held is None else most_held):
        return ReplacedRows(len(addresses), held=addresses.tobytes())
    path = aside.write_rows(pa.table({ADDRESS: np.sort(addresses)}))
    return ReplacedRows(len(addresses), aside=aside, path=path)


def remove_replaced(
    runner: Runner,
    table: Table,
    replaced: Sequence[ReplacedRows],
) -> Table:
    """Return a table without the replaced rows; each task writes the deletions of some fragments.

    This process holds what is left of each fragment, which does not grow with the rows.
    """
    replaced = [each for each in replaced if each.count]
    if sum(each.count for each in replaced) <= _FEW_ROWS:
        runner = InlineRunner(runner.deadline)
    firsts = group_fragments(table, _ROWS_PER_TASK)
    found = runner.map_reduce(
        partial(_send, firsts),
        replaced,
        partial(_remove, place_of(table)),
        buckets=len(firsts),
    )
    return without_removed(table, [remains for each in found for remains in each])


def _send(firsts: Addresses, replaced: ReplacedRows) -> Iterator[Parcel]:
    """Yield the addresses for each group of fragments."""
    addresses = np.sort(replaced.read())
    groups = np.searchsorted(firsts, fragments_of(addresses), side="right") - 1
    numbers, starts = np.unique(groups, return_index=True)
    for number, own in zip(numbers.tolist(), np.split(addresses, starts[1:]), strict=True):
        yield Parcel(number, "", own.tobytes())


def _remove(place: TablePlace, parcels: Sequence[Parcel]) -> list[Remains]:
    addresses = [np.frombuffer(each.payload, np.uint64) for each in parcels]
    return remove_rows(place, np.concatenate(addresses))
