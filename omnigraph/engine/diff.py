"""Diff: which rows differ between two snapshots, and how; the cost grows with those rows."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.alike import Mask, alike, alike_values
from omnigraph.engine.columns import one_array
from omnigraph.engine.entities import Addresses
from omnigraph.schema.catalog import StoredType
from omnigraph.storage.delta import addresses_of, delta_between
from omnigraph.storage.reading import rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

_ROWS_AT_A_TIME = 8_192


class Op(StrEnum):
    """What happened to a row."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class RowChanges:
    """Some changes of one type: whole rows before and after, of the same ids in the same order.

    Of inserted rows there is nothing before, and of deleted ones nothing after.
    """

    stored: StoredType
    op: Op
    before: pa.Table
    after: pa.Table

    @property
    def ids(self) -> pa.Array:
        """The ids of the rows."""
        rows = self.before if self.op is Op.DELETE else self.after
        return one_array(rows["id"])

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def changed(self) -> dict[str, Mask]:
        """Tell for each column of updated rows which of them have another value."""
        return {
            name: ~alike_values(one_array(self.before[name]), one_array(self.after[name]))
            for name in self.after.column_names
        }


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The rows of one type that may differ between two versions of its table, by address.

    Rows that were only moved are among `kept`. `ids` are those of all these rows.
    """

    stored: StoredType
    old: Table
    new: Table
    inserted: Addresses
    deleted: Addresses
    kept: tuple[Addresses, Addresses]
    ids: pa.Array

    def __len__(self) -> int:
        return len(self.inserted) + len(self.deleted) + len(self.kept[0])

    def counts(self) -> dict[Op, int]:
        """Give how many rows came, went and changed; only those on both sides are read."""
        updates = sum(len(rows) for rows in self._updates(_ROWS_AT_A_TIME))
        return {Op.INSERT: len(self.inserted), Op.UPDATE: updates, Op.DELETE: len(self.deleted)}

    def changes(self, size: int = _ROWS_AT_A_TIME) -> Iterator[RowChanges]:
        """Give all changes, a bounded number of rows at a time: deleted, updated, inserted."""
        nothing = self.new.schema.empty_table()
        for (some,) in _slices([self.deleted], size):
            yield RowChanges(self.stored, Op.DELETE, _rows(self.old, some), nothing)
        yield from self._updates(size)
        for (some,) in _slices([self.inserted], size):
            yield RowChanges(self.stored, Op.INSERT, nothing, _rows(self.new, some))

    def _updates(self, size: int) -> Iterator[RowChanges]:
        for were, are in _slices(self.kept, size):
            before, after = _rows(self.old, were), _rows(self.new, are)
            differ = pa.array(~alike(before, after))
            if pc.any(differ).as_py():
                kept = before.filter(differ), after.filter(differ)
                yield RowChanges(self.stored, Op.UPDATE, *kept)


def diff(old: Snapshot, new: Snapshot) -> Iterator[TableDiff]:
    """Give the types whose rows may differ between two snapshots, nodes first."""
    types: list[StoredType] = [*new.catalog.nodes.values(), *new.catalog.edges.values()]
    for stored in types:
        found = table_diff(old, new, stored)
        if found is not None and len(found):
            yield found


def table_diff(old: Snapshot, new: Snapshot, stored: StoredType) -> TableDiff | None:
    """Give the rows of a type that may differ; None when its table is the same."""
    key = stored.identity
    before, after = old.commit.tables.get(key), new.commit.tables.get(key)
    if (
        before is None
        or after is None
        or (before.path, before.version)
        == (
            after.path,
            after.version,
        )
    ):
        return None
    was, now = old.table(key), new.table(key)
    if before.path == after.path:
        delta = delta_between(was, now, sys.maxsize)
        assert delta is not None
        removed, added = delta.removed, delta.added
    else:
        removed, added = addresses_of(was), addresses_of(now)
    return _matched(stored, was, now, removed, added)


def _matched(
    stored: StoredType, old: Table, new: Table, removed: Addresses, added: Addresses
) -> TableDiff:
    """Tell rows that came or went from those that are on both sides, by their ids."""
    gone, come = _ids(old, removed), _ids(new, added)
    places = pc.index_in(come, value_set=gone)
    known = np.asarray(places.is_valid(), bool)
    at = places.drop_null().to_numpy(zero_copy_only=False)
    left = np.ones(len(removed), bool)
    left[at] = False
    ids = pa.concat_arrays([come, gone.filter(pa.array(left))])
    kept = removed[at], added[known]
    return TableDiff(stored, old, new, added[~known], removed[left], kept, ids)


def _slices(columns: Sequence[Addresses], size: int) -> Iterator[tuple[Addresses, ...]]:
    for first in range(0, len(columns[0]), size):
        yield tuple(each[first : first + size] for each in columns)


def _ids(table: Table, addresses: Addresses) -> pa.Array:
    if not len(addresses):
        return pa.array([], pa.utf8())
    return one_array(rows_at(table, addresses, ["id"])["id"])


def _rows(table: Table, addresses: Addresses) -> pa.Table:
    return rows_at(table, addresses, table.schema.names)
