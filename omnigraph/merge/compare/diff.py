"""Diff: the rows in which two snapshots differ, at a cost that grows with those rows."""

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.equality import Mask, equal_rows, equal_values
from omnigraph.evolve.lens import HeldLens, Lens, lens
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.row_change import Op
from omnigraph.schema.catalog import StoredType
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.storage.finding.delta import delta_between
from omnigraph.storage.reading import Addresses
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

_ROWS_AT_A_TIME = 8_192
# Up to this many differing rows are read whole at once, instead of their ids first.
_ROWS_HELD = 2_048
# What a row that may differ takes about, by its id and its address.
_BYTES_OF_ID = 40


@dataclass(frozen=True)
class RowChanges:
    """Some changes of one type: whole rows before and after, with the same ids in the same order.

    Inserted rows have nothing before, and deleted ones nothing after.
    """

    stored: StoredType
    op: Op
    before: pa.Table
    after: pa.Table

    @property
    def ids(self) -> pa.Array:
        """The ids of the rows."""
        rows = self.before if self.op is Op.DELETE else self.after
        return to_array(rows["id"])

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def changed(self) -> dict[str, Mask]:
        """Return, for each column of updated rows, a mask of the rows whose value changed."""
        return {
            name: ~equal_values(to_array(self.before[name]), to_array(self.after[name]))
            for name in self.after.column_names
        }


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The rows of one type that may differ between two versions of its table, by address.

    Rows that were only moved are in `on_both`. `ids` are those of all these rows.
    """

    stored: StoredType
    old: Lens
    new: Lens
    inserted: Addresses
    deleted: Addresses
    on_both: tuple[Addresses, Addresses]
    ids: pa.Array

    def __len__(self) -> int:
        return len(self.inserted) + len(self.deleted) + len(self.on_both[0])

    def counts(self) -> dict[Op, int]:
        """Count the inserted, deleted and updated rows; only rows on both sides are read."""
        updates = sum(len(rows) for rows in self._updates(_ROWS_AT_A_TIME))
        return {Op.INSERT: len(self.inserted), Op.UPDATE: updates, Op.DELETE: len(self.deleted)}

    def changes(self, size: int = _ROWS_AT_A_TIME) -> Iterator[RowChanges]:
        """Yield all changes, a bounded number of rows at a time: deleted, updated, inserted."""
        nothing = self.new.schema.empty_table()
        for (some,) in _slices([self.deleted], size):
            yield RowChanges(self.stored, Op.DELETE, self.old.rows(some), nothing)
        yield from self._updates(size)
        for (some,) in _slices([self.inserted], size):
            yield RowChanges(self.stored, Op.INSERT, nothing, self.new.rows(some))

    def _updates(self, size: int) -> Iterator[RowChanges]:
        for were, are in _slices(self.on_both, size):
            before, after = self.old.rows(were), self.new.rows(are)
            differ = pa.array(~equal_rows(before, after))
            if pc.any(differ).as_py():
                on_both = before.filter(differ), after.filter(differ)
                yield RowChanges(self.stored, Op.UPDATE, *on_both)


def diff(old: Snapshot, new: Snapshot, deadline: Deadline = NO_DEADLINE) -> Iterator[TableDiff]:
    """Yield the types whose rows may differ between two snapshots, nodes first.

    If the schemas differ, rows are shown under the new one; types that only the old one has come
    last. Raises BudgetError before the ids of more rows are read than may be held.
    """
    lost = old.catalog.by_identity.keys() - new.catalog.by_identity.keys()
    gone = [stored for key, stored in old.catalog.by_identity.items() if key in lost]
    for stored in (*new.catalog.by_identity.values(), *gone):
        found = table_diff(old, new, stored, deadline)
        if found is not None and len(found):
            yield found


def table_diff(
    old: Snapshot, new: Snapshot, stored: StoredType, deadline: Deadline = NO_DEADLINE
) -> TableDiff | None:
    """Return the rows of a type that may differ; None when its table is the same."""
    states = [each.commit.tables.get(stored.identity) for each in (old, new)]
    if None not in states and len({each.place for each in states if each is not None}) == 1:
        return None  # without opening it: there may be hundreds of types
    return _between(lens(old, stored), lens(new, stored), deadline=deadline)


def diff_of(
    stored: StoredType, old: Table, new: Table, *, only_ids: bool = False
) -> TableDiff | None:
    """Return the rows that may differ between two versions; None when they are the same one.

    With `only_ids` the rows themselves are not expected to be read.
    """
    return _between(Lens(stored, old), Lens(stored, new), 0 if only_ids else _ROWS_HELD)


def _between(
    old: Lens, new: Lens, most_held: int = _ROWS_HELD, deadline: Deadline = NO_DEADLINE
) -> TableDiff | None:
    if old.table is None and new.table is None:
        return None
    if old.table is None or new.table is None:
        removed, added = old.addresses(), new.addresses()
    elif (old.table.path, old.table.version) == (new.table.path, new.table.version):
        return None
    else:
        delta = delta_between(old.table, new.table, sys.maxsize)
        assert delta is not None
        removed, added = delta.removed, delta.added
    deadline.check_bytes((len(removed) + len(added)) * _BYTES_OF_ID)
    if len(removed) + len(added) <= most_held:
        old, new = _holding(old, removed), _holding(new, added)
    return _matched(old, new, (removed, old.ids(removed)), (added, new.ids(added)))


def _holding(side: Lens, addresses: Addresses) -> Lens:
    return HeldLens(side.stored, side.table, side.sources, addresses, past=side.past)


def match_rows(
    stored: StoredType,
    old: Table,
    new: Table,
    gone: tuple[Addresses, pa.Array],
    come: tuple[Addresses, pa.Array],
) -> TableDiff:
    """Sort rows into those that came, those that went, and those on both sides, by id."""
    return _matched(Lens(stored, old), Lens(stored, new), gone, come)


def _matched(
    old: Lens, new: Lens, gone: tuple[Addresses, pa.Array], come: tuple[Addresses, pa.Array]
) -> TableDiff:
    (removed, old_ids), (added, new_ids) = gone, come
    places = pc.index_in(new_ids, value_set=old_ids)
    known = np.asarray(places.is_valid(), bool)
    at = places.drop_null().to_numpy(zero_copy_only=False)
    left = np.ones(len(removed), bool)
    left[at] = False
    ids = pa.concat_arrays([new_ids, old_ids.filter(pa.array(left))])
    on_both = removed[at], added[known]
    return TableDiff(new.stored, old, new, added[~known], removed[left], on_both, ids)


def _slices(columns: Sequence[Addresses], size: int) -> Iterator[tuple[Addresses, ...]]:
    for first in range(0, len(columns[0]), size):
        yield tuple(each[first : first + size] for each in columns)
