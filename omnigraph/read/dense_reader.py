"""Dense reader: reads whole tables once, then answers from arrays in memory."""

from contextlib import suppress
from dataclasses import field
from itertools import product

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.adjacency import (
    Adjacency,
    AnyAdjacency,
    CheckCount,
    EdgeEntries,
    Neighbours,
    build_adjacency,
)
from omnigraph.data.derived.coded_column import CodedColumn
from omnigraph.data.derived.memory import MemoryCache
from omnigraph.data.derived.numbering import NO_ROW, Numbering, Numbers, take_or_null
from omnigraph.data.derived.table_column import TableColumn
from omnigraph.data.derived.topology import EdgeTable, Topology
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction, Step
from omnigraph.read.reader import DirectedEdge, Domain, Leg, Reader, find_ways
from omnigraph.schema.catalog import EdgeType, column_name
from omnigraph.storage.reading import rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

# Of a column that is not in memory, less than this part of a table is read row by row.
_FEW_OF = 50
_LEAST_WHOLE = 20_000
# Reading rows one by one takes at least as long as reading this many of a column.
_READ_ROWS = 40_000
# Where rows are as large as this on average, a text may be megabytes: up to half of them are read
# singly.
_HEAVY_ROW = 64 << 10
# Of fewer rows, texts are compared as fast as codes, except with a single value.
_LEAST_CODED = 500
# Codes of as many rows are made in about a millisecond, so a few rows that need them wait.
_MOST_CODED_AT_ONCE = 100_000
# Adjacencies over several types that are kept: each is made anew after a commit.
_MOST_JOINED = 8


@dataclass(frozen=True)
class DenseReader(Reader):
    """A reader that numbers whole tables; what it derives is shared by all snapshots."""

    topology: Topology
    _numbering: dict[str, Numbering] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    _columns: dict[tuple[str, str], TableColumn] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _adjacencies: dict[object, AnyAdjacency] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, snapshot: Snapshot, topology: Topology) -> "DenseReader":
        """Return the reader of a snapshot; queries share it, so that each thing is found once."""
        key = ("reader", snapshot.commit.id)
        return topology.cache.share(key, lambda: cls(snapshot, topology))

    @property
    def cache(self) -> MemoryCache:
        return self.topology.cache

    @property
    def is_whole(self) -> bool:
        return True

    def numbering(self, name: str) -> Numbering:
        """Return the numbering of a type's rows."""
        found = self._numbering.get(name)
        if found is None:
            made = self.topology.numbering(self.table(name))
            found = self._numbering.setdefault(name, made)  # another thread may have been first
        return found

    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Return a column of rows by their ordinals; few rows of a large table are read singly."""
        numbering, whole = self.numbering(name), self._columns.get((name, column))
        if whole is None:
            stored_name, table = column_name(self.stored(name), column), self.table(name)
            if stored_name == "id":
                return numbering.ids_of(ordinals)
            whole = self.topology.known_column(table, stored_name, numbering)
            if whole is None:
                if self._are_few(name, stored_name, len(ordinals)):
                    return self._read_singly(name, stored_name, ordinals)
                whole = self.topology.column(table, stored_name, numbering)
            self._columns[name, column] = whole
        is_all = ordinals is numbering.all() and len(ordinals) == len(whole.values)
        return whole.values if is_all and not len(whole.changed) else whole.take(ordinals)

    def coded(self, name: str, column: str, rows: int, *, one: bool) -> CodedColumn | None:
        """Return a text column as codes, if `rows` rows are worth it and it has few values.

        With `one` they are to be compared with one value, which a few rows are worth as well.
        """
        stored_name, table = column_name(self.stored(name), column), self.table(name)
        if stored_name == "id":
            return None
        if rows < _LEAST_CODED:
            return self._known_codes(name, table, stored_name) if one else None
        if self._are_few(name, stored_name, rows):
            return None
        return self.topology.coded(table, stored_name, self.numbering(name))

    def _known_codes(self, name: str, table: Table, column: str) -> CodedColumn | None:
        """Return a column as codes if it is in memory, and they are too or are made at once."""
        numbering = self.numbering(name)
        found = self.topology.known_codes(table, column, numbering)
        if found is not None:
            return found
        whole = self.topology.known_column(table, column, numbering)
        is_small = whole is not None and len(whole.values) <= _MOST_CODED_AT_ONCE
        return self.topology.coded(table, column, numbering) if is_small else None

    def _are_few(self, name: str, column: str, rows: int) -> bool:
        """Return whether reading `rows` rows one by one costs less than reading their column.

        Rows that were read one by one earlier count as well, except where values are large.
        """
        table, total = self.table(name), len(self.numbering(name))
        kind = table.schema.field(column).type
        if pa.types.is_string(kind) and table.row_bytes > _HEAVY_ROW:
            few = min(_LEAST_WHOLE, total // 2 + 1)
            return rows < few and not self.topology.has_column(table, column)
        few = max(_LEAST_WHOLE, total // _FEW_OF)
        if not rows < few < total or self.topology.has_column(table, column):
            return False
        if pa.types.is_nested(kind) or pa.types.is_large_binary(kind):
            return True
        thing = ("column", table.path, column)
        self.topology.note_cost([thing], _READ_ROWS + rows)
        return self.topology.noted_cost([thing]) < total

    def follow(
        self,
        leg: Leg,
        codes: Numbers,
        *,
        edges: Domain | None = None,
        check: CheckCount | None = None,
    ) -> Neighbours:
        """Return where a leg leads from some rows."""
        return self.adjacency(leg, edges=edges).follow(codes, check)

    def are_joined(self, leg: Leg, starts: Numbers, ends: Numbers) -> "np.ndarray":
        """Return for each pair of rows whether a step leads from the first to the second."""
        return self.adjacency(leg).are_joined(starts, ends)

    def adjacency(self, leg: Leg, *, edges: Domain | None = None) -> AnyAdjacency:
        """Return where a leg leads from all rows of its source."""
        types = None if edges is None else edges.types
        key = (leg.steps, leg.source.types, leg.target.types, types)
        found = self._adjacencies.get(key)
        if found is None:
            found = self._adjacencies[key] = self._find_adjacency(leg, edges)
        return found

    def _find_adjacency(self, leg: Leg, edges: Domain | None) -> AnyAdjacency:
        found = find_ways(self, leg)
        if len(leg.source.types) == len(leg.target.types) == len(found) == 1:
            return self.topology.adjacency(
                self._edge_table(found[0], named=edges is not None), backwards=found[0].backwards
            )
        domains = (leg.source, leg.target, *(() if edges is None else (edges,)))
        lineages = tuple(self._lineages(each) for each in domains)
        versions = tuple((way.backwards, *self.table(way.edge.name).key) for way in found)
        key = ("adjacency", versions, lineages)
        family = ("joined", tuple((way.backwards, way.edge.name) for way in found))
        return self.cache.get(
            key, lambda: self._join_ways(found, leg, edges), family=family, most=_MOST_JOINED
        )

    def entries(self, edge: EdgeType, *, named: bool = False) -> EdgeEntries:
        """Return one entry for every edge of a type, with its own ordinal if it is `named`."""
        way = DirectedEdge(edge, backwards=False)
        return self.topology.entries(self._edge_table(way, named=named), backwards=False)

    def extend(self, before: Snapshot) -> None:
        """Extend to this snapshot what is in memory for another one, where few rows differ.

        A table that cannot be read now is left to the next query.
        """
        for name in (*self.snapshot.catalog.nodes, *self.snapshot.catalog.edges):
            with suppress(OmniGraphError):
                self._extend_type(name, before)

    def _extend_type(self, name: str, before: Snapshot) -> None:
        key = self.stored(name).identity
        state, now = before.commit.tables.get(key), self.snapshot.state(key)
        if state is None or state.path != now.path or state.version == now.version:
            return  # without opening it: there may be hundreds of types
        table = self.table(name)
        if not self.topology.is_used(table):
            return
        if not self.topology.is_near(table, state.version):
            return
        if self.topology.has_numbering(table):
            self.numbering(name)
        for column in self.topology.columns(table):
            self.topology.column(table, column, self.numbering(name))
        if name in self.snapshot.catalog.edges:
            self._extend_adjacencies(self.edge(name))

    def _extend_adjacencies(self, edge: EdgeType) -> None:
        table = self.table(edge.name)
        for backwards, named in product((False, True), repeat=2):
            if self.topology.has_adjacency(table, backwards=backwards, named=named):
                way = DirectedEdge(edge, backwards)
                step = Step(edge.name, Direction.IN if backwards else Direction.OUT)
                leg = Leg((step,), self.domain((way.start,)), self.domain((way.end,)))
                self.adjacency(leg, edges=self.domain((edge.name,)) if named else None)

    def _lineages(self, domain: Domain) -> tuple[object, ...]:
        return tuple((name, self.numbering(name).lineage) for name in domain.types)

    def _edge_table(self, way: DirectedEdge, *, named: bool) -> EdgeTable:
        name = way.edge.name
        ends = self.numbering(way.edge.source), self.numbering(way.edge.target)
        return EdgeTable(self.table(name), *ends, self.numbering(name) if named else None)

    def _join_ways(self, found: list[DirectedEdge], leg: Leg, edges: Domain | None) -> Adjacency:
        """Return one adjacency over several ways."""
        parts = [self._entries(way, leg, edges) for way in found]
        starts, ends, own = (
            np.concatenate([np.empty(0, np.int64), *(part[at] for part in parts)])
            for at in range(3)
        )
        if edges is None:
            return build_adjacency(EdgeEntries(starts, ends), len(leg.source))
        # An undirected step meets a self-loop from both ends, but it is one edge.
        once = np.unique(np.stack([starts, ends, own]), axis=1)
        return build_adjacency(EdgeEntries(once[0], once[1], once[2]), len(leg.source))

    def _entries(
        self, way: DirectedEdge, leg: Leg, edges: Domain | None
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return the codes of both ends, and of the edges, along one way."""
        named = edges is not None
        found = self.topology.entries(self._edge_table(way, named=named), backwards=way.backwards)
        starts = found.sources + leg.source.offset(way.start)
        ends = found.targets + leg.target.offset(way.end)
        if edges is None or found.edges is None:
            return starts, ends, starts[:0]
        return starts, ends, found.edges + edges.offset(way.edge.name)

    def _read_singly(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        distinct, inverse = np.unique(ordinals, return_inverse=True)
        real = distinct[distinct >= 0]
        addresses = self.numbering(name).addresses_of(real)
        found = rows_at(self.table(name), addresses, [column])[column]
        places = np.where(ordinals < 0, NO_ROW, inverse - (len(distinct) - len(real)))
        return take_or_null(found.combine_chunks(), places)
