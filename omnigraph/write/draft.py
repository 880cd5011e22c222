"""Draft: the rows changed so far, on top of a snapshot that does not change."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.lookup import look_up_rows, note_absent
from omnigraph.errors import Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Models
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.counts import RowCounts
from omnigraph.write.upsert import find_changed, find_unchanged

# Rows of a change whose commit names them; of a larger one, the tables are compared.
MOST_TOUCHED = 16
_NO_IDS = pa.array([], pa.utf8())
_NOTHING: Mapping[str, pa.Array] = MappingProxyType({})
# Rows of so few ids are kept: a statement looks for them, and so does the check of what it changes.
_FEW_IDS = 16


@dataclass(frozen=True, slots=True)
class TypeChange:
    """What changes in one type: whole rows to store, each id once, and the ids to delete.

    For a change without rows that stay as they are, `updated` is how many of the rows exist, and
    `columns` are those that differ in one of them, if all rows exist.
    """

    stored: StoredType
    rows: pa.Table
    gone: pa.Array = field(default_factory=lambda: _NO_IDS)
    updated: int = 0
    columns: tuple[str, ...] | None = None

    @property
    def ids(self) -> pa.Array:
        """The ids of the rows."""
        return self.rows["id"].combine_chunks()

    @property
    def hidden(self) -> pa.Array:
        """The ids of the committed rows that are replaced or deleted."""
        return pa.concat_arrays([self.ids, self.gone])

    @property
    def is_empty(self) -> bool:
        return not (self.rows.num_rows or len(self.gone))


@dataclass(slots=True)
class Draft:
    """Changes to several types on one snapshot; a later one sees the earlier ones.

    `unfit` has the values that no row can hold; the row lacks them. `models` has the models that
    made vectors for it, by type. `_committed` names the types of which all deleted rows were found
    in the snapshot.
    """

    snapshot: Snapshot
    unfit: list[Violation] = field(default_factory=list)
    models: dict[str, Models] = field(default_factory=dict)
    _changes: dict[str, TypeChange] = field(default_factory=dict)
    _unchanged: dict[str, TypeChange] = field(default_factory=dict, repr=False)
    _made: dict[str, pa.Array] = field(default_factory=dict, repr=False)
    _committed: set[str] = field(default_factory=set, repr=False)
    _looked_up: dict[tuple[str, ...], pa.Table] = field(default_factory=dict, repr=False)

    def change(self, name: str) -> TypeChange:
        """Return what has changed in a type so far."""
        found = self._changes.get(name) or self._unchanged.get(name)
        if found is None:
            stored = self.snapshot.catalog.stored(name)
            assert stored is not None
            found = TypeChange(stored, _nullable(self.table(stored).schema).empty_table())
            self._unchanged[name] = found
        return found

    @property
    def touched(self) -> list[str]:
        """The types in which something may have changed."""
        return list(self._changes)

    def table(self, stored: StoredType) -> Table:
        """Return the committed table of a type."""
        return self.snapshot.table(stored.identity)

    def put(self, name: str, rows: pa.Table) -> None:
        """Add rows, replacing those with the same ids."""
        before = self.change(name)
        joined, gone = rows.cast(before.rows.schema), before.gone
        if not before.is_empty:
            kept = before.rows.filter(pc.invert(pc.is_in(before.rows["id"], rows["id"])))
            gone = gone.filter(pc.invert(pc.is_in(gone, rows["id"])))
            if kept.num_rows:  # otherwise nothing is copied; a row may hold a blob
                joined = pa.concat_tables([kept, joined])
        joined = joined.combine_chunks()
        self._changes[name] = TypeChange(before.stored, joined, gone)

    def note_made(self, name: str, ids: pa.Array) -> None:
        """Note ids that were made for this change: no committed row has them."""
        self._made[name] = pa.concat_arrays([self._made.get(name, _NO_IDS), ids])
        note_absent(self.table(self.change(name).stored), ids)

    def remove(self, name: str, ids: pa.Array, *, found: bool = False) -> None:
        """Delete rows by their ids, which were `found` as the draft leaves them, each once."""
        before = self.change(name)
        if found and before.is_empty:
            self._committed.add(name)
            kept, gone = before.rows, ids
        else:
            self._committed.discard(name)
            kept = before.rows.filter(pc.invert(pc.is_in(before.rows["id"], ids)))
            gone = pc.unique(pa.concat_arrays([before.gone, ids]))
        self._changes[name] = TypeChange(before.stored, kept, gone)

    def committed(
        self, name: str, ids: pa.Array, beside: Mapping[str, pa.Array] = _NOTHING
    ) -> pa.Table:
        """Return the committed rows of some ids, except those that were changed since.

        `beside` are values of other columns that are looked up next.
        """
        change = self.change(name)
        fresh = ids.filter(pc.invert(pc.is_in(ids, value_set=change.hidden)))
        return self._rows_of(change, fresh, beside)

    def _rows_of(
        self, change: TypeChange, ids: pa.Array, beside: Mapping[str, pa.Array] = _NOTHING
    ) -> pa.Table:
        """Return the rows of some ids as they are in the snapshot."""
        table, made = self.table(change.stored), self._made.get(change.stored.name)
        if made is not None:
            ids = ids.filter(pc.invert(pc.is_in(ids, value_set=made)))
        key = (change.stored.name, *ids.to_pylist()) if len(ids) <= _FEW_IDS else None
        found = None if key is None else self._looked_up.get(key)
        if found is None:
            names = table.schema.names
            found = look_up_rows(table, "id", ids, names, packed=True, beside=beside)
            found = found.cast(change.rows.schema)
            if key is not None:
                self._looked_up[key] = found
        return found

    def current(self, name: str, ids: pa.Array) -> pa.Table:
        """Return the rows of some ids as the draft leaves them."""
        change = self.change(name)
        changed = change.rows.filter(pc.is_in(change.rows["id"], value_set=ids))
        return pa.concat_tables([self.committed(name, ids), changed])

    def holding(self, name: str, column: str, values: pa.Array, columns: list[str]) -> pa.Table:
        """Return columns of the rows with one of some values, as the draft leaves them."""
        change = self.change(name)
        names = list(dict.fromkeys(["id", *columns]))
        found = look_up_rows(self.table(change.stored), column, values, names)
        fresh = found.filter(pc.invert(pc.is_in(found["id"], value_set=change.hidden)))
        changed = change.rows.filter(pc.is_in(change.rows[column], value_set=values)).select(names)
        return pa.concat_tables([fresh.cast(changed.schema), changed]).select(columns)

    def begin(self, changes: Mapping[str, TypeChange]) -> None:
        """Begin with changes that were worked out elsewhere."""
        for name, change in changes.items():
            rows = change.rows.cast(_nullable(change.rows.schema))
            self._committed.discard(name)
            self._changes[name] = TypeChange(change.stored, rows, change.gone)

    def changes(self) -> Mapping[str, TypeChange]:
        """Return what really changes, without unchanged rows and ids that do not exist."""
        found = {name: self._real(change) for name, change in self._changes.items()}
        return {name: change for name, change in found.items() if not change.is_empty}

    def count(self, changes: Mapping[str, TypeChange]) -> RowCounts:
        """Count the rows of what really changes, and those that stay as they are."""
        given = sum(each.rows.num_rows for each in self._changes.values())
        stored = sum(each.rows.num_rows for each in changes.values())
        updated = sum(each.updated for each in changes.values())
        deleted = sum(len(each.gone) for each in changes.values())
        return RowCounts(stored - updated, updated, given - stored, deleted)

    def _real(self, change: TypeChange) -> TypeChange:
        table = self.table(change.stored)
        before = self._rows_of(change, change.ids)
        same = find_unchanged(change.rows, before)
        rows = change.rows.filter(pc.invert(same)) if same.true_count else change.rows
        there = change.gone
        if change.stored.name not in self._committed:
            there = look_up_rows(table, "id", change.gone, ["id"])["id"].combine_chunks()
        updated = before.num_rows - same.true_count
        columns = None
        if not len(there) and updated == rows.num_rows <= MOST_TOUCHED:
            columns = find_changed(rows, before)
        return TypeChange(change.stored, rows, there, updated, columns)


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose rows may lack required values, which the rules report later."""
    return pa.schema([field.with_nullable(nullable=True) for field in schema])


def incident(snapshot: Snapshot, node: str) -> list[tuple[EdgeType, str]]:
    """Return the edge types that touch a node type, each with the column that holds its id."""
    found = []
    for edge in snapshot.catalog.edges.values():
        found += [(edge, "src")] if edge.source == node else []
        found += [(edge, "dst")] if edge.target == node else []
    return found
