"""Reader: the rows of one snapshot, numbered, with their columns and the edges between them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.adjacency import Check, Followed
from omnigraph.data.derived.memory import Cache
from omnigraph.data.derived.numbering import NONE, Addresses, Numbers, taken, text_ranks
from omnigraph.query.checked import Direction, Step
from omnigraph.query.expr import EntityType
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import STRING, ValueType
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

_ORDINAL_BITS = 40


class Numbered(Protocol):
    """Rows of a table by their ordinals."""

    def __len__(self) -> int:
        """Give how many ordinals there are."""

    def all(self) -> Numbers:
        """Give the ordinals of all rows."""

    def find(self, ids: pa.Array) -> Numbers:
        """Give the ordinal of each id; NONE where there is no such row."""

    def at(self, addresses: Addresses) -> Numbers:
        """Give the ordinals of rows by their addresses."""

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Give numbers that sort rows by id, and NONE before all others."""


@dataclass(frozen=True)
class Domain:
    """All rows that a variable can stand for: those of its types, one type after the other.

    The code of a row is its ordinal plus the number of ordinals of the types before its own.
    """

    reader: "Reader"
    types: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.bases[-1])

    @cached_property
    def bases(self) -> Numbers:
        """The first code of each type, and behind the last one the number of all codes."""
        counts = [len(self.reader.entities(name)) for name in self.types]
        return np.cumsum([0, *counts])

    def base(self, type_name: str) -> int:
        """Give the first code of a type."""
        return int(self.bases[self.types.index(type_name)])

    def all(self) -> Numbers:
        """Give the codes of all rows."""
        if len(self.types) == 1:
            return self.reader.entities(self.types[0]).all()
        parts = [self.reader.entities(name).all() + self.base(name) for name in self.types]
        return np.concatenate(parts)

    def of_type(self, type_name: str, codes: Numbers) -> Numbers:
        """Give the places of the codes that are rows of a type."""
        at = self.types.index(type_name)
        return np.flatnonzero((codes >= self.bases[at]) & (codes < self.bases[at + 1]))

    def codes_of(self, other: "Domain", codes: Numbers) -> Numbers:
        """Give the codes here of rows of another domain; NONE for those that are not here."""
        if other.types == self.types:
            return codes
        found = np.full(len(codes), NONE)
        for name in other.types:
            if name in self.types:
                mine = other.of_type(name, codes)
                found[mine] = codes[mine] - other.base(name) + self.base(name)
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
        for each in self.types:
            mine = self.of_type(each, codes)
            if len(mine) and self.reader.type_of(each, name) == kind:
                parts.append(self.reader.values(each, name, codes[mine] - self.base(each)))
                places[mine] = before + np.arange(len(mine))
                before += len(mine)
        found = pa.concat_arrays(parts) if parts else pa.nulls(0, arrow_type(kind))
        return taken(found, places)

    def identities(self, codes: Numbers) -> Numbers:
        """Give numbers that are the same for the same row in every domain."""
        at = self._places_of_types(codes)
        return (self._type_numbers(codes) << _ORDINAL_BITS) + codes - self.bases[at]

    def _places_of_types(self, codes: Numbers) -> Numbers:
        found = np.searchsorted(self.bases, codes, side="right") - 1
        return np.clip(found, 0, len(self.types) - 1)

    def _type_numbers(self, codes: Numbers) -> Numbers:
        """Give the place in the catalog of the type of each row."""
        types = np.array([self.reader.number(name) for name in self.types])
        return types[self._places_of_types(codes)]

    def ranks(self, codes: Numbers) -> Numbers:
        """Give numbers that sort rows by id, and NONE before all others."""
        if len(self.types) == 1:
            return self.reader.entities(self.types[0]).ranks(codes)
        distinct, inverse = np.unique(codes, return_inverse=True)
        ids = self.values("id", distinct, STRING)
        order = np.lexsort((self._type_numbers(distinct), text_ranks(ids)))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return np.where(codes < 0, NONE, rank[inverse])


@dataclass(frozen=True)
class Reader(ABC):
    """One snapshot as the engine reads it."""

    snapshot: Snapshot
    _domains: dict[tuple[str, ...], Domain] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

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

    def edge(self, name: str) -> EdgeType:
        """Give an edge type of the catalog."""
        return self.snapshot.catalog.edges[name]

    def table(self, name: str) -> Table:
        """Give the table of a type."""
        return self.snapshot.table(self.stored(name).identity)

    def count(self, name: str) -> int:
        """Give how many rows a type has."""
        return self.snapshot.state(self.stored(name).identity).row_count

    def type_of(self, name: str, column: str) -> ValueType | None:
        """Give the type of a column, if the type has it."""
        return self.stored(name).column(column)

    @property
    @abstractmethod
    def cache(self) -> Cache:
        """Where derived state is kept for all snapshots."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether whole tables are at hand, so that all rows can be gone through."""

    @abstractmethod
    def entities(self, name: str) -> Numbered:
        """Give the rows of a type, numbered."""

    @abstractmethod
    def values(self, name: str, column: str, ordinals: Numbers) -> pa.Array:
        """Give a column of rows by their ordinals; null for NONE."""

    @abstractmethod
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
        """Give where steps lead from some rows: every pair once, or every edge of a domain.

        `check` gets the number of them before they are made.
        """

    @abstractmethod
    def joins(
        self,
        steps: tuple[Step, ...],
        source: Domain,
        target: Domain,
        starts: Numbers,
        ends: Numbers,
    ) -> "np.ndarray":
        """Tell for pairs of rows whether a step leads from the one to the other."""


@dataclass(frozen=True, slots=True)
class Way:
    """One direction in which a step goes along the edges of a type."""

    edge: EdgeType
    backwards: bool

    @property
    def start(self) -> str:
        return self.edge.target if self.backwards else self.edge.source

    @property
    def end(self) -> str:
        return self.edge.source if self.backwards else self.edge.target


def ways(reader: Reader, steps: tuple[Step, ...], source: Domain, target: Domain) -> list[Way]:
    """Give all ways that steps can go from the types of one domain to those of another."""
    found = []
    for step in steps:
        edge = reader.edge(step.edge)
        directions = {Direction.OUT: [False], Direction.IN: [True], Direction.BOTH: [False, True]}
        found += [Way(edge, backwards) for backwards in directions[step.direction]]
    return [way for way in found if way.start in source.types and way.end in target.types]
