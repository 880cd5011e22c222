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
from omnigraph.merge.conflict import Conflict, ConflictKind, Resolutions, Side
from omnigraph.merge.threeway import conflict_of
from omnigraph.merge.virtual_base import VirtualBase, is_same
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
    """What happens to one type, as far as the merges from all bases agree."""

    stored: StoredType
    ours: Table
    resolutions: Resolutions
    base: VirtualBase | None = None
    conflicts: list[Conflict] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    differs: bool = False

    def of(self, changes: Sequence[TypeChange | None], disputed: Set[str]) -> TypeChange:
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
        schema = next(change.rows.schema for change in changes if change is not None)
        joined = pa.concat_tables([schema.empty_table(), *rows])
        return TypeChange(self.stored, joined, pa.array(gone, pa.utf8()))

    def _merge(self, doubted: Set[str]) -> dict[str, _RowEffect]:
        """Return what happens to the rows that merge from the merged bases."""
        if self.base is None or not doubted:
            return {}
        self.differs = True
        found: dict[str, _RowEffect] = {}
        for row_id, (ours, row) in self.base.merge(doubted).items():
            self.merged.add(row_id)
            if not is_same(ours, row):
                found[row_id] = _Removed() if row is None else row
        return found

    def _settled(self, row_id: str, effects: Sequence[_RowEffect]) -> _RowEffect:
        """Return what was chosen for a row on which the bases disagree, or note a conflict."""
        self.differs = True
        found = look_up_rows(self.ours, "id", pa.array([row_id]), self.ours.schema.names)
        theirs = next((effect for effect in effects if isinstance(effect, pa.Table)), None)
        if (
            any(isinstance(effect, _Removed) for effect in effects)
            or theirs is None
            or not found.num_rows
        ):
            side = self.resolutions.of(self.stored.name, row_id)
            if side is None:
                self._clash(ConflictKind.DELETE_VS_UPDATE, row_id, None, None, None)
            return (
                next((each for each in effects if each is not None), None)
                if side is Side.THEIRS
                else None
            )
        return self._merged(row_id, found.cast(theirs.schema), theirs)

    def _merged(self, row_id: str, ours: pa.Table, theirs: pa.Table) -> _RowEffect:
        columns, takes = [], False
        for name in theirs.column_names:
            one, other = ours[name].combine_chunks(), theirs[name].combine_chunks()
            chosen = one
            if not equal_values(one, other)[0]:
                shown = field_name(self.stored, name)
                side = self.resolutions.of(self.stored.name, row_id, shown)
                if side is None:
                    values = one[0].as_py(), other[0].as_py()
                    self._clash(ConflictKind.DIVERGENT_UPDATE, row_id, shown, *values)
                elif side is Side.THEIRS:
                    chosen, takes = other, True
            columns.append(chosen)
        return pa.Table.from_arrays(columns, schema=theirs.schema) if takes else None

    def _clash(
        self, kind: ConflictKind, row_id: str, name: str | None, ours: object, theirs: object
    ) -> None:
        why, values = (kind, _MESSAGE), (None, ours, theirs)
        self.conflicts.append(conflict_of(self.stored, why, row_id, name, values))


def _row_effects(change: TypeChange | None) -> Mapping[str, _RowEffect]:
    """Return what a change does to each row that it touches."""
    if change is None:
        return {}
    found: dict[str, _RowEffect] = {row_id: _Removed() for row_id in change.gone.to_pylist()}
    for place, row_id in enumerate(change.ids.to_pylist()):
        found[row_id] = change.rows.slice(place, 1)
    return found


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
