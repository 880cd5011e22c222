"""Bases: with several merge bases, applies what all of them agree on.

A row is merged if the result is the same from all bases, or if the bases merge cleanly and the row
merges from what they merge to; otherwise it is a conflict.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import TypeAlias

import pyarrow as pa

from omnigraph.data.values.equality import equal_rows, equal_values
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.frozen import dataclass
from omnigraph.merge.conflict import Conflict, ConflictKind, PropertyKey, Resolutions, Side
from omnigraph.merge.threeway import conflict_of, values_at
from omnigraph.merge.vectors import join_vectors
from omnigraph.merge.virtual_base import VirtualBase, is_same
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.storage.table import Table
from omnigraph.write.draft import TypeChange

_MESSAGE = "was changed by both sides, which merged each other before"


@dataclass(frozen=True, slots=True)
class _Removed:
    """The row is removed."""


# What a merge does to one of our rows; None leaves it unchanged.
_RowEffect: TypeAlias = "pa.Table | _Removed | None"


@dataclass(slots=True)
class Agreement:
    """What happens to one type, as far as the merges from all bases agree.

    With `lacks_vectors`, rows need a vector that no side made. The choices of `met` decided
    something.
    """

    stored: StoredType
    ours: Table
    resolutions: Resolutions
    base: VirtualBase | None = None
    conflicts: list[Conflict] = field(default_factory=list)
    met: set[PropertyKey] = field(default_factory=set)
    merged: set[str] = field(default_factory=set)
    differs: bool = False
    lacks_vectors: bool = False

    def of(self, changes: Sequence[TypeChange], disputed: Set[str]) -> TypeChange:
        """Return the change that all bases lead to; where they differ, the chosen one.

        `disputed` are the rows that conflict from one of them.
        """
        effects = [_row_effects(change) for change in changes]
        every = {
            row_id: [each.get(row_id) for each in effects] for each in effects for row_id in each
        }
        agreed: dict[str, _RowEffect] = {
            row_id: mine[0]
            for row_id, mine in every.items()
            if row_id not in disputed and all(_same(mine[0], other) for other in mine[1:])
        }
        doubted = (every.keys() | disputed) - agreed.keys()
        agreed |= self._merge(doubted)
        for row_id in sorted(doubted - self.merged):
            mine = every.get(row_id, [None])
            same = all(_same(mine[0], other) for other in mine[1:])
            agreed[row_id] = mine[0] if same else self._settled(row_id, mine)
        rows = [effect for effect in agreed.values() if isinstance(effect, pa.Table)]
        gone = [row_id for row_id, effect in agreed.items() if isinstance(effect, _Removed)]
        joined = pa.concat_tables([changes[0].rows.schema.empty_table(), *rows])
        return TypeChange(self.stored, joined, pa.array(gone, pa.utf8()))

    def _merge(self, doubted: Set[str]) -> dict[str, _RowEffect]:
        """Return what happens to the rows that merge from the merged bases."""
        if self.base is None or not doubted:
            return {}
        self.differs = True
        found: dict[str, _RowEffect] = {}
        for row_id, (ours, row, due) in self.base.merge(doubted).items():
            self.merged.add(row_id)
            self.lacks_vectors |= due
            if due or not is_same(ours, row):
                found[row_id] = _Removed() if row is None else row
        return found

    def _settled(self, row_id: str, effects: Sequence[_RowEffect]) -> _RowEffect:
        """Return what was chosen for a row on which the bases disagree, or note a conflict."""
        self.differs = True
        found = look_up_rows(self.ours, "id", pa.array([row_id]), self.ours.schema.names)
        images = [found if each is None else each for each in effects]
        rows = [each for each in images if isinstance(each, pa.Table)]
        if not found.num_rows or len(rows) < len(images):
            side = self.resolutions.of(self.stored.name, row_id)
            if side is None:
                self._clash(ConflictKind.DELETE_VS_UPDATE, row_id, None, None, None)
            taken = next((each for each in effects if each is not None), None)
            return taken if side is Side.THEIRS else None
        schema = arrow_schema(self.stored)
        return self._merged(row_id, found.cast(schema), [each.cast(schema) for each in rows])

    def _merged(self, row_id: str, ours: pa.Table, images: Sequence[pa.Table]) -> _RowEffect:
        """Return our row with what the merges from all bases take; the rest was or is chosen."""
        columns = []
        for name in ours.column_names:
            chosen = ours[name].combine_chunks()
            others = [each for each in images if not _same_value(ours, each, name)]
            side = Side.THEIRS if len(others) == len(images) else None
            if others and side is None:
                shown = field_name(self.stored, name)
                key = (self.stored.name, row_id, shown)
                side = self.resolutions.of(*key)
                self.met |= {key} & self.resolutions.properties.keys()
                if side is None:
                    mine, yours = values_at((ours, others[0]), name, 0)
                    self._clash(ConflictKind.DIVERGENT_UPDATE, row_id, shown, mine, yours)
            if others and side is Side.THEIRS:
                chosen = others[0][name].combine_chunks()
            columns.append(chosen)
        merged = pa.Table.from_arrays(columns, schema=ours.schema)
        row, due = join_vectors(self.stored, merged, (ours, *images))
        self.lacks_vectors |= bool(due.any())
        return row if due.any() or not is_same(ours, row) else None

    def _clash(
        self, kind: ConflictKind, row_id: str, name: str | None, ours: object, theirs: object
    ) -> None:
        why, values = (kind, _MESSAGE), (None, ours, theirs)
        self.conflicts.append(conflict_of(self.stored, why, row_id, name, values))


def _row_effects(change: TypeChange) -> Mapping[str, _RowEffect]:
    """Return what a change does to each row that it touches."""
    found: dict[str, _RowEffect] = {row_id: _Removed() for row_id in change.gone.to_pylist()}
    for place, row_id in enumerate(change.ids.to_pylist()):
        found[row_id] = change.rows.slice(place, 1)
    return found


def _same_value(one: pa.Table, other: pa.Table, name: str) -> bool:
    return bool(equal_values(one[name].combine_chunks(), other[name].combine_chunks())[0])


def _same(one: _RowEffect, other: _RowEffect) -> bool:
    if isinstance(one, pa.Table) and isinstance(other, pa.Table):
        return bool(equal_rows(one, other).all())
    return type(one) is type(other)


def drop_repeats(conflicts: Sequence[Conflict]) -> list[Conflict]:
    """Return each conflict of a row or property once."""
    found: dict[object, Conflict] = {}
    for each in conflicts:
        found.setdefault((each.type, each.row_id, each.property), each)
    return list(found.values())
