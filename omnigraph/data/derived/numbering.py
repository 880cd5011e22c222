"""Numbering: the rows of a table, numbered; small changes keep the numbers of all other rows."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Addresses: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

Numbering: TypeAlias = tuple[int, ...]

NONE = -1
# More ids than this part of all are sought by hashing instead of halving.
_HASHED_PART = 3
# So many rows that came later have a rank between two of the base.
_RANK_BITS = 20
_FRAGMENT_BITS = 32


@dataclass(frozen=True)
class Base:
    """The rows of one version of a table in the order of their ids.

    `positions` are their places in the order of the table.
    """

    ids: pa.Array
    addresses: Addresses
    positions: Numbers

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return int(self.ids.nbytes + self.addresses.nbytes + self.positions.nbytes)

    def find(self, ids: pa.Array) -> Numbers:
        """Give the place of each id; NONE where there is no such row."""
        if not len(self.ids) or len(ids) * _HASHED_PART > len(self.ids):
            return numbers(pc.index_in(ids, value_set=self.ids))
        places = pc.search_sorted(self.ids, ids).to_numpy(zero_copy_only=False)
        inside = np.minimum(places.astype(np.int64), len(self.ids) - 1)
        same = pc.equal(self.ids.take(pa.array(inside)), ids).to_numpy(zero_copy_only=False)
        return np.where(same, inside, NONE)

    def at(self, addresses: Addresses) -> Numbers:
        """Give the place of each row by its address; NONE where there is no such row."""
        fragments, starts, places = self._by_fragment
        if not len(fragments):
            return np.full(len(addresses), NONE)
        numbers, offsets = _split(addresses)
        which = np.minimum(np.searchsorted(fragments, numbers), len(fragments) - 1)
        sizes = starts[which + 1] - starts[which]
        inside = (fragments[which] == numbers) & (offsets < sizes)
        return np.where(inside, places[np.where(inside, starts[which] + offsets, 0)], NONE)

    @cached_property
    def _by_fragment(self) -> tuple[Numbers, Numbers, Numbers]:
        """The fragments, where the places of the rows of each begin, and these places."""
        numbers, offsets = _split(self.addresses)
        fragments, which = np.unique(numbers, return_inverse=True)
        sizes = np.zeros(len(fragments), np.int64)
        np.maximum.at(sizes, which, offsets + 1)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.full(starts[-1], NONE)
        places[starts[which] + offsets] = np.arange(len(numbers))
        return fragments, starts, places


@dataclass(frozen=True)
class Entities:
    """The rows of one version of a table; the ordinal of a row is its place in the base.

    Rows that are not in the base follow it, in the order in which they came. A row that was
    replaced keeps its ordinal, and the ordinal of a row that is gone is not used for another id.
    `moved` are the ordinals, in their order, whose addresses are not those of the base.
    `numbering` are the versions of the table through which the ordinals came about; the same ones
    give the same ordinals, and more of them only add to these.
    """

    base: Base
    numbering: Numbering
    added: pa.Array = field(default_factory=lambda: pa.array([], pa.utf8()))
    gone: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    moved: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    addresses: Addresses = field(default_factory=lambda: np.empty(0, np.uint64))

    def __len__(self) -> int:
        return len(self.base) + len(self.added)

    @property
    def nbytes(self) -> int:
        """The bytes of all that it keeps alive, of the base too, which others may share."""
        own = self.gone.nbytes + self.moved.nbytes + self.addresses.nbytes
        return int(self.added.nbytes + own) + self.base.nbytes

    @property
    def version(self) -> int:
        """The version of the table."""
        return self.numbering[-1]

    @property
    def is_base(self) -> bool:
        """Whether these are the rows of the base and no others."""
        return len(self.numbering) == 1

    @property
    def patched(self) -> int:
        """How many rows differ from the base."""
        return len(self.moved) + len(self.gone)

    def all(self) -> Numbers:
        """Give the ordinals of all rows; it is the same array each time, and not to be changed."""
        return self._all

    @cached_property
    def _all(self) -> Numbers:
        every = np.arange(len(self))
        return np.delete(every, self.gone) if len(self.gone) else every

    def find(self, ids: pa.Array) -> Numbers:
        """Give the ordinal of each id; NONE where there is no such row."""
        found = self.known(ids)
        return np.where(_among(found, self.gone), NONE, found) if len(self.gone) else found

    def at(self, addresses: Addresses) -> Numbers:
        """Give the ordinals of rows by their addresses."""
        found = self.base.at(addresses)
        if not len(self.moved):
            return found
        by_address = np.argsort(self.addresses)
        known = self.addresses[by_address]
        late = np.minimum(np.searchsorted(known, addresses), len(known) - 1)
        return np.where(known[late] == addresses, self.moved[by_address[late]], found)

    def ids_of(self, ordinals: Numbers) -> pa.Array:
        """Give the ids of rows by their ordinals; null for NONE."""
        if not len(self.added) or ordinals.max(initial=0) < len(self.base):
            return taken(self.base.ids, ordinals)
        both = pa.chunked_array([self.base.ids, self.added])
        return both.take(_indices(ordinals)).combine_chunks()

    def addresses_of(self, ordinals: Numbers) -> Addresses:
        """Give the addresses of rows by their ordinals."""
        if not len(self.moved):
            return self.base.addresses[ordinals]
        late = np.minimum(np.searchsorted(self.moved, ordinals), len(self.moved) - 1)
        has_moved = self.moved[late] == ordinals
        found = self.addresses[late]
        found[~has_moved] = self.base.addresses[ordinals[~has_moved]]
        return found

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Give numbers that sort rows by id, and NONE before all others."""
        if not len(self.added):
            return ordinals
        ranks = ordinals << _RANK_BITS
        late = ordinals >= len(self.base)
        ranks[late] = self._added_ranks[ordinals[late] - len(self.base)]
        return ranks

    def extended(
        self, version: int, removed: Addresses, ids: pa.Array, addresses: Addresses
    ) -> "Entities":
        """Give the rows of another version, which lacks some and has others."""
        gone = self.at(removed)
        ordinals = self.known(ids)
        new = np.flatnonzero(ordinals < 0)
        ordinals[new] = len(self) + np.arange(len(new))
        kept = ~np.isin(self.moved, np.concatenate([gone, ordinals]))
        moved = np.concatenate([self.moved[kept], ordinals])
        order = np.argsort(moved)
        return Entities(
            self.base,
            (*self.numbering, version),
            pa.concat_arrays([self.added, ids.take(pa.array(new))]),
            np.setdiff1d(np.union1d(self.gone, gone), ordinals),
            moved[order],
            np.concatenate([self.addresses[kept], addresses])[order],
        )

    def known(self, ids: pa.Array) -> Numbers:
        """Give the ordinal that each id has or had."""
        found = self.base.find(ids)
        if len(self.added):
            late = numbers(pc.index_in(ids, value_set=self.added))
            found = np.where(late < 0, found, late + len(self.base))
        return found.copy()

    @cached_property
    def _added_ranks(self) -> Numbers:
        before = numbers(pc.search_sorted(self.base.ids, self.added)) << _RANK_BITS
        return before - len(self.added) + text_ranks(self.added) - 1


def _split(addresses: Addresses) -> tuple[Numbers, Numbers]:
    """Give the fragment of each address, and the offset there."""
    found = addresses.astype(np.int64)
    return found >> _FRAGMENT_BITS, found & ((1 << _FRAGMENT_BITS) - 1)


def numbers(column: pa.Array) -> Numbers:
    """Give whole numbers as NumPy has them; NONE for null."""
    found: Numbers = column.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
    return found


def taken(values: pa.Array, places: Numbers) -> pa.Array:
    """Give the values at some places; null for NONE."""
    return values.take(_indices(places))


def text_ranks(texts: pa.Array) -> Numbers:
    """Give numbers from 1 that sort texts."""
    return numbers(pc.rank(texts, tiebreaker="dense"))


def _indices(places: Numbers) -> pa.Array:
    missing = places < 0
    return pa.array(places, mask=missing) if missing.any() else pa.array(places)


def _among(values: Numbers, sorted_values: Numbers) -> "np.ndarray":
    return np.isin(values, sorted_values)
