"""Sparse reader: looks up single rows by the indexes of their tables, and caches nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.adjacency import CheckCount, Neighbours
from omnigraph.data.derived.memory import MemoryCache
from omnigraph.data.derived.numbering import (
    NO_ROW,
    Numbers,
    rank_texts,
    take_or_null,
    to_numbers,
)
from omnigraph.data.values.columns import to_array
from omnigraph.frozen import dataclass
from omnigraph.read.reader import DirectedEdge, Domain, Leg, Reader, find_ways
from omnigraph.schema.catalog import column_name
from omnigraph.storage.reading import ADDRESS, Addresses, rows_where
from omnigraph.storage.table import Table

MOST_ROWS = 20_000


class TooManyLookups(Exception):
    """Raised when a query needs more rows than should be looked up one by one."""


@dataclass(slots=True)
class PartialNumbering:
    """Ordinals for the rows that a query has met, in the order in which it met them.

    `columns` are those that the query reads of a row. They are fetched when the row is looked up,
    or when the first of them is needed.
    """

    table: Table
    count: int
    columns: tuple[str, ...]
    ids: pa.Array = field(default_factory=lambda: pa.array([], pa.utf8()))
    fetched: pa.Table | None = None
    places: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return self.count

    def all(self) -> Numbers:
        """Raise TooManyLookups: not all rows are looked up one by one."""
        raise TooManyLookups

    def at(self, addresses: Addresses) -> Numbers:  # noqa: ARG002
        """Raise TooManyLookups: addresses come from searches, which find too many rows."""
        raise TooManyLookups

    def find(self, ids: pa.Array) -> Numbers:
        """Return the ordinal of each id; NO_ROW where there is no such row."""
        found = self._find_known(ids)
        if found.null_count:
            self._fetch(pc.field("id").isin(pc.unique(ids.filter(found.is_null()))))
            found = self._find_known(ids)
        return to_numbers(found)

    def find_one(self, wanted: str) -> int:
        """Return the ordinal of an id; NO_ROW when there is no such row."""
        return int(self.find(pa.array([wanted], pa.utf8()))[0])

    def find_where(self, condition: pc.Expression) -> Numbers:
        """Return the ordinals of all rows that meet a condition."""
        return self._fetch(condition)

    def add_ids(self, ids: pa.Array) -> Numbers:
        """Return the ordinals of rows that are known to exist; new ones get the next ordinals."""
        found = self._find_known(ids)
        if found.null_count:
            new = pc.unique(ids.filter(found.is_null()))
            self.ids = pa.concat_arrays([self.ids, new])
            self.places = np.concatenate([self.places, np.full(len(new), NO_ROW)])
            found = self._find_known(ids)
        return to_numbers(found)

    def add_rows(self, rows: pa.Table) -> Numbers:
        """Keep rows with all their columns, and return their ordinals."""
        ordinals = self.add_ids(to_array(rows["id"]))
        before = 0 if self.fetched is None else self.fetched.num_rows
        self.places[ordinals] = before + np.arange(len(ordinals))
        wanted = rows.select(self.fetched_columns)
        self.fetched = wanted if self.fetched is None else pa.concat_tables([self.fetched, wanted])
        return ordinals

    def values(self, column: str, ordinals: Numbers) -> pa.Array:
        """Return a column of rows by their ordinals; null for NO_ROW."""
        if column == "id":
            return take_or_null(self.ids, ordinals)
        if column not in self.columns:
            raise TooManyLookups
        real = ordinals[ordinals >= 0]
        missing = real[self.places[real] < 0]
        if len(missing):
            self._fetch(pc.field("id").isin(take_or_null(self.ids, np.unique(missing))))
        if self.fetched is None:
            return pa.nulls(len(ordinals), self.table.schema.field(column).type)
        places = np.where(
            ordinals < 0, NO_ROW, self.places[ordinals] if len(self.places) else NO_ROW
        )
        return take_or_null(to_array(self.fetched[column]), places)

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Return numbers that sort rows by id; NO_ROW sorts first."""
        if not len(self.ids):
            return ordinals
        return np.where(ordinals < 0, NO_ROW, rank_texts(self.ids)[ordinals])

    @property
    def fetched_columns(self) -> list[str]:
        return ["id", *(name for name in self.columns if name != "id")]

    def _find_known(self, ids: pa.Array) -> pa.Array:
        return pc.index_in(ids, value_set=self.ids)

    def _fetch(self, condition: pc.Expression) -> Numbers:
        return self.add_rows(look_up(self.table, self.fetched_columns, condition))


def look_up(table: Table, columns: Sequence[str], condition: pc.Expression) -> pa.Table:
    """Return the rows that meet a condition; raises TooManyLookups at MOST_ROWS of them."""
    if not table.takes_conditions:
        raise TooManyLookups
    found = rows_where(table, columns, condition, MOST_ROWS)
    if found.num_rows == MOST_ROWS:
        raise TooManyLookups
    return found.drop_columns(ADDRESS)


@dataclass(frozen=True)
class SparseReader(Reader):
    """A reader that reads only the rows that a query meets.

    `columns` are those that the query reads of each type.
    """

    columns: Mapping[str, tuple[str, ...]]
    _numberings: dict[str, PartialNumbering] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def cache(self) -> MemoryCache:
        """Raise TooManyLookups: nothing is derived from single rows."""
        raise TooManyLookups

    @property
    def is_whole(self) -> bool:
        return False

    def numbering(self, name: str) -> PartialNumbering:
        """Return the ordinals of the rows of a type that were met."""
        if name not in self._numberings:
            stored = self.stored(name)
            columns = tuple(column_name(stored, each) for each in self.columns.get(name, ()))
            self._numberings[name] = PartialNumbering(self.table(name), self.count(name), columns)
        return self._numberings[name]

    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Return a column of rows by their ordinals; null for NO_ROW."""
        return self.numbering(name).values(column_name(self.stored(name), column), ordinals)

    def follow(
        self,
        leg: Leg,
        codes: Numbers,
        *,
        edges: Domain | None = None,
        check: CheckCount | None = None,
    ) -> Neighbours:
        """Return where a leg leads from some rows."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        nothing = np.empty(0, np.int64)
        along = find_ways(self, leg)
        found = [np.stack([nothing] * 3)]
        found += [self._along(way, leg, distinct, edges) for way in along]
        # An undirected step meets an edge from both ends, and many edges may join one pair.
        starts, ends, own = np.unique(np.concatenate(found, axis=1), axis=1)
        offsets = np.searchsorted(starts, np.arange(len(distinct) + 1))
        counts = np.diff(offsets)[inverse]
        if check is not None:
            check(int(counts.sum()))
        owners = np.repeat(np.arange(len(codes)), counts)
        before = np.cumsum(counts) - counts
        places = np.arange(len(owners)) + np.repeat(offsets[inverse] - before, counts)
        return owners, ends[places], None if edges is None else own[places]

    def are_joined(self, leg: Leg, starts: Numbers, ends: Numbers) -> "np.ndarray":
        """Return for each pair of rows whether a step leads from the first to the second."""
        owners, nodes, _ = self.follow(leg, starts)
        found = np.zeros(len(starts), bool)
        found[owners[nodes == ends[owners]]] = True
        return found

    def _along(self, way: DirectedEdge, leg: Leg, codes: Numbers, edges: Domain | None) -> Numbers:
        """Return for every edge along a way the place of its start, its target and itself."""
        places = leg.source.of_type(way.start, codes)
        if not len(places):
            return np.empty((3, 0), np.int64)
        sources = self.numbering(way.start)
        ids = sources.values("id", codes[places] - leg.source.offset(way.start))
        start, end = ("dst", "src") if way.backwards else ("src", "dst")
        own = self.numbering(way.edge.name)
        columns = ["src", "dst"] if edges is None else ["src", "dst", *own.fetched_columns]
        rows = look_up(own.table, list(dict.fromkeys(columns)), pc.field(start).isin(ids))
        starts = places[to_numbers(pc.index_in(to_array(rows[start]), value_set=ids))]
        ends = self.numbering(way.end).add_ids(to_array(rows[end])) + leg.target.offset(way.end)
        if edges is None:
            return np.stack([starts, ends, np.zeros(len(starts), np.int64)])
        return np.stack([starts, ends, own.add_rows(rows) + edges.offset(way.edge.name)])
