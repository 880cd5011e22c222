"""Topology: rows numbered in the order of their ids, and which edges lead from where to where."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.reading import ADDRESS, read_with_addresses
from omnigraph.storage.table import Table

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

NONE = -1


@dataclass(frozen=True)
class Entities:
    """The rows of one version of a table; the ordinal of a row is its place by id."""

    ids: pa.Array
    positions: Numbers
    addresses: np.ndarray[Any, np.dtype[np.uint64]]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return int(self.ids.nbytes + self.positions.nbytes + self.addresses.nbytes)

    def find(self, ids: pa.Array) -> Numbers:
        """Give the ordinal of each id; NONE where there is no such row."""
        return numbers(pc.index_in(ids, value_set=self.ids))

    def at(self, addresses: np.ndarray[Any, np.dtype[np.uint64]]) -> Numbers:
        """Give the ordinals of rows by their addresses."""
        order, ordered = self._by_address
        found: Numbers = order[np.searchsorted(ordered, addresses)]
        return found

    @cached_property
    def _by_address(self) -> tuple[Numbers, np.ndarray[Any, np.dtype[np.uint64]]]:
        order = np.argsort(self.addresses)
        return order, self.addresses[order]


@dataclass(frozen=True)
class Links:
    """The edges of one version of a table: for each, by its ordinal, both its ends."""

    sources: Numbers
    targets: Numbers

    @property
    def nbytes(self) -> int:
        return self.sources.nbytes + self.targets.nbytes


@dataclass(frozen=True)
class Adjacency:
    """From each source to its targets, in their order; by pairs, or one entry for each edge.

    `edges` are the ordinals of the edges, when there is an entry for each.
    """

    offsets: Numbers
    targets: Numbers
    edges: Numbers | None = None

    @property
    def nbytes(self) -> int:
        edges = 0 if self.edges is None else self.edges.nbytes
        return self.offsets.nbytes + self.targets.nbytes + edges

    @cached_property
    def degrees(self) -> Numbers:
        """How many entries each source has."""
        return np.diff(self.offsets)

    @cached_property
    def sources(self) -> Numbers:
        """The source of every entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.degrees)

    def indegrees(self, count: int) -> Numbers:
        """Give in how many entries each of `count` targets stands."""
        return np.bincount(self.targets, minlength=count)

    def entries(self, sources: Numbers) -> tuple[Numbers, Numbers]:
        """Give, for every entry of the given sources, which of them it belongs to and its place."""
        starts = self.offsets[sources]
        counts = self.offsets[sources + 1] - starts
        owners = np.repeat(np.arange(len(sources)), counts)
        before = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
        places = np.arange(len(owners)) - np.repeat(before - starts, counts)
        return owners, places

    def sums(self, values: Numbers) -> Numbers:
        """Give for each source the sum of its targets' values."""
        total: Numbers = np.concatenate([[0], np.cumsum(values[self.targets])])
        return total[self.offsets[1:]] - total[self.offsets[:-1]]


def entities_of(table: Table) -> Entities:
    """Number the rows of a table."""
    found = read_with_addresses(table, ["id"])
    ids = found["id"].combine_chunks() if found.num_rows else pa.array([], pa.utf8())
    order = numbers(pc.sort_indices(ids))
    addresses = found[ADDRESS].to_numpy()
    return Entities(ids.take(pa.array(order)), order, addresses[order])


def links_of(table: Table, entities: Entities, sources: Entities, targets: Entities) -> Links:
    """Give both ends of every edge of a table."""
    found = read_with_addresses(table, ["src", "dst"])
    ends = []
    for name, nodes in (("src", sources), ("dst", targets)):
        column = found[name].combine_chunks() if found.num_rows else pa.array([], pa.utf8())
        ends.append(nodes.find(column)[entities.positions])
    return Links(*ends)


def pairs(sources: Numbers, targets: Numbers, count: int) -> Adjacency:
    """Give the adjacency of `count` sources with every pair once."""
    if not len(sources):
        return Adjacency(np.zeros(count + 1, np.int64), np.empty(0, np.int64))
    width = int(targets.max()) + 1
    keys = np.unique(sources * width + targets)
    found, reached = np.divmod(keys, width)
    return Adjacency(_offsets(found, count), reached)


def by_edge(sources: Numbers, targets: Numbers, edges: Numbers, count: int) -> Adjacency:
    """Give the adjacency of `count` sources with an entry for every edge."""
    order = np.lexsort((edges, targets, sources))
    return Adjacency(_offsets(sources[order], count), targets[order], edges[order])


def _offsets(sources: Numbers, count: int) -> Numbers:
    """Give where the entries of each source begin, for sources in their order."""
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=count))])


def numbers(column: pa.Array) -> Numbers:
    """Give whole numbers as NumPy has them; NONE for null."""
    found: Numbers = column.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
    return found
