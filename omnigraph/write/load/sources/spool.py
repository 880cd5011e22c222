"""Spool: stores what tasks cannot reach, standard input and frames, where they can."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.errors import InputError
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import DATETIME
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.job import watched
from omnigraph.spark.progress import NO_PROGRESS
from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.write.load.sources.fields import column_of
from omnigraph.write.load.sources.files import File, file_in
from omnigraph.write.load.sources.splits import Format, LoadSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Buffer

Frame: TypeAlias = Any  # anything with an Arrow stream, or a Spark DataFrame

_PART_ROWS = 131_072
_BUFFER = 8 << 20
_WRITTEN = pa.schema([("path", pa.string()), ("digest", pa.string())])


class Spool:
    """A folder of a graph's store for one load, removed when the load ends."""

    def __init__(self, store: Store, deadline: Deadline) -> None:
        self._store = store
        self._deadline = deadline
        self._folder = f"{layout.ASIDE}/{uuid4().hex}"

    def stream(self, stream: BinaryIO | TextIO, name: str) -> File:
        """Store all JSON lines of a stream of bytes, or of text."""
        path = f"{self._folder}/{uuid4().hex}.jsonl"
        with self._store.objects.writer(path) as file:
            written = _Digested(file)
            while data := stream.read(_BUFFER):
                self._deadline.check()
                text = data.encode(errors="surrogatepass") if isinstance(data, str) else data
                written.write(text)
        return file_in(self._store, path, name, written.digest)

    def frame(self, frame: Frame, stored: StoredType) -> list[LoadSource]:
        """Store a frame as rows of a type."""
        if _is_spark(frame):
            parts = self._spark(frame)
        else:
            rows = _with_times(to_stream(frame), stored)
            parts = [write_part(self._store, self._folder, rows)]
        return [
            LoadSource(
                file_in(self._store, path, f"<{stored.name}>", digest), Format.PARQUET, stored.name
            )
            for path, digest in parts
        ]

    def _spark(self, frame: "DataFrame") -> list[tuple[str, str]]:
        write = partial(_write_batches, self._store, self._folder)

        def made() -> "DataFrame":
            return frame.mapInArrow(write, "path string, digest string")

        rows = watched(frame.sparkSession, made, NO_PROGRESS, self._deadline)
        return sorted((row[0], row[1]) for row in rows)

    def remove(self) -> None:
        """Remove everything that was stored; a cleanup removes what the store keeps."""
        self._store.objects.discard(self._folder)


@contextmanager
def spool(store: Store, deadline: Deadline) -> Iterator[Spool]:
    """Yield a spool that is removed at the end, whatever happens."""
    made = Spool(store, deadline)
    try:
        yield made
    finally:
        made.remove()


def write_part(store: Store, folder: str, rows: pa.RecordBatchReader) -> tuple[str, str]:
    """Write rows as one Parquet file of a folder; returns its path and its digest.

    Raises InputError for rows of a kind that Parquet does not have.
    """
    path = f"{folder}/{uuid4().hex}.parquet"
    with store.objects.writer(path) as file, _report_unreadable():
        written = _Digested(file)
        with pq.ParquetWriter(written, rows.schema) as writer:
            for batch in rows:
                writer.write_batch(batch, row_group_size=_PART_ROWS)
    return path, written.digest


def _with_times(rows: pa.RecordBatchReader, stored: StoredType) -> pa.RecordBatchReader:
    """Return rows with the milliseconds of times as such; Parquet would cut a date64 to its day."""
    times = {
        name for name in rows.schema.names if stored.column(column_of(stored, name)) == DATETIME
    }
    fields = [
        each.with_type(pa.timestamp("ms", "UTC"))
        if each.name in times and pa.types.is_date64(each.type)
        else each
        for each in rows.schema
    ]
    schema = pa.schema(fields)
    return rows if schema == rows.schema else rows.cast(schema)


@contextmanager
def _report_unreadable(*others: type[Exception]) -> Iterator[None]:
    """Raise InputError for what Arrow, or `others`, raise about a frame while the block runs."""
    try:
        yield
    except UnicodeEncodeError:
        reason = "a text has half of a surrogate pair, which is invalid Unicode"
        raise InputError(f"the frame cannot be read: {reason}") from None
    except (pa.ArrowException, *others) as bad:
        raise InputError(f"the frame cannot be read: {'; '.join(map(str, bad.args))}") from None


class _Digested(io.RawIOBase):
    """A file opened for writing that computes the digest of its content."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._sum.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        self._sum.update(data)
        return self._file.write(data)


def is_frame(data: object) -> bool:
    """Whether something is a frame: of Arrow, pandas, polars or Spark."""
    return hasattr(data, "__arrow_c_stream__") or _is_spark(data) or _is_lazy(data)


def frames_by_type(data: object, type_name: str | None) -> Mapping[str, Frame]:
    """Return frames by the name of their type."""
    if isinstance(data, Mapping):
        if type_name is not None:
            raise InputError(
                "frames in a mapping name their types themselves", hint="leave out type="
            )
        return data
    if type_name is None:
        raise InputError("a frame does not name the type of its rows", hint="set type=")
    return {type_name: data}


def _write_batches(
    store: Store, folder: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    first = next(batches, None)
    if first is not None:
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        path, digest = write_part(store, folder, rows)
        yield pa.record_batch([[path], [digest]], schema=_WRITTEN)


def _is_spark(frame: object) -> bool:
    return type(frame).__module__.startswith("pyspark.sql") and hasattr(frame, "mapInArrow")


def _is_lazy(frame: object) -> bool:
    """Whether something is a frame that has still to be computed: of polars, or a dataset."""
    module = type(frame).__module__
    is_polars = module.startswith("polars.") and hasattr(frame, "collect")
    return is_polars or (module == "pyarrow._dataset" and hasattr(frame, "to_batches"))


def to_stream(frame: Frame) -> pa.RecordBatchReader:
    """Return the rows of a frame of Arrow, pandas or polars, computed if need be."""
    if _is_lazy(frame):
        if type(frame).__module__.startswith("polars."):
            frame = frame.collect()
        else:
            scanner = frame.scanner() if hasattr(frame, "scanner") else frame
            return scanner.to_reader()
    if type(frame).__module__.startswith("pandas"):
        with _report_unreadable(OverflowError, TypeError, ValueError):
            frame = _from_pandas(frame)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(f"a {type(frame).__name__} is not a frame")
    return pa.RecordBatchReader.from_stream(frame)


def _from_pandas(frame: Frame) -> pa.Table:
    """Return a pandas frame as a table.

    Integers among Python objects are signed to Arrow, also where they only fit U64.
    """
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except OverflowError:
        columns = [_from_series(each) for _, each in frame.items()]
        return pa.table(columns, names=list(map(str, frame.columns)))


def _from_series(values: Frame) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except OverflowError:
        has_lists = any(hasattr(each, "__len__") for each in values)
        kind = pa.list_(pa.uint64()) if has_lists else pa.uint64()
        return pa.array(values, kind, from_pandas=True)
