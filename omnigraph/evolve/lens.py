"""Lens: the rows of a type as another schema of the graph shows them, without writing any."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import default_of, to_array
from omnigraph.evolve.past import Past, PastColumn
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_schema, arrow_type
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.storage.finding.delta import addresses_of
from omnigraph.storage.reading import Addresses, batches_where, rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True)
class Lens:
    """The table of a type in some snapshot, shown as rows of another version of the type.

    Properties are matched by identity: a renamed one has its new name, a new one has the value that
    applying the schema would store, and a dropped one is not shown. `sources` are the columns to
    read for those wanted, or None when the table has exactly these. `past` has the values of
    properties that were dropped before. `batches` leaves out the ids in `hidden`. Without a table
    there are no rows.
    """

    stored: StoredType
    table: Table | None
    sources: Mapping[str, str] | None = None
    past: Mapping[str, PastColumn] = field(default_factory=dict, kw_only=True)
    hidden: pa.Array | None = field(default=None, kw_only=True, repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.stored)

    def addresses(self) -> Addresses:
        """Return the addresses of all rows."""
        return np.empty(0, np.uint64) if self.table is None else addresses_of(self.table)

    def ids(self, addresses: Addresses) -> pa.Array:
        """Return the ids of the rows at some addresses."""
        if self.table is None or not len(addresses):
            return pa.array([], pa.utf8())
        return to_array(rows_at(self.table, addresses, ["id"])["id"])

    def rows(self, addresses: Addresses) -> pa.Table:
        """Return the rows at some addresses."""
        if self.table is None or not len(addresses):
            return self.schema.empty_table()
        if self.sources is None:
            found = rows_at(self.table, addresses, self.schema.names)
            # The table of a merge base may allow nulls that the schema does not.
            return pa.Table.from_arrays(found.columns, schema=self.schema)
        found = rows_at(self.table, addresses, list(self.sources.values()))
        columns = [self._column(found, name) for name in self.schema.names]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of all rows, with their ids, batch by batch."""
        if self.table is None:
            return
        wanted = list(dict.fromkeys(["id", *names]))
        texts = [text for name in wanted if (text := self._text(name)) is not None]
        sources = map(self._source, dict.fromkeys([*wanted, *texts]))
        read = [source for source in sources if source is not None]
        schema = pa.schema([self.schema.field(name) for name in wanted])
        for found in batches_where(self.table, read, None):
            batch = found if self.hidden is None else _without(found, self.hidden)
            columns = [self._column(batch, name) for name in wanted]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, rows: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray:
        source = self._source(name)
        if source is not None:
            return rows[source]
        otherwise = fill_value(self.stored.properties[name])
        if name in self.past:
            text = self._text(name)
            texts = None if text is None else self._column(rows, text)
            return self.past[name].values(rows["id"], otherwise, texts)
        return pa.repeat(otherwise, rows.num_rows)

    def _text(self, name: str) -> str | None:
        """Return the property whose text decides whether a vector of the past is still right."""
        item = self.stored.properties[name] if name in self.past else None
        return None if item is None or item.embed is None else item.embed.source

    def _source(self, name: str) -> str | None:
        return name if self.sources is None else self.sources.get(name)


@dataclass(frozen=True)
class HeldLens(Lens):
    """A lens that reads the rows at some addresses once and then returns them from memory."""

    at: Addresses = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)

    @cached_property
    def held(self) -> pa.Table:
        """The rows at those addresses, in their order."""
        return super().rows(self.at)

    def ids(self, addresses: Addresses) -> pa.Array:
        """Return the ids of some of the rows."""
        return to_array(self.rows(addresses)["id"])

    def rows(self, addresses: Addresses) -> pa.Table:
        """Return some of the rows."""
        if addresses is self.at:
            return self.held
        return self.held.take(pc.index_in(pa.array(addresses), value_set=pa.array(self.at)))


def lens(snapshot: Snapshot, stored: StoredType, past: Past | None = None) -> Lens:
    """Return the rows that a snapshot has of a type, shown as `stored`.

    With its past, it has what it dropped too, as restoring it would show that.
    """
    own = snapshot.catalog.by_identity.get(stored.identity)
    if own is not None:
        return _shown(own, snapshot.table(stored.identity), stored, past)
    found = None if past is None else past.table(stored.identity)
    if found is None:
        return Lens(stored, None)
    return _shown(found.stored, found.table, stored, past)


def _shown(own: StoredType, table: Table, stored: StoredType, past: Past | None) -> Lens:
    if own == stored:
        return Lens(stored, table)
    names = {item.identity: item.name for item in own.properties.values()}
    sources = {name: name for name in arrow_schema(own).names if name not in own.properties}
    sources |= {
        item.name: names[item.identity]
        for item in stored.properties.values()
        if item.identity in names
    }
    values = {} if past is None else past_columns(past, own, stored)
    return Lens(stored, table, sources, past=values)


def _without(rows: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=ids)))


def past_columns(past: Past, own: StoredType, stored: StoredType) -> dict[str, PastColumn]:
    """Return the values that the past has of the properties which only `stored` has, by name."""
    known = {item.identity for item in own.properties.values()}
    found = {
        item.name: past.column(stored.identity, item)
        for item in stored.properties.values()
        if item.identity not in known
    }
    return {name: each for name, each in found.items() if each is not None}


def fill_value(item: Property) -> pa.Scalar:
    """Return the value of a new property in rows that existed before it.

    A required one without a default has none: only where all rows have values can it be restored.
    """
    if item.nullable or item.default is None:
        return pa.scalar(None, arrow_type(item.type))
    return default_of(item)[0]
