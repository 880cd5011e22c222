"""Blame: which commit set each property of a node or edge to its value."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.data.values.columns import with_timestamps
from omnigraph.data.values.equality import equal_values
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import RowNotFoundError, TableNotFoundError
from omnigraph.evolve.lens import lens
from omnigraph.merge.blamed import Blamed
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot


def blame(repository: Repository, snapshot: Snapshot, type_name: str, row_id: str) -> list[Blamed]:
    """Return, for each property of a row, the commit that set its value.

    A merge passes the question on to the side that the value came from.
    """
    stored = snapshot.catalog.stored(type_name)
    if stored is None:
        raise TableNotFoundError(f"no type '{type_name}'")
    search = _Search(repository, stored, row_id)
    row = search.row(snapshot.commit)
    if row is None:
        raise RowNotFoundError(f"no {type_name} '{row_id}'")
    found = search.run(snapshot.commit, row)
    values = with_timestamps(row).to_pylist()[0]
    return [
        Blamed(field_name(stored, name), values[name], found[name])
        for name in row.column_names
        if name != "id"
    ]


@dataclass(slots=True)
class _Search:
    repository: Repository
    stored: StoredType
    row_id: str

    def run(self, commit: Commit, row: pa.Table) -> Mapping[str, Commit]:
        """Walk back in history with the properties whose commit is not known yet."""
        found: dict[str, Commit] = {}
        waiting = [(commit, row, set(row.column_names))]
        while waiting:
            commit, row, names = waiting.pop()
            for parent_id in commit.parents:
                parent = self.repository.commit(parent_id)
                before = self._before(commit, row, parent)
                same = set() if before is None else {n for n in names if _same(row, before, n)}
                if before is not None and same:
                    waiting.append((parent, before, same))
                names = names - same
            found |= dict.fromkeys(names, commit)
        return found

    def row(self, commit: Commit) -> pa.Table | None:
        """Return the row at a commit, if it existed, under its present property names.

        Properties that did not exist then are missing.
        """
        seen = lens(self.repository.pinned(commit), self.stored)
        if seen.table is None:
            return None
        names = seen.sources or {name: name for name in seen.schema.names}
        rows = look_up_rows(seen.table, "id", pa.array([self.row_id]), list(names.values()))
        return rows.rename_columns(list(names)) if rows.num_rows else None

    def _before(self, commit: Commit, row: pa.Table, parent: Commit) -> pa.Table | None:
        """Return the row at a parent, without reading when its table is the same."""
        key = self.stored.identity
        return row if parent.tables.get(key) == commit.tables[key] else self.row(parent)


def _same(row: pa.Table, before: pa.Table, name: str) -> bool:
    if name not in before.column_names:
        return False
    one, other = row[name].combine_chunks(), before[name].combine_chunks()
    return one.type == other.type and bool(equal_values(one, other)[0])
