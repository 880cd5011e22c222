"""Threeway: combines rows of one type that both sides changed, or reports a conflict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_timestamps
from omnigraph.data.values.equality import Mask, equal_values
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.changes import change_columns
from omnigraph.merge.compare.diff import TableDiff
from omnigraph.merge.compare.row_change import Op
from omnigraph.merge.conflict import Conflict, ConflictKind, PropertyKey, Resolutions, Side
from omnigraph.merge.vectors import join_vectors
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.write.draft import TypeChange


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which rows are merged; `strict` rejects every row that both sides changed."""

    resolutions: Resolutions = field(default_factory=Resolutions)
    strict: bool = False


@dataclass(frozen=True, slots=True)
class SideChanges:
    """All that one side did to a type since the base."""

    inserted: pa.Table
    deleted: pa.Table
    before: pa.Table
    after: pa.Table

    @staticmethod
    def of(found: TableDiff) -> "SideChanges":
        """Read all changes of a table."""
        none = found.new.schema.empty_table()
        parts: dict[Op, list[tuple[pa.Table, pa.Table]]] = {op: [] for op in Op}
        for rows in found.changes():
            parts[rows.op].append((rows.before, rows.after))
        updates = parts[Op.UPDATE]
        return SideChanges(
            pa.concat_tables([none, *(after for _, after in parts[Op.INSERT])]),
            pa.concat_tables([none, *(before for before, _ in parts[Op.DELETE])]),
            pa.concat_tables([none, *(before for before, _ in updates)]),
            pa.concat_tables([none, *(after for _, after in updates)]),
        )

    @property
    def counts(self) -> dict[Op, int]:
        """Numbers of inserted, updated and deleted rows."""
        return {
            Op.INSERT: self.inserted.num_rows,
            Op.UPDATE: self.after.num_rows,
            Op.DELETE: self.deleted.num_rows,
        }

    @property
    def ids(self) -> pa.Array:
        """The ids of all rows that the side changed, without those that were only moved."""
        parts = (self.inserted, self.deleted, self.after)
        return pa.concat_arrays([ids_of(each) for each in parts])

    @property
    def change(self) -> tuple[pa.Table, pa.Array]:
        """The rows that the side leaves, and the ids that it removes."""
        return pa.concat_tables([self.inserted, self.after]), ids_of(self.deleted)


@dataclass(slots=True)
class Threeway:
    """Merges what two sides did to one type.

    With `lacks_vectors`, rows have a text and no vector because no side made one of that text.
    The choices of `met` decided something.
    """

    stored: StoredType
    terms: Terms
    conflicts: list[Conflict] = field(default_factory=list)
    met: set[PropertyKey] = field(default_factory=set)
    lacks_vectors: bool = False

    def merged(self, ours: SideChanges, theirs: SideChanges) -> TypeChange:
        """Return what has to happen to our rows so that they contain what both sides did."""
        parts = [
            _without(theirs.inserted, ours.inserted),
            self._both_inserted(ours.inserted, theirs.inserted),
            _without(_without(theirs.after, ours.after), ours.deleted),
            self._both_updated(ours, theirs),
            self._deleted_by_us(ours, theirs),
        ]
        gone = _without(_without(theirs.deleted, ours.deleted), ours.after)
        rows = pa.concat_tables(parts)
        ids = pa.concat_arrays([ids_of(gone), self._deleted_by_them(ours, theirs)])
        return TypeChange(self.stored, rows, ids)

    def _both_inserted(self, ours: pa.Table, theirs: pa.Table) -> pa.Table:
        mine, yours = align_rows(ours, theirs)
        kinds = ConflictKind.DIVERGENT_INSERT, "was inserted by both sides with different values"
        base = pa.Table.from_arrays(
            [pa.nulls(mine.num_rows, kind) for kind in mine.schema.types], names=mine.column_names
        )
        return self._combined(mine, yours, None, base, kinds)

    def _both_updated(self, ours: SideChanges, theirs: SideChanges) -> pa.Table:
        mine, yours = align_rows(ours.after, theirs.after)
        base = align_rows(mine, theirs.before)[1]
        kinds = ConflictKind.DIVERGENT_UPDATE, "was updated by both sides to different values"
        return self._combined(mine, yours, base, base, kinds)

    def _combined(
        self,
        mine: pa.Table,
        yours: pa.Table,
        base: pa.Table | None,
        shown: pa.Table,
        why: tuple[ConflictKind, str],
    ) -> pa.Table:
        """Combine rows of both sides; returns only those that differ from ours."""
        count = mine.num_rows
        if not count:
            return yours
        names = mine.column_names
        differ = {name: ~_same(mine, yours, name) for name in names}
        here, there = (
            {name: _changed(side, base, name, count) for name in names} for side in (mine, yours)
        )
        clash = {name: differ[name] & here[name] & there[name] for name in names}
        if self.terms.strict:
            touched = _any(here, count) & _any(there, count) & _any(differ, count)
            clash = {name: clash[name] | (differ[name] & touched) for name in names}
        takes = {name: differ[name] & there[name] & ~clash[name] for name in names}
        row_ids = mine["id"].to_pylist()
        for name in names:
            field_ = field_name(self.stored, name)
            for place in np.flatnonzero(clash[name]).tolist():
                key = (self.stored.name, row_ids[place], field_)
                side = self.terms.resolutions.of(*key)
                self.met |= {key} & self.terms.resolutions.properties.keys()
                if side is Side.THEIRS:
                    takes[name][place] = True
                elif side is None:
                    values = values_at((shown, mine, yours), name, place)
                    self._clash(why, row_ids[place], field_, values)
        columns = [_choose(mine, yours, name, takes[name]) for name in names]
        rows = pa.Table.from_arrays(columns, schema=yours.schema)
        rows, due = join_vectors(self.stored, rows, (mine, yours))
        self.lacks_vectors |= bool(due.any())
        return rows.take(pa.array(np.flatnonzero(_any(takes, count) | due)))

    def _deleted_by_us(self, ours: SideChanges, theirs: SideChanges) -> pa.Table:
        """Return the rows that we deleted and they updated, as far as theirs are taken."""
        gone, kept = align_rows(ours.deleted, theirs.after)
        sides = self._sides(gone, (gone, None, kept), "was removed by us and updated by them")
        return kept.filter(pa.array([side is Side.THEIRS for side in sides], pa.bool_()))

    def _deleted_by_them(self, ours: SideChanges, theirs: SideChanges) -> pa.Array:
        """Return the ids of rows that they deleted and we updated, except where ours is taken.

        Without a choice the rows are gone, whoever deleted them, so that further findings do not
        depend on whose side is whose.
        """
        kept, gone = align_rows(ours.after, theirs.deleted)
        sides = self._sides(gone, (gone, kept, None), "was updated by us and removed by them")
        return ids_of(gone.filter(pa.array([side is not Side.OURS for side in sides], pa.bool_())))

    def _sides(
        self, rows: pa.Table, images: Sequence[pa.Table | None], message: str
    ) -> list[Side | None]:
        """Return the side that was chosen for each row; a row without a choice is a conflict."""
        why, found = (ConflictKind.DELETE_VS_UPDATE, message), []
        for place, row_id in enumerate(rows["id"].to_pylist()):
            side = self.terms.resolutions.of(self.stored.name, row_id)
            found.append(side)
            if side is None:
                shown = [None if each is None else self._image(each, place) for each in images]
                self._clash(why, row_id, None, shown)
        return found

    def _image(self, rows: pa.Table, place: int) -> Mapping[str, object]:
        """Return a row as a diff shows it, without blobs and vectors."""
        row = _row(rows.select(change_columns(self.stored)), place)
        return {field_name(self.stored, name): value for name, value in row.items()}

    def _clash(
        self,
        why: tuple[ConflictKind, str],
        row_id: str,
        name: str | None,
        values: Sequence[object],
    ) -> None:
        self.conflicts.append(conflict_of(self.stored, why, row_id, name, values))


def conflict_of(
    stored: StoredType,
    why: tuple[ConflictKind, str],
    row_id: str,
    name: str | None,
    values: Sequence[object],
) -> Conflict:
    """Return the conflict of a row or of one of its properties, with its values on all sides."""
    kind, message = why
    base, ours, theirs = values
    return Conflict(
        kind=kind,
        type=stored.name,
        table_key=stored.table_key,
        row_id=row_id,
        message=f"{stored.name} '{row_id}' {message}",
        property=name,
        base=base,
        ours=ours,
        theirs=theirs,
    )


def ids_of(rows: pa.Table) -> pa.Array:
    """Return the ids of rows."""
    return rows["id"].combine_chunks()


def _without(rows: pa.Table, others: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=others["id"])))


def align_rows(one: pa.Table, other: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows of two tables that have the same ids, in the same order."""
    places = pc.index_in(ids_of(one), value_set=ids_of(other))
    return one.filter(places.is_valid()), other.take(places.drop_null())


def _same(one: pa.Table, other: pa.Table, name: str) -> Mask:
    return equal_values(one[name].combine_chunks(), other[name].combine_chunks())


def _changed(side: pa.Table, base: pa.Table | None, name: str, count: int) -> Mask:
    return np.ones(count, bool) if base is None else ~_same(side, base, name)


def _any(masks: Mapping[str, Mask], count: int) -> Mask:
    found = np.zeros(count, bool)
    for mask in masks.values():
        found |= mask
    return found


def _choose(mine: pa.Table, yours: pa.Table, name: str, takes: Mask) -> pa.Array:
    """Return a column with our values, and theirs where they are taken."""
    both = pa.concat_arrays([mine[name].combine_chunks(), yours[name].combine_chunks()])
    places = np.arange(len(takes)) + np.where(takes, len(takes), 0)
    return both.take(pa.array(places))


def values_at(sides: Iterable[pa.Table], name: str, place: int) -> tuple[object, ...]:
    """Return the value that each of some sides has in one row, as a conflict shows it."""
    return tuple(_row(each.select([name]), place)[name] for each in sides)


def _row(rows: pa.Table, place: int) -> Mapping[str, object]:
    found: Iterator[Mapping[str, object]] = iter(with_timestamps(rows.slice(place, 1)).to_pylist())
    return next(found)
