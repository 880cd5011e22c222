"""Meet: the records of a load meet the rows of the same ids that exist already."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_defaults
from omnigraph.data.values.equality import Mask
from omnigraph.data.values.ids import assign_ids
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import StoredType, embedded_in
from omnigraph.storage.reading import ADDRESS, Addresses
from omnigraph.storage.staging import TablePlace, bytes_per_row
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.sources.records import RecordRows
from omnigraph.write.upsert import find_places, keep_unnamed

_EMBEDDED_ROWS = 4_096
_MOST_ROWS = 16_384
_LEAST_ROWS = 64
_HELD_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class MetRows:
    """Whole rows as a load would store them, and the rows of the same ids before it.

    `addresses` says where the table has the rows of `before`.
    """

    rows: RecordRows
    before: pa.Table
    addresses: Addresses = field(default_factory=lambda: np.empty(0, np.uint64))


@dataclass(frozen=True, slots=True)
class Meeting:
    """How records become whole rows: with defaults, or with what the existing row holds.

    Of a mode that looks rows up, `places` has the versions in which they are looked up.
    """

    mode: LoadMode
    places: Mapping[str, TablePlace]

    def of(self, rows: RecordRows) -> Iterator[MetRows]:
        """Yield the whole rows of records, a bounded number of them at a time."""
        size = self._size(rows)
        for start in range(0, len(rows.columns), size):
            part = _slice(rows, start, size)
            yield self._met(part) if self.mode.looks_up else MetRows(_complete(part), _none(part))

    def _size(self, rows: RecordRows) -> int:
        """Return how many rows are held at a time, because of their vectors or what they hold."""
        most = _EMBEDDED_ROWS if embedded_in(rows.stored) else max(len(rows.columns), 1)
        if not self.mode.looks_up:
            return most
        width = bytes_per_row(self.places[rows.stored.name].open())
        fitting = max(_HELD_BYTES // max(width, 1), _LEAST_ROWS)
        return min(fitting, most, _MOST_ROWS)

    def _met(self, part: RecordRows) -> MetRows:
        ids = known_ids(part.stored, part.columns)
        rows = pa.Table.from_batches([part.columns.set_column(0, "id", ids)])
        table = self.places[part.stored.name].open()
        found = look_up_rows(table, "id", ids.drop_null(), [*rows.schema.names, ADDRESS])
        addresses = found[ADDRESS].to_numpy()
        before = found.select(rows.schema.names).cast(rows.schema).combine_chunks()
        if self.mode is LoadMode.REPLACE:
            return MetRows(_complete(part), before, addresses)
        known = find_places(rows, before) >= 0
        kept = replace(part, columns=_defaults_where(part, ~known))
        if known.any():
            whole = pa.Table.from_batches([kept.columns.set_column(0, "id", ids)])
            whole = keep_unnamed(part.stored, whole, before, part.named).combine_chunks()
            columns = whole.to_batches()[0].set_column(0, "id", part.columns["id"])
            kept = replace(kept, columns=columns)
        return MetRows(kept, before, addresses)


def known_ids(stored: StoredType, columns: pa.RecordBatch) -> pa.Array:
    """Return the ids that records have, null for those whose id is made or whose key is broken."""
    if not stored.key:
        return columns["id"]
    sound = np.ones(len(columns), bool)
    for name in stored.key:
        values = columns[name]
        fits = pc.is_finite(values) if pa.types.is_floating(values.type) else values.is_valid()
        sound &= np.asarray(fits.fill_null(fill_value=False), bool)
    if sound.all():
        return assign_ids(stored, columns)
    places = np.where(sound, np.cumsum(sound) - 1, 0)
    found = assign_ids(stored, columns.filter(pa.array(sound)))
    return found.take(pa.array(places, mask=~sound))


def _complete(part: RecordRows) -> RecordRows:
    return replace(part, columns=with_defaults(part.stored, part.columns))


def _defaults_where(part: RecordRows, mask: Mask) -> pa.RecordBatch:
    """Return the columns with defaults in some of the rows."""
    if mask.all():
        return with_defaults(part.stored, part.columns)
    if not mask.any():
        return part.columns
    filled = with_defaults(part.stored, part.columns)
    every = pa.Table.from_batches([part.columns, filled]).combine_chunks()
    count = len(part.columns)
    places = np.arange(count) + np.where(mask, count, 0)
    return every.take(pa.array(places)).combine_chunks().to_batches()[0]


def _slice(rows: RecordRows, start: int, size: int) -> RecordRows:
    if start == 0 and size >= len(rows.columns):
        return rows
    part = slice(start, start + size)
    return replace(
        rows,
        columns=rows.columns.slice(start, size),
        lines=rows.lines[part],
        spoilt=frozenset((row - start, name) for row, name in rows.spoilt if row >= start),
        named={name: mask[part] for name, mask in rows.named.items()},
    )


def _none(part: RecordRows) -> pa.Table:
    return part.columns.schema.empty_table()
