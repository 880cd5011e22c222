"""Adjacency: where edges lead from each node, as arrays; small changes are laid over them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from omnigraph.data.derived.numbering import NONE, Numbers

# Which of the given sources each entry belongs to, its target and, if there are any, its edge.
Followed: TypeAlias = tuple[Numbers, Numbers, Numbers | None]
# Raises when so many entries are too many.
Check: TypeAlias = Callable[[int], None]

# So many entries are summed at a time, because they stay in the cache of the processor.
_BLOCK = 1 << 17
# What `identity` gave, and the last of those that are small enough to be kept for others.
_identities: "WeakValueDictionary[int, Numbers]" = WeakValueDictionary()
_kept: deque[Numbers] = deque(maxlen=8)
_MOST_KEPT = 1 << 22


@dataclass(frozen=True, slots=True)
class Entries:
    """Some entries: where they start and end and, if there is one for each edge, the edges."""

    sources: Numbers
    targets: Numbers
    edges: Numbers | None = None


@dataclass(frozen=True)
class Adjacency:
    """From each source to its targets, in their order; by pairs, or one entry for each edge.

    `edges` are the ordinals of the edges, when there is an entry for each.
    """

    offsets: Numbers
    targets: Numbers
    edges: Numbers | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        edges = 0 if self.edges is None else self.edges.nbytes
        return self.offsets.nbytes + self.targets.nbytes + edges

    @property
    def size(self) -> int:
        """How many entries there are."""
        return len(self.targets)

    def follow(self, sources: Numbers, check: Check | None = None) -> Followed:
        """Give every entry of the given sources; `check` gets their number before they are made."""
        if self._single is not None and self.edges is None:
            targets = self._single[sources]
            if targets.min(initial=0) >= 0:
                return identity(len(sources)), targets, None
            owners = np.flatnonzero(targets >= 0)
            return owners, targets[owners], None
        starts = self.offsets[sources]
        counts = self.offsets[sources + 1] - starts
        if check is not None:
            check(int(counts.sum()))
        owners = np.repeat(np.arange(len(sources)), counts)
        before = np.cumsum(counts) - counts
        places = np.arange(len(owners)) + np.repeat(starts - before, counts)
        return owners, self.targets[places], None if self.edges is None else self.edges[places]

    def joins(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Tell for each pair whether there is an entry, by halving the targets of its source."""
        low, high = self.offsets[sources], self.offsets[sources + 1]
        ends = high
        while (undecided := low < high).any():
            middle = (low + high) // 2
            before = self.targets[np.minimum(middle, self.size - 1)] < targets
            low = np.where(undecided & before, middle + 1, low)
            high = np.where(undecided & ~before, middle, high)
        found = low < ends
        found[found] = self.targets[low[found]] == targets[found]
        return found

    def sums(self, values: Numbers) -> Numbers:
        """Give for each source the sum of its targets' values."""
        sums = np.zeros(len(self), np.int64)
        buffer = np.empty(_BLOCK + int(self.degrees.max(initial=0)) + 1, np.int64)
        marks = np.arange(_BLOCK, self.size + _BLOCK, _BLOCK)
        first = 0
        for found in np.searchsorted(self.offsets[1:], marks):
            last = min(int(found) + 1, len(self))
            begin, end = self.offsets[first], self.offsets[last]
            gathered = buffer[: end - begin + 1]
            np.take(values, self.targets[begin:end], out=gathered[:-1], mode="clip")
            gathered[-1] = 0
            if last > first:
                np.add.reduceat(gathered, self.offsets[first:last] - begin, out=sums[first:last])
            first = last
        sums[self.degrees == 0] = 0
        return sums

    @cached_property
    def degrees(self) -> Numbers:
        """How many entries each source has."""
        return np.diff(self.offsets)

    @cached_property
    def _single(self) -> Numbers | None:
        """The only target of each source or NONE; None when one has several."""
        if self.degrees.max(initial=0) > 1:
            return None
        found = np.full(len(self), NONE)
        found[self.degrees > 0] = self.targets
        return found

    def indegrees(self, count: int) -> Numbers:
        """Give in how many entries each of `count` targets stands."""
        if count not in self._padded_indegrees:
            self._padded_indegrees[count] = _padded(self._indegrees, count)
        return self._padded_indegrees[count]

    @cached_property
    def _indegrees(self) -> Numbers:
        return np.bincount(self.targets)

    @cached_property
    def _padded_indegrees(self) -> dict[int, Numbers]:
        return {}


@dataclass(frozen=True)
class Patched:
    """An adjacency of which some sources have other entries, and that has more sources.

    `rows` are the entries of the sources named, each by its place among them.
    """

    base: Adjacency
    count: int
    sources: Numbers
    rows: Adjacency

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.sources.nbytes + self.rows.nbytes + 16 * self.count

    @property
    def size(self) -> int:
        """About how many entries there are."""
        return self.base.size + self.rows.size

    def follow(self, sources: Numbers, check: Check | None = None) -> Followed:
        """Give every entry of the given sources; `check` gets their numbers before."""
        places, ours = self._placed(sources)
        theirs = ~ours & (sources < len(self.base))
        if theirs.all():
            return self.base.follow(sources, check)
        parts = []
        for adjacency, mask, codes in (
            (self.base, theirs, sources),
            (self.rows, ours, places),
        ):
            owners, targets, edges = adjacency.follow(codes[mask], check)
            parts.append((np.flatnonzero(mask)[owners], targets, edges))
        owners = np.concatenate([part[0] for part in parts])
        order = np.argsort(owners, kind="stable")
        own = [part[2] for part in parts if part[2] is not None]
        return (
            owners[order],
            np.concatenate([part[1] for part in parts])[order],
            np.concatenate(own)[order] if own else None,
        )

    def joins(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Tell for each pair whether there is an entry."""
        places, ours = self._placed(sources)
        theirs = ~ours & (sources < len(self.base))
        found = np.zeros(len(sources), bool)
        found[theirs] = self.base.joins(sources[theirs], targets[theirs])
        found[ours] = self.rows.joins(places[ours], targets[ours])
        return found

    def sums(self, values: Numbers) -> Numbers:
        """Give for each source the sum of its targets' values."""
        found = _copied(self.base.sums(values), self.count)
        found[self.sources] = self.rows.sums(values)
        return found

    @cached_property
    def degrees(self) -> Numbers:
        """How many entries each source has."""
        found = _copied(self.base.degrees, self.count)
        found[self.sources] = self.rows.degrees
        return found

    def indegrees(self, count: int) -> Numbers:
        """Give in how many entries each of `count` targets stands."""
        return _padded(self._indegrees, count)

    def prepare(self) -> None:
        """Compute now what was of use of the base, so that the next reader need not."""
        for name in ("degrees", "_indegrees"):
            if name in vars(self.base):
                getattr(self, name)

    @cached_property
    def _indegrees(self) -> Numbers:
        most = int(self.rows.targets.max(initial=NONE)) + 1
        found = _copied(self.base._indegrees, max(most, len(self.base._indegrees)))
        known = self.sources[self.sources < len(self.base)]
        _, replaced, _ = self.base.follow(known)
        np.subtract.at(found, replaced, 1)
        np.add.at(found, self.rows.targets, 1)
        return found

    def _placed(self, sources: Numbers) -> tuple[Numbers, "np.ndarray"]:
        """Give the place of each source among those with other entries, and whether it is one."""
        if not len(self.sources):
            return sources, np.zeros(len(sources), bool)
        places = np.minimum(np.searchsorted(self.sources, sources), len(self.sources) - 1)
        return places, self.sources[places] == sources


Woven: TypeAlias = Adjacency | Patched


def identity(count: int) -> Numbers:
    """Give the numbers below a count; as long as it is in use, the same array for all."""
    found = _identities.get(count)
    if found is None:
        found = np.arange(count)
        found.flags.writeable = False
        _identities[count] = found
        if count <= _MOST_KEPT:
            _kept.append(found)
    return found


def is_identity(numbers: Numbers) -> bool:
    """Tell whether these are the numbers below a count, as `identity` gave them."""
    return _identities.get(len(numbers)) is numbers


def woven(entries: Entries, count: int) -> Adjacency:
    """Give the adjacency of `count` sources: every pair once, or an entry for every edge."""
    sources, targets, edges = entries.sources, entries.targets, entries.edges
    if edges is not None:
        order = np.lexsort((edges, targets, sources))
        return Adjacency(_offsets(sources[order], count), targets[order], edges[order])
    if not len(sources):
        return Adjacency(np.zeros(count + 1, np.int64), np.empty(0, np.int64))
    width = int(targets.max()) + 1
    keys = _distinct(sources * width + targets)
    found, reached = np.divmod(keys, width)
    return Adjacency(_offsets(found, count), reached)


def patched(old: Woven, count: int, gone: Entries, new: Entries) -> Woven:
    """Give an adjacency without some entries and with others, at a cost that grows with these."""
    base, before = (old.base, old.sources) if isinstance(old, Patched) else (old, gone.sources[:0])
    changed = np.union1d(gone.sources, new.sources)
    sources = np.union1d(before, changed)
    if not len(sources) and len(base) == count:
        return base
    known = sources[sources < len(old)]
    owners, targets, edges = old.follow(known)
    kept = Entries(np.searchsorted(sources, known)[owners], targets, edges)
    rest = without(kept, Entries(np.searchsorted(sources, gone.sources), *_ends(gone)))
    with_new = _joined(rest, Entries(np.searchsorted(sources, new.sources), *_ends(new)))
    return Patched(base, count, sources, woven(with_new, len(sources)))


def _ends(entries: Entries) -> tuple[Numbers, Numbers | None]:
    return entries.targets, entries.edges


def without(entries: Entries, gone: Entries) -> Entries:
    """Give entries without those of some edges or, where edges are not told apart, pairs."""
    if entries.edges is not None:
        assert gone.edges is not None
        kept = ~np.isin(entries.edges, gone.edges)
        return Entries(entries.sources[kept], entries.targets[kept], entries.edges[kept])
    width = int(max(entries.targets.max(initial=0), gone.targets.max(initial=0))) + 1
    keys = entries.sources * width + entries.targets
    kept = ~np.isin(keys, gone.sources * width + gone.targets)
    return Entries(entries.sources[kept], entries.targets[kept])


def _joined(one: Entries, other: Entries) -> Entries:
    edges = None
    if one.edges is not None and other.edges is not None:
        edges = np.concatenate([one.edges, other.edges])
    return Entries(
        np.concatenate([one.sources, other.sources]),
        np.concatenate([one.targets, other.targets]),
        edges,
    )


def _distinct(keys: Numbers) -> Numbers:
    """Give each number once, in their order."""
    keys = np.sort(keys)
    first = np.empty(len(keys), bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def _offsets(sources: Numbers, count: int) -> Numbers:
    """Give where the entries of each source begin, for sources in their order."""
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=count))])


def _padded(values: Numbers, count: int) -> Numbers:
    """Give so many values, zero where there is none; not to be changed."""
    return values if len(values) == count else _copied(values, count)


def _copied(values: Numbers, count: int) -> Numbers:
    """Give so many values, zero where there is none, in an array of their own."""
    found = np.zeros(count, np.int64)
    found[: len(values)] = values
    return found
