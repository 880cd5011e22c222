"""Repository: one graph on a store: its tables, its ledger, its schemas and its clock."""

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.errors import (
    CommitNotFoundError,
    GraphExistsError,
    OutcomeUnknownError,
    ReadOnlyError,
    SchemaIrError,
    StorageError,
)
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.schema.codec import decode_catalog, encode_catalog
from omnigraph.storage import layout
from omnigraph.storage.indexes import indexes_of
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store, store_at
from omnigraph.storage.table import Table, Tables
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.format import check_format, migrate
from omnigraph.versioning.manifest import Manifest, first_commit, new_ledger
from omnigraph.versioning.names import MAIN, TAG, normalized
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import Clock, is_ulid

_MOST_ATTEMPTS = 1_000


@dataclass(slots=True)
class Repository:
    """An opened graph; shared by all handles on it, safe for threads."""

    store: Store
    tables: Tables
    manifest: Manifest
    clock: Clock
    read_only: bool
    _catalogs: dict[str, Catalog] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def snapshot(self, branch: str = MAIN) -> Snapshot:
        """Pin the newest commit of a branch."""
        return self.pinned(self.manifest.head_commit(branch, self.manifest.newest()))

    def snapshot_of(self, target: str) -> Snapshot:
        """Pin a commit by its id or its tag, or the newest commit of a branch by its name."""
        if is_ulid(target):
            return self.pinned(self.commit(target))
        ledger = self.manifest.newest()
        return self.pinned(self.manifest.head_commit(self.head_name(target, ledger), ledger))

    def head_name(self, target: str, ledger: Table) -> str:
        """Give the name of the head that is meant: that of a branch, or else of a tag."""
        name = normalized(target)
        is_tag = self.manifest.twin(name, ledger) is None
        if is_tag and self.manifest.twin(TAG + name, ledger) is not None:
            return TAG + name
        return name

    def commit(self, commit_id: str) -> Commit:
        """Give the commit of an id, one at which some branch stands or stood."""
        ledger = self.manifest.newest()
        found = self.manifest.commits([commit_id], ledger).get(commit_id)
        if found is None or not self.manifest.is_published(commit_id, ledger):
            raise CommitNotFoundError(f"no commit '{commit_id}'")
        return found

    def pinned(self, commit: Commit) -> Snapshot:
        """Give the snapshot of a commit."""
        return Snapshot(commit, self.catalog(commit.schema), self.tables)

    def catalog(self, digest: str) -> Catalog:
        """Give an accepted schema by its digest; schemas never change."""
        with self._lock:
            found = self._catalogs.get(digest)
        if found is None:
            found = decode_catalog(_read_schema(self.store, digest)["ir"])
            with self._lock:
                self._catalogs[digest] = found
        return found

    def schema_source(self, digest: str) -> str:
        """Give the text of an accepted schema."""
        return _read_schema(self.store, digest)["source"]

    def restore_schema_files(self) -> None:
        """Write the schema of `main` beside the tables, for people, when it is not there."""
        if self.store.objects.read(layout.SCHEMA_IR):
            return
        digest = self.snapshot().commit.schema
        stored = _read_schema(self.store, digest)
        self.store.objects.write(layout.SCHEMA_SOURCE, stored["source"].encode())
        self.store.objects.write(layout.SCHEMA_IR, stored["ir"].encode())
        self.tables.sync([layout.SCHEMA_SOURCE, layout.SCHEMA_IR])

    def check_writable(self) -> None:
        """Raise ReadOnlyError when the graph was opened for reading only."""
        if self.read_only:
            raise ReadOnlyError(f"{self.store.root} was opened for reading only")


def create(
    uri: str | os.PathLike[str],
    catalog: Catalog,
    source: str,
    *,
    clock: Clock | None = None,
    durable: bool = True,
    actor: str | None = None,
) -> Repository:
    """Make a new graph; an existing one is refused and not touched.

    Everything is written first; the ledger, made in one atomic step, is what makes it a graph.
    """
    store = store_at(uri)
    tables, clock = Tables(store, durable=durable), clock or Clock()
    if tables.newest(layout.MANIFEST) is not None:
        raise GraphExistsError(f"there is a graph at {store.root} already")
    store.check()
    tables.clear_blank(layout.MANIFEST)
    digest = write_schema(store, catalog, source)
    reached("schema written")
    types: list[StoredType] = [*catalog.nodes.values(), *catalog.edges.values()]
    states = {stored.identity: _create_table(tables, stored) for stored in types}
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
    for state in states.values():
        tables.sync_table(tables.open(state.path, state.version))
    reached("tables synced")
    repository = Repository(store, tables, Manifest(tables), clock, read_only=False)
    _begin(repository, first)
    return repository


def _begin(repository: Repository, first: Commit) -> None:
    """Create the ledger, which makes it a graph; what fails after that cannot undo it."""
    tables, root = repository.tables, repository.store.root
    try:
        made = tables.create_exclusively(layout.MANIFEST, new_ledger(first))
    except StorageError:
        newest = tables.newest(layout.MANIFEST)
        made = newest is not None and first_commit(newest) == first.id
        if not made:
            raise
    if not made:
        raise GraphExistsError(f"there is a graph at {root} already")
    reached("ledger created")
    try:
        tables.sync_table(repository.manifest.newest())
        reached("ledger synced")
        repository.restore_schema_files()
    except StorageError as failed:
        raise OutcomeUnknownError(
            f"the graph at {root} was made but not completed: {failed.message}",
            hint="opening it for writing completes it",
        ) from failed


def open_repository(
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    clock: Clock | None = None,
    durable: bool = True,
) -> Repository:
    """Open a graph; for writing, the store is checked and an older format brought forward."""
    store = store_at(uri)
    tables = Tables(store, durable=durable)
    manifest = Manifest(tables)
    newest = manifest.newest()
    check_format(newest)
    repository = Repository(store, tables, manifest, clock or Clock(), read_only)
    if not read_only:
        store.check()
        tables.clear_blank(layout.MANIFEST)
        migrate(tables, newest)
        repository.restore_schema_files()
    return repository


def write_schema(store: Store, catalog: Catalog, source: str) -> str:
    """Store an accepted schema under the digest of its content, and give the digest."""
    text = json.dumps({"source": source, "ir": encode_catalog(catalog)}, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path, data = layout.schema_path(digest), text.encode()
    if not store.objects.create(path, data) and store.objects.read(path) != data:
        store.objects.write(path, data)
    return digest


def _read_schema(store: Store, digest: str) -> Mapping[str, str]:
    data = store.objects.read(layout.schema_path(digest))
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        raise SchemaIrError(f"the stored schema {digest[:12]} is missing or damaged")
    stored: dict[str, str] = json.loads(data)
    return stored


def _create_table(tables: Tables, stored: StoredType) -> TableState:
    """Make the empty table of a type, beside whatever an unfinished attempt left in its place."""
    schema, indexes = arrow_schema(stored), indexes_of(stored)
    for attempt in range(1, _MOST_ATTEMPTS):
        path = layout.table_path(stored.identity, attempt)
        table: Table | None = tables.create(path, schema, indexes)
        if table is not None:
            return TableState(path, table.version, 0, MAIN)
    raise StorageError(f"no free place for the table of {stored.name}")
