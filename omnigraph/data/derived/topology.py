"""Topology: what is made from tables to answer queries, kept in memory and beside the graph.

Everything is kept by the versions of the tables that it was made from, so it is shared by all
branches and commits that have them. After a small change it is extended and not made anew.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.adjacency import (
    Adjacency,
    Entries,
    Patched,
    Woven,
    patched,
    without,
    woven,
)
from omnigraph.data.derived.column import Column
from omnigraph.data.derived.disk import Arrays, Family, Shelf
from omnigraph.data.derived.memory import Cache
from omnigraph.data.derived.numbering import (
    NONE,
    Addresses,
    Base,
    Entities,
    Numbering,
    Numbers,
    numbers,
    taken,
)
from omnigraph.data.values.columns import one_array
from omnigraph.errors import StorageError
from omnigraph.storage.delta import Delta, delta_between
from omnigraph.storage.reading import (
    ADDRESS,
    read_columns,
    read_with_addresses,
    rows_at,
    rows_where,
)
from omnigraph.storage.table import Table

# A table is read anew when more rows differ than this part of it, and than this number.
_PATCHED_PART = 50
_LEAST_PATCHED = 1_000
_MOST_PATCHED = 500_000
_MOST_EXTENSIONS = 256
# So many edges may join the nodes between which some were removed.
_MOST_PARALLEL = 10_000
# Smaller things are made faster than they are found on a disk.
_LEAST_SHELVED = 50_000


@dataclass(frozen=True, slots=True)
class Ends:
    """The edges of one version of a table, in its order: their addresses and both their ends."""

    addresses: Addresses
    sources: Numbers
    targets: Numbers

    @property
    def nbytes(self) -> int:
        return self.addresses.nbytes + self.sources.nbytes + self.targets.nbytes


@dataclass(frozen=True, slots=True)
class Edges:
    """An edge table with the nodes at both its ends and, if they have names, its own rows."""

    table: Table
    sources: Entities
    targets: Entities
    own: Entities | None

    @property
    def parts(self) -> tuple[Entities, ...]:
        """The numbered rows that an adjacency is made of."""
        return (self.sources, self.targets, *(() if self.own is None else (self.own,)))

    @property
    def numberings(self) -> tuple[Numbering, ...]:
        """What the numbers in an adjacency depend on."""
        return tuple(part.numbering for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Pinned:
    """An adjacency, the version of the edges, and the numberings of both ends and the edges."""

    adjacency: Woven
    version: int
    numberings: tuple[Numbering, ...]

    @property
    def nbytes(self) -> int:
        return self.adjacency.nbytes


class Topology:
    """The derived state of one graph."""

    def __init__(self, most_bytes: int, shelf: Shelf | None = None) -> None:
        self.cache = Cache(most_bytes)
        self._shelf = shelf
        self._spent: Counter[Hashable] = Counter()
        self._used: set[str] = set()

    def entities(self, table: Table) -> Entities:
        """Give the rows of a table, numbered."""
        self._used.add(table.path)
        family = _ids(table)
        key = (*family, table.version)
        return self.cache.get(key, lambda: self._entities(table, family), family=family)

    def column(self, table: Table, name: str) -> Column:
        """Give a whole column of a table."""
        family = _values(table, name)
        key = (*family, self.entities(table).numbering)
        return self.cache.get(key, lambda: self._column(table, name, family), family=family)

    def adjacency(self, edges: Edges, *, backwards: bool) -> Woven:
        """Give where the edges of a table lead, or where they come from."""
        self._used.add(edges.table.path)
        family = _adjacency(edges.table, backwards, named=edges.own is not None)
        key = (family, edges.table.version, edges.numberings)
        made = self.cache.get(key, lambda: self._adjacency(edges, family, backwards), family=family)
        return made.adjacency

    def entries(self, edges: Edges, *, backwards: bool) -> Entries:
        """Give an entry for every edge of a table."""
        key = ("ends", edges.table.path, edges.table.version, edges.numberings[:2])
        ends = self.cache.get(key, lambda: _ends(edges))
        own = None if edges.own is None else edges.own.at(ends.addresses)
        return _turned(Entries(ends.sources, ends.targets, own), backwards)

    def has_entities(self, table: Table) -> bool:
        """Tell whether the rows of a table are numbered, in this or another version."""
        return self._has(_ids(table))

    def has_column(self, table: Table, name: str) -> bool:
        """Tell whether a column is in memory, in this or another version."""
        return self.cache.newest(_values(table, name)) is not None

    def has_adjacency(self, table: Table, *, backwards: bool, named: bool) -> bool:
        """Tell whether an adjacency was made, of this or another version."""
        return self._has(_adjacency(table, backwards, named=named))

    def is_used(self, table: Table) -> bool:
        """Tell whether anything of a table was asked for in this process."""
        return table.path in self._used

    def is_near(self, table: Table, version: int) -> bool:
        """Tell whether only a few rows of a table differ from another version of it."""
        return self._delta(table, version, _LEAST_PATCHED) is not None

    def columns(self, table: Table) -> list[str]:
        """Give the columns of a table that are in memory, in this or another version."""
        return [name for name in table.schema.names if self.has_column(table, name)]

    def spent(self, things: Iterable[Hashable]) -> int:
        """Give how much was spent, since they were last made, to do without all of these things."""
        return min((self._spent[each] for each in things), default=0)

    def spend(self, things: Iterable[Hashable], cost: int) -> None:
        """Note what it cost to do without things that could have been made."""
        for each in things:
            self._spent[each] += cost

    def settle(self, things: Iterable[Hashable]) -> None:
        """Note that things were made, so that nothing is spent to do without them."""
        for each in things:
            self._spent.pop(each, None)

    def _has(self, family: Family) -> bool:
        if self.cache.newest(family) is not None:
            return True
        return self._shelf is not None and self._shelf.has(family)

    def _entities(self, table: Table, family: Family) -> Entities:
        old = self.cache.newest(family) or self._shelved_entities(family)
        extended = self._extended(old, table) if isinstance(old, Entities) else None
        if extended is not None:
            return extended
        base = _base(table)
        arrays = {"ids": base.ids, "addresses": base.addresses, "positions": base.positions}
        self._put(family, (table.version,), arrays, len(base))
        return Entities(base, (table.version,))

    def _shelved_entities(self, family: Family) -> Entities | None:
        kept = None if self._shelf is None else self._shelf.get(family)
        if kept is None:
            return None
        addresses, positions = kept.numbers("addresses"), kept.numbers("positions")
        return Entities(Base(kept.arrays["ids"], addresses, positions), kept.versions)

    def _extended(self, old: Entities, table: Table) -> Entities | None:
        """Give the rows of a table from those of another version; None when too many differ."""
        if old.version == table.version:
            return old
        most = _most(len(old.base))
        delta = self._delta(table, old.version, most)
        if delta is None or len(delta) + old.patched > most:
            return None
        if len(old.numbering) >= _MOST_EXTENSIONS:
            return None
        ids = _taken(table, delta.added, "id")
        return old.extended(table.version, delta.removed, ids, delta.added)

    def _delta(self, table: Table, version: int, most: int) -> Delta | None:
        """Give how a table differs from another version of it; None when too much differs."""
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
            return None  # the other version is there no more
        return None if delta is None else self.cache.get(key, lambda: delta)

    def _column(self, table: Table, name: str, family: Family) -> Column:
        entities = self.entities(table)
        old = self.cache.newest(family)
        if isinstance(old, Column) and _continues(entities.numbering, old.numbering):
            most = _most(len(old.values))
            delta = self._delta(table, old.numbering[-1], most)
            if delta is not None and len(delta) + len(old.changed) <= most:
                values = _taken(table, delta.added, name)
                return old.with_changes(entities.numbering, entities.at(delta.added), values)
        values = _whole_column(table, entities, name)
        return Column(entities.numbering, values, np.empty(0, np.int64), values.slice(0, 0))

    def _adjacency(self, edges: Edges, family: Family, backwards: bool) -> _Pinned:
        old = self.cache.newest(family) or self._shelved_adjacency(family)
        extended = None
        if isinstance(old, _Pinned):
            extended = self._extended_adjacency(old, edges, backwards)
        if isinstance(extended, Patched):
            extended.prepare()
        if extended is not None:
            return _Pinned(extended, edges.table.version, edges.numberings)
        made = woven(self.entries(edges, backwards=backwards), _first(edges, backwards))
        if all(part.is_base for part in edges.parts):
            arrays = {"offsets": made.offsets, "targets": made.targets}
            arrays |= {} if made.edges is None else {"edges": made.edges}
            versions = (edges.table.version, *(part.version for part in edges.parts))
            self._put(family, versions, arrays, made.size)
        return _Pinned(made, edges.table.version, edges.numberings)

    def _shelved_adjacency(self, family: Family) -> _Pinned | None:
        kept = None if self._shelf is None else self._shelf.get(family)
        if kept is None:
            return None
        edges = kept.numbers("edges") if "edges" in kept.arrays else None
        adjacency = Adjacency(kept.numbers("offsets"), kept.numbers("targets"), edges)
        version, *numbered = kept.versions
        return _Pinned(adjacency, version, tuple((each,) for each in numbered))

    def _extended_adjacency(self, old: _Pinned, edges: Edges, backwards: bool) -> Woven | None:
        """Give an adjacency from that of other versions; None when it has to be made anew."""
        if not all(map(_continues, edges.numberings, old.numberings)):
            return None
        most = _most(old.adjacency.size)
        delta = self._delta(edges.table, old.version, most)
        if delta is None:
            return None
        try:
            before = _entries_at(edges.table.at(old.version), edges, delta.removed)
        except StorageError:
            return None  # the rows of the other version are there no more
        new = _entries_at(edges.table, edges, delta.added)
        gone = _really_gone(edges, before, new) if edges.own is None else before
        if gone is None:
            return None
        count = _first(edges, backwards)
        found = patched(old.adjacency, count, _turned(gone, backwards), _turned(new, backwards))
        is_small = isinstance(found, Adjacency) or found.rows.size <= most
        return found if is_small else None

    def _put(self, family: Family, versions: tuple[int, ...], arrays: Arrays, size: int) -> None:
        if self._shelf is not None and size >= _LEAST_SHELVED:
            self._shelf.put(family, versions, arrays)


def _ids(table: Table) -> Family:
    return ("ids", *table.key[:2])


def _values(table: Table, name: str) -> Family:
    """Give what the values of a column are kept under: another column may have its name later."""
    return ("column", *table.key[:2], *table.numbers[name])


def _adjacency(table: Table, backwards: bool, *, named: bool) -> Family:
    return ("adjacency", *table.key[:2], backwards, named)


def _base(table: Table) -> Base:
    """Number the rows of a table by their ids."""
    found = read_with_addresses(table, ["id"])
    ids = one_array(found["id"])
    order = numbers(pc.sort_indices(ids))
    return Base(ids.take(pa.array(order)), found[ADDRESS].to_numpy()[order], order)


def _whole_column(table: Table, entities: Entities, name: str) -> pa.Array:
    """Give a column by the ordinals of the rows; null for ordinals that are not used."""
    if entities.is_base:
        values = one_array(read_columns(table, [name])[name])
        return values.take(pa.array(entities.base.positions))
    found = read_with_addresses(table, [name])
    places = np.full(len(entities), NONE)
    places[entities.at(found[ADDRESS].to_numpy())] = np.arange(found.num_rows)
    return taken(one_array(found[name]), places)


def _ends(edges: Edges) -> Ends:
    found = read_with_addresses(edges.table, ["src", "dst"])
    sources = edges.sources.find(one_array(found["src"]))
    targets = edges.targets.find(one_array(found["dst"]))
    return Ends(found[ADDRESS].to_numpy(), sources, targets)


def _entries_at(table: Table, edges: Edges, addresses: Addresses) -> Entries:
    """Give the entries of some edges, which may be those of another version of the table."""
    columns = ["src", "dst"] if edges.own is None else ["src", "dst", "id"]
    found = rows_at(table, addresses, columns) if len(addresses) else None
    if found is None:
        nothing = np.empty(0, np.int64)
        return Entries(nothing, nothing, None if edges.own is None else nothing)
    own = None if edges.own is None else edges.own.known(one_array(found["id"]))
    sources = edges.sources.known(one_array(found["src"]))
    return Entries(sources, edges.targets.known(one_array(found["dst"])), own)


def _really_gone(edges: Edges, removed: Entries, new: Entries) -> Entries | None:
    """Give the pairs that no edge of the table joins any more; None when that is hard to tell."""
    removed = without(removed, new)
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
    known = edges.sources.find(one_array(found["src"])) * width
    known += edges.targets.find(one_array(found["dst"]))
    gone = ~np.isin(removed.sources * width + removed.targets, known)
    return Entries(removed.sources[gone], removed.targets[gone])


def _turned(entries: Entries, backwards: bool) -> Entries:
    if not backwards:
        return entries
    return Entries(entries.targets, entries.sources, entries.edges)


def _first(edges: Edges, backwards: bool) -> int:
    """Give how many ordinals there are on the side where an adjacency starts."""
    return len(edges.targets if backwards else edges.sources)


def _taken(table: Table, addresses: Addresses, column: str) -> pa.Array:
    if not len(addresses):
        return table.schema.empty_table()[column].combine_chunks()
    return one_array(rows_at(table, addresses, [column])[column])


def _continues(numbering: Numbering, earlier: Numbering) -> bool:
    """Tell whether ordinals of an earlier numbering mean the same in this one."""
    return numbering[: len(earlier)] == earlier


def _most(rows: int) -> int:
    """Give how many rows of so many may differ for the old ones to be extended."""
    return min(max(_LEAST_PATCHED, rows // _PATCHED_PART), _MOST_PATCHED)
