"""Connector: the tables of a graph as a Spark data source, `format("omnigraph")`, to read."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.errors import InputError, OmniGraphError
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import EnumType, ListType, Scalar, ScalarType, ValueType, VectorType
from omnigraph.syntax.problems import list_names, nearest_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.storage.staging import Share
    from omnigraph.versioning.snapshot import Snapshot

_ROWS_PER_PARTITION = 500_000
_OPTIONS = ("path", "type", "branch", "snapshot", "columns", "pushdown")
_FLAGS = {"true": True, "false": False}
_STORE_OPTIONS = "aws_"
_SPARK_TYPES: dict[Scalar, DataType] = {
    Scalar.STRING: StringType(),
    Scalar.BLOB: BinaryType(),
    Scalar.BOOL: BooleanType(),
    Scalar.I32: IntegerType(),
    Scalar.I64: LongType(),
    Scalar.U32: LongType(),
    Scalar.U64: DecimalType(20, 0),
    Scalar.F32: FloatType(),
    Scalar.F64: DoubleType(),
    Scalar.DATE: DateType(),
    Scalar.DATETIME: TimestampType(),
}
_ARROW_TYPES: dict[type[DataType], pa.DataType] = {
    StringType: pa.utf8(),
    BinaryType: pa.binary(),
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    DecimalType: pa.decimal128(20, 0),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", "UTC"),
}


def register(spark: "SparkSession") -> None:
    """Make `spark.read.format("omnigraph")` known to a session that did not find it by itself."""
    from pyspark.errors import AnalysisException

    try:
        spark.dataSource.register(OmniGraphSource)
    except AnalysisException as failed:
        if failed.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


class OmniGraphSource(DataSource):
    """One table of a graph, at one commit.

    The commit is pinned when the frame is made, so all queries on the frame see the same rows.
    """

    _pinned: "_PinnedType | None" = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        with _hint_in_message():
            return to_spark_schema(self._pin().stored, self._columns())

    def reader(self, schema: StructType) -> "OmniGraphReader":
        with _hint_in_message():
            pinned = self._pin()
            _check_schema(schema, pinned.stored)
            pushes = _FLAGS[self.options.get("pushdown", "false").lower()]
            return (FilteringReader if pushes else OmniGraphReader)(pinned, schema)

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002
        with _hint_in_message():
            hint = "load the frame: graph.load(frame, type=…)"
            raise InputError("Spark cannot write to a graph", hint=hint)

    def _pin(self) -> "_PinnedType":
        """Return the type and its rows; once pinned, the pickled source keeps them."""
        if self._pinned is None:
            self._pinned = _pin_type(_check_options(dict(self.options)))
        return self._pinned

    def _columns(self) -> Sequence[str]:
        known: list[str] = arrow_schema(self._pin().stored).names
        given = self.options.get("columns")
        if given is None:
            return known
        names = [name.strip() for name in given.split(",")]
        for name in names:
            if name not in known:
                near = nearest_name(name, known)
                hint = f"did you mean '{near}'?" if near else f"the columns are {list_names(known)}"
                raise InputError(f"{self._pin().stored.name} has no column '{name}'", hint=hint)
            if names.count(name) > 1:
                raise InputError(f"the column '{name}' is listed twice")
        return names


class OmniGraphReader(DataSourceReader):
    """Reads the fragments of a partition."""

    def __init__(self, pinned: "_PinnedType", schema: StructType) -> None:
        self._pinned = pinned
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(share) for share in self._pinned.shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from omnigraph.data.values.recast import recast

        share: Share | None = partition.value
        if share is None:  # Spark's own partition when we return none
            return
        schema = to_arrow_schema(self._schema)
        for batch in self._batches(share, schema.names):
            pairs = zip(batch.columns, schema.types, strict=True)
            arrays = [recast(column, kind) for column, kind in pairs]
            yield pa.record_batch(arrays, schema=schema)

    def _batches(self, share: "Share", columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
        return share.batches(columns)


class FilteringReader(OmniGraphReader):
    """A reader that leaves to Lance the conditions that it decides as Spark would.

    Spark 4.3 reuses the reader of one query for the next query on the same frame, with the
    conditions of the first. So this is only for frames that are used once.
    """

    _filters: tuple[Filter, ...] = ()

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's name
        from omnigraph.spark.filters import to_expression
        from omnigraph.storage.table import takes_conditions

        stored = self._pinned.stored
        if not takes_conditions(arrow_schema(stored)):
            return filters
        self._filters = tuple(each for each in filters if to_expression(each, stored) is not None)
        return [each for each in filters if each not in self._filters]

    def _batches(self, share: "Share", columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
        from omnigraph.spark.filters import to_expression

        conditions = [to_expression(each, self._pinned.stored) for each in self._filters]
        if not conditions:
            return share.batches(columns)
        return share.batches(columns, reduce(and_, conditions))


@dataclass(frozen=True, slots=True)
class _PinnedType:
    """A type, and the rows it has at one commit, in shares for tasks."""

    stored: StoredType
    shares: "tuple[Share, ...]"


def _check_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options; raises InputError for an unknown, missing or malformed one."""
    for name in options:
        if name not in _OPTIONS and not name.startswith(_STORE_OPTIONS):
            near = nearest_name(name, _OPTIONS)
            hint = f"did you mean '{near}'?" if near else f"the options are {list_names(_OPTIONS)}"
            raise InputError(f"unknown option '{name}'", hint=hint)
    for name, meaning in (("path", "the URI of the graph"), ("type", "a node or edge type")):
        if not options.get(name):
            raise InputError(f"the option '{name}' is missing", hint=f"set it to {meaning}")
    if "branch" in options and "snapshot" in options:
        raise InputError("the options 'branch' and 'snapshot' exclude each other")
    if options.get("pushdown", "false").lower() not in _FLAGS:
        raise InputError(f"expected true or false for 'pushdown', found '{options['pushdown']}'")
    path = options["path"]
    if "://" not in path and not Path(path).is_absolute():
        hint = "Spark's processes run in other folders"
        raise InputError(f"'{path}' is not an absolute path", hint=hint)
    return options


def _pin_type(options: Mapping[str, str]) -> _PinnedType:
    from omnigraph.schema.catalog import find_type
    from omnigraph.storage.staging import shares

    snapshot = _pin_snapshot(options)
    stored = find_type(options["type"], snapshot.catalog)
    table = snapshot.table(stored.identity)
    return _PinnedType(stored, tuple(shares(table, _ROWS_PER_PARTITION)))


def _pin_snapshot(options: Mapping[str, str]) -> "Snapshot":
    """Pin a commit; credentials of the store may be options, so that they stay with this frame."""
    from omnigraph.storage.store import store_at
    from omnigraph.storage.table import Tables
    from omnigraph.versioning.format import check_format
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.names import MAIN
    from omnigraph.versioning.repository import Repository
    from omnigraph.versioning.ulid import Clock

    given = {name.upper(): value for name, value in options.items() if name not in _OPTIONS}
    tables = Tables(store_at(options["path"], {**os.environ, **given}))
    manifest = Manifest(tables)
    check_format(manifest.newest())
    repository = Repository(tables.store, tables, manifest, Clock(), read_only=True)
    if "snapshot" in options:
        return repository.pinned(repository.commit(options["snapshot"]))
    return repository.snapshot(options.get("branch", MAIN))


def to_spark_schema(stored: StoredType, columns: Sequence[str]) -> StructType:
    """Return the columns of a type with Spark's types."""
    schema = arrow_schema(stored)
    fields = []
    for name in columns:
        kind = stored.column(name)
        assert kind is not None
        fields.append(StructField(name, to_spark_type(kind), schema.field(name).nullable))
    return StructType(fields)


def to_spark_type(kind: ValueType) -> DataType:
    """Return the type that Spark has for values of a type."""
    match kind:
        case VectorType():
            return ArrayType(FloatType(), containsNull=False)
        case ListType(item):
            return ArrayType(_SPARK_TYPES[item], containsNull=False)
        case EnumType():
            return StringType()
        case ScalarType(scalar):
            return _SPARK_TYPES[scalar]


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark wants batches in."""
    fields = [
        pa.field(field.name, _arrow_type(field.dataType), nullable=field.nullable)
        for field in schema.fields
    ]
    return pa.schema(fields)


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, ArrayType):
        item = _arrow_type(kind.elementType)
        return pa.list_(pa.field("element", item, nullable=kind.containsNull))
    return _ARROW_TYPES[type(kind)]


def _check_schema(given: StructType, stored: StoredType) -> None:
    """Raise InputError unless a schema, which may be the user's, fits the columns of the type."""
    known = {field.name: field for field in to_spark_schema(stored, arrow_schema(stored).names)}
    for field in given.fields:
        own = known.get(field.name)
        if own is None:
            near = nearest_name(field.name, known)
            hint = f"did you mean '{near}'?" if near else None
            raise InputError(f"{stored.name} has no column '{field.name}'", hint=hint)
        wanted, found = field.dataType.simpleString(), own.dataType.simpleString()
        if wanted != found:
            raise InputError(f"{stored.name}.{field.name} is {found}, but the schema says {wanted}")
        if own.nullable and not field.nullable:
            raise InputError(f"{stored.name}.{field.name} is nullable, but not in the schema")


@contextmanager
def _hint_in_message() -> Iterator[None]:
    """Append the hint of an error to its message, because Spark shows only that."""
    try:
        yield
    except OmniGraphError as error:
        if error.hint is not None:
            error.args = (f"{error.message}; {error.hint}",)
        raise
