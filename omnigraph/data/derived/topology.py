"""Topology: everything derived from the tables of a graph, cached in memory and beside the graph.

Derived values are cached by the versions of the tables they were made from, so branches and commits
share them and nothing is ever invalidated. After a small change they are extended instead of made
again.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from enum import Enum, auto

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.allocator import keep_freed_memory, share_heaps
from omnigraph.data.derived.adjacency import (
    Adjacency,
    AnyAdjacency,
    EdgeEntries,
    PatchedAdjacency,
    build_adjacency,
    patch_adjacency,
    remove_entries,
)
from omnigraph.data.derived.coded_column import MOST_VALUES, CodedColumn, code_column
from omnigraph.data.derived.disk import Arrays, DiskCache, Family
from omnigraph.data.derived.memory import MemoryCache
from omnigraph.data.derived.numbering import (
    NO_ROW,
    Lineage,
    Numbering,
    Numbers,
    SortedRows,
    take_or_null,
    to_numbers,
)
from omnigraph.data.derived.statistics import (
    ColumnStatistics,
    DegreeStatistics,
    describe_column,
    describe_degrees,
    from_arrays,
    to_arrays,
)
from omnigraph.data.derived.table_column import TableColumn
from omnigraph.data.values.columns import to_array
from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage.finding.delta import Delta, delta_between
from omnigraph.storage.reading import (
    ADDRESS,
    Addresses,
    read_columns,
    read_with_addresses,
    rows_at,
    rows_where,
)
from omnigraph.storage.table import Table

# A table is read again when more rows differ than this part of it, and than this number.
_PATCHED_PART = 50
_LEAST_PATCHED = 1_000
_MOST_PATCHED = 500_000
_MOST_EXTENSIONS = 256
# At most this many edges are read to see which removed pairs other edges still join.
_MOST_PARALLEL = 10_000
# Smaller arrays are made faster than they are read from a disk.
_LEAST_STORED = 50_000
# The ends of all edges serve to build an adjacency in one direction and soon in the other.
_MOST_ENDS = 2


class Place(Enum):
    """Where something derived is: in memory, in a file beside the graph, or nowhere yet."""

    MEMORY = auto()
    DISK = auto()
    NOWHERE = auto()


@dataclass(frozen=True, slots=True)
class EdgeEnds:
    """The edges of one version of a table, in its order: addresses, sources and targets."""

    addresses: Addresses
    sources: Numbers
    targets: Numbers

    @property
    def nbytes(self) -> int:
        return self.addresses.nbytes + self.sources.nbytes + self.targets.nbytes


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """An edge table, the numberings of the nodes at both ends and, for named edges, its own."""

    table: Table
    sources: Numbering
    targets: Numbering
    own: Numbering | None

    @property
    def parts(self) -> tuple[Numbering, ...]:
        """The numberings that an adjacency is built from."""
        return (self.sources, self.targets, *(() if self.own is None else (self.own,)))

    @property
    def lineages(self) -> tuple[Lineage, ...]:
        """The lineages of these numberings: the numbers in an adjacency depend on nothing else."""
        return tuple(part.lineage for part in self.parts)


@dataclass(frozen=True, slots=True)
class _VersionedAdjacency:
    """An adjacency with the version of its edge table and the lineages it was built for."""

    adjacency: AnyAdjacency
    version: int
    lineages: tuple[Lineage, ...]

    @property
    def nbytes(self) -> int:
        return self.adjacency.nbytes


@dataclass(frozen=True, slots=True)
class _Described:
    """The statistics of a column; None when there are none for its type."""

    known: ColumnStatistics | None

    @property
    def nbytes(self) -> int:
        return 64 if self.known is None else self.known.nbytes


@dataclass(frozen=True, slots=True)
class _Coded:
    """A column as codes; None when it has too many different values."""

    column: CodedColumn | None

    @property
    def nbytes(self) -> int:
        return 64 if self.column is None else self.column.nbytes


class Topology:
    """The derived state of one graph.

    `generation` is another number after anything was made: more is known of the graph then. What is
    extended by a small change says no more than before.
    """

    def __init__(self, most_bytes: int, disk: DiskCache | None = None) -> None:
        keep_freed_memory()
        share_heaps()
        self.cache = MemoryCache(most_bytes)
        self.disk = disk
        self.generation = 0
        self._costs: Counter[Hashable] = Counter()
        self._used: set[str] = set()

    def numbering(self, table: Table) -> Numbering:
        """Return the numbering of a table's rows."""
        self._used.add(table.path)
        family = _numbering_family(table)
        key = (*family, table.version)
        return self.cache.get(key, lambda: self._numbering(table, family), family=family)

    def column(self, table: Table, name: str, numbering: Numbering) -> TableColumn:
        """Return a whole column of a table, by a numbering of its rows.

        Whoever has ordinals has their numbering as well: another may have been made since.
        """
        family = _column_family(table, name)
        return self.cache.get(
            (*family, numbering.lineage),
            lambda: self._column(table, name, numbering),
            family=family,
        )

    def known_column(self, table: Table, name: str, numbering: Numbering) -> TableColumn | None:
        """Return a whole column by a numbering of its table, or None if it is not in memory."""
        found = self.cache.peek((*_column_family(table, name), numbering.lineage))
        return found if isinstance(found, TableColumn) else None

    def adjacency(self, edges: EdgeTable, *, backwards: bool) -> AnyAdjacency:
        """Return where the edges of a table lead, or with `backwards` where they come from."""
        self._used.add(edges.table.path)
        family = _adjacency_family(edges.table, backwards, named=edges.own is not None)
        key = (family, edges.table.version, edges.lineages)
        made = self.cache.get(key, lambda: self._adjacency(edges, family, backwards), family=family)
        return made.adjacency

    def entries(self, edges: EdgeTable, *, backwards: bool) -> EdgeEntries:
        """Return one entry for every edge of a table."""
        key = ("ends", edges.table.path, edges.table.version, edges.lineages[:2])
        family = ("ends", edges.table.path)
        ends = self.cache.get(key, lambda: _read_ends(edges), family=family, most=_MOST_ENDS)
        own = None if edges.own is None else edges.own.at(ends.addresses)
        return _turn(EdgeEntries(ends.sources, ends.targets, own), backwards)

    def statistics(self, table: Table, name: str) -> ColumnStatistics | None:
        """Return the statistics of a column; None unless it was in memory, now or earlier."""
        column, family = self.cache.newest(_column_family(table, name)), _family_of(table, name)
        if isinstance(column, TableColumn):
            key = (*family, column.lineage[0], len(column.values))
            return self.cache.get(key, lambda: self._describe(column, family), family=family).known
        earlier = self.cache.newest(family)
        if isinstance(earlier, _Described):
            return earlier.known
        stored = ("stored", *family)
        return self.cache.get(family, lambda: self._stored_statistics(family), family=stored).known

    def _describe(self, column: TableColumn, family: Family) -> "_Described":
        known = describe_column(column.values)
        if known is not None:
            kind = column.values.type
            self._store(family, column.lineage[:1], to_arrays(known, kind), len(column.values))
        return _Described(known)

    def _stored_statistics(self, family: Family) -> "_Described":
        stored = None if self.disk is None else self.disk.get(family)
        return _Described(None if stored is None else from_arrays(stored.arrays))

    def coded(self, table: Table, name: str, numbering: Numbering) -> CodedColumn | None:
        """Return a whole text column as codes; None when it changed, or has too many values."""
        column = self.column(table, name, numbering)
        if len(column.changed):
            return None
        known = self.statistics(table, name)
        if known is None or known.distinct > MOST_VALUES:
            return None
        family = ("codes", *_column_family(table, name))
        key = (*family, column.lineage)
        coded = self.cache.get(key, lambda: _Coded(code_column(column.values)), family=family)
        return coded.column

    def known_codes(self, table: Table, name: str, numbering: Numbering) -> CodedColumn | None:
        """Return a text column as codes by a numbering of its table, or None if there are none."""
        found = self.cache.peek(("codes", *_column_family(table, name), numbering.lineage))
        return found.column if isinstance(found, _Coded) else None

    def degrees(self, table: Table, *, backwards: bool) -> DegreeStatistics | None:
        """Return the statistics of an adjacency's degrees; None unless it is in memory."""
        families = [_adjacency_family(table, backwards, named=named) for named in (False, True)]
        for family in families:
            found = self.cache.newest(family)
            if isinstance(found, _VersionedAdjacency):
                made = found.adjacency
                base = made.base if isinstance(made, PatchedAdjacency) else made
                of_degrees = ("degrees", family)
                return self.cache.get(
                    (*of_degrees, len(base), base.size),
                    lambda: describe_degrees(base.degrees),  # noqa: B023
                    family=of_degrees,
                )
        return None

    def has_numbering(self, table: Table) -> bool:
        """Return whether the table is numbered, in this or another version."""
        return self.where_numbering(table) is not Place.NOWHERE

    def where_numbering(self, table: Table) -> Place:
        """Return where the numbering of a table is, in this or another version."""
        return self._where(_numbering_family(table))

    def has_column(self, table: Table, name: str) -> bool:
        """Return whether the column is in memory, in this or another version."""
        return self.cache.newest(_column_family(table, name)) is not None

    def has_adjacency(self, table: Table, *, backwards: bool, named: bool) -> bool:
        """Return whether the adjacency was built, for this or another version."""
        found = self.where_adjacency(table, backwards=backwards, named=named)
        return found is not Place.NOWHERE

    def where_adjacency(self, table: Table, *, backwards: bool, named: bool) -> Place:
        """Return where the adjacency is, for this or another version."""
        return self._where(_adjacency_family(table, backwards, named=named))

    def is_used(self, table: Table) -> bool:
        """Return whether this process has asked for anything of a table."""
        return table.path in self._used

    def is_near(self, table: Table, version: int) -> bool:
        """Return whether only a few rows of a table differ from another version of it."""
        return self._delta(table, version, _LEAST_PATCHED) is not None

    def columns(self, table: Table) -> list[str]:
        """Return the names of a table's columns that are in memory, in this or another version."""
        return [name for name in table.schema.names if self.has_column(table, name)]

    def noted_cost(self, things: Iterable[Hashable]) -> int:
        """Return what doing without these things has cost since they were last made."""
        return min((self._costs[each] for each in things), default=0)

    def note_cost(self, things: Iterable[Hashable], cost: int) -> None:
        """Add what it cost to do without things that could have been made."""
        for each in things:
            self._costs[each] += cost

    def clear_cost(self, things: Iterable[Hashable]) -> None:
        """Forget what doing without these things has cost, because they are being made."""
        for each in things:
            self._costs.pop(each, None)

    def _where(self, family: Family) -> Place:
        if self.cache.newest(family) is not None:
            return Place.MEMORY
        is_stored = self.disk is not None and self.disk.has(family)
        return Place.DISK if is_stored else Place.NOWHERE

    def _numbering(self, table: Table, family: Family) -> Numbering:
        old = self.cache.newest(family) or self._stored_numbering(family)
        extended = self._extend_numbering(old, table) if isinstance(old, Numbering) else None
        if extended is not None:
            return extended
        self.generation += 1
        base = _sort_rows(table)
        arrays = {"ids": base.ids, "addresses": base.addresses, "positions": base.positions}
        self._store(family, (table.version,), arrays, len(base))
        return Numbering(base, (table.version,))

    def _stored_numbering(self, family: Family) -> Numbering | None:
        stored = None if self.disk is None else self.disk.get(family)
        if stored is None:
            return None
        addresses, positions = stored.numbers("addresses"), stored.numbers("positions")
        return Numbering(SortedRows(stored.arrays["ids"], addresses, positions), stored.versions)

    def _extend_numbering(self, old: Numbering, table: Table) -> Numbering | None:
        """Return the numbering extended to a table's version; None when too many rows differ."""
        if old.version == table.version:
            return old
        most = _most_changes(len(old.base))
        delta = self._delta(table, old.version, most)
        if delta is None or len(delta) + old.patch_size > most:
            return None
        if len(old.lineage) >= _MOST_EXTENSIONS:
            return None
        ids = _read_values(table, delta.added, "id")
        return old.extend(table.version, delta.removed, ids, delta.added)

    def _delta(self, table: Table, version: int, most: int) -> Delta | None:
        """Return how a table differs from another version of it; None when too much differs."""
        if version == table.version:
            nothing = np.empty(0, np.uint64)
            return Delta(nothing, nothing)
        key = ("delta", table.path, version, table.version)
        found = self.cache.peek(key)
        if isinstance(found, Delta):
            return found if len(found) <= most else None
        try:
            delta = delta_between(table.at(version), table, most)
        except StorageError:
            return None  # cleanup removed the other version
        if delta is None:
            return None
        return self.cache.get(key, lambda: delta, family=("delta", table.path))

    def _column(self, table: Table, name: str, numbering: Numbering) -> TableColumn:
        old = self.cache.newest(_column_family(table, name))
        if isinstance(old, TableColumn) and _continues(numbering.lineage, old.lineage):
            most = _most_changes(len(old.values))
            delta = self._delta(table, old.lineage[-1], most)
            if delta is not None and len(delta) + len(old.changed) <= most:
                values = _read_values(table, delta.added, name)
                return old.change(numbering.lineage, numbering.at(delta.added), values)
        self.generation += 1
        values = _read_whole_column(table, numbering, name)
        return TableColumn(numbering.lineage, values, np.empty(0, np.int64), values.slice(0, 0))

    def _adjacency(self, edges: EdgeTable, family: Family, backwards: bool) -> _VersionedAdjacency:
        known = self.cache.newest(family)
        old = known or self._stored_adjacency(family)
        self.generation += known is None
        extended = None
        if isinstance(old, _VersionedAdjacency):
            extended = self._extend_adjacency(old, edges, backwards)
        if isinstance(extended, PatchedAdjacency):
            extended.prepare()
        if extended is not None:
            return _VersionedAdjacency(extended, edges.table.version, edges.lineages)
        self.generation += 1
        made = build_adjacency(
            self.entries(edges, backwards=backwards), _count_starts(edges, backwards)
        )
        if all(part.is_base for part in edges.parts):
            arrays = {"offsets": made.offsets, "targets": made.targets}
            arrays |= {} if made.edges is None else {"edges": made.edges}
            versions = (edges.table.version, *(part.version for part in edges.parts))
            self._store(family, versions, arrays, made.size)
        return _VersionedAdjacency(made, edges.table.version, edges.lineages)

    def _stored_adjacency(self, family: Family) -> _VersionedAdjacency | None:
        stored = None if self.disk is None else self.disk.get(family)
        if stored is None:
            return None
        edges = stored.numbers("edges") if "edges" in stored.arrays else None
        adjacency = Adjacency(stored.numbers("offsets"), stored.numbers("targets"), edges)
        version, *numbered = stored.versions
        return _VersionedAdjacency(adjacency, version, tuple((each,) for each in numbered))

    def _extend_adjacency(
        self, old: _VersionedAdjacency, edges: EdgeTable, backwards: bool
    ) -> AnyAdjacency | None:
        """Return an adjacency patched to a later version; None when it has to be built again."""
        if not all(map(_continues, edges.lineages, old.lineages)):
            return None
        most = _most_changes(old.adjacency.size)
        delta = self._delta(edges.table, old.version, most)
        if delta is None:
            return None
        try:
            before = _read_entries(edges.table.at(old.version), edges, delta.removed)
        except StorageError:
            return None  # cleanup removed the rows of the other version
        new = _read_entries(edges.table, edges, delta.added)
        gone = _drop_still_joined(edges, before, new) if edges.own is None else before
        if gone is None:
            return None
        count = _count_starts(edges, backwards)
        found = patch_adjacency(old.adjacency, count, _turn(gone, backwards), _turn(new, backwards))
        is_small = isinstance(found, Adjacency) or found.rows.size <= most
        return found if is_small else None

    def _store(self, family: Family, versions: tuple[int, ...], arrays: Arrays, size: int) -> None:
        if self.disk is not None and size >= _LEAST_STORED:
            self.disk.put(family, versions, arrays)


def _numbering_family(table: Table) -> Family:
    return ("ids", *table.key[:2])


def _column_family(table: Table, name: str) -> Family:
    """Return the key of a column's values, by number: another column may have its name later."""
    return ("column", *table.key[:2], *table.numbers[name])


def _family_of(table: Table, name: str) -> Family:
    """Return the key of a column's statistics."""
    return ("statistics", *_column_family(table, name)[1:])


def _adjacency_family(table: Table, backwards: bool, *, named: bool) -> Family:
    return ("adjacency", *table.key[:2], backwards, named)


def _sort_rows(table: Table) -> SortedRows:
    """Read the ids of a table and sort its rows by them."""
    found = read_with_addresses(table, ["id"])
    ids = to_array(found["id"])
    order = to_numbers(pc.sort_indices(ids))
    return SortedRows(ids.take(pa.array(order)), found[ADDRESS].to_numpy()[order], order)


def _read_whole_column(table: Table, numbering: Numbering, name: str) -> pa.Array:
    """Return a column by the ordinals of the rows; null for ordinals that are not used."""
    if numbering.is_base:
        values = to_array(read_columns(table, [name])[name])
        return values.take(pa.array(numbering.base.positions))
    found = read_with_addresses(table, [name])
    places = np.full(len(numbering), NO_ROW)
    places[numbering.at(found[ADDRESS].to_numpy())] = np.arange(found.num_rows)
    return take_or_null(to_array(found[name]), places)


def _read_ends(edges: EdgeTable) -> EdgeEnds:
    found = read_with_addresses(edges.table, ["src", "dst"])
    sources = edges.sources.find(to_array(found["src"]))
    targets = edges.targets.find(to_array(found["dst"]))
    return EdgeEnds(found[ADDRESS].to_numpy(), sources, targets)


def _read_entries(table: Table, edges: EdgeTable, addresses: Addresses) -> EdgeEntries:
    """Return the entries of some edges, which may be those of another version of the table."""
    columns = ["src", "dst"] if edges.own is None else ["src", "dst", "id"]
    found = rows_at(table, addresses, columns) if len(addresses) else None
    if found is None:
        nothing = np.empty(0, np.int64)
        return EdgeEntries(nothing, nothing, None if edges.own is None else nothing)
    own = None if edges.own is None else edges.own.find_with_removed(to_array(found["id"]))
    sources = edges.sources.find_with_removed(to_array(found["src"]))
    return EdgeEntries(sources, edges.targets.find_with_removed(to_array(found["dst"])), own)


def _drop_still_joined(
    edges: EdgeTable, removed: EdgeEntries, new: EdgeEntries
) -> EdgeEntries | None:
    """Return the removed pairs that no edge joins any more; None when too many edges could.

    Where pairs are stored once, a pair stays as long as any edge between its nodes does.
    """
    removed = remove_entries(removed, new)
    if not len(removed.sources):
        return removed
    if not edges.table.takes_conditions:
        return None
    starts = edges.sources.ids_of(np.unique(removed.sources))
    ends = edges.targets.ids_of(np.unique(removed.targets))
    where = pc.field("src").isin(starts) & pc.field("dst").isin(ends)
    found = rows_where(edges.table, ["src", "dst"], where, _MOST_PARALLEL)
    if found.num_rows == _MOST_PARALLEL:
        return None
    width = len(edges.targets)
    known = edges.sources.find(to_array(found["src"])) * width
    known += edges.targets.find(to_array(found["dst"]))
    gone = ~np.isin(removed.sources * width + removed.targets, known)
    return EdgeEntries(removed.sources[gone], removed.targets[gone])


def _turn(entries: EdgeEntries, backwards: bool) -> EdgeEntries:
    if not backwards:
        return entries
    return EdgeEntries(entries.targets, entries.sources, entries.edges)


def _count_starts(edges: EdgeTable, backwards: bool) -> int:
    """Return how many ordinals there are on the side where an adjacency starts."""
    return len(edges.targets if backwards else edges.sources)


def _read_values(table: Table, addresses: Addresses, column: str) -> pa.Array:
    if not len(addresses):
        return table.schema.empty_table()[column].combine_chunks()
    return to_array(rows_at(table, addresses, [column])[column])


def _continues(lineage: Lineage, earlier: Lineage) -> bool:
    """Return whether ordinals of an earlier lineage mean the same in this one."""
    return lineage[: len(earlier)] == earlier


def _most_changes(rows: int) -> int:
    """Return how many of `rows` may differ before extending costs more than starting again."""
    return min(max(_LEAST_PATCHED, rows // _PATCHED_PART), _MOST_PATCHED)
