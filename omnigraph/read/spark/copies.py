"""Copies: columns of a table version in Parquet beside a graph, which Spark reads by itself.

Rows of a table cross from Python to the JVM on every scan, and Spark does not know how many they
are. This process writes a copy of some million rows in less time than one such scan takes, so they
are copied at once. Of more, tasks make a copy that costs as much as a scan, for the second one. A
copy can be removed at any time: one that does not hold exactly what was written counts as missing.
"""

import json
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import LongType, StructField, StructType

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.derived.topology import Topology
from omnigraph.data.values.columns import to_array
from omnigraph.data.values.recast import recast
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import EnumType, Scalar, ScalarType, ValueType
from omnigraph.spark.connector import to_arrow_schema, to_spark_schema
from omnigraph.storage import layout
from omnigraph.storage.durable import sync
from omnigraph.storage.reading import batches_where, read_columns
from omnigraph.storage.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT = 4
# The most edges that one node is the source of, and the most that one is the target of.
MostEdges: TypeAlias = tuple[int, int]
ENDS = ("src", "dst")

# Spark reads no file whose name begins so.
_LABEL = "_copy.json"
# Spark reads a path with one of these as a pattern.
_PATTERN = set("*?[]{}\\,")
# Up to this many rows this process copies by itself.
_MOST_HELD = 5_000_000
# So many scans of the same columns are worth a copy that tasks make.
_SCANS = 1
# Spark reads so many rows of a file, or a multiple of it, in one task.
_GROUP_ROWS = 500_000
# The checksums that Hadoop keeps beside a file: how they begin, and of how many bytes each is.
_SUMS, _SUMMED = b"crc\0", 512
# Of one table, so many copies are kept: those that were made last.
_MOST_COPIES = 8


@dataclass(frozen=True, slots=True)
class Copied:
    """Some columns of one version of a type's table; with `once`, each different row once.

    Those among `numbers` hold the ids of nodes whose keys are integers, and have these instead.
    """

    stored: StoredType
    table: Table
    columns: tuple[str, ...]
    once: bool = False
    numbers: frozenset[str] = frozenset()

    @property
    def is_worth_it(self) -> bool:
        """Whether the columns are worth a copy: lists, vectors and blobs are not."""
        return all(_is_small(self.stored.column(name)) for name in self.columns)

    @property
    def schema(self) -> StructType:
        """The columns as Spark reads them, under other names: some may differ in case only."""
        return numbered_schema(self.stored, self.columns, self.numbers)

    @property
    def has_ends(self) -> bool:
        """Whether the two ends of edges are among the columns."""
        return isinstance(self.stored, EdgeType) and set(ENDS) <= set(self.columns)

    @property
    def is_of_pairs(self) -> bool:
        """Whether the columns are the two ends of edges."""
        return self.has_ends and len(self.columns) == len(ENDS)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return ("copy", *self.table.key, self.columns, self.once, tuple(sorted(self.numbers)))

    @property
    def folder(self) -> str:
        """The name of its folder: the table, the version, and what of it."""
        what = sha256(repr((self.table.key, self.columns, self.once)).encode()).hexdigest()
        return f"{layout.copied_version(self.table.path, self.table.version)}.{what[:16]}"


@dataclass(frozen=True, slots=True)
class CopyFrame:
    """The frame of a copy; with the ends of edges, no node has more than `most`."""

    frame: "DataFrame"
    most: MostEdges | None


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies beside one graph; `used` are those that the frames of a query read."""

    folder: Path
    topology: Topology
    is_writable: bool
    used: list[Path] = field(default_factory=list)

    @staticmethod
    def beside(topology: Topology) -> "Copies | None":
        """Return the copies beside a graph on a local disk."""
        disk = topology.disk
        if disk is None or set(str(disk.folder)) & _PATTERN:
            return None
        return Copies(disk.folder.parent / layout.COPIES, topology, disk.writable)

    def frame(
        self, spark: "SparkSession", what: Copied, rows: int, scan: "Callable[[], DataFrame]"
    ) -> CopyFrame | None:
        """Return the frame of a copy, which is made of a scan if that pays; None without one."""
        at = self.folder / what.folder
        label = _read_label(at, what)
        if label is None and self.is_writable:
            if rows <= _MOST_HELD:
                self._make(at, what, partial(_write_held, what))
            elif self._pays(what, rows):
                self._make(at, what, partial(_write_by_tasks, what, scan))
            label = _read_label(at, what)
        if label is None:
            return None
        self.used.append(at)
        return CopyFrame(_parquet(spark, at, what), _most_of(label))

    def drop_used(self) -> None:
        """Remove the copies that a query could not read."""
        for each in self.used:
            shutil.rmtree(each, ignore_errors=True)
        self.used.clear()

    def _pays(self, what: Copied, rows: int) -> bool:
        """Return whether enough rows were scanned already for want of a copy."""
        if self.topology.noted_cost([what.key]) >= rows * _SCANS:
            self.topology.clear_cost([what.key])
            return True
        self.topology.note_cost([what.key], rows)
        return False

    def _make(self, at: Path, what: Copied, write: "Callable[[Path], MostEdges | None]") -> None:
        """Make a copy if that is possible: without one, a query reads the table."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        aside = self.folder / f".{uuid4().hex}"
        try:
            self.folder.mkdir(exist_ok=True)
            most = write(aside)
            label = {"format": _FORMAT, "key": repr(what.key), "files": _sizes(aside)}
            (aside / _LABEL).write_text(json.dumps(label | {"most": most}))
            sync(self.folder, [aside.name])
            shutil.rmtree(at, ignore_errors=True)
            aside.rename(at)
            self._prune(at)
        except (OSError, pa.ArrowException, PySparkException, Py4JError):
            return
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _prune(self, newest: Path) -> None:
        """Remove the oldest copies of a table when there are too many."""
        table = newest.name.partition(".")[0]
        found = sorted(self.folder.glob(f"{table}.*"), key=lambda each: each.stat().st_mtime)
        for each in found[:-_MOST_COPIES]:
            shutil.rmtree(each, ignore_errors=True)


def numbered_schema(
    stored: StoredType, columns: Sequence[str], numbers: frozenset[str]
) -> StructType:
    """Return columns of a type as Spark reads them, with integers for the ids in some of them."""
    kinds = [
        LongType() if each.name in numbers else each.dataType
        for each in to_spark_schema(stored, columns).fields
    ]
    return StructType([StructField(f"v{at}", kind) for at, kind in enumerate(kinds)])


def _is_small(kind: ValueType | None) -> bool:
    return isinstance(kind, EnumType) or (
        isinstance(kind, ScalarType) and kind.scalar is not Scalar.BLOB
    )


def _parquet(spark: "SparkSession", at: Path, what: Copied) -> "DataFrame":
    return spark.read.schema(what.schema).parquet(f"file://{at}")


def _write_held(what: Copied, folder: Path) -> MostEdges | None:
    """Write the rows of a copy by this process, and return the most edges that a node has."""
    schema, most, rows = to_arrow_schema(what.schema), None, _batches(what)
    if what.has_ends:
        pairs, most = count_pairs(read_columns(what.table, ENDS), once=what.once)
        if what.is_of_pairs:
            held = pairs.select(what.columns).combine_chunks()
            rows = iter(held.to_batches(_GROUP_ROWS))
    folder.mkdir()
    file = folder / "part.parquet"
    with pq.ParquetWriter(file, schema) as writer:
        for batch in rows:
            kept = zip(batch.columns, schema.types, strict=True)
            arrays = [recast(column, kind) for column, kind in kept]
            writer.write_batch(pa.record_batch(arrays, schema=schema), _GROUP_ROWS)
    (folder / f".{file.name}.crc").write_bytes(b"".join(_checksums(file)))
    return most


def _batches(what: Copied) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches that are worth a group of their own."""
    some: list[pa.RecordBatch] = []
    for batch in batches_where(what.table, what.columns, None):
        some.append(batch)
        if sum(each.num_rows for each in some) >= _GROUP_ROWS:
            yield pa.concat_batches(some)
            some = []
    if some:
        yield pa.concat_batches(some)


def _checksums(file: Path) -> Iterator[bytes]:
    """Yield what Hadoop's local file system compares with the content that it reads."""
    yield _SUMS + struct.pack(">i", _SUMMED)
    with file.open("rb") as content:
        while part := content.read(_SUMMED):
            yield struct.pack(">I", zlib.crc32(part))


def count_pairs(rows: pa.Table, *, once: bool) -> tuple[pa.Table, MostEdges]:
    """Return edges, with `once` those between the same nodes once, and the most that one has."""
    starts, ends = (encode(to_array(rows[end])) for end in ENDS)
    if once and _are_repeated(starts, ends):
        first, _ = number_combinations([starts, ends], rows.num_rows)
        rows, starts, ends = rows.take(pa.array(first)), starts[first], ends[first]
    return rows, (_count_most(starts), _count_most(ends))


def _count_most(codes: Numbers) -> int:
    return int(np.bincount(codes).max(initial=0))


def _are_repeated(starts: Numbers, ends: Numbers) -> bool:
    """Return whether a pair of numbers is there twice: to sort them is quick, to place them not."""
    pairs = np.sort(starts * (1 + ends.max(initial=0)) + ends)
    return bool((pairs[1:] == pairs[:-1]).any())


def _write_by_tasks(
    what: Copied, scan: "Callable[[], DataFrame]", folder: Path
) -> MostEdges | None:
    """Let tasks write the rows of a copy, and return the most edges that a node has."""
    from pyspark.sql import functions as fn

    fields = zip(what.columns, what.schema.names, strict=True)
    values = (
        f"cast({at} as bigint) as {at}" if name in what.numbers else at for name, at in fields
    )
    frame = scan().toDF(*what.schema.names).selectExpr(*values)
    (frame.distinct() if what.once else frame).write.parquet(f"file://{folder}")
    if not what.has_ends:
        return None
    edges = _parquet(frame.sparkSession, folder, what)

    def count_most(end: str) -> int:
        by_node = edges.groupBy(edges[what.columns.index(end)]).agg(fn.count(fn.lit(1)).alias("n"))
        return by_node.agg(fn.max("n")).collect()[0][0] or 0

    return count_most(ENDS[0]), count_most(ENDS[1])


def _most_of(label: Mapping[str, object]) -> MostEdges | None:
    match label.get("most"):
        case [int(starts), int(ends)]:
            return starts, ends
        case _:
            return None


def _read_label(at: Path, what: Copied) -> dict[str, object] | None:
    """Return the label of a copy that has all that was written; Spark checks the content."""
    with suppress(OSError, ValueError):
        label = json.loads((at / _LABEL).read_text())
        wanted = {"format": _FORMAT, "key": repr(what.key), "files": _sizes(at)}
        if isinstance(label, dict) and wanted.items() <= label.items():
            return label
    return None


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of each file; hidden ones are the checksums that Spark compares."""
    return {each.name: each.stat().st_size for each in folder.iterdir() if each.name != _LABEL}
