"""Dense: reads whole tables once, and then answers from arrays in memory."""

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.adjacency import Adjacency, Check, Entries, Followed, Woven, woven
from omnigraph.data.derived.memory import Cache
from omnigraph.data.derived.numbering import NONE, Entities, Numbers, taken
from omnigraph.data.derived.topology import Edges, Topology
from omnigraph.errors import OmniGraphError
from omnigraph.query.checked import Step
from omnigraph.read.reader import Domain, Reader, Way, ways
from omnigraph.schema.catalog import EdgeType, column_name
from omnigraph.storage.reading import rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

# Of a column that is not kept, so small a part of a table is read row by row.
_FEW_OF = 50
_LEAST_WHOLE = 20_000
# Reading rows one by one takes at least as long as reading so many of a column.
_READ_ROWS = 40_000


@dataclass(frozen=True)
class Dense(Reader):
    """A snapshot whose tables are numbered whole; what is derived is kept for all snapshots."""

    topology: Topology
    _entities: dict[str, Entities] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def cache(self) -> Cache:
        return self.topology.cache

    @property
    def is_whole(self) -> bool:
        return True

    def entities(self, name: str) -> Entities:
        """Give the rows of a type, numbered."""
        found = self._entities.get(name)
        if found is None:
            found = self._entities[name] = self.topology.entities(self.table(name))
        return found

    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Give a column of rows by their ordinals; few rows of a large table are read alone."""
        stored_name = column_name(self.stored(name), column)
        table, entities = self.table(name), self.entities(name)
        if stored_name == "id":
            return entities.ids_of(ordinals)
        if self._are_few(table, stored_name, len(ordinals)):
            return self._singly(name, stored_name, ordinals)
        whole = self.topology.column(table, stored_name)
        is_all = ordinals is entities.all() and len(ordinals) == len(whole.values)
        return whole.values if is_all and not len(whole.changed) else whole.take(ordinals)

    def _are_few(self, table: Table, column: str, rows: int) -> bool:
        """Tell whether so many rows are better read one by one than with their whole column.

        What was read one by one earlier counts as well, except for values that are large.
        """
        total = len(self.topology.entities(table))
        few = max(_LEAST_WHOLE, total // _FEW_OF)
        if not rows < few < total or self.topology.has_column(table, column):
            return False
        kind = table.schema.field(column).type
        if pa.types.is_nested(kind) or pa.types.is_large_binary(kind):
            return True
        thing = ("column", table.path, column)
        self.topology.spend([thing], _READ_ROWS + rows)
        return self.topology.spent([thing]) < total

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
        return self.adjacency(steps, source, target, edges=edges).follow(codes, check)

    def joins(
        self,
        steps: tuple[Step, ...],
        source: Domain,
        target: Domain,
        starts: Numbers,
        ends: Numbers,
    ) -> "np.ndarray":
        """Tell for pairs of rows whether a step leads from the one to the other."""
        return self.adjacency(steps, source, target).joins(starts, ends)

    def adjacency(
        self,
        steps: tuple[Step, ...],
        source: Domain,
        target: Domain,
        *,
        edges: Domain | None = None,
    ) -> Woven:
        """Give where steps lead from all rows of one domain to those of another."""
        found = ways(self, steps, source, target)
        if len(source.types) == len(target.types) == len(found) == 1:
            return self.topology.adjacency(
                self._edges(found[0], named=edges is not None), backwards=found[0].backwards
            )
        domains = (source, target, *(() if edges is None else (edges,)))
        numberings = tuple(self._numberings(each) for each in domains)
        versions = tuple((way.backwards, *self.table(way.edge.name).key) for way in found)
        key = ("adjacency", versions, numberings)
        return self.cache.get(key, lambda: self._joined(found, source, target, edges))

    def extend(self, before: Snapshot) -> None:
        """Extend what is in memory of another snapshot, where only a few rows differ.

        What cannot be read now is left to the next query.
        """
        for name in (*self.snapshot.catalog.nodes, *self.snapshot.catalog.edges):
            with suppress(OmniGraphError):
                self._extend_type(name, before)

    def _extend_type(self, name: str, before: Snapshot) -> None:
        key, table = self.stored(name).identity, self.table(name)
        state = before.commit.tables.get(key)
        if state is None or state.path != table.path or state.version == table.version:
            return
        if not self.topology.is_used(table):
            return
        if not self.topology.is_near(table, state.version):
            return
        if self.topology.has_entities(table):
            self.entities(name)
        for column in self.topology.columns(table):
            self.topology.column(table, column)
        if name in self.snapshot.catalog.edges:
            self._extend_adjacencies(self.edge(name))

    def _extend_adjacencies(self, edge: EdgeType) -> None:
        table = self.table(edge.name)
        for backwards, named in product((False, True), repeat=2):
            if self.topology.has_adjacency(table, backwards=backwards, named=named):
                edges = self._edges(Way(edge, backwards), named=named)
                self.topology.adjacency(edges, backwards=backwards)

    def _numberings(self, domain: Domain) -> tuple[object, ...]:
        return tuple((name, self.entities(name).numbering) for name in domain.types)

    def _edges(self, way: Way, *, named: bool) -> Edges:
        name = way.edge.name
        ends = self.entities(way.edge.source), self.entities(way.edge.target)
        return Edges(self.table(name), *ends, self.entities(name) if named else None)

    def _joined(
        self, found: list[Way], source: Domain, target: Domain, edges: Domain | None
    ) -> Adjacency:
        """Give one adjacency of several ways."""
        parts = [self._entries(way, source, target, edges) for way in found]
        starts, ends, own = (
            np.concatenate([np.empty(0, np.int64), *(part[at] for part in parts)])
            for at in range(3)
        )
        if edges is None:
            return woven(Entries(starts, ends), len(source))
        # An undirected step meets a self-loop from both its ends; it is one edge all the same.
        once = np.unique(np.stack([starts, ends, own]), axis=1)
        return woven(Entries(once[0], once[1], once[2]), len(source))

    def _entries(
        self, way: Way, source: Domain, target: Domain, edges: Domain | None
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Give the codes of both ends, and of the edges, along a way."""
        named = edges is not None
        found = self.topology.entries(self._edges(way, named=named), backwards=way.backwards)
        starts = found.sources + source.base(way.start)
        ends = found.targets + target.base(way.end)
        if edges is None or found.edges is None:
            return starts, ends, starts[:0]
        return starts, ends, found.edges + edges.base(way.edge.name)

    def _singly(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        distinct, inverse = np.unique(ordinals, return_inverse=True)
        real = distinct[distinct >= 0]
        addresses = self.entities(name).addresses_of(real)
        found = rows_at(self.table(name), addresses, [column])[column]
        places = np.where(ordinals < 0, NONE, inverse - (len(distinct) - len(real)))
        return taken(found.combine_chunks(), places)
