"""Delta: which rows differ between two versions of a table, told by their fragments."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from lance import LanceFragment

from omnigraph.storage.failures import reported
from omnigraph.storage.reading import ADDRESS
from omnigraph.storage.table import Table

Addresses: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_FRAGMENT_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Delta:
    """The addresses of the rows that only the old version has, and of those only the new one has.

    A row that was moved or rewritten is among both.
    """

    removed: Addresses
    added: Addresses

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)

    @property
    def nbytes(self) -> int:
        return self.removed.nbytes + self.added.nbytes


def delta_between(old: Table, new: Table, most: int) -> Delta | None:
    """Give the rows that differ, at a cost that grows with them; None when more than `most` do."""
    with reported(f"cannot compare versions of {new.path}"):
        before, after = _fragments(old), _fragments(new)
        alone = [before[key] for key in sorted(before.keys() - after.keys())]
        fresh = [after[key] for key in sorted(after.keys() - before.keys())]
        both = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
        touched = [pair for pair in both if _deletions(pair[0]) != _deletions(pair[1])]
        bound = sum(_count(each) for each in (*alone, *fresh))
        bound += sum(abs(_count(one) - _count(other)) for one, other in touched)
        if bound > most:
            return None
        removed, added = [_live(alone)], [_live(fresh)]
        for one, other in touched:
            was, now = _deleted(old, one), _deleted(new, other)
            removed.append(np.setdiff1d(now, was, assume_unique=True))
            added.append(np.setdiff1d(was, now, assume_unique=True))
    delta = Delta(np.concatenate(removed), np.concatenate(added))
    return delta if len(delta) <= most else None


def addresses_of(table: Table) -> Addresses:
    """Give the addresses of all rows of a version."""
    with reported(f"cannot read {table.path}"):
        return _live(table.dataset.get_fragments())


def _fragments(table: Table) -> Mapping[tuple[int, tuple[str, ...]], LanceFragment]:
    """Give the fragments of a version by number and files; those of two branches may share one."""
    return {
        (each.fragment_id, tuple(file.path for file in each.metadata.files)): each
        for each in table.dataset.get_fragments()
    }


def _deletions(fragment: LanceFragment) -> str | None:
    found: str | None = fragment.deletion_file()
    return found


def _count(fragment: LanceFragment) -> int:
    return int(fragment.count_rows())


def _deleted(table: Table, fragment: LanceFragment) -> Addresses:
    """Give the addresses of the rows of a fragment that are deleted."""
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
    return (np.uint64(fragment.fragment_id) << _FRAGMENT_BITS) + offsets


def _live(fragments: Iterable[LanceFragment]) -> Addresses:
    """Give the addresses of all rows of some fragments."""
    found = [np.empty(0, np.uint64)]
    for each in fragments:
        if each.num_deletions:
            rows = each.scanner(columns=[], with_row_address=True).to_table()
            found.append(rows[ADDRESS].to_numpy())
        else:
            found.append(_address(each, np.arange(each.physical_rows, dtype=np.uint64)))
    return np.concatenate(found)
