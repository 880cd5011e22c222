"""Lens: the rows of a type as another schema of the same graph shows them, without writing any."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import default_of, to_array
from omnigraph.schema.arrow import arrow_schema, arrow_type
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.storage.delta import Addresses, addresses_of
from omnigraph.storage.reading import batches_where, rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True)
class Lens:
    """The table of a type in some snapshot, seen as rows of the type that is wanted.

    Properties are told by their identities: one that was renamed has its new name, one that is
    new holds what applying the schema puts there, and one that is gone is not seen. `sources` are
    the columns to read for those wanted, or None when the table has just those. Without a table
    there are no rows.
    """

    stored: StoredType
    table: Table | None
    sources: Mapping[str, str] | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.stored)

    def addresses(self) -> Addresses:
        """Give the addresses of all rows."""
        return np.empty(0, np.uint64) if self.table is None else addresses_of(self.table)

    def ids(self, addresses: Addresses) -> pa.Array:
        """Give the ids of the rows at some addresses."""
        if self.table is None or not len(addresses):
            return pa.array([], pa.utf8())
        return to_array(rows_at(self.table, addresses, ["id"])["id"])

    def rows(self, addresses: Addresses) -> pa.Table:
        """Give the rows at some addresses."""
        if self.table is None or not len(addresses):
            return self.schema.empty_table()
        if self.sources is None:
            return rows_at(self.table, addresses, self.schema.names)
        found = rows_at(self.table, addresses, list(self.sources.values()))
        columns = [self._column(found, name) for name in self.schema.names]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Give some columns of all rows, with their ids, a batch at a time."""
        if self.table is None:
            return
        wanted = list(dict.fromkeys(["id", *names]))
        read = [source for name in wanted if (source := self._source(name)) is not None]
        schema = pa.schema([self.schema.field(name) for name in wanted])
        for batch in batches_where(self.table, read, None):
            columns = [self._column(batch, name) for name in wanted]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, rows: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray:
        source = self._source(name)
        if source is not None:
            return rows[source]
        return pa.repeat(filling(self.stored.properties[name]), rows.num_rows)

    def _source(self, name: str) -> str | None:
        return name if self.sources is None else self.sources.get(name)


@dataclass(frozen=True)
class HeldLens(Lens):
    """A lens that has read the rows at some addresses once, and gives these again."""

    at: Addresses = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)

    @cached_property
    def held(self) -> pa.Table:
        """The rows at those addresses, in their order."""
        return super().rows(self.at)

    def ids(self, addresses: Addresses) -> pa.Array:
        """Give the ids of some of the rows."""
        return to_array(self.rows(addresses)["id"])

    def rows(self, addresses: Addresses) -> pa.Table:
        """Give some of the rows."""
        if addresses is self.at:
            return self.held
        return self.held.take(pc.index_in(pa.array(addresses), value_set=pa.array(self.at)))


def lens(snapshot: Snapshot, stored: StoredType) -> Lens:
    """Give the rows that a snapshot has of a type, as the type is wanted."""
    own = snapshot.catalog.by_identity.get(stored.identity)
    if own is None:
        return Lens(stored, None)
    table = snapshot.table(stored.identity)
    if own == stored:
        return Lens(stored, table)
    names = {item.identity: item.name for item in own.properties.values()}
    sources = {name: name for name in arrow_schema(own).names if name not in own.properties}
    sources |= {
        item.name: names[item.identity]
        for item in stored.properties.values()
        if item.identity in names
    }
    return Lens(stored, table, sources)


def filling(item: Property) -> pa.Scalar:
    """Give what the rows hold that were there before a property was added."""
    return pa.scalar(None, arrow_type(item.type)) if item.nullable else default_of(item)[0]
