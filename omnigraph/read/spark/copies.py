"""Copies: columns of a table version in Parquet beside a graph, which Spark reads by itself.

Rows of a table cross from Python to the JVM on every scan, and Spark does not know how many they
are. A copy costs as much as such a scan, so it is made for the second one. It can be removed at any
time: one that does not hold exactly what was written counts as missing.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.types import StructField, StructType

from omnigraph.data.derived.topology import Topology
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import EnumType, Scalar, ScalarType, ValueType
from omnigraph.spark.connector import to_spark_schema
from omnigraph.storage import layout
from omnigraph.storage.durable import sync
from omnigraph.storage.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT = 2
# Spark reads no file whose name begins so.
_LABEL = "_copy.json"
# Spark reads a path with one of these as a pattern.
_PATTERN = set("*?[]{}\\,")
# So many scans of the same columns are worth a copy.
_SCANS = 1
# Of one table, so many copies are kept: those that were made last.
_MOST_COPIES = 8


@dataclass(frozen=True, slots=True)
class Copied:
    """Some columns of one version of a type's table; with `once`, each different row once."""

    stored: StoredType
    table: Table
    columns: tuple[str, ...]
    once: bool = False

    @property
    def is_worth_it(self) -> bool:
        """Whether the columns are worth a copy: lists, vectors and blobs are not."""
        return all(_is_small(self.stored.column(name)) for name in self.columns)

    @property
    def schema(self) -> StructType:
        """The columns as Spark reads them, under other names: some may differ in case only."""
        fields = to_spark_schema(self.stored, self.columns).fields
        return StructType([StructField(f"v{at}", each.dataType) for at, each in enumerate(fields)])

    @property
    def is_of_pairs(self) -> bool:
        """Whether the columns are the two ends of edges."""
        return set(self.columns) == {"src", "dst"}

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return ("copy", *self.table.key, self.columns, self.once)

    @property
    def folder(self) -> str:
        """The name of its folder: the table, the version, and what of it."""
        what = sha256(repr((self.table.key, self.columns, self.once)).encode()).hexdigest()
        return f"{layout.copied_version(self.table.path, self.table.version)}.{what[:16]}"


@dataclass(frozen=True, slots=True)
class CopyFrame:
    """The frame of a copy; of pairs, no end has more than `most`."""

    frame: "DataFrame"
    most: int | None


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
        if label is None:
            if not self.is_writable or not self._pays(what, rows):
                return None
            self._make(at, what, scan)
            label = _read_label(at, what)
        if label is None:
            return None
        self.used.append(at)
        most = label.get("most")
        return CopyFrame(_parquet(spark, at, what), most if isinstance(most, int) else None)

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

    def _make(self, at: Path, what: Copied, scan: "Callable[[], DataFrame]") -> None:
        """Make a copy if that is possible: without one, a query reads the table."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        aside = self.folder / f".{uuid4().hex}"
        try:
            self.folder.mkdir(exist_ok=True)
            frame = scan().toDF(*what.schema.names)
            (frame.distinct() if what.once else frame).write.parquet(f"file://{aside}")
            label = {"format": _FORMAT, "key": repr(what.key), "files": _sizes(aside)}
            if what.is_of_pairs:
                label["most"] = _most_pairs(_parquet(frame.sparkSession, aside, what))
            (aside / _LABEL).write_text(json.dumps(label))
            sync(self.folder, [aside.name])
            shutil.rmtree(at, ignore_errors=True)
            aside.rename(at)
            self._prune(at)
        except (OSError, PySparkException, Py4JError):
            return
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _prune(self, newest: Path) -> None:
        """Remove the oldest copies of a table when there are too many."""
        table = newest.name.partition(".")[0]
        found = sorted(self.folder.glob(f"{table}.*"), key=lambda each: each.stat().st_mtime)
        for each in found[:-_MOST_COPIES]:
            shutil.rmtree(each, ignore_errors=True)


def _is_small(kind: ValueType | None) -> bool:
    return isinstance(kind, EnumType) or (
        isinstance(kind, ScalarType) and kind.scalar is not Scalar.BLOB
    )


def _parquet(spark: "SparkSession", at: Path, what: Copied) -> "DataFrame":
    return spark.read.schema(what.schema).parquet(f"file://{at}")


def _most_pairs(pairs: "DataFrame") -> int:
    """Return the most pairs that one end has."""
    from pyspark.sql import functions as fn

    found = (
        pairs.groupBy(end).agg(fn.count(fn.lit(1)).alias("n")).agg(fn.max("n"))
        for end in pairs.columns
    )
    return max((rows.collect()[0][0] or 0) for rows in found)


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
