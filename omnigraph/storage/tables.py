"""Tables: all tables of one store, created, opened and moved forward."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar
from uuid import uuid4

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.lance import _Session as Session

from omnigraph.allocator import giving_back
from omnigraph.errors import StorageError
from omnigraph.schema.blobs import has_blobs
from omnigraph.storage import layout
from omnigraph.storage.causes import NO_ANSWER
from omnigraph.storage.durable import sync
from omnigraph.storage.failures import CommitRejectedError, LingeringError, report_as
from omnigraph.storage.fold import Level, fragments_to_fold
from omnigraph.storage.forward import (
    Mark,
    Sighting,
    attached_versions,
    blank_manifests,
    look_again,
    mark_of,
    moment,
    newest_local,
    newest_named,
    newest_since,
    sighting,
    sighting_after,
)
from omnigraph.storage.fragments import data_files, fragment_bytes, version_files
from omnigraph.storage.indexes import IndexSpec, create_index
from omnigraph.storage.near.sending import create
from omnigraph.storage.near.workbench import Workbench, workbench
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store
from omnigraph.storage.table import BLOB_FILES, Table, fold_operation
from omnigraph.storage.waiting import LateError, refuse_fork, within

_Made = TypeVar("_Made")

MOST_HANDLES = 64
_MOST_NEWEST = 8
# Every write leaves entries of older versions in these caches, so a process that writes a lot
# fills them to the limit, within some 1,500 commits.
_INDEX_CACHE_BYTES = 8 << 20
_METADATA_CACHE_BYTES = 2 << 20
# Tables of so many rows share a larger cache: the pages of an index of a million ids take 15 MB,
# and a merge of 600 rows takes two thirds of the time when they stay in memory.
_LARGE_TABLE_ROWS = 500_000
_LARGE_INDEX_CACHE_BYTES = 32 << 20
_MOST_FLUSHED = 20_000
# Where files have names that are used once; notes and records may be removed and made again.
_NEVER_REPLACED = tuple(f"{each}/" for each in (*layout.TABLES, layout.MANIFEST))
_MOST_INDEX_ATTEMPTS = 1_000
_MOST_MANIFESTS, _LARGE_MANIFEST = 64, 256 << 10
# A fold of more bytes takes several times as much memory, once in thousands of commits.
_LARGE_FOLD = 1 << 20


class Tables:
    """All tables of one store: their Lance sessions, and handles cached by path and version.

    A table of rows only gets detached versions, which commits name. A moving table, such as the
    manifest, has a newest version. When durable, its files are flushed before each commit that
    names them, so that a power loss can take its newest versions but never break one.
    """

    def __init__(self, store: Store, *, durable: bool = True) -> None:
        refuse_fork()
        self.store = store
        self.durable = durable
        self._flushed: set[str] = set()
        # Folders that last as long as their table, and whose names were flushed.
        self._named: set[str] = set()
        self.options: dict[str, str] | None = dict(store.options) or None
        self._session = _new_session()
        self._large_session = _new_session(_LARGE_INDEX_CACHE_BYTES)
        # The paths of tables with many rows, whose handles belong to the larger session.
        self._large: set[str] = set()
        # The id of the graph that owns these tables; until it is known, a random one.
        self.graph = uuid4().hex
        self._handles: OrderedDict[tuple[str, int], Table] = OrderedDict()
        self._newest: OrderedDict[str, tuple[Sighting, Table]] = OrderedDict()
        # The manifests of versions in a bucket that this process made, by path and version.
        self._manifests: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        # How often a moving table was not, or perhaps not, the one that was seen before.
        self.forgotten = 0
        self._lock = threading.Lock()

    def open(self, path: str, version: int, *, rows: int = 0) -> Table:
        """Return one version of a table; versions never change, so handles are cached.

        Of a table that is known to have many rows, more is cached.
        """
        with self._lock:
            if rows >= _LARGE_TABLE_ROWS and path not in self._large:
                self._large.add(path)
                self._drop_handles(path)
            found = self._handles.get((path, version))
            if found is not None:
                self._handles.move_to_end((path, version))
                return found
        with report_as(f"cannot open {path} at version {version}"):
            return self.remember(path, self._opened(path, version))

    def workbench(self, table: Table) -> Workbench | None:
        """Return where a version of a table in a bucket is changed; None for one on a disk.

        Also None where this machine has no room for it.
        """
        if self.store.is_local:
            return None
        with self._lock:
            manifest = self._manifests.get((table.path, table.version))
        if manifest is None:
            manifest = table.content(f"_versions/{layout.manifest_name(table.version)}")
        bench = workbench(self.store.objects, table.path)
        if bench is not None:
            with report_as(f"cannot open {table.path} at version {table.version}"):
                bench.lay_out(table.version, manifest)
        return bench

    def received(self, path: str, bench: Workbench) -> Table:
        """Return the last version that was made on a workbench, once its bucket has it."""
        _, manifest = bench.manifest()
        made = bench.dataset

        def opened() -> LanceDataset:
            with report_as(f"cannot open {path} at version {made.version}"):
                return LanceDataset(
                    self.store.uri(path),
                    version=made.version,
                    storage_options=self.options,
                    session=self._session_of(path),
                    serialized_manifest=made._ds.serialized_manifest(),
                )

        with self._lock:
            if len(manifest) <= _LARGE_MANIFEST:
                self._manifests[path, made.version] = manifest
            while len(self._manifests) > _MOST_MANIFESTS:
                self._manifests.popitem(last=False)
        return self._remembered(Table(self, path, made, is_cached=True, opened=opened))

    def files_of(self, path: str, version: int) -> set[str]:
        """Return the files and folders, relative to a table, that a version uses."""
        with report_as(f"cannot open {path} at version {version}"):
            return version_files(self._opened(path, version))

    def private(self, table: Table) -> LanceDataset:
        """Open a version again, for a call that changes the handle it is made on.

        Building an index does, and no other thread may use the handle meanwhile.
        """
        return self._opened(table.path, table.version)

    def create(
        self,
        path: str,
        schema: pa.Schema,
        indexes: Sequence[IndexSpec],
        bench: Workbench | None = None,
    ) -> Table | None:
        """Create an empty table with its indexes, or return an identical empty one.

        None when something else is there: another writer's table, or what a crash left. `bench` is
        what `new_table` returned for it.
        """
        bench = bench or self.new_table(path, schema.empty_table(), indexes)
        if bench is not None and bench.create():
            reached("table created")
            return self.received(path, bench)
        if bench is None and self.create_exclusively(path, schema.empty_table()):
            reached("table created")
        try:
            table = self.newest(path)
            if table is None or table.count() or not table.schema.equals(schema):
                return None
        except StorageError:
            return None
        return self._with_indexes(table, indexes)

    def new_table(
        self, path: str, rows: pa.Table, indexes: Iterable[IndexSpec] = ()
    ) -> Workbench | None:
        """Return where a new table of a bucket is made, with its first rows; None on a disk."""
        bench = None if self.store.is_local else workbench(self.store.objects, path)
        if bench is not None:
            with report_as(f"cannot create {path}"):
                bench.begin(rows, indexes)
        return bench

    def create_exclusively(self, path: str, rows: pa.Table) -> bool:
        """Create a table with its first rows in one atomic step; False when there is one.

        Lance's own creation overwrites a table that somebody else creates meanwhile. So the
        table is made elsewhere and its files are put in place, the manifest of version 1 last
        and only if there is none.
        """
        bench = self.new_table(path, rows)
        return self._copied(path, rows) if bench is None else bench.create()

    def _copied(self, path: str, rows: pa.Table) -> bool:
        aside = f"{layout.ASIDE}/{uuid4().hex}"
        objects = self.store.objects
        self._named.clear()  # a table that is gone may have been there
        try:
            with report_as(f"cannot create {path}"):
                lance.write_dataset(
                    rows,
                    self.store.uri(aside),
                    storage_options=self.options,
                    data_storage_version=BLOB_FILES if has_blobs(rows.schema) else None,
                )
            first = f"_versions/{layout.manifest_name(1)}"
            hint = "_versions/latest_version_hint.json"
            names = [each for each in objects.names(aside) if each not in (first, hint)]
            for name in names:
                objects.copy(f"{aside}/{name}", f"{path}/{name}")
            self.sync(f"{path}/{name}" for name in names)
            manifest = objects.read(f"{aside}/{first}")
            assert manifest is not None
            return create(objects, {f"{path}/{first}": manifest})
        finally:
            objects.discard(aside)

    def newest(self, path: str) -> Table | None:
        """Return the newest version of a moving table, or None when there is none.

        Forgets what was cached of a table that somebody removed and created again.
        """
        refuse_fork()
        with self._lock:
            known = self._newest.get(path)
        seen = None if known is None else self._look_again(path, known[0])
        if known is None or seen is None:
            return self._found(path)
        if seen is known[0]:
            return known[1]
        if seen.version == known[1].version:
            return self._sighted(known[1], seen)
        return self._sighted(self.open(path, seen.version), seen)

    def advance(
        self,
        table: Table,
        change: LanceOperation.BaseOperation,
        files: Iterable[str] = (),
        keys: Mapping[str, str | None] = MappingProxyType({}),
        bench: Workbench | None = None,
    ) -> Table:
        """Commit a change on top of its base version; raises CommitRejectedError on a clash.

        `files` are those that the change adds, and `keys` what it sets or removes. In a bucket, the
        next version is made on this machine and created there; Lance itself has to look for those
        that came first only when there is one.
        """
        self.sync(f"{table.path}/{each}" for each in files)

        def commit() -> LanceDataset:
            return LanceDataset.commit(
                table.dataset, change, read_version=table.version, storage_options=self.options
            )

        bench = bench or self.workbench(table)
        made = None if bench is None else self._created_next(table, change, bench)
        if made is None:
            with report_as(f"cannot commit to {table.path}"):
                dataset = commit() if self.store.is_local else self._answered(table.path, commit)
            made = self.remember(table.path, dataset)
        made.follow(table, keys)
        return self._sighted(made)

    def _created_next(
        self, table: Table, change: LanceOperation.BaseOperation, bench: Workbench
    ) -> Table | None:
        """Create the version after one in a bucket; None when there is such a version already."""
        with report_as(f"cannot commit to {table.path}"):
            bench.commit(change, detached=False)
            bench.send_files()
            name, manifest = bench.manifest()
            due = {f"{table.path}/{name}": manifest}
            is_made = self._answered(table.path, lambda: create(self.store.objects, due))
        return self.received(table.path, bench) if is_made else None

    def _answered(self, path: str, commit: Callable[[], _Made]) -> _Made:
        """Return the result of a commit to a bucket, without waiting for a store that falls silent.

        Lance sends more than thirty requests before it gives up, each with its full time limit.
        """
        seconds = self.store.commit_seconds
        try:
            return within(seconds, commit)
        except LateError:
            message = f"cannot commit to {path}: no answer in {seconds:g} s"
            raise LingeringError(message, hint=NO_ANSWER) from None

    def add_rows(self, table: Table, rows: pa.Table) -> Table:
        """Append rows to a moving table, flushed with what it has; they are visible at once."""
        begun = table.begun()
        with report_as(f"cannot append to {table.path}"):
            written = begun.write(rows)
        self.sync_with(table, (f"{table.path}/{each}" for each in data_files(written)))
        return self.advance(table, LanceOperation.Append(written), bench=begun.bench)

    def set_keys(
        self,
        table: Table,
        updates: Mapping[str, str | None],
        schema_updates: Mapping[str, str] = MappingProxyType({}),
    ) -> Table:
        """Set or remove keys; raises CommitRejectedError when one of them changed after `table`.

        With `schema_updates`, keys of the schema are set by the same commit.
        """
        change = LanceOperation.UpdateMap(dict(updates))
        of_schema = LanceOperation.UpdateMap(dict(schema_updates)) if schema_updates else None
        operation = LanceOperation.UpdateConfig(
            table_metadata_updates=change, schema_metadata_updates=of_schema
        )
        return self.advance(table, operation, keys=updates)

    def set_schema_keys(self, table: Table, updates: Mapping[str, str]) -> Table:
        """Set keys in the schema of a moving table."""
        change = LanceOperation.UpdateMap(dict(updates))
        return self.advance(table, LanceOperation.UpdateConfig(schema_metadata_updates=change))

    def mark_column(self, table: Table, column: str, updates: Mapping[str, str]) -> Table:
        """Set keys of one column of a moving table."""
        field = table.dataset.lance_schema.field(column)
        assert field is not None
        change = {field.id(): LanceOperation.UpdateMap(dict(updates))}
        return self.advance(table, LanceOperation.UpdateConfig(field_metadata_updates=change))

    def fold(self, table: Table, levels: tuple[Level, ...], indexes: Iterable[IndexSpec]) -> Table:
        """Join the small fragments of a moving table and index the result."""
        chosen = fragments_to_fold(table.outline, levels)
        if not chosen:
            return table
        with giving_back() if sum(map(fragment_bytes, chosen)) > _LARGE_FOLD else nullcontext():
            return self._folded(table, levels, indexes)

    def _folded(
        self, table: Table, levels: tuple[Level, ...], indexes: Iterable[IndexSpec]
    ) -> Table:
        begun = table.begun()
        with report_as(f"cannot fold {table.path}"):
            operation = fold_operation(begun, levels)
        assert operation is not None
        new = data_files(operation.new_fragments)
        joined = self.advance(table, operation, new, bench=begun.bench)
        reached("manifest folded")
        begun = joined.begun()
        with report_as(f"cannot index {table.path}"):
            added, replaced = begun.new_segments(indexes)
        if not added:
            return joined
        segments = [f"_indices/{each.uuid}" for each in added]
        change = LanceOperation.CreateIndex(added, replaced)
        indexed = self.advance(joined, change, segments, bench=begun.bench)
        reached("manifest indexed")
        return indexed

    @property
    def flushes(self) -> bool:
        """Whether files are flushed; an object store needs no flush."""
        return self.durable and self.store.is_local

    def sync(self, paths: Iterable[str]) -> None:
        """Make files survive a power loss; those of tables are flushed once."""
        fresh = set(paths) - self._flushed if self.flushes else None
        if not fresh:
            return
        with report_as("cannot flush to disk"):
            sync(Path(self.store.root), fresh, self._named)
        if len(self._flushed) > _MOST_FLUSHED:
            self._flushed.clear()
        self._flushed |= {each for each in fresh if each.startswith(_NEVER_REPLACED)}
        self._named |= {folder for path in fresh for folder in _lasting(path)}

    def sync_table(self, table: Table) -> None:
        """Make a version of a table survive a power loss."""
        if self.flushes:
            self.sync(table.files())

    def sync_with(self, table: Table, files: Iterable[str]) -> None:
        """Flush files, together with what a version of a table has, apart from its name."""
        self.sync({*files, *self._content(table)})

    def sync_content(self, table: Table, before: Table) -> None:
        """Flush what a version of a table has, apart from its name, if that before it is flushed.

        When it is the next version, its writer has flushed what it adds.
        """
        if table.version != before.version + 1:
            self.sync(self._content(table))

    def sync_names(self, versions: Iterable[Table]) -> None:
        """Make versions of tables survive a power loss; what they have is flushed before."""
        self.sync(map(_version_file, versions))

    def _content(self, table: Table) -> set[str]:
        """Return all files of a version that are flushed before it; none without flushes."""
        return table.files() - {_version_file(table)} if self.flushes else set()

    def forget_old(self, table: Table, before: int) -> int:
        """Remove the versions of a moving table written before a time; return the bytes freed.

        The clock of the store counts: in a version is the time of its writer, whose clock may be
        behind. What came after a version that stays also stays, whatever its time, so that there is
        no gap. The first stays, and this one. Never for a table of rows: Lance does not know which
        of its versions are needed.
        """
        listing = self.store.objects.listing(f"{table.path}/_versions")
        young = attached_versions(each for each in listing if each.modified >= before)
        end = min({table.version, *young})
        old = [each for each in attached_versions(listing) if 1 < each < end]
        with report_as(f"cannot clean up {table.path}"):
            # It takes no empty list, and never removes the version that is open.
            done = self.private(table).cleanup_old_versions(versions=old or [table.version])
        return int(done.bytes_removed)

    def prune(self, table: Table, most: int, age: timedelta) -> int:
        """Remove old versions of a moving table, and return how many.

        The newest `most` stay, and those that were young when this version was written, by the
        clock of the store. The first stays too: whoever creates a table may only do so when there
        is none. Files of rows that only they had are left to `forget_old`.
        """
        newest = self.store.objects.find(_version_file(table))
        if newest is None:
            return 0
        before = newest.modified - age // timedelta(microseconds=1)
        removed = 0
        for page in self.store.objects.pages(f"{table.path}/_versions"):
            old = [
                each.path
                for each in page
                for version in attached_versions([each])
                if 1 < version <= table.version - most and each.modified < before
            ]
            self.store.objects.delete_many(old)
            removed += len(old)
        return removed

    def clear_blank(self, path: str) -> None:
        """Remove the newest versions of a table that a power loss left empty.

        They were never acknowledged, but occupy the numbers that the next versions need.
        """
        if not self.store.is_local:
            return
        with report_as(f"cannot clear {path}"):
            for manifest in blank_manifests(Path(self.store.root, path, "_versions")):
                manifest.unlink(missing_ok=True)

    def remember(self, path: str, dataset: LanceDataset) -> Table:
        """Cache a handle for later reads of the same version."""
        return self._remembered(Table(self, path, dataset, is_cached=True))

    def _remembered(self, table: Table) -> Table:
        with self._lock:
            self._handles[table.path, table.version] = table
            while len(self._handles) > MOST_HANDLES:
                self._handles.popitem(last=False)
        return table

    def drop(self, path: str, versions: Iterable[int]) -> None:
        """Forget the handles of versions that are gone."""
        with self._lock:
            for version in versions:
                self._handles.pop((path, version), None)

    def _opened(self, path: str, version: int | None) -> LanceDataset:
        return lance.dataset(
            self.store.uri(path),
            version=version,
            storage_options=self.options,
            session=self._session_of(path),
        )

    def _session_of(self, path: str) -> Session:
        return self._large_session if path in self._large else self._session

    def _with_indexes(self, table: Table, wanted: Sequence[IndexSpec]) -> Table:
        """Create the indexes that an empty table lacks; another process may be doing the same."""
        for _ in range(_MOST_INDEX_ATTEMPTS):
            present = {each.name for each in table.dataset.describe_indices()}
            missing = [spec for spec in wanted if spec.name not in present]
            if not missing:
                return table
            with suppress(CommitRejectedError), report_as(f"cannot index {table.path}"):
                create_index(self.private(table), missing[0])
                reached("index created")
            found = self.newest(table.path)
            assert found is not None
            table = found
        raise StorageError(f"cannot index {table.path}: other writers keep changing it")

    def _look_again(self, path: str, seen: Sighting) -> Sighting | None:
        """Return the newest version of a table; None when it is not the table that was seen."""
        if self.store.is_local:
            return look_again(self.store, path, seen)
        with self._lock:
            content = self._manifests.get((path, seen.version))
        with report_as(f"cannot open {path}"):
            return newest_since(self.store, path, seen, content)

    def _found(self, path: str) -> Table | None:
        """Open the newest version of a table about which nothing is known (any more)."""
        self._forget(path)
        now = moment()
        version = newest_local(self.store, path) if self.store.is_local else self._listed(path)
        if version is None:
            return None
        # Taken before opening: a table that replaces it meanwhile has another mark.
        mark = self._marked(path, version)
        table = self.open(path, version)
        if mark is not None:
            with self._lock:
                self._newest[path] = sighting(table.version, mark, now), table
                while len(self._newest) > _MOST_NEWEST:
                    self._newest.popitem(last=False)
        return table

    def _marked(self, path: str, version: int) -> Mark | None:
        """Return the mark of a version's manifest; from a bucket, with the manifest itself."""
        if self.store.is_local:
            return mark_of(self.store, path, version)
        found = self.store.objects.marked(layout.manifest_path(path, version))
        bench = None if found is None else workbench(self.store.objects, path)
        if found is not None and bench is not None:
            with report_as(f"cannot open {path} at version {version}"):
                bench.lay_out(version, found[0])
            self.received(path, bench)
        return None if found is None else found[1]

    def _listed(self, path: str) -> int | None:
        """Return the newest version of a table in a bucket, from a listing."""
        return newest_named(self.store.objects.first_names(f"{path}/_versions"))

    def _sighted(self, table: Table, seen: Sighting | None = None) -> Table:
        """Record that a version of a moving table is the newest."""
        with self._lock:
            known = self._newest.get(table.path)
            if known is not None and known[0].version <= table.version:
                seen = seen or sighting_after(self.store, table.path, known[0], table.version)
                self._newest[table.path] = seen, table
                if known[1].version < table.version:
                    # A version of the manifest has the head of every branch, so the handles of
                    # old ones would be most of what a process holds.
                    self._handles.pop((table.path, known[1].version), None)
        return table

    def _forget(self, path: str) -> None:
        """Forget every version of a table, also what Lance caches of it by path and version.

        Of one that was known, forget the others too: the tables that its versions name may have
        been made again, with other columns, under the same names.
        """
        with self._lock:
            if self._newest.pop(path, None) is not None:
                self.forgotten += 1
                self._flushed.clear()  # files of these names may have been written again
                self._named.clear()
                self._session = _new_session()
                self._large_session = _new_session(_LARGE_INDEX_CACHE_BYTES)
                self._large.clear()
                self._handles.clear()
                self._manifests.clear()
            self._drop_handles(path)
            for key in [each for each in self._manifests if each[0] == path]:
                del self._manifests[key]

    def _drop_handles(self, path: str) -> None:
        for key in [each for each in self._handles if each[0] == path]:
            del self._handles[key]


def _version_file(table: Table) -> str:
    return layout.manifest_path(table.path, table.version)


def _lasting(path: str) -> tuple[str, ...]:
    """Return the folders on the way to a manifest of a table that stay as long as the table.

    A cleanup may remove the others, when they are empty.
    """
    table, versions, _ = path.rpartition("/_versions/")
    return (table, f"{table}/_versions") if versions else ()


def _new_session(index_bytes: int = _INDEX_CACHE_BYTES) -> Session:
    return Session(index_bytes, _METADATA_CACHE_BYTES)
