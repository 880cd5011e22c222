"""Patch: sets the values that were given for conflicts, which are neither ours nor theirs."""

from collections.abc import Iterable
from dataclasses import field

import pyarrow as pa

from omnigraph.data.values.columns import convert_each
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.merge.conflict import Conflict, PropertyKey
from omnigraph.merge.rowmerge import loose, without
from omnigraph.merge.settle import change_of, rows_left, stored_type
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import StoredType, column_name
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.upsert import with_column


@dataclass(slots=True)
class ConflictPatch:
    """Values by type, row and property, and the changes of a merge in which they are set.

    `touched` has the types in which a value was set.
    """

    ours: Snapshot
    values: dict[PropertyKey, object]
    changes: dict[str, TypeChange]
    touched: set[str] = field(default_factory=set)

    def settle(self, conflicts: Iterable[Conflict]) -> list[Conflict]:
        """Set the values that were given for conflicts; return the conflicts without one."""
        left, derived = [], set()
        for each in conflicts:
            key = (each.type, each.row_id or "", each.property or "")
            if key not in self.values:
                left.append(each)
                continue
            self._set(stored_type(self.ours, each.type), each, self.values.pop(key))
            derived |= _vectors_of(stored_type(self.ours, each.type), each)
        return [each for each in left if (each.type, each.row_id, each.property) not in derived]

    def refuse_rest(self) -> None:
        """Raise InputError when a value was given for something that is no conflict."""
        refuse_each(self.values)

    def _set(self, stored: StoredType, conflict: Conflict, value: object) -> None:
        row_id, name = conflict.row_id or "", column_name(stored, conflict.property or "")
        kind = stored.column(name)
        if kind is None or name in stored.key:
            raise InputError(
                f"{stored.name} '{shorten(row_id)}': {conflict.property} cannot be set",
                hint="choose a side: set `take`",
            )
        found = convert_each([value], kind)
        for reason in found.reasons.values():
            raise InputError(f"{stored.name} '{shorten(row_id)}': {conflict.property}: {reason}")
        row = with_column(self._row(stored, row_id), name, found.values.cast(arrow_type(kind)))
        for item in stored.properties.values():
            if item.embed is not None and item.embed.source == name:
                row = with_column(row, item.name, pa.nulls(1, arrow_type(item.type)))
        self._put(stored, row)

    def _row(self, stored: StoredType, row_id: str) -> pa.Table:
        """Return a row as the merge would leave it."""
        found = rows_left(self.ours, self._change(stored), pa.array([row_id]))
        if not found.num_rows:
            hint = "choose a side: set `take`"
            raise InputError(f"there is no {stored.name} '{shorten(row_id)}' to change", hint=hint)
        return found

    def _put(self, stored: StoredType, row: pa.Table) -> None:
        change = without(self._change(stored), row["id"].combine_chunks())
        rows = loose(change.rows)
        joined = pa.concat_tables([rows, row.cast(rows.schema)])
        self.changes[stored.name] = TypeChange(stored, joined, change.gone)
        self.touched.add(stored.name)

    def _change(self, stored: StoredType) -> TypeChange:
        return change_of(self.ours, self.changes, stored)


def refuse_each(chosen: Iterable[PropertyKey]) -> None:
    """Raise InputError when something was chosen for a property that is no conflict."""
    for name, row_id, property_name in chosen:
        raise InputError(
            f"{name} '{shorten(row_id)}': {property_name} is not a conflict of this merge",
            hint="preview the merge to see its conflicts",
        )


def _vectors_of(stored: StoredType, conflict: Conflict) -> set[tuple[str, str | None, str]]:
    """Return the vectors that are made from a text that was set, as conflicts are named."""
    return {
        (stored.name, conflict.row_id, item.name)
        for item in stored.properties.values()
        if item.embed is not None and item.embed.source == conflict.property
    }
