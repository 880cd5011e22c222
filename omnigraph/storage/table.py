"""Table: one version of a Lance table; every change makes another one, which nobody sees yet."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.dataset import Index, MergeInsertBuilder, Transaction
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import StorageError
from omnigraph.schema.blobs import has_blobs, pack_rows, unpack_rows
from omnigraph.storage.failures import report_as
from omnigraph.storage.fold import TABLE_LEVELS, Level, fragments_to_fold
from omnigraph.storage.fragments import (
    data_path,
    deletion_of,
    find_addresses,
    fragment_bytes,
    fragment_files,
    remove_at,
    version_files,
)
from omnigraph.storage.indexes import (
    DueSegment,
    IndexSpec,
    build_segments,
    due_segments,
)
from omnigraph.storage.near.sending import beside
from omnigraph.storage.near.workbench import Workbench
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store

Rows: TypeAlias = pa.Table | pa.RecordBatchReader

_BATCH_BYTES, _BATCH_ROWS = 32 << 20, 8_192
# Lance reads ahead by batches and fragments, whatever their bytes: to fold 360 MB of vectors takes
# 590 MB of memory with its defaults and 340 with these, and the same CPU time.
_WIDE_ROW = _BATCH_BYTES // _BATCH_ROWS
_WIDE_BATCH_BYTES = 8 << 20
# Lance joins index hits in a pool of 100 MB and fails when that is full: with 350,000
# ids, or 20,000 rows of 10 KB. Without the index it reads the ids of the whole table. Of a table
# of 2,000,000 rows, 3,000 are deleted in 63 ms by index and in 73 ms without, 30,000 in 79 and
# 70 ms, 300,000 in 464 and 113 ms.
_MOST_INDEXED_ROWS = 20_000
_MOST_INDEXED_BYTES = 16 << 20
# Lance holds about 100 bytes for each id that it joins; of more ids, the rows are found here.
_MOST_JOINED_IDS = 500_000
# Lance copies a large value twice to write it into a file of version 2.1 or later; into one of 2.0
# it writes the value as it is.
BLOB_FILES: Final = "2.0"
# So many bytes are a change that is made on this machine before it is sent to a bucket.
_LARGE = 8 << 20
_HINDERING = (pa.uint32(), pa.uint64(), pa.date64())


class Origin(Protocol):
    """The tables of a store, as one of them sees them: what it opens, and where it is changed."""

    store: Store
    options: dict[str, str] | None
    graph: str

    def open(self, path: str, version: int) -> "Table": ...

    def private(self, table: "Table") -> LanceDataset: ...

    def workbench(self, table: "Table") -> Workbench | None: ...

    def received(self, path: str, bench: Workbench) -> "Table": ...

    def remember(self, path: str, dataset: LanceDataset) -> "Table": ...


class Table:
    """One version of one table; it never changes, and every change returns another Table.

    A cached one is shared by threads. One that a change returned belongs to its writer alone until
    it is settled.
    """

    def __init__(
        self,
        tables: Origin,
        path: str,
        outline: LanceDataset,
        *,
        is_cached: bool = False,
        bench: Workbench | None = None,
        opened: Callable[[], LanceDataset] | None = None,
    ) -> None:
        self._tables = tables
        self._is_cached = is_cached
        # Whether it is known that no fold is due.
        self._is_folded = False
        # Where this version was made, if it was not sent to its bucket yet.
        self.bench = bench
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

    @cached_property
    def schema(self) -> pa.Schema:
        found: pa.Schema = self.outline.schema  # made anew by every call
        return found

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

    def scan_few(self, columns: Sequence[str], where: pc.Expression, most: int) -> pa.Table | None:
        """Return the rows that meet a condition, or None when there are more than `most`."""
        if most < 0:
            return None
        with report_as(f"cannot read {self.path}"):
            found = self.dataset.to_table(columns=_listed(columns), filter=where, limit=most + 1)
        return found if found.num_rows <= most else None

    def scan(
        self, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return the rows that meet a condition."""
        with report_as(f"cannot read {self.path}"):
            if where is None or self.takes_conditions:
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
        """Return the table with more rows, which are streamed.

        When few rows make a fold due, they are written once, with those that they are joined to.
        """
        with report_as(f"cannot append to {self.path}"):
            due = self._due_with(rows)
            joined = self._joining(due, rows) if due and isinstance(rows, pa.Table) else None
            made = self._detached(joined or LanceOperation.Append(self.write(rows)))
            # Rows that are small as well as few are what the fold was looked for with.
            made._is_folded = due == [] and rows.nbytes < TABLE_LEVELS[0].size // 2
            return made

    def upserted(self, rows: Rows) -> "Table":
        """Return the table with rows replaced by id and new ids added."""
        rows = _packed(rows)
        with report_as(f"cannot write to {self.path}"):
            merge = self._merging(rows).when_matched_update_all().when_not_matched_insert_all()
            return self._detached(merge.execute_uncommitted(rows)[0])

    def deleted(self, ids: pa.Array) -> "Table":
        """Return the table without the rows of these ids."""
        with report_as(f"cannot delete from {self.path}"):
            if len(ids) > _MOST_JOINED_IDS:
                far = self._far
                return self._detached(deletion_of(remove_at(far, find_addresses(far, ids))))
            source = pa.table({"id": pc.unique(ids)})
            merge = self._merging(source).when_matched_delete()
            return self._detached(merge.execute_uncommitted(source)[0])

    def overwritten(self, rows: Rows) -> "Table":
        """Return the table with these rows only; its indexes stay declared."""
        with report_as(f"cannot overwrite {self.path}"):
            old = [each.fragment_id for each in self.dataset.get_fragments()]
            new = self.write(rows)
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
        if last.bench is not None:
            return last._sent(last.bench)
        return last if last._is_cached else self._tables.remember(self.path, last.dataset)

    def files(self) -> set[str]:
        """Return the files and folders, relative to the store's root, that this version uses."""
        return {f"{self.path}/{each}" for each in version_files(self.dataset)}

    def look_up_indexes(self) -> None:
        """Read what the next reader needs of the indexes, while the change is published."""
        self.dataset.describe_indices()

    def _folded(self) -> "Table":
        if self._is_folded:
            return self
        with report_as(f"cannot fold {self.path}"):
            operation = fold_operation(self, TABLE_LEVELS)
            return self if operation is None else self._detached(operation)

    def _due_with(self, rows: Rows) -> list[LanceFragment] | None:
        """Return the fragments whose fold few new rows make due; None where that is not known."""
        is_few = isinstance(rows, pa.Table) and rows.num_rows < TABLE_LEVELS[0].rows
        if not is_few or self.bench is not None or not rows.schema.equals(self.schema):
            return None
        return fragments_to_fold(self.outline, TABLE_LEVELS, rows.num_rows)

    def _joining(
        self, chosen: Sequence[LanceFragment], rows: pa.Table
    ) -> "LanceOperation.Update | None":
        """Return the fold of fragments with new rows in it; None when it is done by itself."""
        if has_blobs(self.schema) or sum(map(fragment_bytes, chosen)) > _LARGE:
            return None
        known = self.dataset.scanner(fragments=chosen).to_table()
        new = self.write(pa.concat_tables([known, rows]))
        reached("rows joined")
        old = [each.fragment_id for each in chosen]
        return LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)

    def _indexed(self, declared: Iterable[IndexSpec], check: Callable[[], None]) -> "Table":
        added, replaced = self.new_segments(declared, check)
        return self._detached(LanceOperation.CreateIndex(added, replaced)) if added else self

    def new_segments(
        self, declared: Iterable[IndexSpec], check: Callable[[], None] = lambda: None
    ) -> tuple[list[Index], list[Index]]:
        """Build segments for new rows; returns them and those that they replace."""
        own = self._tables.private(self) if self._is_cached else self.outline
        due, replaced = due_segments(own, declared)
        if due and self.bench is not None and not self._brings(_indexed_by(own, due)):
            own = self._tables.private(self._sent(self.bench))
        return build_segments(own, due, check), replaced

    def _brings(self, fragments: Iterable[LanceFragment]) -> bool:
        """Bring the files of fragments to where the table is changed; False when they are large."""
        wanted = list(fragments)
        files = (file for each in wanted for file in each.metadata.files)
        if self.bench is None or sum(each.file_size_bytes or _LARGE for each in files) > _LARGE:
            return False
        self.bench.fetch(fragment_files(wanted))
        return True

    @property
    def _far(self) -> LanceDataset:
        """This version where all its files are; what was made on this machine is sent there."""
        return self.dataset if self.bench is None else self._sent(self.bench).dataset

    def _sent(self, bench: Workbench) -> "Table":
        """Send what was made of a table on this machine, and return it as the bucket has it."""
        if bench.base == self.version:
            return self._tables.open(self.path, self.version)
        bench.send_version()
        reached("version staged")
        received = self._tables.received(self.path, bench)
        beside(received.look_up_indexes)  # what fails there fails again for the next reader
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

    def write(self, rows: Rows) -> list[FragmentMetadata]:
        """Write rows as fragments, which no version has yet."""
        rows = _packed(rows)
        if self.bench is not None and isinstance(rows, pa.Table) and rows.nbytes <= _LARGE:
            written = self.bench.write(rows)
        else:
            written = write_fragments(
                rows, self._far, schema=self.schema, storage_options=self._tables.options
            )
        reached("fragments written")
        return list(written)

    def _detached(self, change: "Transaction | LanceOperation.BaseOperation") -> "Table":
        if self.bench is not None:
            made = self.bench.commit(change, detached=True)
            return Table(self._tables, self.path, made, bench=self.bench)
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
        new = table.write(table.dataset.scanner(fragments=chosen).to_table())
    else:
        far = table._far
        chosen = [each for each in far.get_fragments() if each.fragment_id in old]
        scanner = far.scanner(fragments=chosen, **fold_limits(table, chosen))
        new = table.write(scanner.to_reader())
    return LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)


class BatchLimits(TypedDict, total=False):
    """The options of a scan that bound its batches."""

    batch_size: int
    batch_size_bytes: int
    batch_readahead: int
    fragment_readahead: int


def fold_limits(table: Table, fragments: Sequence[LanceFragment]) -> BatchLimits:
    """Return the options of a scan that folds fragments; of wide rows, few are read ahead."""
    rows = sum(each.physical_rows for each in fragments)
    if sum(map(fragment_bytes, fragments)) <= _WIDE_ROW * rows:
        return batch_limits(table, fragments, _BATCH_BYTES)
    limits = batch_limits(table, fragments, _WIDE_BATCH_BYTES)
    return {**limits, "batch_readahead": 1, "fragment_readahead": 1}


def batch_limits(
    table: Table, fragments: Sequence[LanceFragment], size: int, rows: int = _BATCH_ROWS
) -> BatchLimits:
    """Return the options of a scan whose batches have at most so many rows and about `size` bytes.

    Lance does not count the bytes of files of version 2.0, so there the rows are fewer.
    """
    if table.dataset.data_storage_version != BLOB_FILES:
        return {"batch_size": rows, "batch_size_bytes": size}
    sizes = (fragment_bytes(each) // max(each.physical_rows, 1) for each in fragments)
    return {"batch_size": max(1, min(rows, size // max([1, *sizes])))}


def _packed(rows: Rows) -> Rows:
    """Return rows with their blobs as tables store them."""
    if isinstance(rows, pa.Table) or not has_blobs(rows.schema):
        return pack_rows(rows) if isinstance(rows, pa.Table) else rows
    return pa.RecordBatchReader.from_batches(rows.schema, map(pack_rows, rows))


def _indexed_by(dataset: LanceDataset, due: Iterable[DueSegment]) -> list[LanceFragment]:
    """Return the fragments over which segments are to be built."""
    wanted = {number for each in due for number in each.fragments}
    return [each for each in dataset.get_fragments() if each.fragment_id in wanted]


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)
