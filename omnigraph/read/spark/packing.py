"""Packing: rows of a frame as batches of a result, each made by a task and sent as bytes."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import broadcast
from omnigraph.frozen import dataclass
from omnigraph.spark.garbage import spare_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PACKED_SQL = "batch binary"
_PACKED = pa.schema([("batch", pa.binary())])
# Rows per packed batch, so that a row of Spark stays small.
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class BatchPacking:
    """Turns each batch of a frame into a batch of the result.

    `places` holds for each column of the result its place in the frame, or the value that all rows
    share. Of a node or edge, the number of its type is left out.
    """

    schema: pa.Schema
    places: tuple[int | pa.Scalar, ...]

    def frame(self, rows: "DataFrame") -> "DataFrame":
        """Return a frame of packed batches, in the order of the rows."""
        return rows.mapInArrow(self, _PACKED_SQL)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS):
                packed = bytes(self.batch(batch.slice(start, _ROWS)).serialize())
                yield pa.record_batch([pa.array([packed], pa.binary())], schema=_PACKED)
        spare_modules()

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of the frame as one of the result."""
        arrays = [
            self._column(batch, place, field.type)
            for place, field in zip(self.places, self.schema, strict=True)
        ]
        return pa.record_batch(arrays, schema=self.schema)

    def _column(self, batch: pa.RecordBatch, place: int | pa.Scalar, kind: pa.DataType) -> pa.Array:
        if not isinstance(place, int):
            return broadcast(place, batch.num_rows)
        column = batch.column(place)
        if pa.types.is_list(kind) and pa.types.is_binary(column.type):
            return _unpack_lists(column, kind)
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            return _build_lists(column, kind)
        return build_object(column, kind) if pa.types.is_struct(kind) else column.cast(kind)

    def unpack(self, packed: bytes | bytearray) -> pa.RecordBatch:
        """Return a batch of the result."""
        return pa.ipc.read_record_batch(pa.py_buffer(packed), self.schema)


def _unpack_lists(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return lists that tasks made; a group without rows has an empty one."""
    schema = pa.schema([("list", kind)])
    found = [
        pa.array([[]], kind)
        if each is None
        else pa.ipc.read_record_batch(pa.py_buffer(each), schema).column(0)
        for each in column.to_pylist()
    ]
    return pa.concat_arrays(found) if found else pa.array([], kind)


def _build_lists(column: pa.ListArray, kind: pa.ListType) -> pa.Array:
    """Return lists of nodes or edges as lists of objects; null is an empty one."""
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))])
    objects = build_object(column.flatten(), kind.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), objects)


def build_object(column: pa.StructArray, kind: pa.StructType) -> pa.Array:
    """Return nodes or edges as objects of a result."""
    values = [column.field(0), *(column.field(at) for at in range(2, column.type.num_fields))]
    arrays = [value.cast(field.type) for value, field in zip(values, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=column.is_null())
