"""Reader: the rows of one snapshot by ordinal, with their columns and the edges between them."""

from abc import ABC, abstractmethod
from dataclasses import field
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.adjacency import CheckCount, Neighbours
from omnigraph.data.derived.memory import MemoryCache
from omnigraph.data.derived.numbering import NO_ROW, Numbers, rank_texts, take_or_null
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction, Step
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import STRING, ValueType
from omnigraph.storage.reading import Addresses
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

_ORDINAL_BITS = 40
# Whether edges are followed backwards, for each way that a direction allows.
BACKWARDS = {Direction.OUT: (False,), Direction.IN: (True,), Direction.BOTH: (False, True)}


class Ordinals(Protocol):
    """What operators need of a numbering: the ordinals of a table's rows."""

    def __len__(self) -> int:
        """Return how many ordinals there are."""

    def all(self) -> Numbers:
        """Return the ordinals of all rows."""

    def find(self, ids: pa.Array) -> Numbers:
        """Return the ordinal of each id; NO_ROW where there is no such row."""

    def find_one(self, wanted: str) -> int:
        """Return the ordinal of an id; NO_ROW when there is no such row."""

    def at(self, addresses: Addresses) -> Numbers:
        """Return the ordinals of rows by their addresses."""

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Return numbers that sort rows by id; NO_ROW sorts first."""


@dataclass(frozen=True)
class Domain:
    """All rows that a variable can stand for: those of its types, one type after the other.

    The code of a row is its ordinal plus the number of ordinals of the types before its own.
    """

    reader: "Reader"
    types: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def is_stored(self) -> bool:
        """Whether the rows are those of tables, so that what is known of these is true of them."""
        return True

    @cached_property
    def offsets(self) -> Numbers:
        """The first code of each type, and after the last one the number of all codes."""
        counts = [len(self.reader.numbering(name)) for name in self.types]
        return np.array([0, *counts]) if len(counts) == 1 else np.cumsum([0, *counts])

    def offset(self, type_name: str) -> int:
        """Return the first code of a type."""
        return int(self.offsets[self.types.index(type_name)]) if len(self.types) > 1 else 0

    def all(self) -> Numbers:
        """Return the codes of all rows."""
        if len(self.types) == 1:
            return self.reader.numbering(self.types[0]).all()
        parts = [self.reader.numbering(name).all() + self.offset(name) for name in self.types]
        return np.concatenate(parts)

    def of_type(self, type_name: str, codes: Numbers) -> Numbers:
        """Return the places of the codes that are rows of a type."""
        at = self.types.index(type_name)
        return np.flatnonzero((codes >= self.offsets[at]) & (codes < self.offsets[at + 1]))

    def codes_of(self, other: "Domain", codes: Numbers) -> Numbers:
        """Return the codes in this domain of rows of another; NO_ROW for those not in it."""
        if other.types == self.types:
            return codes
        found = np.full(len(codes), NO_ROW)
        for name in other.types:
            if name in self.types:
                mine = other.of_type(name, codes)
                found[mine] = codes[mine] - other.offset(name) + self.offset(name)
        return found

    def values(self, name: str, codes: Numbers, kind: ValueType) -> pa.Array:
        """Return a property of rows by their codes; null for NO_ROW, and where a type lacks it.

        A type counts as lacking it when it has the property with another type: an inner pattern may
        leave a variable fewer types, and only those have to agree.
        """
        if len(self.types) == 1:
            return self.reader.values(self.types[0], name, codes)
        places = np.full(len(codes), NO_ROW)
        parts: list[pa.Array] = []
        before = 0
        for each in self.types:
            mine = self.of_type(each, codes)
            if len(mine) and self.reader.type_of(each, name) == kind:
                parts.append(self.reader.values(each, name, codes[mine] - self.offset(each)))
                places[mine] = before + np.arange(len(mine))
                before += len(mine)
        found = pa.concat_arrays(parts) if parts else pa.nulls(0, arrow_type(kind))
        return take_or_null(found, places)

    def type_names(self, codes: Numbers) -> pa.Array:
        """Return the name of each row's type."""
        return pa.array(self.types, pa.utf8()).take(pa.array(self._places_of_types(codes)))

    def identities(self, codes: Numbers) -> Numbers:
        """Return numbers that are the same for the same row in every domain."""
        at = self._places_of_types(codes)
        return (self._type_numbers(codes) << _ORDINAL_BITS) + codes - self.offsets[at]

    def _places_of_types(self, codes: Numbers) -> Numbers:
        found = np.searchsorted(self.offsets, codes, side="right") - 1
        return np.clip(found, 0, len(self.types) - 1)

    def _type_numbers(self, codes: Numbers) -> Numbers:
        """Return the place in the catalog of each row's type."""
        types = np.array([self.reader.number(name) for name in self.types])
        return types[self._places_of_types(codes)]

    def ranks(self, codes: Numbers) -> Numbers:
        """Return numbers that sort rows by id; NO_ROW sorts first."""
        if len(self.types) == 1:
            return self.reader.numbering(self.types[0]).ranks(codes)
        distinct, inverse = np.unique(codes, return_inverse=True)
        ids = self.values("id", distinct, STRING)
        order = np.lexsort((self._type_numbers(distinct), rank_texts(ids)))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return np.where(codes < 0, NO_ROW, rank[inverse])


@dataclass(frozen=True)
class Reader(ABC):
    """One snapshot as operators read it; how ordinals come about is the subclass's business."""

    snapshot: Snapshot
    _domains: dict[tuple[str, ...], Domain] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _tables: dict[str, Table] = field(default_factory=dict, init=False, repr=False, compare=False)

    def domain(self, types: tuple[str, ...]) -> Domain:
        """Return the rows that a variable of some types can stand for."""
        found = self._domains.get(types)
        if found is None:
            found = self._domains.setdefault(types, Domain(self, types))
        return found

    def number(self, name: str) -> int:
        """Return the place of a type in the catalog."""
        catalog = self.snapshot.catalog
        return [*catalog.nodes, *catalog.edges].index(name)

    def stored(self, name: str) -> StoredType:
        """Return a type of the catalog."""
        found = self.snapshot.catalog.stored(name)
        assert found is not None
        return found

    def edge(self, name: str) -> EdgeType:
        """Return an edge type of the catalog."""
        return self.snapshot.catalog.edges[name]

    def table(self, name: str) -> Table:
        """Return the table of a type."""
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = self.snapshot.table(self.stored(name).identity)
        return found

    def count(self, name: str) -> int:
        """Return how many rows a type has."""
        return self.snapshot.state(self.stored(name).identity).row_count

    def type_of(self, name: str, column: str) -> ValueType | None:
        """Return the type of a column, or None if the type lacks it."""
        return self.stored(name).column(column)

    @property
    @abstractmethod
    def cache(self) -> MemoryCache:
        """The cache of what is derived, for all snapshots."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether whole tables are in memory, so that all rows can be visited."""

    @abstractmethod
    def numbering(self, name: str) -> Ordinals:
        """Return the ordinals of a type's rows."""

    @abstractmethod
    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Return a column of rows by their ordinals; null for NO_ROW."""

    @abstractmethod
    def follow(
        self,
        leg: "Leg",
        codes: Numbers,
        *,
        edges: Domain | None = None,
        check: CheckCount | None = None,
    ) -> Neighbours:
        """Return where a leg leads from some rows: every pair once, or every edge of a domain.

        `check` gets the number of them before they are made.
        """

    @abstractmethod
    def are_joined(self, leg: "Leg", starts: Numbers, ends: Numbers) -> "np.ndarray":
        """Return for each pair of rows whether a step leads from the first to the second."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a path: steps, each of which may lead from one domain to another."""

    steps: tuple[Step, ...]
    source: Domain
    target: Domain


@dataclass(frozen=True, slots=True)
class DirectedEdge:
    """An edge type, followed forwards or backwards."""

    edge: EdgeType
    backwards: bool

    @property
    def start(self) -> str:
        return self.edge.target if self.backwards else self.edge.source

    @property
    def end(self) -> str:
        return self.edge.source if self.backwards else self.edge.target


def find_ways(reader: Reader, leg: Leg) -> list[DirectedEdge]:
    """Return all ways that a leg can go from a type of its source to one of its target."""
    found = []
    for step in leg.steps:
        edge = reader.edge(step.edge)
        found += [DirectedEdge(edge, backwards) for backwards in BACKWARDS[step.direction]]
    return [way for way in found if way.start in leg.source.types and way.end in leg.target.types]
