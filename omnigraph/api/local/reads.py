"""Reads: queries, rows, schemas and single values of a graph at hand."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operations.read import (
    ExportFiles,
    ExportRows,
    GetBlob,
    GetEntity,
    GetSchema,
    GetSnapshot,
    GraphSchema,
    ReadRecords,
    ReadRows,
)
from omnigraph.api.profile import Explanation, Profile
from omnigraph.errors import BudgetError, InputError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.query.compile import AcceptedSchema, compile_cached
from omnigraph.query.params import bind_params
from omnigraph.query.plan import ReadPlan
from omnigraph.schema.catalog import StoredType
from omnigraph.span import Source
from omnigraph.syntax.source import make_source
from omnigraph.telemetry.spans import BRANCH, COMMIT_ID, note
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.data.result import ResultStream
    from omnigraph.export.export import ExportResult
    from omnigraph.export.keywords import ExportKeywords
    from omnigraph.read.answer import PlanAnswer
    from omnigraph.read.blob import Blob
    from omnigraph.read.execution import PlanRequest

_Found = TypeVar("_Found")


def get_snapshot(access: Access, operation: GetSnapshot, options: CallOptions) -> Snapshot:
    """Return a branch where it stands, a commit, or the commit that gave a branch a version."""
    from omnigraph.versioning.history.history import snapshot_at_version

    if operation.version is None:
        return snapshot_of(access, operation.place, options)
    if operation.snapshot is not None:
        raise InputError("a version is one of a branch", hint="leave the snapshot out")
    access.check(operation.place, Action.READ)
    return snapshot_at_version(access.repository, operation.version, operation.place)


def get_entity(
    access: Access, operation: GetEntity, options: CallOptions
) -> Mapping[str, object] | None:
    """Return one row as it was at a version, or None when it was not there."""
    import pyarrow.compute as pc

    from omnigraph.data.values.columns import with_timestamps

    asked = GetSnapshot(branch=operation.branch, version=operation.version)
    snapshot = get_snapshot(access, asked, options)
    stored = snapshot.catalog.by_table_key.get(operation.table)
    table = snapshot.table(operation.table if stored is None else stored.identity)
    rows = table.scan(where=pc.field("id") == operation.id)
    return with_timestamps(rows).to_pylist()[0] if rows.num_rows else None


def get_schema(access: Access, operation: GetSchema, options: CallOptions) -> GraphSchema:
    """Return the types, and the text that they were written in."""
    snapshot = snapshot_of(access, operation.place, options)
    return GraphSchema(
        snapshot.catalog, partial(access.repository.schema_source, snapshot.commit.schema)
    )


def get_blob(access: Access, operation: GetBlob, options: CallOptions) -> "Blob | None":
    """Return a Blob property to read from; None when it is null."""
    from omnigraph.read.blob import read_blob

    snapshot = snapshot_of(access, operation.place, options)
    return read_blob(snapshot, operation.type, operation.id, operation.property)


def export_rows(access: Access, operation: ExportRows, options: CallOptions) -> Iterator[bytes]:
    """Return all rows as JSON lines, many at a time."""
    from omnigraph.export.export import Selection, export_lines
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.spark.progress import NO_PROGRESS

    snapshot = snapshot_of(access, operation.place, options, Action.EXPORT)
    selection = Selection(tuple(operation.type_names or ()), tuple(operation.table_keys or ()))
    deadline = deadline_of("export", options.seconds, options.cancelled)
    return export_lines(snapshot, selection, options.progress or NO_PROGRESS, deadline)


def export_files(access: Access, operation: ExportFiles, options: CallOptions) -> "ExportResult":
    """Write all rows as files of a folder."""
    from omnigraph.export.export import export_folder, parse_options, plan_export
    from omnigraph.spark.choice import FileWork, runner_for_files
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.spark.progress import NO_PROGRESS
    from omnigraph.write.load.load import LoadTarget

    how: ExportKeywords = {
        "types": operation.types,
        "tables": operation.tables,
        "spark": options.spark,
        "progress": options.progress or NO_PROGRESS,
    }
    if operation.format is not None:
        how["format"] = operation.format
    if options.engine is not None:
        how["engine"] = options.engine
    chosen = parse_options(how)
    snapshot = snapshot_of(access, operation.place, options, Action.EXPORT)
    target = LoadTarget(operation.place, snapshot)
    plan = plan_export(target, operation.folder, chosen.selection, chosen.format)
    deadline = deadline_of("export", options.seconds, options.cancelled)
    work = FileWork.of_lines(plan.size)
    runner = runner_for_files(chosen.engine, chosen.spark, work, deadline=deadline)
    return export_folder(plan, runner, chosen.progress)


def read_records(
    access: Access, operation: ReadRecords, options: CallOptions
) -> Iterator[tuple[StoredType, Mapping[str, Any]]]:
    """Return the rows of the chosen types, each with its type."""
    from omnigraph.export.network import pick_types, read_records
    from omnigraph.spark.deadline import deadline_of

    snapshot = snapshot_of(access, operation.place, options, Action.EXPORT)
    types = pick_types(snapshot.catalog, operation.types, operation.edges)
    return read_records(snapshot, types, deadline_of("read", options.seconds, options.cancelled))


def read_rows(
    access: Access, operation: ReadRows, options: CallOptions
) -> "ResultStream | Explanation | Profile":
    """Run a read, or say how it would be run."""
    started = time.monotonic()
    place = operation.place
    snapshot = in_time(access, options, started, lambda: snapshot_of(access, place, options))
    note({COMMIT_ID: snapshot.commit.id, BRANCH: place})
    source = options.source or make_source(operation.query_source, "<query>")
    schema = AcceptedSchema(snapshot.commit.schema, snapshot.catalog)
    plan = compile_cached(source, schema, operation.query_name)
    if not isinstance(plan, ReadPlan):
        hint = "run it with Branch.mutate, or with omnigraph change"
        raise InputError(f"'{plan.name}' is a mutation", hint=hint)
    reading = _QueryRun(access, snapshot, plan, source, operation.params or {}, options, started)
    match operation.mode:
        case "explain":
            return reading.explanation()
        case "profile":
            return reading.profile()
        case "rows":
            return reading.rows()


@dataclass(frozen=True, slots=True)
class _QueryRun:
    """A plan with its parameters, on one snapshot."""

    access: Access
    snapshot: Snapshot
    plan: ReadPlan
    source: Source
    params: Mapping[str, object]
    options: CallOptions
    started: float

    def explanation(self) -> Explanation:
        from omnigraph.read.planner.planner import arrange_plan, expect_rows
        from omnigraph.read.road import compare_roads

        snapshot, topology = self.snapshot, self.access.topology
        found = arrange_plan(self.plan, snapshot, topology)
        choice = compare_roads(found.plan, snapshot, topology)
        rows = expect_rows(found.plan, snapshot, topology)
        return Explanation(found.plan, choice, rows, found.orders)

    def profile(self) -> Profile:
        return Profile.of(self._answer(measures=True))

    def rows(self) -> "ResultStream":
        """Return the rows, from Spark when they are too many for this process."""
        is_auto, is_bounded = self.options.engine == "auto", self.options.budget is not None
        if not self._goes_to_spark():
            try:
                return self._answer(streams=True).rows
            except BudgetError as exceeded:
                if not is_auto or is_bounded or exceeded.limit == "seconds":
                    raise
        from omnigraph.read.spark.query import read_on_spark

        request = self._request()
        if not is_bounded:
            request = replace(request, budget=replace(request.budget, seconds=math.inf))
        where = self.options.spark
        found = read_on_spark(self.plan, self.snapshot, request, where, self.access.topology)
        return replace(found, commit=self.snapshot.commit.id)

    def _goes_to_spark(self) -> bool:
        if self.options.engine in (None, "inline"):
            return False
        from omnigraph.read.road import Road, choose_road, count_rows_read
        from omnigraph.spark.choice import Engine, reads_on_spark

        plan, snapshot, topology = self.plan, self.snapshot, self.access.topology
        return reads_on_spark(
            Engine(self.options.engine),
            sum(state.row_count for state in snapshot.commit.tables.values()),
            lambda: count_rows_read(plan, snapshot),
            lambda: choose_road(plan, snapshot, topology).road is Road.INDEX,
        )

    def _answer(self, *, measures: bool = False, streams: bool = False) -> "PlanAnswer":
        from omnigraph.read.answer import answer

        request = self._request(measures=measures, streams=streams)
        topology = self.access.topology
        run = partial(answer, self.plan, self.snapshot, topology, request)
        return in_time(self.access, self.options, self.started, run)

    def _request(self, *, measures: bool = False, streams: bool = False) -> "PlanRequest":
        from omnigraph.read.execution import USUAL_BUDGET, PlanRequest

        return PlanRequest(
            params=bind_params(self.plan, self.params),
            now=datetime.now(UTC),
            budget=self.options.budget or USUAL_BUDGET,
            environment=self.access.repository.store.variables,
            cancelled=self.options.cancelled,
            measures=measures,
            streams=streams,
            source=self.source,
        )


def in_time(
    access: Access, options: CallOptions, started: float, work: Callable[[], _Found]
) -> _Found:
    """Return what a read returns, or raise BudgetError near the end of its time.

    The engine looks at the time between its steps, and a store may not answer at all.
    """
    if access.repository.store.is_local:
        return work()
    from omnigraph.read.execution import USUAL_BUDGET
    from omnigraph.storage.waiting import LateError, within

    seconds = (options.budget or USUAL_BUDGET).seconds
    try:
        return within(seconds - (time.monotonic() - started), work)
    except LateError:
        message = f"the query ran longer than {seconds:g} s"
        raise BudgetError(message, limit="seconds") from None


FUNCTIONS: Functions = {
    GetSnapshot: get_snapshot,
    GetEntity: get_entity,
    GetSchema: get_schema,
    GetBlob: get_blob,
    ReadRows: read_rows,
    ReadRecords: read_records,
    ExportRows: export_rows,
    ExportFiles: export_files,
}
