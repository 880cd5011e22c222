"""Sorting: any number of rows sorted by id, a bounded part of them in memory."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageError

MOST_HELD = 64 << 20
_BATCH_ROWS = 65_536
# How much a range of rows may exceed its size, as a part of it, for each run it is cut from.
_RUN_BATCH_PART = 1 / 64


def sort_by_id(
    batches: Iterable[pa.RecordBatch], most_held: int = MOST_HELD
) -> Iterator[pa.RecordBatch]:
    """Yield all rows sorted by the bytes of their ids.

    Rows beyond `most_held` bytes wait on disk, in sorted runs.
    """
    runs: list[_SortedRun] = []
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most_held:
            runs.append(_SortedRun(_sort(pa.Table.from_batches(held)), most_held))
            held, size = [], 0
    last = _sort(pa.Table.from_batches(held)) if held else None
    if not runs:
        yield from () if last is None else _batches(last)
        return
    if last is not None:
        runs.append(_SortedRun(last, most_held))
    yield from _merge(runs, most_held)


class _SortedRun:
    """Sorted rows in an unnamed file, which goes when the run does.

    Batches are read when they are needed; of each, only the first id is held.
    """

    def __init__(self, rows: pa.Table, most_held: int) -> None:
        self.bytes_of_row: int = max(1, rows.nbytes // rows.num_rows)
        self.step: int = max(
            1, min(_BATCH_ROWS, int(most_held * _RUN_BATCH_PART) // self.bytes_of_row)
        )
        every = pa.array(range(0, rows.num_rows, self.step), pa.int64())
        self.firsts: list[str] = rows["id"].take(every).to_pylist()
        self._rows: int = rows.num_rows
        try:
            with NamedTemporaryFile(prefix="omnigraph-", suffix=".arrow") as file:
                with pa.ipc.new_file(file, rows.schema) as writer:
                    writer.write_table(rows.combine_chunks(), max_chunksize=self.step)
                file.flush()
                self._reader = pa.ipc.open_file(pa.OSFile(file.name))
        except OSError as failed:
            reason = failed.strerror or str(failed)
            hint = "set TMPDIR to a folder with room; rows are sorted there"
            raise StorageError(f"cannot sort rows: {reason}", hint=hint) from failed

    def __len__(self) -> int:
        return self._rows

    def place_of(self, wanted: str) -> int:
        """Return how many rows come before an id."""
        after = bisect_left(self.firsts, wanted)
        if not after:
            return 0
        ids = self._reader.get_batch(after - 1)["id"]
        within: int = bisect_left(range(len(ids)), wanted, key=lambda at: ids[at].as_py())
        return (after - 1) * self.step + within

    def rows(self, start: int, end: int) -> pa.Table:
        """Return the rows from one place up to another."""
        first, last = start // self.step, -(-end // self.step)
        batches = [self._reader.get_batch(each) for each in range(first, last)]
        found = pa.Table.from_batches(batches, schema=self._reader.schema)
        return found.slice(start - first * self.step, end - start)


def _batches(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from rows.to_batches(max_chunksize=_BATCH_ROWS)


def _sort(rows: pa.Table) -> pa.Table:
    return rows.take(pc.sort_indices(rows["id"]))


def _merge(runs: Sequence[_SortedRun], most_held: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all runs, range by range: each is cut out of every run and sorted."""
    starts = [0] * len(runs)
    for cut in [*_choose_cuts(runs, most_held // 2), None]:
        ends = [len(run) if cut is None else run.place_of(cut) for run in runs]
        parts = [run.rows(start, end) for run, start, end in zip(runs, starts, ends, strict=True)]
        yield from _batches(_sort(pa.concat_tables(parts)))
        starts = ends


def _choose_cuts(runs: Sequence[_SortedRun], most_bytes: int) -> list[str]:
    """Return the ids at which ranges of about `most_bytes` begin.

    The first id of a batch stands for the batch, so of each run a range holds less than one batch
    too many.
    """
    samples = sorted((first, run.step * run.bytes_of_row) for run in runs for first in run.firsts)
    cuts, held = [], 0
    for first, size in samples:
        if held and held + size > most_bytes:
            cuts.append(first)
            held = 0
        held += size
    return cuts
