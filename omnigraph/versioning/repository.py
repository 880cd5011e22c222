"""Repository: one graph on a store: its tables, its manifest, its schemas and its clock."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import NoReturn, cast

from omnigraph.errors import (
    BranchNotFoundError,
    CommitCleanedError,
    GraphExistsError,
    InputError,
    OmniGraphError,
    ReadOnlyError,
    SchemaEditedError,
    SchemaIrError,
    StorageError,
)
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import file_schema
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.schema.codec import decode_catalog, encode_catalog
from omnigraph.storage import layout
from omnigraph.storage.indexes import first_indexes_of
from omnigraph.storage.near.sending import at_once, send
from omnigraph.storage.near.workbench import Workbench
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store, store_at
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.manifest.format import check_format, migrate
from omnigraph.versioning.manifest.manifest import Manifest, last_cleanup
from omnigraph.versioning.manifest.records import first_commit, new_manifest
from omnigraph.versioning.names import MAIN, TAG, no_commit, no_place, normalize_name
from omnigraph.versioning.once import make_new
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import Clock, is_ulid
from omnigraph.versioning.unknown_outcome import unknown_outcome

_MOST_ATTEMPTS = 1_000
_MOST_PINNED = 64
# One of thirty types takes about 100 kB.
_MOST_CATALOGS = 64
_FEW_TYPES, _CREATED_TOGETHER = 16, 16
_COMPLETED_LATER = "opening the graph for writing completes it"
_TAKEN = "load into it, or name another place"
_LOOK = "open it to see whether it was made"


@dataclass(frozen=True, slots=True)
class _Pinned:
    """Snapshots of branches and tags by name, as one version of the manifest has them."""

    manifest: Table
    snapshots: dict[str, Snapshot] = field(default_factory=dict)


@dataclass(slots=True)
class Repository:
    """An open graph, shared by all handles on it and safe for threads."""

    store: Store
    tables: Tables
    manifest: Manifest
    clock: Clock
    read_only: bool
    patience: Patience = field(default_factory=Patience)
    # Called with the snapshots before and after a commit, to update caches derived from tables.
    extend: Callable[[Snapshot, Snapshot], None] | None = field(default=None, repr=False)
    _catalogs: dict[str, Catalog] = field(default_factory=dict, repr=False)
    _pinned: "_Pinned | None" = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def snapshot(self, branch: str = MAIN) -> Snapshot:
        """Pin the newest commit of a branch."""
        return self.pin(self.manifest.head_commit(branch, self.manifest.newest()))

    def snapshot_of(self, target: str) -> Snapshot:
        """Pin a commit by its id or its tag, or the newest commit of a branch by its name."""
        if is_ulid(target):
            commit = self.commit(target)
            self.refuse_cleaned(commit.id)
            return self.pin(commit)
        at = self.manifest.newest()
        pinned = self._pinned
        if pinned is None or pinned.manifest is not at:
            pinned = self._pinned = _Pinned(at)
        found = pinned.snapshots.get(target)
        if found is None:
            found = self.pin(self._head_commit(target, at))
            if len(pinned.snapshots) < _MOST_PINNED:
                pinned.snapshots[target] = found
        return found

    def _head_commit(self, target: str, at: Table) -> Commit:
        try:
            return self.manifest.head_commit(self.head_name(target, at), at)
        except BranchNotFoundError as missing:
            raise no_place(target, missing.hint) from None

    def note_head(self, branch: str, commit: Commit, at: Table) -> None:
        """Note where a branch stands in a version of the manifest that was just made.

        The next read need not look it up; what fails here fails again there. In a bucket, this
        would be one more request.
        """
        if not self.store.is_local:
            return
        with suppress(OmniGraphError):
            self.manifest.check_graph(at)
            if self.manifest.head(branch, at).commit == commit.id:
                self._pinned = _Pinned(at, {branch: self.pin(commit)})

    def head_name(self, target: str, at: Table) -> str:
        """Return the name of the head that is meant: that of a branch, or else of a tag."""
        name = normalize_name(target)
        is_tag = self.manifest.twin(name, at) is None
        if is_tag and self.manifest.twin(TAG + name, at) is not None:
            return TAG + name
        return name

    def commit(self, commit_id: str, at: Table | None = None) -> Commit:
        """Return a commit by its id, if a branch stands or stood at it."""
        at = self.manifest.newest() if at is None else at
        found = self.manifest.commits([commit_id], at).get(commit_id)
        if found is None or not self.manifest.is_published(commit_id, at):
            raise no_commit(commit_id)
        return found

    def pin(self, commit: Commit) -> Snapshot:
        """Return the snapshot of a commit."""
        return Snapshot(commit, self.catalog(commit.schema), self.tables, self.refuse_cleaned)

    def refuse_cleaned(self, commit_id: str, at: Table | None = None) -> None:
        """Raise CommitCleanedError when a cleanup removed tables of a commit."""
        at = self.manifest.newest() if at is None else at
        if not last_cleanup(at):
            return
        commit = self.manifest.recorded(commit_id, at)
        if self.manifest.is_cleaned(commit, at):
            raise CommitCleanedError(
                f"commit {commit_id} was cleaned up: it is in the log, but its rows are gone",
                hint="a tag keeps a commit readable",
            )

    def catalog(self, digest: str) -> Catalog:
        """Return an accepted schema by its digest; schemas never change."""
        with self._lock:
            found = self._catalogs.get(digest)
        if found is None:
            found = decode_catalog(_read_schema(self.store, digest)["ir"])
            with self._lock:
                self._catalogs[digest] = found
                while len(self._catalogs) > _MOST_CATALOGS:
                    del self._catalogs[next(iter(self._catalogs))]
        return found

    def schema_source(self, digest: str) -> str:
        """Return the text of an accepted schema."""
        return _read_schema(self.store, digest)["source"]

    def restore_schema_files(self) -> None:
        """Write the schema of `main` beside the tables, for people, when it is missing.

        Raises SchemaEditedError when the file there holds a text that the graph never had.
        """
        digest = self.manifest.head_commit(MAIN, self.manifest.newest()).schema
        shown = (layout.SCHEMA_SOURCE, layout.SCHEMA_IR)
        paths = (layout.schema_path(digest), *shown)
        read = at_once(self.store, (partial(self.store.objects.read, each) for each in paths))
        data, *found = read
        stored, source = _decoded_schema(digest, data), found[0]
        if found == [stored["source"].encode(), stored["ir"].encode()]:
            return
        self.refuse_edited(source)
        self._write_schema_files(stored)

    def refuse_edited(self, source: bytes | None) -> None:
        """Raise SchemaEditedError for a schema file with a text that the graph never had."""
        # A schema change may have been interrupted before the files were written, and a power loss
        # leaves one empty that was not flushed.
        if source and not self._had_schema(source.decode(errors="replace")):
            raise SchemaEditedError(
                f"{self.store.uri(layout.SCHEMA_SOURCE)} differs from the schema of the graph",
                hint="move your text elsewhere and apply it with omnigraph schema apply",
            )

    def show_schema(self, commit: Commit) -> None:
        """Write the schema of a commit of `main` beside the tables, for people."""
        done = f"commit {commit.id} is there, but {layout.SCHEMA_SOURCE} could not be written"
        with unknown_outcome(done, _COMPLETED_LATER):
            self._write_schema_files(_read_schema(self.store, commit.schema))

    def accept_schema(self, catalog: Catalog, source: str) -> str:
        """Store a schema that a commit will name, and return its digest."""
        digest = write_schema(self.store, catalog, source)
        self.tables.sync([layout.schema_path(digest)])
        return digest

    def create_tables(self, types: Iterable[StoredType], branch: str) -> dict[str, TableState]:
        """Create the empty tables of new types; nobody sees them until a commit names them."""
        states = _create_tables(self.tables, types)
        return {key: replace(state, branch=branch) for key, state in states.items()}

    def _had_schema(self, source: str) -> bool:
        """Whether a text is that of a schema that the graph has or had."""
        digests = (Path(name).stem for name in self.store.objects.names(layout.SCHEMAS))
        return any(source == _read_schema(self.store, each)["source"] for each in digests)

    def _write_schema_files(self, stored: Mapping[str, str]) -> None:
        shown = {layout.SCHEMA_SOURCE: stored["source"], layout.SCHEMA_IR: stored["ir"]}
        send(self.store.objects, {path: text.encode() for path, text in shown.items()})
        self.tables.sync([layout.SCHEMA_SOURCE, layout.SCHEMA_IR])
        reached("schema shown")

    def now(self) -> int:
        """Return the time in microseconds, not before that by the clock of the store.

        A grace period that begins now ends by that clock. In a bucket, this takes three requests.
        """
        return max(self.clock.time(), self.store.now())

    def close(self) -> None:
        """Close the manifest and the tables; later calls that need them raise InputError."""
        self.manifest = cast(Manifest, _Closed(self.store.root))
        self.tables = cast(Tables, _Closed(self.store.root))

    def check_open(self) -> None:
        """Raise InputError when the graph was closed."""
        if isinstance(self.manifest, _Closed):
            raise self.manifest.refusal()

    def check_writable(self) -> None:
        """Raise ReadOnlyError when the graph was opened for reading only."""
        if self.read_only:
            raise ReadOnlyError(f"{self.store.root} was opened for reading only")


@dataclass(frozen=True, slots=True)
class _Closed:
    """Stands in for the manifest and tables of a closed graph; every use raises InputError."""

    root: str

    def refusal(self) -> InputError:
        return InputError(f"the graph at {self.root} was closed", hint="open it again")

    def __getattr__(self, _: str) -> NoReturn:
        raise self.refusal()


def create(
    uri: str | os.PathLike[str],
    catalog: Catalog,
    source: str,
    *,
    clock: Clock | None = None,
    durable: bool = True,
    actor: str | None = None,
) -> Repository:
    """Create a graph; an existing one is refused and left untouched.

    Everything else is written first; the manifest, created in one atomic step, makes it a graph.
    """
    store = store_at(uri)
    tables, clock = Tables(store, durable=durable), clock or Clock()
    if tables.newest(layout.MANIFEST) is not None:
        raise GraphExistsError(f"there is a graph at {store.root} already", hint=_TAKEN)
    store.check()
    tables.clear_blank(layout.MANIFEST)
    digest = write_schema(store, catalog, source)
    reached("schema written")
    states = _create_tables(tables, catalog.by_identity.values())
    first = Commit(
        id=clock.ulid(),
        parents=(),
        branch=MAIN,
        version=0,
        kind=CommitKind.INIT,
        created_at=clock.time(),
        operation_id=clock.ulid(),
        schema=digest,
        tables=states,
        actor=actor,
    )
    tables.sync([layout.schema_path(digest)])
    reached("tables synced")
    repository = Repository(store, tables, Manifest(tables), clock, read_only=False)
    repository.refuse_edited(store.objects.read(layout.SCHEMA_SOURCE))
    _begin(repository, first)
    return repository


def _begin(repository: Repository, first: Commit) -> None:
    """Create the manifest, which makes it a graph; a later failure cannot undo that."""
    tables, root = repository.tables, repository.store.root

    def is_made() -> bool:
        newest = tables.newest(layout.MANIFEST)
        return newest is not None and first_commit(newest) == first.id

    is_new = make_new(
        repository.store,
        lambda: tables.create_exclusively(layout.MANIFEST, new_manifest(first)),
        is_made,
        f"making the graph at {root}",
        _LOOK,
    )
    if not is_new:
        raise GraphExistsError(f"there is a graph at {root} already", hint=_TAKEN)
    repository.manifest.remember(first)
    reached("manifest created")
    with unknown_outcome(f"the graph at {root} was made but not completed", _COMPLETED_LATER):
        tables.sync_table(repository.manifest.newest())
        reached("manifest synced")
        repository.restore_schema_files()


def open_repository(
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    durable: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Repository:
    """Open a graph by its address."""
    store = replace(store_at(uri), environment=environment)
    return open_at(store, read_only=read_only, durable=durable)


def open_at(store: Store, *, read_only: bool = False, durable: bool = True) -> Repository:
    """Open a graph; for writing, the store is checked and an older format brought up to date."""
    tables = Tables(store, durable=durable)
    manifest = Manifest(tables)
    newest = manifest.newest()
    check_format(newest)
    repository = Repository(store, tables, manifest, Clock(), read_only)
    if not read_only:
        store.check()
        tables.clear_blank(layout.MANIFEST)
        migrate(tables, newest)
        repository.restore_schema_files()
    return repository


def write_schema(store: Store, catalog: Catalog, source: str) -> str:
    """Store an accepted schema under the digest of its content, and return the digest."""
    text = json.dumps({"source": source, "ir": encode_catalog(catalog)}, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path, data = layout.schema_path(digest), text.encode()
    if not store.objects.create(path, data):
        store.objects.write(path, data)  # a power loss may have left it empty
    return digest


def _read_schema(store: Store, digest: str) -> Mapping[str, str]:
    return _decoded_schema(digest, store.objects.read(layout.schema_path(digest)))


def _decoded_schema(digest: str, data: bytes | None) -> Mapping[str, str]:
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        raise SchemaIrError(f"the stored schema {digest[:12]} is missing or damaged")
    stored: dict[str, str] = json.loads(data)
    return stored


def _create_tables(tables: Tables, types: Iterable[StoredType]) -> dict[str, TableState]:
    """Create the empty tables of types and make them durable; returns them by identity.

    In a bucket this is done side by side. On a disk, the tables of a wide schema are.
    """
    wanted = list(types)
    if not tables.store.is_local:
        # All are ready before the first is sent, so that they are sent at the same time.
        ready = at_once(tables.store, (partial(_new_table, tables, each) for each in wanted))
        pairs = zip(wanted, ready, strict=True)
        made = at_once(tables.store, (partial(_create_table, tables, *each) for each in pairs))
    elif len(wanted) <= _FEW_TYPES:
        made = [_create_synced(tables, each) for each in wanted]
    else:
        with ThreadPoolExecutor(min(_CREATED_TOGETHER, len(wanted))) as pool:
            made = list(pool.map(partial(_create_synced, tables), wanted))
    return {stored.identity: state for stored, state in zip(wanted, made, strict=True)}


def _create_synced(tables: Tables, stored: StoredType) -> TableState:
    state = _create_table(tables, stored)
    tables.sync_table(tables.open(state.path, state.version))
    return state


def _new_table(tables: Tables, stored: StoredType) -> Workbench | None:
    rows = file_schema(stored).empty_table()
    return tables.new_table(layout.table_path(stored.identity), rows, first_indexes_of(stored))


def _create_table(tables: Tables, stored: StoredType, ready: Workbench | None = None) -> TableState:
    """Create the empty table of a type, beside whatever an unfinished attempt left in its place."""
    schema, indexes = file_schema(stored), first_indexes_of(stored)
    for attempt in range(1, _MOST_ATTEMPTS):
        path = layout.table_path(stored.identity, attempt)
        first = ready if attempt == 1 else None
        table: Table | None = tables.create(path, schema, indexes, first)
        if table is not None:
            return TableState(path, table.version, 0, MAIN)
    raise StorageError(f"no free folder for the table of {stored.name}")
