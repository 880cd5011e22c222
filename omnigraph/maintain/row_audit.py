"""Row audit: reads the rows of many versions of tables, each stored row once.

The first version of a table is checked whole. Of another one, only the rows in which it differs
from that are read, as long as they are few and nothing is wrong with them. Those of the next
versions are read meanwhile, by other threads.
"""

import os
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import field
from itertools import islice
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.storage.finding.delta import delta_between
from omnigraph.storage.reading import (
    ADDRESS,
    Addresses,
    batches_where,
    read_with_addresses,
    rows_at,
)
from omnigraph.storage.table import Table
from omnigraph.storage.upkeep.inspect import segments_of, wrong_lookups
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.damage import Damage

Note: TypeAlias = Callable[[Damage, str, str], None]
Place: TypeAlias = tuple[str, int]

# More rows than that, in which a version differs, are not compared but read.
_MOST_DIFFERING = 50_000
# More values than that are not compared one by one, but looked up in an index.
_MOST_COMPARED = 20_000
# So many versions each thread is ahead of the check.
_AHEAD = 2
_ENDS = ("src", "dst")
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Due:
    """A commit whose rows are checked, with its catalog and the tables that are meant."""

    commit: Commit
    catalog: Catalog
    keys: Set[str]

    def tables(self) -> list[tuple[str, StoredType, Place]]:
        """Return the tables that are meant: their keys, types and versions."""
        states = self.commit.tables
        return [
            (key, stored, states[key].place)
            for key, stored in self.catalog.by_identity.items()
            if key in states and key in self.keys
        ]


@dataclass(frozen=True, slots=True)
class _Whole:
    """A version that was read whole: addresses, and by column its ids and, for edges, their ends.

    A column of few values is kept as a set when something is sought in it.
    """

    table: Table
    addresses: Addresses
    columns: pa.Table
    sets: dict[str, frozenset[str]] = field(default_factory=dict)

    def ids_at(self, addresses: Addresses) -> frozenset[str]:
        """Return the ids of rows at some addresses."""
        if not len(addresses):
            return _NOTHING  # taking no rows costs as much as taking some
        at = np.searchsorted(self.addresses, addresses)
        return _values(self.columns["id"].take(pa.array(at)))

    def found(self, column: str, wanted: frozenset[str]) -> frozenset[str]:
        """Return those of some values that a column has."""
        if not wanted or not self.columns.num_rows:
            return _NOTHING
        if self.columns.num_rows <= _MOST_COMPARED:
            if column not in self.sets:
                self.sets[column] = frozenset(self.columns[column].to_pylist())
            return self.sets[column] & wanted
        sought = pa.array(sorted(wanted), pa.utf8())
        if not self.table.takes_conditions:
            return frozenset(sought.filter(pc.is_in(sought, self.columns[column])).to_pylist())
        return frozenset(look_up_rows(self.table, column, sought, [column])[column].to_pylist())


@dataclass(frozen=True, slots=True)
class _Rows:
    """A version as a whole one with rows that went, by id, and rows that came."""

    table: Table
    whole: _Whole
    lost: frozenset[str]
    new: frozenset[str]
    new_ends: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def lacks(self, ids: frozenset[str]) -> bool:
        """Whether the version has no row of one of some ids."""
        rest = ids - self.new
        return bool(rest & self.lost) or self.whole.found("id", rest) != rest


@dataclass(frozen=True, slots=True)
class _Difference:
    """What a version lost since another, as addresses there, and the rows that it gained."""

    removed: Addresses
    added: pa.Table


@dataclass(frozen=True, slots=True)
class _Begun:
    """A difference that is being read, and from which version."""

    whole: _Whole
    reading: "Future[_Difference | None]"


@dataclass(slots=True)
class RowAudit:
    """A check of rows in progress; `note` is called with all that is wrong."""

    note: Note
    open: Callable[[str, int], Table | None]
    rows: dict[Place, _Rows | None] = field(default_factory=dict)
    whole: dict[str, _Whole] = field(default_factory=dict)
    begun: dict[Place, _Begun] = field(default_factory=dict)
    segments: set[str] = field(default_factory=set)
    sound: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def check(self, due: Sequence[Due], tell: Callable[[int], None]) -> None:
        """Check all rows of commits; `tell` is called with the number of each when it is done."""
        threads = os.cpu_count() or 1
        later = iter(due)
        with ThreadPoolExecutor(threads) as pool:
            for each in islice(later, threads * _AHEAD):
                self._begin(each, pool)
            for number, each in enumerate(due, 1):
                self._check(each)
                tell(number)
                for following in islice(later, 1):
                    self._begin(following, pool)

    def _begin(self, due: Due, pool: Executor) -> None:
        """Begin to read in what the tables of a commit differ from versions that were read."""
        for _, _, place in due.tables():
            whole = self.whole.get(place[0])
            if whole is None or place in self.rows or place in self.begun:
                continue
            table = self.open(*place)
            if table is not None:
                self.begun[place] = _Begun(whole, pool.submit(_difference, whole, table))

    def _check(self, due: Due) -> None:
        found: dict[str, _Rows] = {}
        for key, stored, place in due.tables():
            where = f"{key}@{place[1]}"
            if place not in self.rows:
                self.rows[place] = self._read(where, place)
            rows = self.rows[place]
            if rows is None:
                continue
            found[stored.name] = rows
            if isinstance(stored, EdgeType):
                self._check_ends(where, stored, rows, found)

    def _read(self, where: str, place: Place) -> _Rows | None:
        table = self.open(*place)
        if table is None:
            return None
        try:
            rows = self._compared(place, table) or self._read_whole(where, table)
        except StorageError as failed:
            self.note(Damage.ROWS_UNREADABLE, where, failed.message)
            return None
        self._check_lookups(where, table)
        return rows

    def _read_whole(self, where: str, table: Table) -> _Rows:
        """Read every column of every row, and keep the ids."""
        kept = ["id", *_ends_of(table)]
        for _ in batches_where(table, table.schema.names, None):
            pass  # that they can be read is all
        columns = read_with_addresses(table, kept)
        whole = _Whole(table, columns[ADDRESS].to_numpy(), columns)
        self._check_ids(where, columns["id"])
        self.whole[table.path] = whole
        return _Rows(table, whole, _NOTHING, _NOTHING, dict.fromkeys(_ends_of(table), _NOTHING))

    def _compared(self, place: Place, table: Table) -> _Rows | None:
        """Return the rows of a version by comparison; None when it has to be read whole."""
        whole, begun = self.whole.get(table.path), self.begun.pop(place, None)
        if whole is None:
            return None
        is_of_it = begun is not None and begun.whole is whole
        found = begun.reading.result() if begun and is_of_it else _difference(whole, table)
        if found is None:
            return None
        removed = whole.ids_at(found.removed)
        ids = _values(found.added["id"])
        if len(ids) < found.added.num_rows or whole.found("id", ids - removed):
            return None
        ends = {name: _values(found.added[name]) for name in _ends_of(table)}
        return _Rows(table, whole, removed - ids, ids, ends)

    def _check_lookups(self, where: str, table: Table) -> None:
        """Check that the indexes find what is there, unless all their segments were checked."""
        try:
            segments = segments_of(table)
            if not segments <= self.segments:
                for column in wrong_lookups(table):
                    message = f"the index of {column} does not find all rows"
                    self.note(Damage.INDEX_WRONG, where, message)
            self.segments |= segments
        except StorageError as failed:
            self.note(Damage.INDEX_WRONG, where, failed.message)

    def _check_ids(self, where: str, ids: pa.ChunkedArray) -> None:
        counts = pc.value_counts(ids)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            names = ", ".join(map(str, twice.field("values")[:3].to_pylist()))
            self.note(Damage.ID_TWICE, where, f"{len(twice)} ids occur more than once: {names}")

    def _check_ends(
        self, where: str, edge: EdgeType, edges: _Rows, found: Mapping[str, _Rows]
    ) -> None:
        for column, target in zip(_ENDS, (edge.source, edge.target), strict=True):
            nodes = found.get(target)
            is_edge = column in edges.new_ends  # or it is the table of another type
            if nodes is None or not is_edge or self._are_sound(column, edges, nodes):
                continue
            ends = edges.table.scan([column])[column]
            ids = nodes.table.scan(["id"])["id"]
            lost = ends.filter(pc.invert(pc.is_in(ends, value_set=pc.unique(ids))))
            if len(lost):
                message = f"{len(lost)} edges end at a missing {target}, such as {lost[0]}"
                self.note(Damage.END_MISSING, where, message)

    def _are_sound(self, column: str, edges: _Rows, nodes: _Rows) -> bool:
        """Whether all edges certainly end at nodes, from what is known about the whole versions."""
        key = column, edges.table.key, nodes.table.key
        if key not in self.sound:
            self.sound[key] = (
                self._are_wholly_sound(column, edges.whole, nodes.whole)
                and not nodes.lacks(edges.new_ends[column])
                and not self._end_at(column, edges, nodes.lost)
            )
        return self.sound[key]

    def _are_wholly_sound(self, column: str, edges: _Whole, nodes: _Whole) -> bool:
        key = "whole", column, edges.table.key, nodes.table.key
        if key not in self.sound:
            ends = pc.unique(edges.columns[column])
            present = pc.is_in(ends, nodes.columns["id"])
            self.sound[key] = not len(ends) or bool(pc.all(present).as_py())
        return self.sound[key]

    def _end_at(self, column: str, edges: _Rows, ids: frozenset[str]) -> bool:
        """Whether an edge may start or end at one of some nodes."""
        return bool(edges.new_ends[column] & ids) or bool(edges.whole.found(column, ids))


def _difference(whole: _Whole, table: Table) -> _Difference | None:
    """Read in what a version differs from another; None when that is much."""
    most = min(_MOST_DIFFERING, whole.columns.num_rows // 2)
    delta = delta_between(whole.table, table, most)
    if delta is None:
        return None
    names = table.schema.names
    added = rows_at(table, delta.added, names) if len(delta.added) else table.schema.empty_table()
    return _Difference(delta.removed, added)


def _values(column: pa.ChunkedArray) -> frozenset[str]:
    return frozenset(column.to_pylist())


def _ends_of(table: Table) -> list[str]:
    return [name for name in _ENDS if name in table.schema.names]
