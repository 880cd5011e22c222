"""Export: the rows of a snapshot as one ordered stream of JSON lines, or as files of a folder."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypedDict

import pyarrow as pa

from omnigraph.errors import Json, StorageError, TableNotFoundError
from omnigraph.export.lines import lines
from omnigraph.export.shards import ExportFormat, Shard, WriteShard
from omnigraph.export.sorting import sorted_by_id
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType, find_type
from omnigraph.spark.choice import Engine, default_settings
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Runner
from omnigraph.spark.session import SparkSettings
from omnigraph.storage.folder import Folder
from omnigraph.storage.staging import shares
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.syntax.problems import nearest_name
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.load import Target
from omnigraph.write.load.options import chosen

_ROWS_PER_FILE = 500_000


@dataclass(frozen=True, slots=True)
class Selection:
    """The types and the keys of tables that are exported; without any of either, all."""

    types: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def of(self, catalog: Catalog) -> list[StoredType]:
        """Give the types that are meant: nodes, then edges, each by name.

        Raises InputError or TableNotFoundError, with the nearest name, for one that is not there.
        """
        nodes: list[StoredType] = [catalog.nodes[name] for name in sorted(catalog.nodes)]
        every = [*nodes, *(catalog.edges[name] for name in sorted(catalog.edges))]
        wanted = {find_type(name, catalog).name for name in self.types}
        wanted |= {_with_key(key, every).name for key in self.tables}
        return [each for each in every if each.name in wanted] if wanted else every


class ExportHow(TypedDict, total=False):
    """The keywords that `Graph.export_to` takes."""

    format: ExportFormat | str
    types: Sequence[str]
    tables: Sequence[str]
    engine: Engine | str
    spark: SparkSettings | None
    progress: Progress


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
    """The files that an export will write, and about how many bytes are read for them."""

    target: Target
    folder: Folder
    format: ExportFormat
    shards: tuple[Shard, ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
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
        """Give the result in the stable machine form."""
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
    snapshot: Snapshot, selection: Selection, progress: Progress = NO_PROGRESS
) -> Iterator[bytes]:
    """Give all rows as JSON lines, many at a time: nodes, then edges, by type and by id."""
    return _lines(snapshot, selection.of(snapshot.catalog), progress)


def export_options(how: ExportHow) -> ExportOptions:
    """Give the options that keywords mean; a format or engine that does not exist is refused."""
    return ExportOptions(
        format=chosen(ExportFormat, how.get("format", ExportFormat.JSONL)),
        selection=Selection(tuple(how.get("types", ())), tuple(how.get("tables", ()))),
        engine=chosen(Engine, how.get("engine", Engine.AUTO)),
        spark=how.get("spark") or default_settings(),
        progress=how.get("progress", NO_PROGRESS),
    )


def plan_export(
    target: Target, folder: str | os.PathLike[str], selection: Selection, form: ExportFormat
) -> ExportPlan:
    """Plan the files of an export; a folder that holds something is refused."""
    chosen = selection.of(target.snapshot.catalog)
    place = Folder(store_at(folder))
    place.check_empty()
    tables = {each.name: target.snapshot.table(each.identity) for each in chosen}
    shards = [shard for each in chosen for shard in _shards(each, tables[each.name], form)]
    size = sum(map(_stored_bytes, tables.values()))
    return ExportPlan(target=target, folder=place, format=form, shards=tuple(shards), size=size)


def export_folder(plan: ExportPlan, runner: Runner, progress: Progress = NO_PROGRESS) -> Exported:
    """Write the files; when one cannot be written, none is left."""
    snapshot = plan.target.snapshot
    identities = {shard.stored.identity for shard in plan.shards}
    progress.begin("exporting", sum(snapshot.state(each).row_count for each in identities))
    try:
        counts = runner.map(WriteShard(plan.folder, plan.format), plan.shards, progress)
    except BaseException:
        with suppress(StorageError):
            plan.folder.keep(())
        raise
    written = [each for each in zip(plan.shards, counts, strict=True) if each[1]]
    plan.folder.keep([shard.path for shard, _ in written])
    rows: dict[str, int] = {}
    for shard, count in written:
        rows[shard.stored.name] = rows.get(shard.stored.name, 0) + count
    edges = snapshot.catalog.edges
    return Exported(
        branch=plan.target.branch,
        commit=snapshot.commit.id,
        format=plan.format,
        engine=runner.engine,
        folder=plan.folder.store.root,
        files=tuple(plan.folder.store.uri(shard.path) for shard, _ in written),
        nodes={name: count for name, count in rows.items() if name not in edges},
        edges={name: count for name, count in rows.items() if name in edges},
    )


def _lines(snapshot: Snapshot, chosen: Sequence[StoredType], progress: Progress) -> Iterator[bytes]:
    total = sum(snapshot.state(stored.identity).row_count for stored in chosen)
    progress.begin("exporting", total)
    done = 0
    for stored in chosen:
        for batch in sorted_by_id(_scan(snapshot.table(stored.identity), stored)):
            yield from lines(stored, batch)
            done += len(batch)
            progress.advance(done, total)


def _scan(table: Table, stored: StoredType) -> Iterator[pa.RecordBatch]:
    for share in shares(table, _ROWS_PER_FILE):
        yield from share.batches(arrow_schema(stored).names)


def _shards(stored: StoredType, table: Table, form: ExportFormat) -> Iterator[Shard]:
    folder = "edges" if isinstance(stored, EdgeType) else "nodes"
    for number, share in enumerate(shares(table, _ROWS_PER_FILE)):
        yield Shard(stored, share, f"{folder}/{stored.name}/part-{number:05}.{form}")


def _stored_bytes(table: Table) -> int:
    files = (file for each in table.dataset.get_fragments() for file in each.metadata.files)
    return sum(file.file_size_bytes or 0 for file in files)


def _with_key(key: str, every: Sequence[StoredType]) -> StoredType:
    found = next((each for each in every if each.identity == key), None)
    if found is None:
        near = nearest_name(key, [each.identity for each in every])
        hint = f"did you mean '{near}'?" if near else None
        raise TableNotFoundError(f"no table '{key}'", hint=hint)
    return found
