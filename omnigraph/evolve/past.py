"""Past: rows and values that older commits have of what the schema of a snapshot dropped."""

from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.equality import equal_values
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.storage.reading import ADDRESS, Addresses, read_with_addresses, rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import TableState
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot

Column: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True, slots=True)
class PastTable:
    """The table of a dropped type as the last commit that has it left it."""

    commit: str
    state: TableState
    stored: StoredType
    table: Table


@dataclass(frozen=True)
class PastColumn:
    """The values of a dropped property, found by the ids of rows.

    If they are vectors, `text` is the column of the texts that they were made from.
    """

    table: Table
    name: str
    text: str | None = None

    def values(self, ids: Column, otherwise: pa.Scalar, texts: Column | None = None) -> pa.Array:
        """Return the values of some rows; a row that was not there yet has another one.

        So has one whose text is not the one that its vector was made from: `texts` are those that
        the rows have now.
        """
        places = self._places(ids)
        known = np.flatnonzero(np.asarray(places.is_valid()))
        if not len(known):
            return pa.repeat(otherwise, len(ids))
        addresses = self._rows[1][places.drop_null().to_numpy(zero_copy_only=False)]
        names = [name for name in (self.name, self.text) if name is not None]
        rows = rows_at(self.table, addresses, names)
        found = to_array(rows[self.name])
        # The value of a new row stands behind those that were found.
        every = pa.concat_arrays([found, pa.repeat(otherwise, 1).cast(found.type)])
        order = np.full(len(ids), len(found))
        order[known] = np.arange(len(known))
        if self.text is not None and texts is not None:
            now = _flat(texts).take(pa.array(known))
            order[known[~equal_values(to_array(rows[self.text]), now)]] = len(found)
        return every.take(pa.array(order))

    def has(self, ids: Column) -> pa.Array:
        """Return for each row whether it was there."""
        return self._places(ids).is_valid()

    def _places(self, ids: Column) -> pa.Array:
        return pc.index_in(_flat(ids), value_set=self._rows[0])

    @cached_property
    def _rows(self) -> tuple[pa.Array, Addresses]:
        rows = read_with_addresses(self.table, ["id"])
        return to_array(rows["id"]), rows[ADDRESS].to_numpy()


@dataclass(frozen=True)
class Past:
    """What a snapshot's schema dropped, as far as no cleanup removed it."""

    repository: Repository
    snapshot: Snapshot

    def table(self, owner: str) -> PastTable | None:
        """Return the table of a type that was dropped; None when there is none left."""
        commit = self._noted.get((owner, None))
        return None if commit is None else self._table(owner, commit)

    def column(self, owner: str, item: Property) -> PastColumn | None:
        """Return the values of a property that was dropped; None when there are none left."""
        commit = self._noted.get((owner, item.identity))
        found = None if commit is None else self._table(owner, commit)
        if found is None:
            return None
        was = {each.identity: each for each in found.stored.properties.values()}[item.identity]
        return PastColumn(found.table, was.name, None if was.embed is None else was.embed.source)

    @cached_property
    def _noted(self) -> dict[tuple[str, str | None], str]:
        return {each.place: each.commit for each in self.snapshot.catalog.dropped}

    def _table(self, owner: str, commit_id: str) -> PastTable | None:
        repository = self.repository
        at = repository.manifest.newest()
        commit = repository.manifest.commits([commit_id], at).get(commit_id)
        if commit is None:
            return None
        state = commit.tables[owner]
        if repository.manifest.buried(at, [(owner, state.version)]):
            return None
        before = repository.pin(commit)
        return PastTable(commit_id, state, before.catalog.by_identity[owner], before.table(owner))


def _flat(column: Column) -> pa.Array:
    return to_array(column) if isinstance(column, pa.ChunkedArray) else column
