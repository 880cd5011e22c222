"""Row audit: reads the rows of many versions of tables, each stored row once.

The first version of a table is checked whole. Of another one, only the rows in which it differs
from that are read, as long as they are few and nothing is wrong with them.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.delta import delta_between
from omnigraph.storage.inspect import segments_of, wrong_lookups
from omnigraph.storage.reading import (
    ADDRESS,
    Addresses,
    batches_where,
    read_with_addresses,
    rows_at,
)
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.damage import Damage

Note: TypeAlias = Callable[[Damage, str, str], None]
Place: TypeAlias = tuple[str, int]

# More rows than that, in which a version differs, are not compared but read.
_MOST_DIFFERING = 50_000
# More values than that are not compared one by one, but looked up in an index.
_MOST_COMPARED = 20_000
_ENDS = ("src", "dst")


@dataclass(frozen=True, slots=True)
class _Whole:
    """A version that was read whole: its ids by address, and for edges their ends."""

    table: Table
    addresses: Addresses
    ids: pa.Array
    ends: pa.Table


@dataclass(frozen=True, slots=True)
class _Rows:
    """A version as a whole one with rows that went, by id, and rows that came."""

    table: Table
    whole: _Whole
    lost: pa.Array
    new: pa.Array
    new_ends: Mapping[str, pa.Array] = field(default_factory=dict)

    def lacks(self, ids: pa.Array) -> bool:
        """Whether the version has no row of one of some ids."""
        if not len(ids):
            return False
        present = pc.or_(
            pc.is_in(ids, value_set=self.new),
            pc.and_not(pc.is_in(ids, value_set=self.whole.ids), pc.is_in(ids, value_set=self.lost)),
        )
        return not pc.all(present).as_py()


@dataclass(slots=True)
class RowAudit:
    """A check of rows in progress; `note` is called with all that is wrong."""

    note: Note
    open: Callable[[str, int], Table | None]
    rows: dict[Place, _Rows | None] = field(default_factory=dict)
    whole: dict[str, _Whole] = field(default_factory=dict)
    segments: set[str] = field(default_factory=set)
    sound: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def check(self, commit: Commit, catalog: Catalog, keys: Set[str]) -> None:
        """Check all rows that a commit has in some tables."""
        found: dict[str, _Rows] = {}
        for key, stored in catalog.by_identity.items():
            state = commit.tables.get(key)
            if state is None or key not in keys:
                continue
            place = state.path, state.version
            where = f"{key}@{state.version}"
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
            rows = self._compared(table) or self._read_whole(where, table)
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
        whole = _Whole(table, columns[ADDRESS].to_numpy(), to_array(columns["id"]), columns)
        self._check_ids(where, whole.ids)
        self.whole[table.path] = whole
        nothing = pa.array([], pa.utf8())
        return _Rows(table, whole, nothing, nothing, dict.fromkeys(_ends_of(table), nothing))

    def _compared(self, table: Table) -> _Rows | None:
        """Return the rows of a version by comparison; None when it has to be read whole."""
        whole = self.whole.get(table.path)
        if whole is None:
            return None
        delta = delta_between(whole.table, table, min(_MOST_DIFFERING, len(whole.ids) // 2))
        if delta is None:
            return None
        added = table.schema.empty_table()
        if len(delta.added):
            added = rows_at(table, delta.added, table.schema.names)
        removed = whole.ids.take(pa.array(np.searchsorted(whole.addresses, delta.removed)))
        ids = to_array(added["id"])
        others = pc.filter(ids, pc.invert(pc.is_in(ids, value_set=removed)))
        is_twice = len(pc.unique(ids)) < len(ids)
        if is_twice or len(_found(whole.table, "id", whole.ids, others)):
            return None
        lost = pc.filter(removed, pc.invert(pc.is_in(removed, value_set=ids)))
        ends = {name: to_array(added[name]) for name in _ends_of(table)}
        return _Rows(table, whole, lost, ids, ends)

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

    def _check_ids(self, where: str, ids: pa.Array) -> None:
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
            ends = pc.unique(edges.ends[column])
            present = pc.is_in(ends, value_set=nodes.ids)
            self.sound[key] = not len(ends) or bool(pc.all(present).as_py())
        return self.sound[key]

    def _end_at(self, column: str, edges: _Rows, ids: pa.Array) -> bool:
        """Whether an edge may start or end at one of some nodes."""
        ends = to_array(edges.whole.ends[column])
        is_new = pc.any(pc.is_in(edges.new_ends[column], value_set=ids)).as_py()
        return bool(is_new) or bool(len(_found(edges.whole.table, column, ends, ids)))


def _found(table: Table, column: str, values: pa.Array, wanted: pa.Array) -> pa.Array:
    """Return those of some values that a column of a version has; `values` are all of them."""
    sought = pc.unique(wanted)
    if not len(sought) or not len(values):
        return sought.slice(0, 0)
    if len(values) <= _MOST_COMPARED or not table.takes_conditions:
        return sought.filter(pc.is_in(sought, value_set=values))
    return pc.unique(look_up_rows(table, column, sought, [column])[column])


def _ends_of(table: Table) -> list[str]:
    return [name for name in _ENDS if name in table.schema.names]
