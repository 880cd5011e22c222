"""Blame: which commit set each property of a node or edge to its value."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

import pyarrow as pa

from omnigraph.data.values.columns import to_array, with_timestamps
from omnigraph.data.values.equality import equal_values
from omnigraph.errors import CommitCleanedError, RowNotFoundError, StorageError, TableNotFoundError
from omnigraph.evolve.lens import Lens, lens
from omnigraph.frozen import dataclass
from omnigraph.merge.blamed import Blamed
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.storage.finding.row_place import (
    PlacedRow,
    RowPlace,
    find_row,
    is_stored_at,
    row_before,
)
from omnigraph.versioning.commit import Commit, row_mark
from omnigraph.versioning.history.lineage import Lineage
from omnigraph.versioning.history.walk import Walk
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot

_PLAIN = (pa.utf8(), pa.bool_(), pa.int32(), pa.int64(), pa.date32())


def blame(
    repository: Repository,
    snapshot: Snapshot,
    type_name: str,
    row_id: str,
    deadline: Deadline = NO_DEADLINE,
) -> list[Blamed]:
    """Return, for each property of a row, the commit that set its value.

    A merge passes the question on to the side that the value came from. Where a cleanup removed
    what was before a commit, that commit is named as the oldest that has the value.
    """
    stored = snapshot.catalog.stored(type_name)
    if stored is None:
        raise TableNotFoundError(f"no type '{type_name}'")
    search = _BlameWalk(repository, Walk(repository), stored, row_id, deadline)
    found = search.row(snapshot.commit)
    if found is None:
        raise RowNotFoundError(f"no {type_name} '{row_id}'")
    search.run(snapshot.commit, found)
    row = found.row
    values = with_timestamps(row).to_pylist()[0]
    return [
        Blamed(field_name(stored, name), values[name], *search.found[name])
        for name in row.column_names
        if name != "id"
    ]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The row at some commit, under its present property names, and where it is stored.

    Properties that did not exist then are missing.
    """

    place: RowPlace
    row: pa.Table


@dataclass(slots=True)
class _BlameWalk:
    """Walks back in history with the properties whose commit is not known yet.

    `found` has the commit of each property, and whether an older one may have set it.
    """

    repository: Repository
    walk: Walk
    stored: StoredType
    row_id: str
    deadline: Deadline
    found: dict[str, tuple[Commit, bool]] = field(default_factory=dict)

    def run(self, commit: Commit, seen: _Seen) -> None:
        """Find the commit of every property of a row that was seen at a commit."""
        waiting = [(commit, seen, set(seen.row.column_names))]
        while waiting:
            self.deadline.check()
            commit, seen, names = self._follow(*waiting.pop())
            is_unsure = False
            for parent in self.walk.parents(commit) if names else ():
                before, is_gone = self._look_back(commit, seen, parent)
                is_unsure |= is_gone
                same = _same_values(names, seen, before)
                if before is not None and same:
                    waiting.append((parent, before, same))
                names = names - same
            self._blame(names, commit, is_unsure=is_unsure)

    def row(self, commit: Commit) -> _Seen | None:
        """Return the row at a commit, if it existed."""
        with self._reading(commit):
            side = self._side(commit)
            if side.table is None:
                return None
            return _seen(find_row(side.table, self.row_id, _columns(side)), side)

    def _follow(
        self, commit: Commit, seen: _Seen, names: set[str]
    ) -> tuple[Commit, _Seen, set[str]]:
        """Follow the row through commits that wrote its table on top of the one before.

        Returns where that ends, and the properties that were not blamed on the way.
        """
        # All commits of it but a last one have the schema of the first.
        sources = self._side(commit).sources or {}
        lineage = Lineage(self.repository, self.walk.at, self.stored.identity, commit)
        at = 0
        while names:
            columns = {sources.get(name, name) for name in names}
            at, seen = self._skip(lineage, at, seen, columns)
            at = self._last_with(lineage, seen.place, at)
            is_cut, commit = lineage[at].is_cut, lineage.commit(at)
            if not lineage.has(at + 1) and not is_cut:
                break
            before, is_gone = None, is_cut
            if not is_cut:
                before, is_gone = self._look_back(commit, seen, lineage.commit(at + 1))
            same = _same_values(names, seen, before)
            self._blame(names - same, commit, is_unsure=is_gone)
            seen, names, at = before or seen, same, at + 1
        return commit, seen, names

    def _skip(self, lineage: Lineage, at: int, seen: _Seen, columns: set[str]) -> tuple[int, _Seen]:
        """Go past commits that say themselves that they left some columns of the row alone."""
        reached = lineage.first_that_may_change(row_mark(self.row_id), columns, at)
        if reached == at or self._is_at(lineage, reached, seen.place):
            return reached, seen
        try:
            found = self.row(lineage.commit(reached))
        except CommitCleanedError:
            return at, seen
        return (at, seen) if found is None else (reached, found)

    def _last_with(self, lineage: Lineage, place: RowPlace, at: int) -> int:
        """Return the last of the commits, from one on that has it, that stores a row at a place.

        Those that store a row at one place follow each other, because a file is written once. So
        the oldest of them is found by halving.
        """
        low, step = at, 1
        while self._is_at(lineage, at + step, place):
            low, step = at + step, step * 2
        high = at + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_at(lineage, middle, place) else (low, middle)
        return low

    def _is_at(self, lineage: Lineage, at: int, place: RowPlace) -> bool:
        """Whether there is a commit that stores the row at a place, and can be read."""
        if not lineage.has(at):
            return False
        commit = lineage.commit(at)
        try:
            with self._reading(commit):
                return is_stored_at(self.repository.pin(commit).table(self.stored.identity), place)
        except CommitCleanedError:
            return False

    def _blame(self, names: set[str], commit: Commit, *, is_unsure: bool = False) -> None:
        self.found |= dict.fromkeys(names, (commit, is_unsure))

    def _look_back(self, commit: Commit, seen: _Seen, older: Commit) -> tuple[_Seen | None, bool]:
        """Return the row at an older commit, and whether a cleanup removed it."""
        try:
            return self._before(commit, seen, older), False
        except CommitCleanedError:
            return None, True

    def _before(self, commit: Commit, seen: _Seen, older: Commit) -> _Seen | None:
        """Return the row at an older commit, without reading when it is stored at the same place.

        Raises CommitCleanedError when a cleanup removed the table of that commit.
        """
        key = self.stored.identity
        if older.tables.get(key) == commit.tables[key]:
            return seen
        with self._reading(older):
            old, new = self._side(older), self._side(commit)
            if old.table is None or new.table is None:
                return None
            if not is_stored_at(old.table, seen.place) and old.table.path == new.table.path:
                return _seen(row_before(old.table, new.table, self.row_id, _columns(old)), old)
            if old.sources == new.sources and is_stored_at(old.table, seen.place):
                return seen
            return _seen(find_row(old.table, self.row_id, _columns(old)), old)

    def _side(self, commit: Commit) -> Lens:
        return lens(self.repository.pin(commit), self.stored)

    @contextmanager
    def _reading(self, commit: Commit) -> Iterator[None]:
        """Raise CommitCleanedError if reading fails because a cleanup removed the commit's tables.

        A handle that was opened before the cleanup fails only when rows are read.
        """
        try:
            yield
        except StorageError:
            self.repository.refuse_cleaned(commit.id)
            raise


def _columns(side: Lens) -> list[str]:
    return list((side.sources or {name: name for name in side.schema.names}).values())


def _seen(found: PlacedRow | None, side: Lens) -> _Seen | None:
    if found is None:
        return None
    place, row = found
    return _Seen(place, row if side.sources is None else row.rename_columns(list(side.sources)))


def _same_values(names: set[str], seen: _Seen, before: _Seen | None) -> set[str]:
    """Return the properties that had their value before."""
    if before is None:
        return set()
    return {name for name in names if before is seen or _is_same(seen.row, before.row, name)}


def _is_same(row: pa.Table, before: pa.Table, name: str) -> bool:
    if name not in before.column_names:
        return False
    one, other = to_array(row[name]), to_array(before[name])
    if one.type != other.type:
        return False
    # Quicker for single values; floats are compared bit by bit.
    if one.type in _PLAIN:
        return bool(one.equals(other))
    return bool(equal_values(one, other)[0])
