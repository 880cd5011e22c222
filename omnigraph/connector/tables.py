"""Tables: the rows of one type at one commit, in partitions of whole fragments."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from omnigraph.connector.conditions import columns_of, parse_condition, to_condition
from omnigraph.connector.options import PLACES, SourceOptions
from omnigraph.data.values.recast import recast
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Predicate
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType, find_type
from omnigraph.spark.connector import to_arrow_schema, to_spark_schema
from omnigraph.spark.garbage import spare_modules
from omnigraph.storage.staging import Share, shares
from omnigraph.storage.table import takes_conditions
from omnigraph.syntax.problems import list_names, suggest

OPTIONS = ("path", "type", *PLACES, "columns", "where")
_ROWS_PER_PARTITION = 500_000


@dataclass(frozen=True, slots=True)
class PinnedType:
    """A type, and the rows it has at one commit, in shares for tasks.

    With `where` they are those that meet it.
    """

    stored: StoredType
    shares: tuple[Share, ...]
    columns: tuple[str, ...]
    where: Predicate | None

    @property
    def schema(self) -> StructType:
        """The columns that a frame has, unless its user gives a schema."""
        return to_spark_schema(self.stored, self.columns)

    def reader(self, schema: StructType) -> "TableReader":
        """Return a reader of the columns of a schema; raises InputError if it does not fit."""
        _check_schema(schema, self.stored)
        return TableReader(self, schema)


def pin_type(options: SourceOptions) -> PinnedType:
    """Pin the type and commit that the options name."""
    name = options.required("type")
    snapshot = options.pin()
    stored = find_type(name, snapshot.catalog)
    where = options.get("where")
    return PinnedType(
        stored,
        tuple(shares(snapshot.table(stored.identity), _ROWS_PER_PARTITION)),
        tuple(_columns(options, stored)),
        None if where is None else parse_condition(where, stored, snapshot.catalog),
    )


class TableReader(DataSourceReader):
    """Reads the fragments of a partition; what it reads does not depend on any query."""

    def __init__(self, pinned: PinnedType, schema: StructType) -> None:
        self._pinned = pinned
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(share) for share in self._pinned.shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        share: Share | None = partition.value
        if share is None:  # Spark's own partition when we return none
            return
        schema = to_arrow_schema(self._schema)
        for batch in self._batches(share, schema.names):
            pairs = zip(batch.columns, schema.types, strict=True)
            arrays = [recast(column, kind) for column, kind in pairs]
            yield pa.record_batch(arrays, schema=schema)
        spare_modules()

    def _batches(self, share: Share, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
        stored, where = self._pinned.stored, self._pinned.where
        if where is None:
            yield from share.batches(columns)
        elif takes_conditions(arrow_schema(stored)):
            yield from share.batches(columns, to_condition(where, stored))
        else:
            read = list(dict.fromkeys([*columns, *columns_of(where)]))
            for batch in share.batches(read):
                rows = pa.Table.from_batches([batch]).filter(to_condition(where, stored))
                yield from rows.select(list(columns)).combine_chunks().to_batches()


def _columns(options: SourceOptions, stored: StoredType) -> Sequence[str]:
    known: list[str] = arrow_schema(stored).names
    names = options.names("columns")
    if names is None:
        return known
    for name in names:
        if name not in known:
            hint = suggest(name, known) or f"the columns are {list_names(known)}"
            raise InputError(f"{stored.name} has no column '{name}'", hint=hint)
        if names.count(name) > 1:
            raise InputError(f"the column '{name}' is listed twice")
    return names


def _check_schema(given: StructType, stored: StoredType) -> None:
    """Raise InputError unless a schema, which may be the user's, fits the columns of the type."""
    known = {field.name: field for field in to_spark_schema(stored, arrow_schema(stored).names)}
    for field in given.fields:
        own = known.get(field.name)
        if own is None:
            hint = suggest(field.name, known)
            raise InputError(f"{stored.name} has no column '{field.name}'", hint=hint)
        wanted, found = field.dataType.simpleString(), own.dataType.simpleString()
        if wanted != found:
            raise InputError(f"{stored.name}.{field.name} is {found}, but the schema says {wanted}")
        if own.nullable and not field.nullable:
            raise InputError(f"{stored.name}.{field.name} is nullable, but not in the schema")
