"""Reader: the rows of one snapshot, numbered, with their columns and the edges between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.cache import Cache
from omnigraph.engine.topology import (
    NONE,
    Adjacency,
    Entities,
    Links,
    Numbers,
    by_edge,
    entities_of,
    links_of,
    numbers,
    pairs,
)
from omnigraph.query.checked import Direction, Step
from omnigraph.query.expr import EntityType
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EdgeType, StoredType, column_name
from omnigraph.schema.types import STRING, ValueType
from omnigraph.storage.reading import read_columns, rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

# Of a column that is not kept, so small a part of a table is read row by row.
_FEW_OF = 50
_LEAST_WHOLE = 20_000
_ORDINAL_BITS = 40


@dataclass(frozen=True)
class Domain:
    """All rows that a variable can stand for: those of its types, one type after the other.

    The code of a row is its ordinal plus the number of rows of the types before its own.
    """

    reader: "Reader"
    types: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.bases[-1])

    @cached_property
    def bases(self) -> Numbers:
        """The first code of each type, and behind the last one the number of all rows."""
        counts = [len(self.reader.entities(name)) for name in self.types]
        return np.cumsum([0, *counts])

    def base(self, type_name: str) -> int:
        """Give the first code of a type."""
        return int(self.bases[self.types.index(type_name)])

    def codes_of(self, other: "Domain", codes: Numbers) -> Numbers:
        """Give the codes here of rows of another domain; NONE for those that are not here."""
        if other.types == self.types:
            return codes
        found = np.full(len(codes), NONE)
        for at, name in enumerate(other.types):
            if name in self.types:
                mine = (codes >= other.bases[at]) & (codes < other.bases[at + 1])
                found[mine] = codes[mine] - other.bases[at] + self.base(name)
        return found

    def values(self, name: str, codes: Numbers, kind: ValueType) -> pa.Array:
        """Give a property of rows by their codes; null for NONE, and where a type lacks it.

        A type has it when it is of this kind there: a pattern inside another may leave a
        variable fewer types, and they alone have to agree.
        """
        if len(self.types) == 1:
            return self.reader.values(self.types[0], name, codes)
        places = np.full(len(codes), NONE)
        parts: list[pa.Array] = []
        before = 0
        for at, each in enumerate(self.types):
            mine = (codes >= self.bases[at]) & (codes < self.bases[at + 1])
            if mine.any() and self.reader.type_of(each, name) == kind:
                parts.append(self.reader.values(each, name, codes[mine] - self.bases[at]))
                places[mine] = before + np.arange(len(parts[-1]))
                before += len(parts[-1])
        found = pa.concat_arrays(parts) if parts else pa.nulls(0, arrow_type(kind))
        return taken(found, places)

    def identities(self, codes: Numbers) -> Numbers:
        """Give numbers that are the same for the same row in every domain."""
        at = np.clip(np.searchsorted(self.bases, codes, side="right") - 1, 0, len(self.types) - 1)
        types = np.array([self.reader.number(name) for name in self.types])
        return (types[at] << _ORDINAL_BITS) + codes - self.bases[at]

    def ranks(self, codes: Numbers) -> Numbers:
        """Give numbers that sort rows by id, and NONE before all others."""
        if len(self.types) == 1:
            return codes
        distinct, inverse = np.unique(codes, return_inverse=True)
        ids = self.values("id", distinct, STRING)
        order = np.lexsort((self.identities(distinct), _text_ranks(ids)))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return np.where(codes < 0, NONE, rank[inverse])


@dataclass(frozen=True)
class Reader:
    """One snapshot as the engine reads it; what it derives is kept for all snapshots."""

    snapshot: Snapshot
    cache: Cache
    _domains: dict[tuple[str, ...], Domain] = field(default_factory=dict, repr=False)

    def domain(self, kind: EntityType) -> Domain:
        """Give the rows that a variable of some types can stand for."""
        return self._domains.setdefault(kind.types, Domain(self, kind.types))

    def number(self, name: str) -> int:
        """Give the place of a type in the catalog."""
        catalog = self.snapshot.catalog
        return [*catalog.nodes, *catalog.edges].index(name)

    def stored(self, name: str) -> StoredType:
        """Give a type of the catalog."""
        found = self.snapshot.catalog.stored(name)
        assert found is not None
        return found

    def table(self, name: str) -> Table:
        """Give the table of a type."""
        return self.snapshot.table(self.stored(name).identity)

    def count(self, name: str) -> int:
        """Give how many rows a type has."""
        return self.snapshot.state(self.stored(name).identity).row_count

    def type_of(self, name: str, column: str) -> ValueType | None:
        """Give the type of a column, if the type has it."""
        return self.stored(name).column(column)

    def entities(self, name: str) -> Entities:
        """Give the rows of a type, numbered."""
        table = self.table(name)
        return self.cache.get(("ids", *_key(table)), lambda: entities_of(table))

    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Give a column of rows by their ordinals; few rows of a large table are read alone."""
        stored_name = column_name(self.stored(name), column)
        entities = self.entities(name)
        if stored_name == "id":
            return taken(entities.ids, ordinals)
        table = self.table(name)
        key = ("column", *_key(table), stored_name)
        few = max(_LEAST_WHOLE, len(entities) // _FEW_OF)
        if len(ordinals) >= few or len(entities) <= few or self.cache.peek(key) is not None:
            whole = self.cache.get(key, lambda: _column(table, entities, stored_name))
            return taken(whole.values, ordinals)
        return self._singly(table, entities, stored_name, ordinals)

    def adjacency(
        self, steps: tuple[Step, ...], source: Domain, target: Domain, *, edges: Domain | None
    ) -> Adjacency:
        """Give where steps lead from the rows of one domain to those of another.

        With a domain of edges there is an entry for every edge, else one for every pair.
        """
        named = None if edges is None else edges.types
        versions = tuple(_key(self.table(step.edge)) for step in steps)
        nodes = tuple(_key(self.table(name)) for name in (*source.types, *target.types))
        key = ("adjacency", steps, source.types, target.types, named, versions, nodes)
        return self.cache.get(key, lambda: self._adjacency(steps, source, target, edges))

    def links(self, name: str) -> Links:
        """Give both ends of every edge of a type, as ordinals of its node types."""
        edge = self.stored(name)
        assert isinstance(edge, EdgeType)
        table = self.table(name)
        ends = [self.table(edge.source), self.table(edge.target)]
        key = ("links", *_key(table), *_key(ends[0]), *_key(ends[1]))
        nodes = self.entities(edge.source), self.entities(edge.target)
        return self.cache.get(key, lambda: links_of(table, self.entities(name), *nodes))

    def _adjacency(
        self, steps: tuple[Step, ...], source: Domain, target: Domain, edges: Domain | None
    ) -> Adjacency:
        found = [part for step in steps for part in self._entries(step, source, target, edges)]
        starts, ends, own = (
            np.concatenate([part[at] for part in found]) if found else np.empty(0, np.int64)
            for at in range(3)
        )
        if edges is None:
            return pairs(starts, ends, len(source))
        # An undirected step meets a self-loop from both its ends; it is one edge all the same.
        once = np.unique(np.stack([starts, ends, own]), axis=1)
        return by_edge(once[0], once[1], once[2], len(source))

    def _entries(
        self, step: Step, source: Domain, target: Domain, edges: Domain | None
    ) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Give the codes of both ends, and of the edges, in each direction of a step."""
        edge = self.stored(step.edge)
        assert isinstance(edge, EdgeType)
        links = self.links(step.edge)
        base = 0 if edges is None else edges.base(step.edge)
        own = np.arange(len(links.sources)) + base
        forth = (edge.source, links.sources), (edge.target, links.targets)
        ways = {Direction.OUT: [forth], Direction.IN: [forth[::-1]]}
        ways[Direction.BOTH] = [forth, forth[::-1]]
        for (start_type, starts), (end_type, ends) in ways[step.direction]:
            if start_type in source.types and end_type in target.types:
                yield starts + source.base(start_type), ends + target.base(end_type), own

    def _singly(self, table: Table, entities: Entities, column: str, ordinals: Numbers) -> pa.Array:
        distinct, inverse = np.unique(ordinals, return_inverse=True)
        real = distinct[distinct >= 0]
        found = rows_at(table, entities.addresses[real], [column])[column]
        places = np.where(ordinals < 0, NONE, inverse - (len(distinct) - len(real)))
        return taken(found.combine_chunks(), places)


@dataclass(frozen=True, slots=True)
class _Column:
    values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


def taken(values: pa.Array, places: Numbers) -> pa.Array:
    """Give the values at some places; null for NONE."""
    missing = places < 0
    return values.take(pa.array(places, mask=missing) if missing.any() else pa.array(places))


def _column(table: Table, entities: Entities, name: str) -> _Column:
    found = read_columns(table, [name])[name]
    values = found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)
    return _Column(values.take(pa.array(entities.positions)))


def _key(table: Table) -> tuple[str, str, int]:
    return (table._tables.store.root, table.path, table.version)


def _text_ranks(texts: pa.Array) -> Numbers:
    return numbers(pc.rank(texts, tiebreaker="dense"))
