"""Export: the rows of a snapshot as one sorted stream of JSON lines, or as files in a folder."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from omnigraph.errors import Json, StorageError, TableNotFoundError
from omnigraph.export.keywords import ExportKeywords
from omnigraph.export.lines import render_lines
from omnigraph.export.shards import ExportFormat, Shard, WriteShard
from omnigraph.export.sorting import sort_by_id
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType, find_type
from omnigraph.spark.choice import Engine, default_settings
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Runner
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.failures import report_as
from omnigraph.storage.folder import Folder
from omnigraph.storage.fragments import fragment_bytes
from omnigraph.storage.staging import shares
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.syntax.problems import parse_choice, suggest
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.load import LoadTarget

_ROWS_PER_FILE = 500_000


@dataclass(frozen=True, slots=True)
class Selection:
    """The types and the table keys to export; if both are empty, everything."""

    types: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def pick(self, catalog: Catalog) -> list[StoredType]:
        """Return the selected types: nodes, then edges, each by name.

        Raises InputError or TableNotFoundError, with the nearest name, for one that does not exist.
        """
        nodes: list[StoredType] = [catalog.nodes[name] for name in sorted(catalog.nodes)]
        every = [*nodes, *(catalog.edges[name] for name in sorted(catalog.edges))]
        wanted = {find_type(name, catalog).name for name in self.types}
        wanted |= {_find_table(key, catalog).name for key in self.tables}
        return [each for each in every if each.name in wanted] if wanted else every


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How rows are exported to a folder."""

    format: ExportFormat
    selection: Selection
    engine: Engine
    spark: SparkSettings
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """The files that an export will write, and about how many bytes it reads for them."""

    target: LoadTarget
    folder: Folder
    format: ExportFormat
    shards: tuple[Shard, ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What an export wrote: its files, and how many rows of each type."""

    branch: str
    commit: str
    format: ExportFormat
    engine: str
    folder: str
    files: tuple[str, ...]
    nodes: dict[str, int]
    edges: dict[str, int]

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the document that the command line and the server print."""
        return {
            "uri": uri,
            "branch": self.branch,
            "commit": self.commit,
            "format": str(self.format),
            "engine": self.engine,
            "output": self.folder,
            "files": [*self.files],
            "rows": sum(self.nodes.values()) + sum(self.edges.values()),
        }


def export_lines(
    snapshot: Snapshot,
    selection: Selection,
    progress: Progress = NO_PROGRESS,
    deadline: Deadline | None = None,
) -> Iterator[bytes]:
    """Yield all rows as JSON lines, many at a time: nodes, then edges, by type and by id.

    The time of the deadline begins with each type, whose rows are sorted before the first is
    yielded. Raises CancelledError or BudgetError when it is over.
    """
    types = selection.pick(snapshot.catalog)
    return _render_types(snapshot, types, progress, deadline or Deadline())


def parse_options(how: ExportKeywords) -> ExportOptions:
    """Return the options that keywords mean; raises InputError for an unknown format or engine."""
    return ExportOptions(
        format=parse_choice(ExportFormat, how.get("format", ExportFormat.JSONL)),
        selection=Selection(tuple(how.get("types", ())), tuple(how.get("tables", ()))),
        engine=parse_choice(Engine, how.get("engine", Engine.AUTO)),
        spark=how.get("spark") or default_settings(),
        progress=how.get("progress", NO_PROGRESS),
    )


def plan_export(
    target: LoadTarget, folder: str | os.PathLike[str], selection: Selection, form: ExportFormat
) -> ExportPlan:
    """Plan the files of an export; raises InputError if the folder is not empty."""
    types = selection.pick(target.snapshot.catalog)
    place = Folder(store_at(folder))
    place.check_empty()
    tables = {each.name: target.snapshot.table(each.identity) for each in types}
    shards = [shard for each in types for shard in _plan_shards(each, tables[each.name], form)]
    size = sum(map(_stored_bytes, tables.values()))
    return ExportPlan(target=target, folder=place, format=form, shards=tuple(shards), size=size)


def export_folder(
    plan: ExportPlan, runner: Runner, progress: Progress = NO_PROGRESS
) -> ExportResult:
    """Write the files of a plan; if one of them fails, all are removed.

    Other files stay: they are of another export, which may have found the folder empty as well.
    """
    snapshot = plan.target.snapshot
    identities = {shard.stored.identity for shard in plan.shards}
    progress.begin("exporting", sum(snapshot.state(each).row_count for each in identities))
    try:
        task = WriteShard(plan.folder, plan.format, runner.deadline)
        counts = runner.map(task, plan.shards, progress)
    except BaseException:
        with suppress(StorageError):
            _remove(plan.folder, plan.shards)
            _remove_unfinished(plan.folder, plan.shards)
        raise
    written = [each for each in zip(plan.shards, counts, strict=True) if each[1]]
    empty = [shard for shard, count in zip(plan.shards, counts, strict=True) if not count]
    _remove(plan.folder, empty)
    _remove_unfinished(plan.folder, plan.shards)
    rows: dict[str, int] = {}
    for shard, count in written:
        rows[shard.stored.name] = rows.get(shard.stored.name, 0) + count
    edges = snapshot.catalog.edges
    return ExportResult(
        branch=plan.target.branch,
        commit=snapshot.commit.id,
        format=plan.format,
        engine=runner.engine,
        folder=plan.folder.store.root,
        files=tuple(plan.folder.store.uri(shard.path) for shard, _ in written),
        nodes={name: count for name, count in rows.items() if name not in edges},
        edges={name: count for name, count in rows.items() if name in edges},
    )


def _remove(folder: Folder, shards: Sequence[Shard]) -> None:
    folder.store.objects.delete_many([shard.path for shard in shards])


def _remove_unfinished(folder: Folder, shards: Sequence[Shard]) -> None:
    """Remove what interrupted tasks left of some shards on a disk; the store does not list it."""
    if not folder.store.is_local:
        return
    root = Path(folder.store.root)
    files = {root / shard.path for shard in shards}
    with report_as(f"cannot clear {root}"):
        for place in {file.parent for file in files}:
            for left in place.glob("*#*"):
                if place / left.name.rpartition("#")[0] in files:
                    left.unlink(missing_ok=True)
            for each in (place, place.parent):
                with suppress(OSError):  # it holds files, or was never made
                    each.rmdir()


def _render_types(
    snapshot: Snapshot, types: Sequence[StoredType], progress: Progress, deadline: Deadline
) -> Iterator[bytes]:
    total = sum(snapshot.state(stored.identity).row_count for stored in types)
    progress.begin("exporting", total)
    done = 0
    for stored in types:
        for batch in sort_by_id(_read_batches(snapshot.table(stored.identity), stored, deadline)):
            deadline.check_cancelled()
            yield from render_lines(stored, batch)
            done += len(batch)
            progress.advance(done, total)


def _read_batches(table: Table, stored: StoredType, deadline: Deadline) -> Iterator[pa.RecordBatch]:
    deadline = deadline.from_now()
    for share in shares(table, _ROWS_PER_FILE):
        for batch in share.batches(arrow_schema(stored).names):
            deadline.check()
            yield batch


def _plan_shards(stored: StoredType, table: Table, form: ExportFormat) -> Iterator[Shard]:
    folder = "edges" if isinstance(stored, EdgeType) else "nodes"
    for number, share in enumerate(shares(table, _ROWS_PER_FILE)):
        yield Shard(stored, share, f"{folder}/{stored.name}/part-{number:05}.{form}")


def _stored_bytes(table: Table) -> int:
    return sum(map(fragment_bytes, table.dataset.get_fragments()))


def _find_table(key: str, catalog: Catalog) -> StoredType:
    found = catalog.by_table_key.get(key)
    if found is None:
        hint = suggest(key, [each.table_key for each in catalog.by_identity.values()])
        raise TableNotFoundError(f"no table '{key}'", hint=hint)
    return found
