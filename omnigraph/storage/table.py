"""Table: immutable versions of Lance tables; every change makes a version that nobody sees yet."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, TypedDict, TypeVar
from uuid import uuid4

import lance
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.dataset import Index, MergeInsertBuilder, Transaction
from lance.fragment import DataFile, FragmentMetadata, write_fragments
from lance.lance import _Session as Session

from omnigraph.errors import StorageError
from omnigraph.schema.blobs import has_blobs, pack_rows, unpack_rows
from omnigraph.storage import layout
from omnigraph.storage.causes import NO_ANSWER
from omnigraph.storage.durable import sync
from omnigraph.storage.failures import CommitRejectedError, LingeringError, report_as
from omnigraph.storage.fold import TABLE_LEVELS, Level, fragments_to_fold
from omnigraph.storage.forward import (
    Mark,
    Sighting,
    attached_versions,
    blank_manifests,
    mark_of,
    newest_local,
    newest_named,
    newest_since,
    sighting,
)
from omnigraph.storage.indexes import (
    DueSegment,
    IndexSpec,
    build_segments,
    create_index,
    due_segments,
    segment_folders,
)
from omnigraph.storage.near.sending import beside, create
from omnigraph.storage.near.workbench import Workbench, workbench
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store
from omnigraph.storage.waiting import LateError, within

Rows: TypeAlias = pa.Table | pa.RecordBatchReader
_Made = TypeVar("_Made")

MOST_HANDLES = 64
_MOST_NEWEST = 8
# Every write leaves entries of older versions in these caches, so a process that writes a lot
# fills them to the limit.
_INDEX_CACHE_BYTES = 32 << 20
_METADATA_CACHE_BYTES = 8 << 20
_BATCH_BYTES, _BATCH_ROWS = 32 << 20, 8_192
_MOST_FLUSHED = 100_000
_MOST_INDEX_ATTEMPTS = 1_000
# Lance joins index hits in a pool of 100 MB and fails when that is full: with 350,000
# ids, or 20,000 rows of 10 KB. Without the index it reads the ids of the whole table. Of a table
# of 2,000,000 rows, 3,000 are deleted in 63 ms by index and in 73 ms without, 30,000 in 79 and
# 70 ms, 300,000 in 464 and 113 ms.
_MOST_INDEXED_ROWS = 20_000
_MOST_INDEXED_BYTES = 16 << 20
# Lance copies a large value twice to write it into a file of version 2.1 or later; into one of 2.0
# it writes the value as it is.
_BLOB_FILES: Final = "2.0"
# So many bytes are a change that is made on this machine before it is sent to a bucket.
_LARGE = 8 << 20
_MOST_MANIFESTS, _LARGE_MANIFEST = 64, 256 << 10
_HINDERING = (pa.uint32(), pa.uint64(), pa.date64())


class Table:
    """One version of one table; it never changes, and every change returns another Table.

    A cached one is shared by threads. One that a change returned belongs to its writer alone until
    it is settled.
    """

    def __init__(
        self,
        tables: "Tables",
        path: str,
        outline: LanceDataset,
        *,
        is_cached: bool = False,
        bench: Workbench | None = None,
        opened: Callable[[], LanceDataset] | None = None,
    ) -> None:
        self._tables = tables
        self._is_cached = is_cached
        # Where this version was made, if it was not sent to its bucket yet.
        self._bench = bench
        self._opened = opened
        self.path = path
        # Knows columns and fragments, but its files may not be where it looks for them.
        self.outline = outline
        self.version: int = outline.version

    def __repr__(self) -> str:
        return f"Table({self.path!r}, version={self.version})"

    @cached_property
    def dataset(self) -> LanceDataset:
        return self.outline if self._opened is None else self._opened()

    @property
    def schema(self) -> pa.Schema:
        return self.outline.schema

    @property
    def key(self) -> tuple[str, str, int]:
        """A key for the content of this version, and for no other."""
        return self._tables.graph, self.path, self.version

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Keys that `set_keys` wrote, as of this version."""
        found: dict[str, str] = self.outline.metadata
        return found

    def follow(self, before: "Table", updates: Mapping[str, str | None]) -> None:
        """Take the keys of the version before, with some set or removed, without reading them.

        There are as many as branches.
        """
        if self.version != before.version + 1 or "metadata" not in vars(before):
            return  # somebody else's version came between them
        keys = dict(before.metadata) if updates else before.metadata
        for name, value in updates.items():
            if value is None:
                keys.pop(name, None)
            else:
                keys[name] = value
        vars(self)["metadata"] = keys

    @cached_property
    def row_bytes(self) -> int:
        """The bytes on disk of a row, on average."""
        return sum(map(fragment_bytes, self.dataset.get_fragments())) // max(self.count(), 1)

    @cached_property
    def numbers(self) -> Mapping[str, tuple[int, str]]:
        """Field id and type of each column in the files, whatever the column is called now."""
        numbered = self.dataset.lance_schema.fields()
        kinds = map(str, self.schema.types)
        return {
            field.name(): (field.id(), kind) for field, kind in zip(numbered, kinds, strict=True)
        }

    @cached_property
    def takes_conditions(self) -> bool:
        """Whether Lance accepts typed conditions on this table."""
        return takes_conditions(self.schema)

    def at(self, version: int) -> "Table":
        """Return another version of the table."""
        return self._tables.open(self.path, version)

    def content(self, path: str) -> bytes:
        """Return the bytes of one of this version's files."""
        store = self._tables.store
        if store.is_local:
            with report_as(f"cannot read {self.path}/{path}"):
                return Path(store.root, self.path, path).read_bytes()
        found = store.objects.read(f"{self.path}/{path}")
        if found is None:
            raise StorageError(f"{self.path}/{path} is gone")
        return found

    def count(self) -> int:
        """Return the number of rows."""
        with report_as(f"cannot count {self.path}"):
            return int(self.outline.count_rows())

    def count_where(self, where: pc.Expression) -> int:
        """Return the number of rows that meet a condition; with an index, without reading them."""
        with report_as(f"cannot count {self.path}"):
            return int(self.dataset.count_rows(filter=where))

    def scan(
        self, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return the rows that meet a condition."""
        with report_as(f"cannot read {self.path}"):
            if where is None or takes_conditions(self.schema):
                return unpack_rows(self.dataset.to_table(columns=_listed(columns), filter=where))
            found = self.dataset.to_table().filter(where)
            return unpack_rows(found if columns is None else found.select(list(columns)))

    def fragment(self, number: int, columns: Sequence[str]) -> pa.Table | None:
        """Return the rows of one fragment, or None when this version does not have it."""
        with report_as(f"cannot read {self.path}"):
            found = self.dataset.get_fragment(number)
            return None if found is None else found.to_table(columns=list(columns))

    @cached_property
    def fragments(self) -> Mapping[tuple[int, tuple[str, ...]], LanceFragment]:
        """The fragments by number and files; two branches may use the same number."""
        return {
            (each.fragment_id, tuple(map(data_path, each.metadata.files))): each
            for each in self.dataset.get_fragments()
        }

    def begun(self) -> "Table":
        """Return the same rows, for a change that ends with `settled`.

        What is made of a table in a bucket stays on this machine until then, so that it is sent at
        once.
        """
        bench = self._tables.workbench(self)
        return self if bench is None else Table(self._tables, self.path, bench.dataset, bench=bench)

    def appended(self, rows: Rows) -> "Table":
        """Return the table with more rows, which are streamed."""
        with report_as(f"cannot append to {self.path}"):
            return self._detached(LanceOperation.Append(self._written(rows)))

    def upserted(self, rows: Rows) -> "Table":
        """Return the table with rows replaced by id and new ids added."""
        rows = _packed(rows)
        with report_as(f"cannot write to {self.path}"):
            merge = self._merging(rows).when_matched_update_all().when_not_matched_insert_all()
            return self._detached(merge.execute_uncommitted(rows)[0])

    def deleted(self, ids: pa.Array) -> "Table":
        """Return the table without the rows of these ids."""
        with report_as(f"cannot delete from {self.path}"):
            source = pa.table({"id": pc.unique(ids)})
            merge = self._merging(source).when_matched_delete()
            return self._detached(merge.execute_uncommitted(source)[0])

    def overwritten(self, rows: Rows) -> "Table":
        """Return the table with these rows only; its indexes stay declared."""
        with report_as(f"cannot overwrite {self.path}"):
            old = [each.fragment_id for each in self.dataset.get_fragments()]
            new = self._written(rows)
            return self._detached(
                LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)
            )

    def settled(self, declared: Iterable[IndexSpec] = ()) -> "Table":
        """Return the same rows in few fragments, all indexed, and cache the handle.

        A declared index that the table lacks is started.
        """
        return self._folded().with_indexes(declared)

    def with_indexes(
        self, declared: Iterable[IndexSpec], check: Callable[[], None] = lambda: None
    ) -> "Table":
        """Return the table with its indexes extended to new rows and the missing ones started.

        An empty table gets none: the first rows start them. Few rows need no BTREE. `check` is
        called before each of them, and raises to stop.
        """
        with report_as(f"cannot index {self.path}"):
            last = self._indexed(declared, check)
        if last._bench is not None:
            return last._sent(last._bench)
        return last if last._is_cached else self._tables.remember(self.path, last.dataset)

    def files(self) -> set[str]:
        """Return the files and folders, relative to the store's root, that this version uses."""
        return {f"{self.path}/{each}" for each in _files(self.dataset)}

    def look_up_indexes(self) -> None:
        """Read what the next reader needs of the indexes, while the change is published."""
        self.dataset.describe_indices()

    def _folded(self) -> "Table":
        with report_as(f"cannot fold {self.path}"):
            operation = fold_operation(self, TABLE_LEVELS)
            return self if operation is None else self._detached(operation)

    def _indexed(self, declared: Iterable[IndexSpec], check: Callable[[], None]) -> "Table":
        added, replaced = self._segments(declared, check)
        return self._detached(LanceOperation.CreateIndex(added, replaced)) if added else self

    def _segments(
        self, declared: Iterable[IndexSpec], check: Callable[[], None] = lambda: None
    ) -> tuple[list[Index], list[Index]]:
        """Build segments for new rows; returns them and those that they replace."""
        own = self._tables.private(self) if self._is_cached else self.outline
        due, replaced = due_segments(own, declared)
        if due and self._bench is not None and not self._brings(_indexed_by(own, due)):
            own = self._tables.private(self._sent(self._bench))
        return build_segments(own, due, check), replaced

    def _brings(self, fragments: Iterable[LanceFragment]) -> bool:
        """Bring the files of fragments to where the table is changed; False when they are large."""
        wanted = list(fragments)
        files = (file for each in wanted for file in each.metadata.files)
        if self._bench is None or sum(each.file_size_bytes or _LARGE for each in files) > _LARGE:
            return False
        self._bench.fetch(_fragment_files(wanted))
        return True

    @property
    def _far(self) -> LanceDataset:
        """This version where all its files are; what was made on this machine is sent there."""
        return self.dataset if self._bench is None else self._sent(self._bench).dataset

    def _sent(self, bench: Workbench) -> "Table":
        """Send what was made of a table on this machine, and return it as the bucket has it."""
        if bench.base == self.version:
            return self._tables.open(self.path, self.version)
        bench.send_version()
        reached("version staged")
        received = self._tables.received(self.path, bench)
        beside(received.look_up_indexes)
        return received

    def _merging(self, rows: Rows) -> MergeInsertBuilder:
        """Start a change of rows by id; an index finds the rows when they are few and small."""
        merge = self._far.merge_insert("id")
        few = (
            isinstance(rows, pa.Table)
            and rows.num_rows <= _MOST_INDEXED_ROWS
            and rows.nbytes <= _MOST_INDEXED_BYTES
        )
        return merge if few else merge.use_index(use_index=False)

    def _written(self, rows: Rows) -> list[FragmentMetadata]:
        rows = _packed(rows)
        if self._bench is not None and isinstance(rows, pa.Table) and rows.nbytes <= _LARGE:
            written = self._bench.write(rows)
        else:
            written = write_fragments(
                rows, self._far, schema=self.schema, storage_options=self._tables.options
            )
        reached("fragments written")
        return list(written)

    def _detached(self, change: "Transaction | LanceOperation.BaseOperation") -> "Table":
        if self._bench is not None:
            made = self._bench.commit(change, detached=True)
            return Table(self._tables, self.path, made, bench=self._bench)
        if not isinstance(change, Transaction):
            change = Transaction(read_version=self.version, operation=change)
        dataset = LanceDataset.commit(
            self.dataset, change, detached=True, storage_options=self._tables.options
        )
        reached("version staged")
        return Table(self._tables, self.path, dataset)


def takes_conditions(schema: pa.Schema) -> bool:
    """Whether Lance accepts typed conditions on a table; one such list column rules out all."""
    lists = [field.type.value_type for field in schema if pa.types.is_list(field.type)]
    return not any(item in _HINDERING for item in lists)


def fold_operation(table: Table, levels: tuple[Level, ...]) -> "LanceOperation.Update | None":
    """Return the operation that swaps small fragments for one, or None when nothing is due."""
    chosen = fragments_to_fold(table.outline, levels)
    if not chosen:
        return None
    old = [each.fragment_id for each in chosen]
    if table._brings(chosen):
        new = table._written(table.dataset.scanner(fragments=chosen).to_table())
    else:
        far = table._far
        chosen = [each for each in far.get_fragments() if each.fragment_id in old]
        scanner = far.scanner(fragments=chosen, **batch_limits(table, chosen, _BATCH_BYTES))
        new = table._written(scanner.to_reader())
    return LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)


class BatchLimits(TypedDict, total=False):
    """The options of a scan that bound its batches."""

    batch_size: int
    batch_size_bytes: int


def batch_limits(
    table: Table, fragments: Sequence[LanceFragment], size: int, rows: int = _BATCH_ROWS
) -> BatchLimits:
    """Return the options of a scan whose batches have at most so many rows and about `size` bytes.

    Lance does not count the bytes of files of version 2.0, so there the rows are fewer.
    """
    if table.dataset.data_storage_version != _BLOB_FILES:
        return {"batch_size": rows, "batch_size_bytes": size}
    sizes = (fragment_bytes(each) // max(each.physical_rows, 1) for each in fragments)
    return {"batch_size": max(1, min(rows, size // max([1, *sizes])))}


def fragment_bytes(fragment: LanceFragment) -> int:
    """Return the size of a fragment's files."""
    return sum(each.file_size_bytes or 0 for each in fragment.metadata.files)


class Tables:
    """All tables of one store: one Lance session, and handles cached by path and version.

    A table of rows only gets detached versions, which commits name. A moving table, such as the
    manifest, has a newest version. When durable, its files are flushed before each commit that
    names them, so that a power loss can take its newest versions but never break one.
    """

    def __init__(self, store: Store, *, durable: bool = True) -> None:
        self.store = store
        self.durable = durable
        self._flushed: set[str] = set()
        self.options: dict[str, str] | None = dict(store.options) or None
        self._session = _new_session()
        # The id of the graph that owns these tables; until it is known, a random one.
        self.graph = uuid4().hex
        self._handles: OrderedDict[tuple[str, int], Table] = OrderedDict()
        self._newest: OrderedDict[str, tuple[Sighting, Table]] = OrderedDict()
        # The manifests of versions in a bucket that this process made, by path and version.
        self._manifests: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, path: str, version: int) -> Table:
        """Return one version of a table; versions never change, so handles are cached."""
        with self._lock:
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
                    session=self._session,
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
            return _files(self._opened(path, version))

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
        try:
            with report_as(f"cannot create {path}"):
                lance.write_dataset(
                    rows,
                    self.store.uri(aside),
                    storage_options=self.options,
                    data_storage_version=_BLOB_FILES if has_blobs(rows.schema) else None,
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
        with self._lock:
            known = self._newest.get(path)
        version = None if known is None else self._newest_version(path, known[0])
        if known is None or version is None:
            return self._found(path)
        if version == known[1].version:
            return self._sighted(known[1])
        return self._sighted(self.open(path, version))

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
        """Append rows to a moving table; they are visible at once."""
        begun = table.begun()
        with report_as(f"cannot append to {table.path}"):
            written = begun._written(rows)
        change = LanceOperation.Append(written)
        return self.advance(table, change, _data_files(written), bench=begun._bench)

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
        if not fragments_to_fold(table.outline, levels):
            return table
        begun = table.begun()
        with report_as(f"cannot fold {table.path}"):
            operation = fold_operation(begun, levels)
        assert operation is not None
        new = _data_files(operation.new_fragments)
        joined = self.advance(table, operation, new, bench=begun._bench)
        reached("manifest folded")
        begun = joined.begun()
        with report_as(f"cannot index {table.path}"):
            added, replaced = begun._segments(indexes)
        if not added:
            return joined
        segments = [f"_indices/{each.uuid}" for each in added]
        change = LanceOperation.CreateIndex(added, replaced)
        indexed = self.advance(joined, change, segments, bench=begun._bench)
        reached("manifest indexed")
        return indexed

    @property
    def flushes(self) -> bool:
        """Whether files are flushed; an object store needs no flush."""
        return self.durable and self.store.is_local

    def sync(self, paths: Iterable[str]) -> None:
        """Make files survive a power loss; those that this process has flushed are skipped."""
        if not self.flushes:
            return
        fresh = set(paths) - self._flushed
        with report_as("cannot flush to disk"):
            sync(Path(self.store.root), fresh)
        if len(self._flushed) > _MOST_FLUSHED:
            self._flushed.clear()
        self._flushed |= fresh

    def sync_table(self, table: Table) -> None:
        """Make a version of a table survive a power loss."""
        if self.flushes:
            self.sync(table.files())

    def forget_old(self, table: Table, age: timedelta) -> int:
        """Remove old versions of a moving table and return the bytes freed.

        Never for a table of rows: Lance does not know which of its versions are needed.
        """
        with report_as(f"cannot clean up {table.path}"):
            done = self.private(table).cleanup_old_versions(older_than=age)
        return int(done.bytes_removed)

    def prune(self, table: Table, most: int, age: timedelta) -> int:
        """Remove old versions of a moving table, and return how many.

        The newest `most` stay, and those that were young when this version was written, by the
        clock of the store. The first stays too: whoever creates a table may only do so when there
        is none. Files of rows that only they had are left to `forget_old`.
        """
        files = self.store.objects.listing(f"{table.path}/_versions")
        versions = {version: each for each in files for version in attached_versions([each])}
        newest = versions.get(table.version)
        if newest is None:
            return 0
        before = newest.modified - age // timedelta(microseconds=1)
        old = [
            each.path
            for version, each in versions.items()
            if 1 < version <= table.version - most and each.modified < before
        ]
        self.store.objects.delete_many(old)
        return len(old)

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
            session=self._session,
        )

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

    def _newest_version(self, path: str, seen: Sighting) -> int | None:
        """Return the newest version of a table; None when it is not the table that was seen."""
        if not self.store.is_local:
            with report_as(f"cannot open {path}"):
                return newest_since(self.store, path, seen)
        if mark_of(self.store, path, seen.anchor) != seen.mark:
            return None
        return newest_local(self.store, path)

    def _found(self, path: str) -> Table | None:
        """Open the newest version of a table about which nothing is known (any more)."""
        self._forget(path)
        version = newest_local(self.store, path) if self.store.is_local else self._listed(path)
        if version is None:
            return None
        # Taken before opening: a table that replaces it meanwhile has another mark.
        mark = self._marked(path, version)
        table = self.open(path, version)
        if mark is not None:
            with self._lock:
                self._newest[path] = sighting(table.version, mark), table
                while len(self._newest) > _MOST_NEWEST:
                    self._newest.popitem(last=False)
        return table

    def _marked(self, path: str, version: int) -> Mark | None:
        """Return the mark of a version's manifest; from a bucket, with the manifest itself."""
        if self.store.is_local:
            return mark_of(self.store, path, version)
        found = self.store.objects.marked(f"{path}/_versions/{layout.manifest_name(version)}")
        bench = None if found is None else workbench(self.store.objects, path)
        if found is not None and bench is not None:
            with report_as(f"cannot open {path} at version {version}"):
                bench.lay_out(version, found[0])
            self.received(path, bench)
        return None if found is None else found[1]

    def _listed(self, path: str) -> int | None:
        """Return the newest version of a table in a bucket, from a listing."""
        return newest_named(self.store.objects.first_names(f"{path}/_versions"))

    def _sighted(self, table: Table) -> Table:
        """Record that a version of a moving table is the newest."""
        with self._lock:
            known = self._newest.get(table.path)
            if known is not None and known[0].version <= table.version:
                self._newest[table.path] = known[0].moved(table.version), table
                if known[1].version < table.version:
                    # A version of the manifest has the head of every branch, so the handles of
                    # old ones would be most of what a process holds.
                    self._handles.pop((table.path, known[1].version), None)
        return table

    def _forget(self, path: str) -> None:
        """Forget every version of a table, also what Lance caches of it by path and version."""
        with self._lock:
            if self._newest.pop(path, None) is not None:
                self._session = _new_session()
            for key in [each for each in self._handles if each[0] == path]:
                del self._handles[key]


def _packed(rows: Rows) -> Rows:
    """Return rows with their blobs as tables store them."""
    if isinstance(rows, pa.Table) or not has_blobs(rows.schema):
        return pack_rows(rows) if isinstance(rows, pa.Table) else rows
    return pa.RecordBatchReader.from_batches(rows.schema, map(pack_rows, rows))


def _new_session() -> Session:
    return Session(_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES)


def data_path(file: DataFile) -> str:
    """Return the path of a data file.

    Its property `path` makes a class for every call, which takes longer than all else about it.
    """
    return str(file._path)


def _data_files(fragments: Iterable[FragmentMetadata]) -> list[str]:
    return [f"data/{data_path(file)}" for fragment in fragments for file in fragment.files]


def _files(dataset: LanceDataset) -> set[str]:
    """Return all files that a version uses, relative to its table."""
    found = {f"_versions/{layout.manifest_name(dataset.version)}"}
    return found | _fragment_files(dataset.get_fragments()) | segment_folders(dataset)


def _fragment_files(fragments: Iterable[LanceFragment]) -> set[str]:
    """Return the files of fragments, relative to their table."""
    found = set()
    for fragment in fragments:
        found |= {f"data/{data_path(each)}" for each in fragment.metadata.files}
        deletions = fragment.deletion_file()
        if deletions is not None:
            found.add(deletions)
    return found


def _indexed_by(dataset: LanceDataset, due: Iterable[DueSegment]) -> list[LanceFragment]:
    """Return the fragments over which segments are to be built."""
    wanted = {number for each in due for number in each.fragments}
    return [each for each in dataset.get_fragments() if each.fragment_id in wanted]


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)
