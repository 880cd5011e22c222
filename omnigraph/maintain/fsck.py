"""Fsck: checks every part of a graph and reports all damage, without changing anything."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from typing import TypeAlias

import pyarrow as pa

from omnigraph.errors import GraphNotFoundError, Json, OmniGraphError, StorageError
from omnigraph.frozen import dataclass
from omnigraph.maintain.reports import Checkup
from omnigraph.maintain.row_audit import Due, RowAudit
from omnigraph.maintain.scope import WHOLE_GRAPH, Scope
from omnigraph.merge.run_record import RunStatus
from omnigraph.merge.runs import PREFIX, gives_up_branch
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.schema.codec import decode_catalog
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.storage import layout
from omnigraph.storage.forward import attached_versions
from omnigraph.storage.objects import Stored
from omnigraph.storage.store import Store
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.storage.upkeep.inspect import (
    PartKind,
    broken_parts,
    sizes_of,
    wrong_deletions,
    wrong_lookups,
)
from omnigraph.versioning.audit import Audit, audit
from omnigraph.versioning.commit import Commit, TableState
from omnigraph.versioning.damage import Damage, Finding
from omnigraph.versioning.heads.layers import hot_heads
from omnigraph.versioning.manifest.format import check_format
from omnigraph.versioning.manifest.manifest import Manifest, last_cleanup
from omnigraph.versioning.names import MAIN, fold

_MISSING = {
    PartKind.DATA: Damage.DATA_MISSING,
    PartKind.DELETIONS: Damage.DELETIONS_MISSING,
    PartKind.INDEX: Damage.INDEX_MISSING,
}
_SIZE = {
    PartKind.DATA: Damage.DATA_SIZE,
    PartKind.DELETIONS: Damage.DELETIONS_MISSING,
    PartKind.INDEX: Damage.INDEX_SIZE,
}

# Each but the last needs a cleanup or a schema change meanwhile.
_MOST_CHECKS = 3
# So often the progress is told.
_TOLD_EVERY = 100
# In a bucket, versions that are looked at side by side.
_LOOKS_TOGETHER = 16
# On a disk, versions that a thread looks at before the next thread gets its turn: to hand over
# costs as much as to look.
_LOOKS_IN_A_ROW = 16
# What is damaged, where, and how.
_Note: TypeAlias = tuple[Damage, str, str]


def fsck(
    store: Store,
    scope: Scope = WHOLE_GRAPH,
    progress: Progress = NO_PROGRESS,
    deadline: Deadline = NO_DEADLINE,
) -> Checkup:
    """Check every row of the manifest, every version with its files and indexes, and every run.

    All rows of the newest versions, at which branches and tags stand, are read. A scope limits the
    versions and rows, not the manifest. Others may use the graph meanwhile: what a cleanup takes,
    or a schema change writes, while it is checked makes it be checked again. Raises CancelledError
    or BudgetError when the deadline is over before the last of them.
    """
    tables = Tables(store, durable=False)
    manifest = Manifest(tables)
    for _ in range(_MOST_CHECKS):
        progress.begin("reading the manifest")
        try:
            at = manifest.newest()
            check_format(at)
            found = audit(manifest, at)
        except GraphNotFoundError:
            if not store.objects.first_names(layout.MANIFEST):
                raise
            return _unreadable_manifest(store, "none of its versions exists")
        except StorageError as failed:
            return _unreadable_manifest(store, failed.message)
        deadline.check()
        checking = _Checking(store, tables, manifest, at, found, scope, progress, deadline)
        checkup = checking.checkup()
        if checkup.is_sound or not _is_outdated(manifest, at):
            break
    return checkup


def _unreadable_manifest(store: Store, message: str) -> Checkup:
    finding = Finding(Damage.LEDGER_UNREADABLE, layout.MANIFEST, message)
    files = len(store.objects.listing())
    return Checkup(rows=0, commits=0, versions=0, files=files, findings=(finding,))


def _is_outdated(manifest: Manifest, at: Table) -> bool:
    """Whether a cleanup began, or `main` got another schema, after a version of the manifest."""
    newest = manifest.newest()
    if last_cleanup(newest) != last_cleanup(at):
        return True
    with suppress(OmniGraphError):  # of a damaged graph
        return manifest.head_commit(MAIN, newest).schema != manifest.head_commit(MAIN, at).schema
    return False


@dataclass(frozen=True, slots=True)
class _Look:
    """The schema and the number of rows of a version, as far as it can be read, and its damage."""

    schema: pa.Schema | None
    rows: int | None
    notes: tuple[_Note, ...]


@dataclass(slots=True)
class _Checking:
    """A check in progress, of one version of the manifest.

    The files are listed once that was read, so that all that it names is among them.
    """

    store: Store
    tables: Tables
    manifest: Manifest
    at: Table
    found: Audit
    scope: Scope
    progress: Progress
    deadline: Deadline
    listing: list[Stored] = field(default_factory=list)
    opened: set[tuple[str, int]] = field(default_factory=set)
    unreadable: set[tuple[str, int]] = field(default_factory=set)
    compared: set[tuple[object, ...]] = field(default_factory=set)
    deletions: set[str] = field(default_factory=set)
    catalogs: dict[str, Catalog] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    standing: Set[str] = frozenset()
    newest: Set[tuple[str, int]] = frozenset()
    held: dict[tuple[str, int], Table] = field(default_factory=dict)
    keys: dict[str, Set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listing = self.store.objects.listing()
        self.sizes = sizes_of(self.listing)
        self.standing = {head.commit for head in self.found.heads.values()}

    def checkup(self) -> Checkup:
        """Check everything, and return what was found."""
        self.deadline.check()
        self.check_manifest()
        self.check_lost()
        self.check_schemas()
        self.scope.check((head.name for head in self.found.heads.values()), self.catalogs.values())
        self.check_versions()
        self.check_heads()
        self.check_runs()
        return Checkup(
            rows=self.found.rows,
            commits=len(self.found.commits),
            versions=len(self.opened),
            files=len(self.listing),
            findings=tuple(dict.fromkeys(self.found.findings)),
        )

    @property
    def published(self) -> list[Commit]:
        return [self.found.commits[each] for each in sorted(self.found.published)]

    def check_manifest(self) -> None:
        """Check the files of the manifest, and that its indexes find what it holds."""
        for note in self._broken(layout.MANIFEST, self.at):
            self.found.note(*note)
        self._check_lookups(layout.MANIFEST, self.at)

    def check_lost(self) -> None:
        """Find the commits at which a branch stood although no row says so any more.

        A commit that was written and never published looks the same, so earlier versions of the
        manifest and the runs have to decide.
        """
        unnamed = self.found.commits.keys() - self.found.published
        files = [each for each in self.listing if each.path.startswith(f"{layout.MANIFEST}/")]
        lost: set[str] = set()
        for version in sorted(attached_versions(files)) if unnamed else ():
            if version < self.at.version:  # a branch may have moved to one since
                lost |= self._standing(version, unnamed - lost)
        lost |= unnamed & {each for run in self._runs() for each in _commits_of(run)}
        for each in sorted(lost):
            message = "a branch stood at it, and no row of the manifest says so"
            self.found.note(Damage.COMMIT_LOST, each, message)

    def _standing(self, version: int, commits: Set[str]) -> set[str]:
        """Return those of some commits at which a branch stood at a version of the manifest."""
        try:
            at = self.tables.open(layout.MANIFEST, version)
        except StorageError:
            return set()  # old ones are not needed, and a cleanup may just have removed it
        # Those that are rows stay rows, and are known as published by them.
        heads = [text for _, text in hot_heads(at)]
        return {each for each in commits if any(each in head for head in heads)}

    def _runs(self) -> Iterator[dict[str, Json]]:
        """Yield the records of runs that can be read."""
        for each in self.listing:
            if each.path.startswith(f"{layout.RUNS}/"):
                with suppress(ValueError, RecursionError):  # `check_runs` reports it
                    record = json.loads(self._object(each.path) or b"")
                    if isinstance(record, dict):
                        yield record

    def check_schemas(self) -> None:
        """Check the schema of every commit, and the copy beside the tables."""
        for digest in sorted({commit.schema for commit in self.published}):
            self._check_schema(digest)
        head = self.found.heads.get(MAIN)
        commit = None if head is None else self.found.commits.get(head.commit)
        if commit is None or commit.schema not in self.catalogs:
            return
        stored = json.loads(self._object(layout.schema_path(commit.schema)) or b"{}")
        for path, name in ((layout.SCHEMA_SOURCE, "source"), (layout.SCHEMA_IR, "ir")):
            if self._object(path) != stored[name].encode():
                message = f"it is missing, or not the schema of {MAIN}"
                self.found.note(Damage.SCHEMA_FILE_DIFFERS, path, message)

    def check_versions(self) -> None:
        """Check every version of a published commit that no cleanup removed."""
        due: list[tuple[Commit, str, TableState, StoredType | None]] = []
        meant = self._meant()
        for commit in self.published:
            if commit.id in meant:
                due += self._due_tables(commit)
        places = {(state.path, state.version): (key, state) for _, key, state, _ in due}
        self.newest = {each[2].place for each in due if each[0].id in self.standing}
        self.progress.begin("checking versions")
        looks: dict[tuple[str, int], _Look] = {}
        for place, look in zip(places, self._look_at_all([*places.values()]), strict=True):
            looks[place] = look
            self._tell(len(looks), len(places))
            self.opened.add(place)
            self.unreadable |= {place} if look.schema is None else set()
            for note in look.notes:
                self.found.note(*note)
        for commit, key, state, stored in due:
            self._compare(commit, f"{key}@{state.version}", state, stored, looks)

    def _due_tables(
        self, commit: Commit
    ) -> Iterator[tuple[Commit, str, TableState, StoredType | None]]:
        """Yield the tables of a commit that have to be there, with their types."""
        catalog = self.catalogs.get(commit.schema)
        types = {} if catalog is None else catalog.by_identity
        for key, state in commit.tables.items():
            if self.scope.types and key not in self._keys(commit.schema):
                continue
            if catalog is not None and key not in types:
                self.found.note(Damage.TABLE_UNKNOWN, key, f"commit {commit.id} has no type of it")
            if not self._is_removed(commit, key, state):
                yield commit, key, state, types.get(key)
        for key in types.keys() - commit.tables.keys():
            self.found.note(Damage.TABLE_MISSING, key, f"commit {commit.id} has no table of it")

    def _meant(self) -> set[str]:
        """Return the commits of the branches that are checked, also those at which they stand."""
        heads = {head.name: head.commit for head in self.found.heads.values()}
        return self.scope.commits(self.found.commits, heads) | {
            heads[each] for each in self.scope.branches
        }

    def _keys(self, schema: str) -> Set[str]:
        """Return the keys of the tables that are checked under a schema, if it can be read."""
        if schema not in self.keys:
            catalog = self.catalogs.get(schema)
            self.keys[schema] = set() if catalog is None else self.scope.keys_with_ends(catalog)
        return self.keys[schema]

    def _tell(self, done: int, total: int) -> None:
        if done % _TOLD_EVERY == 0 or done == total:
            self.progress.advance(done, total)

    def _look_at_all(self, places: list[tuple[str, TableState]]) -> Iterator[_Look]:
        """Look at versions; in a bucket many at a time, because each waits for its requests."""
        if not places:
            return
        is_local = self.store.is_local
        together = min(os.cpu_count() or 1, _LOOKS_TOGETHER) if is_local else _LOOKS_TOGETHER
        step = _LOOKS_IN_A_ROW if is_local else 1
        rows = [places[first : first + step] for first in range(0, len(places), step)]
        with ThreadPoolExecutor(min(together, len(rows))) as pool:
            for looks in pool.map(self._look_at, rows):
                yield from looks

    def _look_at(self, places: list[tuple[str, TableState]]) -> list[_Look]:
        return [self._look(*each) for each in places]

    def check_heads(self) -> None:
        """Read all rows at which branches and tags stand."""
        due: dict[str, Due] = {}
        for head in self.found.heads.values():
            commit = self.found.commits.get(head.commit)
            if commit is None or not self.scope.has_branch(head.name):
                continue
            if any(self._is_removed(commit, *each) for each in commit.tables.items()):
                message = "a cleanup removed tables of its commit"
                self.found.note(Damage.HEAD_CLEANED, head.name, message)
            catalog = self.catalogs.get(commit.schema)
            if catalog is not None:
                due[commit.id] = Due(commit, catalog, self._keys(commit.schema))
        self.progress.begin("reading rows")
        audit = RowAudit(self.found.note, self._readable)
        audit.check([*due.values()], lambda done: self._tell(done, len(due)))

    def _readable(self, path: str, version: int) -> Table | None:
        """Open a version, unless it was found that this is not possible."""
        self.deadline.check()
        place = path, version
        if place not in self.opened or place in self.unreadable:
            return None
        return self.held.get(place) or self.tables.open(path, version)

    def check_runs(self) -> None:
        """Check that every run can be read, and that a live one has its branch."""
        names = (each.path for each in self.listing if each.path.startswith(f"{layout.RUNS}/"))
        without: dict[str, str] = {}
        for path in names:
            data = self._object(path)
            if data is None:
                continue  # a cleanup removed it since it was listed
            try:
                record = json.loads(data)
                # Who claims the end of a run notes the status alone.
                status = RunStatus(record["status"] if isinstance(record, dict) else record)
                run = str(record["run_branch"]) if status is RunStatus.RUNNING else ""
            except (ValueError, KeyError, TypeError, RecursionError):
                self.found.note(Damage.RUN_UNREADABLE, path, "it cannot be read")
                continue
            ended = path.replace("begun.json", "ended.json") in self.sizes
            if run.startswith(PREFIX) and not ended and fold(run) not in self.found.heads:
                without[path] = run
        heads = self._heads_now() if without else set()
        for path, run in without.items():
            # One that began since has its branch; one that ends loses it before or after its end.
            if fold(run) not in heads and not gives_up_branch(self.store.objects, run):
                self.found.note(Damage.RUN_BRANCH_MISSING, path, f"no branch '{run}'")

    def _heads_now(self) -> Set[str]:
        """Return the folded names of all heads that can be read by now."""
        with suppress(OmniGraphError):  # it is noted as damage of the manifest
            return self.manifest.heads(self.manifest.newest()).keys()
        return set()

    def _check_schema(self, digest: str) -> None:
        path = layout.schema_path(digest)
        data = self._object(path)
        if data is None:
            self.found.note(Damage.SCHEMA_MISSING, path, "commits name it")
            return
        try:
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError("its content is not what its name says")
            self.catalogs[digest] = decode_catalog(json.loads(data)["ir"])
        except (ValueError, KeyError, OmniGraphError) as failed:
            self.found.note(Damage.SCHEMA_DAMAGED, path, str(failed))

    def _is_removed(self, commit: Commit, key: str, state: TableState) -> bool:
        """Whether a cleanup removed a version; an interrupted one left what heads need."""
        if (key, state.version) not in self.found.buried:
            return False
        return state.manifest not in self.sizes or commit.id not in self.standing

    def _look(self, key: str, state: TableState) -> _Look:
        """Return what a version has, and what is wrong with its files."""
        self.deadline.check()
        where = f"{key}@{state.version}"
        try:
            table = self.tables.open(state.path, state.version)
        except StorageError as failed:
            is_there = state.manifest in self.sizes
            kind = Damage.VERSION_UNREADABLE if is_there else Damage.VERSION_MISSING
            return _Look(None, None, ((kind, where, failed.message),))
        if state.place in self.newest:
            self.held[state.place] = table  # all its rows are read later
        notes = self._broken(where, table)
        notes += self._wrong_deletions(where, table)
        try:
            return _Look(table.schema, table.count(), tuple(notes))
        except StorageError as failed:
            unread = Damage.VERSION_UNREADABLE, where, failed.message
            return _Look(table.schema, None, (*notes, unread))

    def _compare(
        self,
        commit: Commit,
        where: str,
        state: TableState,
        stored: StoredType | None,
        looks: Mapping[tuple[str, int], _Look],
    ) -> None:
        """Compare what a version has with what a commit says of it."""
        found = looks[state.path, state.version]
        about = where, state.path, state.row_count, commit.schema
        if found.schema is None or found.rows is None or about in self.compared:
            return
        self.compared.add(about)
        if found.rows != state.row_count:
            message = f"commit {commit.id} records {state.row_count} rows; found {found.rows}"
            self.found.note(Damage.ROW_COUNT, where, message)
        if stored is not None and not _fits(found.schema, arrow_schema(stored)):
            message = f"its columns are not those of {stored.name} at commit {commit.id}"
            self.found.note(Damage.TABLE_SCHEMA, where, message)

    def _broken(self, where: str, table: Table) -> list[_Note]:
        """Return what is wrong with the files of a version."""
        found: list[_Note] = []
        try:
            for part, size in broken_parts(table, self.sizes):
                kind = (_MISSING if size is None else _SIZE)[part.kind]
                what = "is missing" if size is None else f"has {size} bytes instead of {part.size}"
                found.append((kind, f"{table.path}/{part.path}", f"it {what}; {where} needs it"))
        except StorageError as failed:
            found.append((Damage.VERSION_UNREADABLE, where, failed.message))
        return found

    def _wrong_deletions(self, where: str, table: Table) -> list[_Note]:
        """Return which files of deletions of a version are not what it says."""
        found: list[_Note] = []
        try:
            for path, left, due in wrong_deletions(table, self.deletions):
                message = f"it leaves {left} rows instead of {due}; {where} needs it"
                found.append((Damage.ROW_COUNT, path, message))
        except StorageError as failed:
            found.append((Damage.ROWS_UNREADABLE, where, failed.message))
        return found

    def _check_lookups(self, where: str, table: Table) -> None:
        try:
            for column in wrong_lookups(table):
                message = f"the index of {column} does not find all rows"
                self.found.note(Damage.INDEX_WRONG, where, message)
        except StorageError as failed:
            self.found.note(Damage.INDEX_WRONG, where, failed.message)

    def _object(self, path: str) -> bytes | None:
        return self.store.objects.read(path)


def _commits_of(run: Mapping[str, Json]) -> Iterator[str]:
    """Yield the commits that the record of a run names."""
    for name in ("base_snapshot_id", "published_snapshot_id"):
        if isinstance(found := run.get(name), str):
            yield found


def _fits(found: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a table has the columns of a type, with the same types."""
    columns = {field.name: field.type for field in found}
    return all(columns.get(field.name) == field.type for field in wanted)
