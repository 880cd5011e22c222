"""Shards: the rows of some fragments as one file, of JSON lines or Parquet."""

from enum import StrEnum
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.data.values.recast import recast
from omnigraph.export.lines import render_lines, to_blob_texts
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_schema, arrow_type
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.schema.types import BLOB, DATETIME, ListType, ScalarType, ValueType, VectorType
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.storage.folder import Folder
from omnigraph.storage.staging import Share


class ExportFormat(StrEnum):
    """How the files of an export hold their rows."""

    JSONL = "jsonl"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Shard:
    """Some rows of a type, and the file they go to."""

    stored: StoredType
    share: Share
    path: str


@dataclass(frozen=True, slots=True)
class WriteShard:
    """The task of an export: writes one shard and returns its number of rows.

    A shard always makes the same file, so a task can run twice. Without rows it may leave an empty
    file.
    """

    folder: Folder
    format: ExportFormat
    deadline: Deadline = NO_DEADLINE

    def __call__(self, shard: Shard) -> int:
        write = _write_lines if self.format is ExportFormat.JSONL else _write_parquet
        with self.folder.writer(shard.path) as file:
            return write(shard, file, self.deadline)


def _write_lines(shard: Shard, file: BinaryIO, deadline: Deadline) -> int:
    rows = 0
    for batch in shard.share.batches(arrow_schema(shard.stored).names):
        deadline.check()
        for text in render_lines(shard.stored, batch):
            file.write(text)
        rows += len(batch)
    return rows


def _write_parquet(shard: Shard, file: BinaryIO, deadline: Deadline) -> int:
    stored, rows = shard.stored, 0
    columns = [name for name in arrow_schema(stored).names if name != "id" or not stored.key]
    schema = pa.schema([_field(stored, name) for name in columns])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in shard.share.batches(columns):
            deadline.check()
            pairs = zip(batch.columns, schema.types, strict=True)
            arrays = [_file_column(column, kind) for column, kind in pairs]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(batch)
    return rows


def _field(stored: StoredType, name: str) -> pa.Field:
    """Return a column of a Parquet file; the ends of an edge are named as in a record."""
    kind = stored.column(name)
    assert kind is not None
    item = stored.properties.get(name)
    return pa.field(
        field_name(stored, name), _file_type(kind), nullable=item is not None and item.nullable
    )


def _file_type(kind: ValueType) -> pa.DataType:
    """Return the type that Parquet has for values of a type.

    Parquet has no date64, cannot hold null among lists of one length, and gets blobs as text.
    """
    match kind:
        case VectorType():
            return pa.list_(pa.float32())
        case ListType(item):
            return pa.list_(_file_type(ScalarType(item)))
    if kind == DATETIME:
        return pa.timestamp("ms", "UTC")
    return pa.utf8() if kind == BLOB else arrow_type(kind)


def _file_column(column: pa.Array, target: pa.DataType) -> pa.Array:
    texts = to_blob_texts(column) if pa.types.is_large_binary(column.type) else column
    return recast(texts, target)
