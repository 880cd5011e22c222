"""Adjacency: where edges lead from each node, as arrays, with small changes laid over them."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NO_ROW, Numbers, is_row_range, is_run, row_range
from omnigraph.data.values.equality import Mask
from omnigraph.frozen import dataclass

# For each entry: which of the sources it belongs to, its target and, with named edges, its edge.
Neighbours: TypeAlias = tuple[Numbers, Numbers, Numbers | None]
# Is told how many entries there will be, and raises when they are too many.
CheckCount: TypeAlias = Callable[[int], None]

# Entries summed at a time: as many as stay in the processor's cache.
_BLOCK = 1 << 17
# So many targets are copied a list at a time, which takes longer to begin.
_MANY = 1 << 13
# So few pairs, of sources with so few entries, are looked up in a list of these entries.
_FEW_PAIRS, _MOST_LISTED = 1 << 11, 1 << 13


@dataclass(frozen=True, slots=True)
class EdgeEntries:
    """Entries of an adjacency: sources, targets and, with one entry per edge, the edges."""

    sources: Numbers
    targets: Numbers
    edges: Numbers | None = None


@dataclass(frozen=True)
class Adjacency:
    """The targets of every source, sorted; each pair once, or one entry for each edge.

    `edges` holds the ordinal of each entry's edge, when there is one entry per edge.
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
        """The number of entries."""
        return len(self.targets)

    def follow(self, sources: Numbers, check: CheckCount | None = None) -> Neighbours:
        """Return every entry of `sources`; `check` gets their number before they are made."""
        if self._single is not None and self.edges is None:
            targets = self._single[sources]
            if targets.min(initial=0) >= 0:
                return row_range(len(sources)), targets, None
            owners = np.flatnonzero(targets >= 0)
            return owners, targets[owners], None
        if len(sources) == 1:
            return self._follow_one(int(sources[0]), check)
        if len(sources) == len(self) and is_row_range(sources):
            if check is not None:
                check(self.size)
            return np.repeat(sources, self.degrees), _view(self.targets), _view(self.edges)
        starts, counts = self.offsets[sources], self.degrees[sources]
        ends = counts.cumsum()
        if check is not None:
            check(int(ends[-1]) if len(ends) else 0)
        if is_run(sources):
            own = slice(int(starts[0]), int(starts[-1] + counts[-1]))
            edges = None if self.edges is None else _view(self.edges[own])
            return np.repeat(row_range(len(sources)), counts), _view(self.targets[own]), edges
        owners = row_range(len(sources)).repeat(counts)
        if self.edges is None and len(owners) >= _MANY:
            return owners, self.list_targets(sources), None
        places = (starts + counts - ends).repeat(counts)
        places += np.arange(len(owners))
        return owners, self.targets[places], None if self.edges is None else self.edges[places]

    def list_targets(self, sources: Numbers) -> Numbers:
        """Return the targets of each source, one source after the other."""
        taken = self._lists.take(pa.array(sources))
        return np.frombuffer(taken.buffers()[2], np.int64)

    @cached_property
    def _lists(self) -> pa.LargeBinaryArray:
        """The targets of each source as bytes, which Arrow copies a list at a time."""
        offsets, targets = (pa.py_buffer(each) for each in (self.offsets * 8, self.targets))
        kind = pa.large_binary()
        return pa.LargeBinaryArray.from_buffers(kind, len(self), [None, offsets, targets])

    def _follow_one(self, source: int, check: CheckCount | None) -> Neighbours:
        """Return the entries of one source, which follow each other."""
        own = slice(int(self.offsets[source]), int(self.offsets[source + 1]))
        count = own.stop - own.start
        if check is not None:
            check(count)
        edges = None if self.edges is None else _view(self.edges[own])
        return np.zeros(count, np.int64), _view(self.targets[own]), edges

    def are_joined(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Return for each pair whether it has an entry, by binary search among the targets."""
        if len(sources) <= _FEW_PAIRS:
            return self._are_few_joined(sources, targets)
        return self._search(sources, targets)

    def _are_few_joined(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Return for each pair whether it has an entry, among all entries of their sources.

        That is a search in one array; in many it takes as many rounds as a source has digits.
        """
        distinct, inverse = np.unique(sources, return_inverse=True)
        if self.degrees[distinct].sum() > _MOST_LISTED:
            return self._search(sources, targets)
        owners, found, _ = self.follow(distinct)
        if not len(found):
            return np.zeros(len(sources), bool)
        width = max(int(found.max()), int(targets.max())) + 1
        known, wanted = owners * width + found, inverse * width + targets
        same: np.ndarray = known.take(known.searchsorted(wanted), mode="clip") == wanted
        return same

    def _search(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Return for each pair whether it has an entry, by halving the entries of all at once."""
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

    def sum_targets(self, values: Numbers | Mask) -> Numbers:
        """Return for each source the sum of its targets' values, or how many of them are true."""
        sums = np.zeros(len(self), np.int64)
        kind = np.int32 if values.dtype == np.bool_ else np.int64
        # How much there is before each entry of a block; what a sum loses above 64 bits on the way
        # it has back in the difference.
        before = np.zeros(_BLOCK + self.most_degree + 1, kind)
        marks = np.arange(_BLOCK, self.size + _BLOCK, _BLOCK)
        first = 0
        for found in np.searchsorted(self.offsets[1:], marks):
            last = min(int(found) + 1, len(self))
            begin, end = self.offsets[first], self.offsets[last]
            gathered = values[self.targets[begin:end]]
            np.cumsum(gathered, dtype=kind, out=before[1 : end - begin + 1])
            sums[first:last] = np.diff(before[self.offsets[first : last + 1] - begin])
            first = last
        return sums

    @cached_property
    def degrees(self) -> Numbers:
        """The number of entries of each source."""
        return np.diff(self.offsets)

    @cached_property
    def most_degree(self) -> int:
        """The most entries that a source has."""
        return int(self.degrees.max(initial=0))

    @cached_property
    def _single(self) -> Numbers | None:
        """The only target of each source, or NO_ROW; None when a source has several."""
        if self.most_degree > 1:
            return None
        found = np.full(len(self), NO_ROW)
        found[self.degrees > 0] = self.targets
        return found

    def indegrees(self, count: int) -> Numbers:
        """Return for each of `count` targets how many entries lead to it."""
        if count not in self._padded_indegrees:
            self._padded_indegrees[count] = _pad(self._indegrees, count)
        return self._padded_indegrees[count]

    @cached_property
    def _indegrees(self) -> Numbers:
        return np.bincount(self.targets)

    @cached_property
    def _padded_indegrees(self) -> dict[int, Numbers]:
        return {}


@dataclass(frozen=True)
class PatchedAdjacency:
    """An adjacency in which some sources have other entries, and new sources may follow.

    `rows` holds the entries of `sources`, each under its position in that array.
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
        """The number of entries; entries that were replaced count as well."""
        return self.base.size + self.rows.size

    def follow(self, sources: Numbers, check: CheckCount | None = None) -> Neighbours:
        """Return every entry of `sources`; `check` gets their numbers before they are made."""
        places, ours = self._locate(sources)
        theirs = ~ours & (sources < len(self.base))
        if theirs.all():
            return self.base.follow(sources, check)
        if ours.all():
            return self.rows.follow(places, check)
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

    def list_targets(self, sources: Numbers) -> Numbers:
        """Return the targets of each source, one source after the other."""
        return self.follow(sources)[1]

    def are_joined(self, sources: Numbers, targets: Numbers) -> "np.ndarray":
        """Return for each pair whether it has an entry."""
        places, ours = self._locate(sources)
        theirs = ~ours & (sources < len(self.base))
        found = np.zeros(len(sources), bool)
        found[theirs] = self.base.are_joined(sources[theirs], targets[theirs])
        found[ours] = self.rows.are_joined(places[ours], targets[ours])
        return found

    def sum_targets(self, values: Numbers | Mask) -> Numbers:
        """Return for each source the sum of its targets' values, or how many of them are true."""
        found = _copy_padded(self.base.sum_targets(values), self.count)
        found[self.sources] = self.rows.sum_targets(values)
        return found

    @cached_property
    def degrees(self) -> Numbers:
        """The number of entries of each source."""
        found = _copy_padded(self.base.degrees, self.count)
        found[self.sources] = self.rows.degrees
        return found

    @property
    def most_degree(self) -> int:
        """As many entries as a source has at most, of those that were replaced as well."""
        return max(self.base.most_degree, self.rows.most_degree)

    def indegrees(self, count: int) -> Numbers:
        """Return for each of `count` targets how many entries lead to it."""
        return _pad(self._indegrees, count)

    def prepare(self) -> None:
        """Compute what readers needed of the base, so that the next one does not wait for it."""
        for name in ("degrees", "_indegrees"):
            if name in vars(self.base):
                getattr(self, name)

    @cached_property
    def _indegrees(self) -> Numbers:
        most = int(self.rows.targets.max(initial=NO_ROW)) + 1
        found = _copy_padded(self.base._indegrees, max(most, len(self.base._indegrees)))
        known = self.sources[self.sources < len(self.base)]
        _, replaced, _ = self.base.follow(known)
        np.subtract.at(found, replaced, 1)
        np.add.at(found, self.rows.targets, 1)
        return found

    def _locate(self, sources: Numbers) -> tuple[Numbers, "np.ndarray"]:
        """Return each source's position in `sources`, and whether it is one of them."""
        if not len(self.sources):
            return sources, np.zeros(len(sources), bool)
        places = np.minimum(np.searchsorted(self.sources, sources), len(self.sources) - 1)
        return places, self.sources[places] == sources


AnyAdjacency: TypeAlias = Adjacency | PatchedAdjacency


def build_adjacency(entries: EdgeEntries, count: int) -> Adjacency:
    """Return the adjacency of `count` sources: every pair once, or one entry for every edge."""
    sources, targets, edges = entries.sources, entries.targets, entries.edges
    if edges is not None:
        order = np.lexsort((edges, targets, sources))
        return Adjacency(_count_offsets(sources[order], count), targets[order], edges[order])
    if not len(sources):
        return Adjacency(np.zeros(count + 1, np.int64), np.empty(0, np.int64))
    width = int(targets.max()) + 1
    keys = sort_distinct(sources * width + targets)
    found, reached = np.divmod(keys, width)
    return Adjacency(_count_offsets(found, count), reached)


def patch_adjacency(
    old: AnyAdjacency, count: int, gone: EdgeEntries, new: EdgeEntries
) -> AnyAdjacency:
    """Return an adjacency with entries removed and added; only the changed sources are rebuilt."""
    base, before = (
        (old.base, old.sources) if isinstance(old, PatchedAdjacency) else (old, gone.sources[:0])
    )
    changed = np.union1d(gone.sources, new.sources)
    sources = np.union1d(before, changed)
    if not len(sources) and len(base) == count:
        return base
    known = sources[sources < len(old)]
    owners, targets, edges = old.follow(known)
    kept = EdgeEntries(np.searchsorted(sources, known)[owners], targets, edges)
    rest = remove_entries(kept, EdgeEntries(np.searchsorted(sources, gone.sources), *_ends(gone)))
    with_new = _concat_entries(
        rest, EdgeEntries(np.searchsorted(sources, new.sources), *_ends(new))
    )
    return PatchedAdjacency(base, count, sources, build_adjacency(with_new, len(sources)))


@overload
def _view(numbers: Numbers) -> Numbers: ...
@overload
def _view(numbers: Numbers | None) -> Numbers | None: ...
def _view(numbers: Numbers | None) -> Numbers | None:
    """Return the same numbers, read-only."""
    if numbers is None:
        return None
    found = numbers.view()
    found.flags.writeable = False
    return found


def _ends(entries: EdgeEntries) -> tuple[Numbers, Numbers | None]:
    return entries.targets, entries.edges


def remove_entries(entries: EdgeEntries, gone: EdgeEntries) -> EdgeEntries:
    """Return `entries` without those of `gone`: by edge, or by pair where there are no edges."""
    if entries.edges is not None:
        assert gone.edges is not None
        kept = ~np.isin(entries.edges, gone.edges)
        return EdgeEntries(entries.sources[kept], entries.targets[kept], entries.edges[kept])
    width = int(max(entries.targets.max(initial=0), gone.targets.max(initial=0))) + 1
    keys = entries.sources * width + entries.targets
    kept = ~np.isin(keys, gone.sources * width + gone.targets)
    return EdgeEntries(entries.sources[kept], entries.targets[kept])


def _concat_entries(one: EdgeEntries, other: EdgeEntries) -> EdgeEntries:
    edges = None
    if one.edges is not None and other.edges is not None:
        edges = np.concatenate([one.edges, other.edges])
    return EdgeEntries(
        np.concatenate([one.sources, other.sources]),
        np.concatenate([one.targets, other.targets]),
        edges,
    )


def sort_distinct(keys: Numbers) -> Numbers:
    """Return the different numbers, sorted."""
    keys = np.sort(keys)
    first = np.empty(len(keys), bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def _count_offsets(sources: Numbers, count: int) -> Numbers:
    """Return where the entries of each source begin; `sources` must be sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=count))])


def _pad(values: Numbers, count: int) -> Numbers:
    """Return `count` values, zeros at the end; may be the same array, so do not write to it."""
    return values if len(values) == count else _copy_padded(values, count)


def _copy_padded(values: Numbers, count: int) -> Numbers:
    """Return a new array of `count` values, zeros at the end."""
    found = np.zeros(count, np.int64)
    found[: len(values)] = values
    return found
