"""Order: any number of rows sorted by id, a bounded part of them in memory."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageError

MOST_HELD = 64 << 20
_BATCH_ROWS = 65_536


def sorted_by_id(
    batches: Iterable[pa.RecordBatch], most_held: int = MOST_HELD
) -> Iterator[pa.RecordBatch]:
    """Give all rows in the order of the bytes of their ids.

    Rows that are more than `most_held` bytes wait on disk, in sorted runs. Each is read once.
    """
    runs: list[pa.Table] = []
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most_held:
            runs.append(_laid_down(_sorted(pa.Table.from_batches(held))))
            held, size = [], 0
    if held:
        last = _sorted(pa.Table.from_batches(held))
        runs.append(_laid_down(last) if runs else last)
    yield from _merged(runs, most_held) if len(runs) > 1 else _batches(runs)


def _batches(tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    return (batch for table in tables for batch in table.to_batches(max_chunksize=_BATCH_ROWS))


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.take(pc.sort_indices(rows["id"]))


def _laid_down(rows: pa.Table) -> pa.Table:
    """Give the same rows from a file without a name, which is gone when the table is."""
    try:
        with NamedTemporaryFile(prefix="omnigraph-", suffix=".arrow") as file:
            with pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=_BATCH_ROWS)
            file.flush()
            return pa.ipc.open_file(pa.memory_map(file.name)).read_all()
    except OSError as failed:
        reason = failed.strerror or str(failed)
        hint = "rows are sorted in the folder for temporary files; TMPDIR names another one"
        raise StorageError(f"cannot sort rows: {reason}", hint=hint) from failed


def _merged(runs: Sequence[pa.Table], most_held: int) -> Iterator[pa.RecordBatch]:
    """Give the rows of all runs, range by range: each is cut out of every run and sorted."""
    rows, size = sum(map(len, runs)), sum(run.nbytes for run in runs)
    starts = [0] * len(runs)
    for cut in [*_cuts(runs, max(1, rows * most_held // size)), None]:
        ends = [len(run) if cut is None else _first_from(run, cut) for run in runs]
        parts = [
            run.slice(start, end - start)
            for run, start, end in zip(runs, starts, ends, strict=True)
        ]
        yield from _batches([_sorted(pa.concat_tables(parts))])
        starts = ends


def _cuts(runs: Sequence[pa.Table], most_rows: int) -> list[str]:
    """Give the ids at which ranges of at most so many rows begin.

    A sample stands for `step` rows of its run, and of each run a range holds fewer than `step`
    rows more than its samples stand for.
    """
    step = max(1, most_rows // (2 * len(runs)))
    samples = sorted(run["id"][at].as_py() for run in runs for at in range(0, len(run), step))
    return samples[len(runs) :: len(runs)]


def _first_from(run: pa.Table, wanted: str) -> int:
    ids = run["id"]
    return bisect_left(range(len(run)), wanted, key=lambda at: ids[at].as_py())
