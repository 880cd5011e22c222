"""Sparse: looks single rows up by the indexes of the tables, and keeps nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.adjacency import Check, Followed
from omnigraph.data.derived.memory import Cache
from omnigraph.data.derived.numbering import NONE, Addresses, Numbers, numbers, taken, text_ranks
from omnigraph.data.values.columns import one_array
from omnigraph.query.checked import Step
from omnigraph.read.reader import Domain, Reader, Way, ways
from omnigraph.schema.catalog import column_name
from omnigraph.storage.reading import ADDRESS, rows_where
from omnigraph.storage.table import Table

MOST_ROWS = 20_000


class NeedsWhole(Exception):
    """Raised when a query needs more rows than should be looked up one by one."""


@dataclass(slots=True)
class Met:
    """The rows of a table that a query met so far; their ordinals say in which order.

    `columns` are those that the query reads of a row. They are fetched when the row is looked
    up, or when the first of them is needed.
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
        """Raise: all rows are never looked up one by one."""
        raise NeedsWhole

    def at(self, addresses: Addresses) -> Numbers:  # noqa: ARG002
        """Raise: addresses come from searches, which find too many rows."""
        raise NeedsWhole

    def find(self, ids: pa.Array) -> Numbers:
        """Give the ordinal of each id; NONE where there is no such row."""
        found = self._known(ids)
        missing = ids.filter(pa.array(found < 0))
        if len(missing):
            self._fetch(pc.field("id").isin(pc.unique(missing)))
            found = self._known(ids)
        return found

    def where(self, condition: pc.Expression) -> Numbers:
        """Give the ordinals of all rows that meet a condition."""
        return self._fetch(condition)

    def meet(self, ids: pa.Array) -> Numbers:
        """Give the ordinals of rows that are known to be there."""
        found = self._known(ids)
        new = pc.unique(ids.filter(pa.array(found < 0)))
        if not len(new):
            return found
        self.ids = pa.concat_arrays([self.ids, new])
        self.places = np.concatenate([self.places, np.full(len(new), NONE)])
        return self._known(ids)

    def keep(self, rows: pa.Table) -> Numbers:
        """Note rows with all their columns; gives their ordinals."""
        ordinals = self.meet(one_array(rows["id"]))
        before = 0 if self.fetched is None else self.fetched.num_rows
        self.places[ordinals] = before + np.arange(len(ordinals))
        wanted = rows.select(self._selected)
        self.fetched = wanted if self.fetched is None else pa.concat_tables([self.fetched, wanted])
        return ordinals

    def values(self, column: str, ordinals: Numbers) -> pa.Array:
        """Give a column of rows by their ordinals; null for NONE."""
        if column == "id":
            return taken(self.ids, ordinals)
        if column not in self.columns:
            raise NeedsWhole
        real = np.unique(ordinals[ordinals >= 0])
        missing = real[self.places[real] < 0]
        if len(missing):
            self._fetch(pc.field("id").isin(taken(self.ids, missing)))
        if self.fetched is None:
            return pa.nulls(len(ordinals), self.table.schema.field(column).type)
        places = np.where(ordinals < 0, NONE, self.places[ordinals] if len(self.places) else NONE)
        return taken(one_array(self.fetched[column]), places)

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Give numbers that sort rows by id, and NONE before all others."""
        if not len(self.ids):
            return ordinals
        return np.where(ordinals < 0, NONE, text_ranks(self.ids)[ordinals])

    @property
    def _selected(self) -> list[str]:
        return ["id", *(name for name in self.columns if name != "id")]

    def _known(self, ids: pa.Array) -> Numbers:
        return numbers(pc.index_in(ids, value_set=self.ids))

    def _fetch(self, condition: pc.Expression) -> Numbers:
        return self.keep(looked_up(self.table, self._selected, condition))


def looked_up(table: Table, columns: Sequence[str], condition: pc.Expression) -> pa.Table:
    """Give the rows that meet a condition; raises NeedsWhole when they are many."""
    if not table.takes_conditions:
        raise NeedsWhole
    found = rows_where(table, columns, condition, MOST_ROWS)
    if found.num_rows == MOST_ROWS:
        raise NeedsWhole
    return found.drop_columns(ADDRESS)


@dataclass(frozen=True)
class Sparse(Reader):
    """A snapshot of which only the rows that a query meets are read.

    `columns` are those that the query reads of each type.
    """

    columns: Mapping[str, tuple[str, ...]]
    _met: dict[str, Met] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def cache(self) -> Cache:
        """Raise: nothing is derived."""
        raise NeedsWhole

    @property
    def is_whole(self) -> bool:
        return False

    def entities(self, name: str) -> Met:
        """Give the rows of a type that were met."""
        if name not in self._met:
            stored = self.stored(name)
            columns = tuple(column_name(stored, each) for each in self.columns.get(name, ()))
            self._met[name] = Met(self.table(name), self.count(name), columns)
        return self._met[name]

    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Give a column of rows by their ordinals; null for NONE."""
        return self.entities(name).values(column_name(self.stored(name), column), ordinals)

    def follow(
        self,
        steps: tuple[Step, ...],
        source: Domain,
        target: Domain,
        codes: Numbers,
        *,
        edges: Domain | None = None,
        check: Check | None = None,
    ) -> Followed:
        """Give where steps lead from some rows."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        nothing = np.empty(0, np.int64)
        along = ways(self, steps, source, target)
        found = [np.stack([nothing] * 3)]
        found += [self._along(way, source, target, distinct, edges) for way in along]
        # An edge is met from both its ends by an undirected step, and a pair by many edges.
        starts, ends, own = np.unique(np.concatenate(found, axis=1), axis=1)
        offsets = np.searchsorted(starts, np.arange(len(distinct) + 1))
        counts = np.diff(offsets)[inverse]
        if check is not None:
            check(int(counts.sum()))
        owners = np.repeat(np.arange(len(codes)), counts)
        before = np.cumsum(counts) - counts
        places = np.arange(len(owners)) + np.repeat(offsets[inverse] - before, counts)
        return owners, ends[places], None if edges is None else own[places]

    def joins(
        self,
        steps: tuple[Step, ...],
        source: Domain,
        target: Domain,
        starts: Numbers,
        ends: Numbers,
    ) -> "np.ndarray":
        """Tell for pairs of rows whether a step leads from the one to the other."""
        owners, nodes, _ = self.follow(steps, source, target, starts)
        found = np.zeros(len(starts), bool)
        found[owners[nodes == ends[owners]]] = True
        return found

    def _along(
        self, way: Way, source: Domain, target: Domain, codes: Numbers, edges: Domain | None
    ) -> Numbers:
        """Give the place of the start, the target and the edge of all edges along a way."""
        places = source.of_type(way.start, codes)
        if not len(places):
            return np.empty((3, 0), np.int64)
        sources = self.entities(way.start)
        ids = sources.values("id", codes[places] - source.base(way.start))
        start, end = ("dst", "src") if way.backwards else ("src", "dst")
        own = self.entities(way.edge.name)
        columns = ["src", "dst"] if edges is None else ["src", "dst", *own._selected]
        rows = looked_up(own.table, list(dict.fromkeys(columns)), pc.field(start).isin(ids))
        starts = places[numbers(pc.index_in(one_array(rows[start]), value_set=ids))]
        ends = self.entities(way.end).meet(one_array(rows[end])) + target.base(way.end)
        if edges is None:
            return np.stack([starts, ends, np.zeros(len(starts), np.int64)])
        return np.stack([starts, ends, own.keep(rows) + edges.base(way.edge.name)])
