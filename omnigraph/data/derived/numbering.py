"""Numbering: an ordinal for every row of a table, which small changes to the table leave alone."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.storage.reading import Addresses

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

Lineage: TypeAlias = tuple[int, ...]

NO_ROW = -1
# More ids than this part of all are found by hashing, fewer by binary search.
_HASHED_PART = 3
# Between two rows of the base there is room for this many added rows, as a power of two.
_RANK_BITS = 20
_FRAGMENT_BITS = 32
# The distance between ids that are kept as texts, to find others between them.
_APART = 64
# The arrays of `row_range` in use, and the last few that are small enough to keep for others.
_row_ranges: "WeakValueDictionary[int, Numbers]" = WeakValueDictionary()
_recent_ranges: deque[Numbers] = deque(maxlen=8)
_MOST_REMEMBERED = 1 << 22


@dataclass(frozen=True)
class SortedRows:
    """The rows of one version of a table, sorted by id.

    `positions` holds where each of them is in the table.
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
        """Return the place of each id; NO_ROW where there is no such row."""
        if not len(self.ids) or len(ids) * _HASHED_PART > len(self.ids):
            return to_numbers(pc.index_in(ids, value_set=self.ids))
        if len(ids) == 1:
            return np.array([self.find_one(ids[0].as_py())])
        places = pc.search_sorted(self.ids, ids).to_numpy(zero_copy_only=False)
        inside = np.minimum(places.astype(np.int64), len(self.ids) - 1)
        same = pc.equal(self.ids.take(pa.array(inside)), ids).to_numpy(zero_copy_only=False)
        return np.where(same, inside, NO_ROW)

    def find_one(self, wanted: str) -> int:
        """Return the place of an id, or NO_ROW; it takes a tenth of what Arrow takes for one."""
        count = len(self.ids)
        if not count:
            return NO_ROW
        # Texts sort by their characters as they do by their bytes.
        first = max(bisect_left(self._some_ids, wanted) - 1, 0) * _APART
        last = min(first + _APART + 1, count)
        text, text_at = wanted.encode(), self._text_at
        place = bisect_left(range(first, last), text, key=text_at) + first
        return place if place < last and text_at(place) == text else NO_ROW

    @cached_property
    def _some_ids(self) -> list[str]:
        """Ids at equal distances, among which one is found without a step of Python for each."""
        found: list[str] = self.ids.take(pa.array(np.arange(0, len(self.ids), _APART))).to_pylist()
        return found

    @cached_property
    def _text_at(self) -> Callable[[int], bytes]:
        """A function that returns the id at a place as bytes, which sort as the ids do."""
        _, offsets, texts = self.ids.buffers()
        kind = np.int32 if pa.types.is_string(self.ids.type) else np.int64
        bounds = np.frombuffer(offsets, kind)[self.ids.offset :].data
        content = memoryview(texts or b"")
        return lambda place: bytes(content[bounds[place] : bounds[place + 1]])

    def at(self, addresses: Addresses) -> Numbers:
        """Return the place of each row by its address; NO_ROW where there is no such row."""
        fragments, starts, places = self._by_fragment
        if not len(fragments):
            return np.full(len(addresses), NO_ROW)
        numbers, offsets = _split_addresses(addresses)
        which = np.minimum(np.searchsorted(fragments, numbers), len(fragments) - 1)
        sizes = starts[which + 1] - starts[which]
        inside = (fragments[which] == numbers) & (offsets < sizes)
        return np.where(inside, places[np.where(inside, starts[which] + offsets, 0)], NO_ROW)

    @cached_property
    def _by_fragment(self) -> tuple[Numbers, Numbers, Numbers]:
        """The fragments, where the places of each one's rows begin, and these places."""
        numbers, offsets = _split_addresses(self.addresses)
        fragments, which = np.unique(numbers, return_inverse=True)
        sizes = np.zeros(len(fragments), np.int64)
        np.maximum.at(sizes, which, offsets + 1)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.full(starts[-1], NO_ROW)
        places[starts[which] + offsets] = np.arange(len(numbers))
        return fragments, starts, places


@dataclass(frozen=True)
class Numbering:
    """The ordinals of the rows of one version of a table: their places in `base`, then new ones.

    Rows that are not in the base follow it, in the order in which they were added. A row that was
    replaced keeps its ordinal, and the ordinal of a removed row is never used for another id.
    `moved` holds the sorted ordinals whose addresses differ from those of the base. `lineage` lists
    the table versions through which the ordinals came about: the same lineage means the same
    ordinals, and a longer one only adds to them.
    """

    base: SortedRows
    lineage: Lineage
    added: pa.Array = field(default_factory=lambda: pa.array([], pa.utf8()))
    gone: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    moved: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    addresses: Addresses = field(default_factory=lambda: np.empty(0, np.uint64))

    def __len__(self) -> int:
        return len(self.base) + len(self.added)

    @property
    def nbytes(self) -> int:
        """The bytes it keeps alive, including the base, which other numberings may share."""
        own = self.gone.nbytes + self.moved.nbytes + self.addresses.nbytes
        return int(self.added.nbytes + own) + self.base.nbytes

    @property
    def version(self) -> int:
        """The version of the table."""
        return self.lineage[-1]

    @property
    def is_base(self) -> bool:
        """Whether no version came after the base."""
        return len(self.lineage) == 1

    @property
    def patch_size(self) -> int:
        """The number of rows that differ from the base."""
        return len(self.moved) + len(self.gone)

    def all(self) -> Numbers:
        """Return the ordinals of all rows; always the same array, so do not write to it."""
        return self._all

    @cached_property
    def _all(self) -> Numbers:
        every = row_range(len(self))
        return np.delete(every, self.gone) if len(self.gone) else every

    def find(self, ids: pa.Array) -> Numbers:
        """Return the ordinal of each id; NO_ROW where there is no such row."""
        found = self.find_with_removed(ids)
        return np.where(np.isin(found, self.gone), NO_ROW, found) if len(self.gone) else found

    def find_one(self, wanted: str) -> int:
        """Return the ordinal of an id; NO_ROW when there is no such row."""
        found = self.base.find_one(wanted)
        if found < 0 and len(self.added):
            late = pc.index(self.added, wanted).as_py()
            found = NO_ROW if late < 0 else late + len(self.base)
        return NO_ROW if len(self.gone) and found in self.gone else found

    def at(self, addresses: Addresses) -> Numbers:
        """Return the ordinals of rows by their addresses."""
        found = self.base.at(addresses)
        if not len(self.moved):
            return found
        by_address = np.argsort(self.addresses)
        known = self.addresses[by_address]
        late = np.minimum(np.searchsorted(known, addresses), len(known) - 1)
        return np.where(known[late] == addresses, self.moved[by_address[late]], found)

    def ids_of(self, ordinals: Numbers) -> pa.Array:
        """Return the ids of rows by their ordinals; null for NO_ROW."""
        if not len(self.added) or ordinals.max(initial=0) < len(self.base):
            return take_or_null(self.base.ids, ordinals)
        both = pa.chunked_array([self.base.ids, self.added])
        return both.take(_to_indices(ordinals)).combine_chunks()

    def addresses_of(self, ordinals: Numbers) -> Addresses:
        """Return the addresses of rows by their ordinals."""
        if not len(self.moved):
            return self.base.addresses[ordinals]
        late = np.minimum(np.searchsorted(self.moved, ordinals), len(self.moved) - 1)
        has_moved = self.moved[late] == ordinals
        found = self.addresses[late]
        found[~has_moved] = self.base.addresses[ordinals[~has_moved]]
        return found

    def ranks(self, ordinals: Numbers) -> Numbers:
        """Return numbers that sort rows by id; NO_ROW sorts first."""
        if not len(self.added):
            return ordinals
        ranks = ordinals << _RANK_BITS
        late = ordinals >= len(self.base)
        ranks[late] = self._added_ranks[ordinals[late] - len(self.base)]
        return ranks

    def extend(
        self, version: int, removed: Addresses, ids: pa.Array, addresses: Addresses
    ) -> "Numbering":
        """Return the numbering of a later version, which lost some rows and gained others."""
        gone = self.at(removed)
        ordinals = self.find_with_removed(ids)
        new = np.flatnonzero(ordinals < 0)
        ordinals[new] = len(self) + np.arange(len(new))
        kept = ~np.isin(self.moved, np.concatenate([gone, ordinals]))
        moved = np.concatenate([self.moved[kept], ordinals])
        order = np.argsort(moved)
        return Numbering(
            self.base,
            (*self.lineage, version),
            pa.concat_arrays([self.added, ids.take(pa.array(new))]),
            np.setdiff1d(np.union1d(self.gone, gone), ordinals),
            moved[order],
            np.concatenate([self.addresses[kept], addresses])[order],
        )

    def find_with_removed(self, ids: pa.Array) -> Numbers:
        """Return the ordinal that each id has, or had before its row was removed."""
        found = self.base.find(ids)
        if len(self.added):
            late = to_numbers(pc.index_in(ids, value_set=self.added))
            found = np.where(late < 0, found, late + len(self.base))
        return found.copy()

    @cached_property
    def _added_ranks(self) -> Numbers:
        before = to_numbers(pc.search_sorted(self.base.ids, self.added)) << _RANK_BITS
        return before - len(self.added) + rank_texts(self.added) - 1


def row_range(count: int) -> Numbers:
    """Return 0 to `count` - 1, read-only; while the array is in use, every caller gets the same."""
    found = _row_ranges.get(count)
    if found is None:
        found = np.arange(count)
        found.flags.writeable = False
        _row_ranges[count] = found
        if count <= _MOST_REMEMBERED:
            _recent_ranges.append(found)
    return found


def is_row_range(numbers: Numbers) -> bool:
    """Return whether this very array came from `row_range`, which takes no comparison."""
    # Asked of every column that is taken: most can be written to, which is seen at once.
    return not numbers.flags.writeable and _row_ranges.get(len(numbers)) is numbers


def are_bound(numbers: Numbers) -> bool:
    """Return whether none of some numbers is NO_ROW."""
    # Of a few numbers, the place of the least is found in a third of the time of the least itself.
    return not len(numbers) or bool(numbers[numbers.argmin()] >= 0)


def to_column(numbers: Numbers) -> pa.Array:
    """Return numbers as a column, which shares their memory and takes less time than a copy."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def take_numbers(numbers: Numbers, places: Numbers) -> Numbers:
    """Return the numbers at some places, not copied if these are all of them."""
    return numbers if len(places) == len(numbers) and is_row_range(places) else numbers[places]


def _split_addresses(addresses: Addresses) -> tuple[Numbers, Numbers]:
    """Return the fragment of each address, and the offset within it."""
    found = addresses.astype(np.int64)
    return found >> _FRAGMENT_BITS, found & ((1 << _FRAGMENT_BITS) - 1)


def to_numbers(column: pa.Array) -> Numbers:
    """Return a column of whole numbers as a NumPy array; NO_ROW for null."""
    if not column.null_count and pa.types.is_signed_integer(column.type):
        plain: Numbers = column.to_numpy().astype(np.int64, copy=False)
        return plain
    whole = column.cast(pa.int64())
    known = whole.fill_null(NO_ROW) if whole.null_count else whole
    found: Numbers = known.to_numpy(zero_copy_only=False)
    return found


def take_or_null(values: pa.Array, places: Numbers) -> pa.Array:
    """Return the values at `places`; null for NO_ROW."""
    if is_run(places):
        return values.slice(int(places[0]), len(places))
    if len(places) and _are_numbers(values) and places.min() >= 0:
        return pa.array(values.to_numpy()[places])
    return values.take(_to_indices(places))


def _are_numbers(values: pa.Array) -> bool:
    """Return whether values are numbers that NumPy has as they are; it takes them in less time."""
    kind = values.type
    return not values.null_count and bool(pa.types.is_integer(kind) or pa.types.is_float64(kind))


def is_run(places: Numbers) -> bool:
    """Return whether rows follow each other, as those of a scan do."""
    if not len(places) or places[0] < 0 or places[-1] - places[0] != len(places) - 1:
        return False
    return bool((places[1:] > places[:-1]).all())


def rank_texts(texts: pa.Array) -> Numbers:
    """Return numbers from 1 that sort texts; equal texts get the same."""
    return to_numbers(pc.rank(texts, tiebreaker="dense"))


def _to_indices(places: Numbers) -> pa.Array:
    missing = places < 0
    return pa.array(places, mask=missing) if missing.any() else pa.array(places)
