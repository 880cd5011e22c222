"""Delta: the rows in which two versions of a table differ, found from their fragments."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from lance import LanceFragment

from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.fragments import fragment_bytes
from omnigraph.storage.reading import ADDRESS, OFFSET_BITS, Addresses
from omnigraph.storage.staging import TablePlace, place_of
from omnigraph.storage.table import Table


@dataclass(frozen=True, slots=True)
class Delta:
    """Addresses of the rows that only the old version has, and that only the new one has.

    A row that was moved or rewritten is in both.
    """

    removed: Addresses
    added: Addresses

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)

    @property
    def nbytes(self) -> int:
        return self.removed.nbytes + self.added.nbytes


def delta_between(old: Table, new: Table, most: int) -> Delta | None:
    """Return the rows that differ, at a cost that grows with them; None for more than `most`."""
    with report_as(f"cannot compare versions of {new.path}"):
        differing = _differing(old, new)
        bound = sum(_count(each) for each in (*differing.alone, *differing.fresh))
        bound += sum(abs(_count(one) - _count(other)) for one, other in differing.touched)
        if bound > most:
            return None
        delta = _delta(old, new, differing)
    return delta if len(delta) <= most else None


def addresses_of(table: Table) -> Addresses:
    """Return the addresses of all rows of a version."""
    with report_as(f"cannot read {table.path}"):
        return _live(table.dataset.get_fragments())


@dataclass(frozen=True, slots=True)
class Extent:
    """About how many rows differ between versions, and how many bytes they are."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(self.rows + other.rows, self.bytes + other.bytes)


def extent_between(old: Table, new: Table) -> Extent:
    """Estimate how much differs, at a cost that grows with the number of fragments only."""
    with report_as(f"cannot compare versions of {new.path}"):
        differing = _differing(old, new)
        found = Extent()
        for each in (*differing.alone, *differing.fresh):
            found += _extent(each, _count(each))
        for one, other in differing.touched:
            found += _extent(other, abs(_count(one) - _count(other)))
    return found


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Some of the fragments in which two versions of a table differ, for one process to compare."""

    old: TablePlace
    new: TablePlace
    alone: tuple[int, ...] = ()
    fresh: tuple[int, ...] = ()
    touched: tuple[int, ...] = ()

    def delta(self) -> Delta:
        """Return the rows that differ within these fragments."""
        old, new = self.old.open(), self.new.open()
        with report_as(f"cannot compare versions of {new.path}"):
            before, after = _numbered(old), _numbered(new)
            alone = [before[each] for each in self.alone]
            fresh = [after[each] for each in self.fresh]
            touched = [(before[each], after[each]) for each in self.touched]
            return _delta(old, new, _Differing(alone, fresh, touched))


def delta_parts(old: Table, new: Table) -> list[DeltaPart]:
    """Split the difference between two versions of a table into parts of one fragment each."""
    places = place_of(old), place_of(new)
    with report_as(f"cannot compare versions of {new.path}"):
        found = _differing(old, new)
        return [
            *(DeltaPart(*places, alone=(each.fragment_id,)) for each in found.alone),
            *(DeltaPart(*places, fresh=(each.fragment_id,)) for each in found.fresh),
            *(DeltaPart(*places, touched=(each.fragment_id,)) for each, _ in found.touched),
        ]


@dataclass(frozen=True, slots=True)
class _Differing:
    """Fragments that only one version has, and those shared ones whose deleted rows differ."""

    alone: Sequence[LanceFragment]
    fresh: Sequence[LanceFragment]
    touched: Sequence[tuple[LanceFragment, LanceFragment]]


def _differing(old: Table, new: Table) -> _Differing:
    if old.path != new.path:
        return _Differing(old.dataset.get_fragments(), new.dataset.get_fragments(), [])
    before, after = old.fragments, new.fragments
    both = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    return _Differing(
        [before[key] for key in sorted(before.keys() - after.keys())],
        [after[key] for key in sorted(after.keys() - before.keys())],
        [pair for pair in both if _deletions(pair[0]) != _deletions(pair[1])],
    )


def _delta(old: Table, new: Table, differing: _Differing) -> Delta:
    removed, added = [_live(differing.alone)], [_live(differing.fresh)]
    for one, other in differing.touched:
        was, now = _deleted(old, one), _deleted(new, other)
        removed.append(np.setdiff1d(now, was, assume_unique=True))
        added.append(np.setdiff1d(was, now, assume_unique=True))
    return Delta(np.concatenate(removed), np.concatenate(added))


def _numbered(table: Table) -> Mapping[int, LanceFragment]:
    return {each.fragment_id: each for each in table.dataset.get_fragments()}


def _extent(fragment: LanceFragment, rows: int) -> Extent:
    return Extent(rows, fragment_bytes(fragment) * rows // max(1, fragment.physical_rows))


def _deletions(fragment: LanceFragment) -> str | None:
    found: str | None = fragment.deletion_file()
    return found


def _count(fragment: LanceFragment) -> int:
    return int(fragment.count_rows())


def _deleted(table: Table, fragment: LanceFragment) -> Addresses:
    """Return the addresses of the deleted rows of a fragment."""
    path = _deletions(fragment)
    if path is None:
        return np.empty(0, np.uint64)
    if path.endswith(".arrow"):
        data = table.content(path)
        offsets = pa.ipc.open_file(pa.py_buffer(data)).read_all()[0].to_numpy()
        return _address(fragment, offsets.astype(np.uint64))
    every = _address(fragment, np.arange(fragment.physical_rows, dtype=np.uint64))
    return np.setdiff1d(every, _live([fragment]), assume_unique=True)


def _address(fragment: LanceFragment, offsets: Addresses) -> Addresses:
    return (np.uint64(fragment.fragment_id) << np.uint64(OFFSET_BITS)) + offsets


def _live(fragments: Iterable[LanceFragment]) -> Addresses:
    """Return the addresses of the rows of some fragments that are not deleted."""
    found = [np.empty(0, np.uint64)]
    for each in fragments:
        if each.num_deletions:
            rows = each.scanner(columns=[], with_row_address=True).to_table()
            found.append(rows[ADDRESS].to_numpy())
        else:
            found.append(_address(each, np.arange(each.physical_rows, dtype=np.uint64)))
    return np.concatenate(found)
