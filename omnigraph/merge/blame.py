"""Blame: which commit set each property of a node or edge to its value."""

from collections.abc import Iterator, Mapping
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
from omnigraph.versioning.commit import Commit, CommitKind, row_mark
from omnigraph.versioning.history.history import Walk
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

    def is_stored_at(self, commit: Commit, place: RowPlace) -> bool:
        """Whether the row is stored at a place at a commit that can be read."""
        try:
            with self._reading(commit):
                return is_stored_at(self.repository.pin(commit).table(self.stored.identity), place)
        except CommitCleanedError:
            return False

    def _follow(
        self, commit: Commit, seen: _Seen, names: set[str]
    ) -> tuple[Commit, _Seen, set[str]]:
        """Follow the row through commits that wrote its table on top of the one before.

        Returns where that ends, and the properties that were not blamed on the way.
        """
        lineage, at = _Lineage(self, commit), 0
        while names:
            at, seen = self._skip(lineage, at, seen, names)
            at = lineage.last_with(seen.place, at)
            link = lineage[at]
            commit = link.commit
            if lineage.ends_at(at) and not link.is_cut:
                break
            before, is_gone = None, link.is_cut
            if not link.is_cut:
                before, is_gone = self._look_back(commit, seen, lineage[at + 1].commit)
            same = _same_values(names, seen, before)
            self._blame(names - same, commit, is_unsure=is_gone)
            seen, names, at = before or seen, same, at + 1
        return commit, seen, names

    def _skip(
        self, lineage: "_Lineage", at: int, seen: _Seen, names: set[str]
    ) -> tuple[int, _Seen]:
        """Go past commits that say themselves that they left some properties of the row alone."""
        reached = lineage.first_that_may_change(names, at)
        commit = lineage[reached].commit
        if reached == at or self.is_stored_at(commit, seen.place):
            return reached, seen
        try:
            found = self.row(commit)
        except CommitCleanedError:
            return at, seen
        return (at, seen) if found is None else (reached, found)

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

    def sources(self, commit: Commit) -> Mapping[str, str]:
        """Return the columns in which a commit stores properties that have another name now."""
        return self._side(commit).sources or {}

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


@dataclass(frozen=True, slots=True)
class _Link:
    """A commit that changed the table; `is_cut` when a cleanup removed what was before."""

    commit: Commit
    is_cut: bool


class _Lineage:
    """Commits of one branch that changed a table, newest first, each writing on the one before.

    Among them, those that store a row at one place follow each other, because a file is written
    once. So the oldest of them is found by halving. A merge, a revert and a load are the last of a
    lineage: they may have taken over another version, with files of long ago.
    """

    def __init__(self, search: _BlameWalk, commit: Commit) -> None:
        self._search = search
        self._key = search.stored.identity
        self._mark = row_mark(search.row_id)
        # All of them but a last one have the schema of the first.
        self._sources = search.sources(commit)
        self._buried = search.repository.manifest.buried_of(search.walk.at, self._key)
        self._links: list[_Link] = []
        self._rest = self._readable(commit)

    def __getitem__(self, at: int) -> _Link:
        assert not self._is_behind(at)
        return self._links[at]

    def ends_at(self, at: int) -> bool:
        """Whether the commit at a place is the last one."""
        return self._is_behind(at + 1)

    def first_that_may_change(self, names: set[str], at: int) -> int:
        """Return the first of the commits, from one on, that may have changed some properties."""
        columns = {self._sources.get(name, name) for name in names}
        link = self[at]
        while not link.is_cut and self._leaves(link.commit, columns) and not self.ends_at(at):
            at += 1
            link = self[at]
        return at

    def _leaves(self, commit: Commit, columns: set[str]) -> bool:
        """Whether a commit certainly left some columns of the row as they were."""
        touched = commit.touched.get(self._key)
        if touched is None:
            return commit.kind is CommitKind.PHYSICAL
        return not touched.may_have(self._mark, columns)

    def last_with(self, place: RowPlace, at: int) -> int:
        """Return the last of the commits, from one on that has it, that stores a row at a place."""
        low, step = at, 1
        while self._has(at + step, place):
            low, step = at + step, step * 2
        high = at + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._has(middle, place) else (low, middle)
        return low

    def _has(self, at: int, place: RowPlace) -> bool:
        return not self._is_behind(at) and self._search.is_stored_at(self._links[at].commit, place)

    def _is_behind(self, at: int) -> bool:
        while len(self._links) <= at:
            found = next(self._rest, None)
            if found is None:
                return True
            self._links.append(found)
        return False

    def _readable(self, commit: Commit) -> Iterator[_Link]:
        """Yield the commits whose tables are there."""
        last, is_cut = None, False
        for each in self._changing(commit):
            if last is not None and each.tables[self._key].version in self._buried:
                is_cut = True
                continue
            if last is not None:
                yield _Link(last, is_cut)
            last, is_cut = each, False
        if last is not None:
            yield _Link(last, is_cut)

    def _changing(self, commit: Commit) -> Iterator[Commit]:
        """Yield the commits that changed the table, up to the first that may have adopted it."""
        current: Commit | None = commit
        while current is not None:
            parent = self._search.walk.parent(current)
            if parent is None or parent.tables.get(self._key) != current.tables[self._key]:
                yield current
                if parent is None or self._key not in parent.tables or not _derives(current):
                    return
            current = parent


def _derives(commit: Commit) -> bool:
    """Whether a commit certainly wrote its tables on top of those of its only parent."""
    is_mutation = commit.kind is CommitKind.WRITE and commit.affected is not None
    return len(commit.parents) == 1 and (is_mutation or commit.kind is CommitKind.PHYSICAL)


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
