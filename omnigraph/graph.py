"""Graph: the handle on a graph that a user holds; it only delegates."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeVar

import pyarrow.compute as pc

from omnigraph.engine import runs
from omnigraph.engine.answer import Answer, Terms, answer
from omnigraph.engine.blame import Blamed, blame
from omnigraph.engine.blob import Blob, blob_of
from omnigraph.engine.change import Intent, Receipt
from omnigraph.engine.change import change as run_change
from omnigraph.engine.changes import ChangeFilter, ChangeSet, CommitChanges
from omnigraph.engine.columns import with_moments
from omnigraph.engine.dense import Dense
from omnigraph.engine.diff import Op
from omnigraph.engine.merge import Merge, MergeHow, preview
from omnigraph.engine.merge import merge as run_merge
from omnigraph.engine.merge import revert as run_revert
from omnigraph.engine.road import choose
from omnigraph.engine.run import Budget
from omnigraph.engine.runs import RunRecord, RunStatus
from omnigraph.engine.shelf import Shelf
from omnigraph.engine.threeway import Resolutions, Side
from omnigraph.engine.topology import Topology
from omnigraph.errors import Code, InputError, QueryError, SchemaError, UnreadableError
from omnigraph.profile import Explanation, Profile, profile_of
from omnigraph.query.compile import Schema, compiled
from omnigraph.query.expr import EntityKind
from omnigraph.query.params import bind_params
from omnigraph.query.plan import MutationPlan, ReadPlan
from omnigraph.result import Result
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import content_hash
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source
from omnigraph.storage import layout
from omnigraph.syntax.source import decode
from omnigraph.versioning import branches, history, tags
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.repository import Repository, create, open_repository
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from typing import Unpack

    from omnigraph.pipeline.export import Exported, ExportHow
    from omnigraph.pipeline.ingest import Ingested
    from omnigraph.pipeline.inputs import Data
    from omnigraph.pipeline.load import Loaded, Target
    from omnigraph.pipeline.options import LoadHow, LoadOptions
    from omnigraph.pipeline.runner import Runner
    from omnigraph.pipeline.sources import Source as SourceFile

_DERIVED_BYTES = 1 << 30
_Choice = TypeVar("_Choice", bound=StrEnum)


class View:
    """A graph at one commit; it can be read, and never changes."""

    def __init__(
        self,
        snapshot: Snapshot,
        topology: Topology,
        budget: Budget,
        cancelled: Event | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._topology = topology
        self._budget = budget
        self._cancelled = cancelled or Event()

    def __repr__(self) -> str:
        return f"View({self.snapshot.commit.id!r})"

    def query(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Result:
        """Run a read; keywords are the parameters of the query.

        A `Path` is a file of queries and a `str` is their text; a name is needed when there are
        several.
        """
        plan = self._plan(source, name)
        return Result(plan.name, self._answer(plan, params).table)

    def profile(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Profile:
        """Run a read and give its result with what each operator took, read and gave."""
        plan = self._plan(source, name)
        return profile_of(plan, self._answer(plan, params, measures=True))

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Give the plan of a read, and the road it would take; nothing is run."""
        plan = self._plan(source, name)
        return Explanation(plan, choose(plan, self.snapshot, self._topology))

    def blob(self, type_name: str, row_id: str, name: str, /) -> Blob | None:
        """Give a Blob property of one node or edge to read from; None when it is null."""
        return blob_of(self.snapshot, type_name, row_id, name)

    def _plan(self, source: str | Path | Source, name: str | None) -> ReadPlan:
        schema = Schema(self.snapshot.commit.schema, self.snapshot.catalog)
        plan = compiled(_query_source(source), schema, name)
        if not isinstance(plan, ReadPlan):
            hint = "run it with Graph.change, or with omnigraph change"
            raise InputError(f"'{plan.name}' is a mutation", hint=hint)
        return plan

    def _answer(
        self, plan: ReadPlan, params: Mapping[str, object], *, measures: bool = False
    ) -> Answer:
        terms = Terms(
            params=bind_params(plan, params),
            now=datetime.now(UTC),
            budget=self._budget,
            environment=os.environ,
            cancelled=self._cancelled,
            measures=measures,
        )
        return answer(plan, self.snapshot, self._topology, terms)


class Writer:
    """A branch of a graph to change, and on what terms."""

    def __init__(self, graph: "Graph", intent: Intent, budget: Budget) -> None:
        self._graph = graph
        self._intent = intent
        self._budget = budget

    def __repr__(self) -> str:
        return f"Writer({self._intent.branch!r})"

    def change(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Receipt:
        """Run a mutation as one commit; keywords are the parameters of the query.

        Raises ViolationsError with everything that is wrong, and then nothing is visible.
        """
        snapshot = self._graph.snapshot(self._intent.branch)
        schema = Schema(snapshot.commit.schema, snapshot.catalog)
        plan = compiled(_query_source(source), schema, name)
        if not isinstance(plan, MutationPlan):
            hint = "run it with Graph.query, or with omnigraph read"
            raise InputError(f"'{plan.name}' is a read", hint=hint)
        terms = Terms(
            params=bind_params(plan, params),
            now=datetime.now(UTC),
            budget=self._budget,
            environment=os.environ,
        )
        return run_change(self._graph.repository, self._graph._topology, plan, terms, self._intent)


class Graph:
    """A graph on a store: its branches, its history and its snapshots."""

    def __init__(self, repository: Repository, *, keeps: bool = True) -> None:
        self.repository = repository
        self._topology = Topology(_DERIVED_BYTES, _shelf(repository, keeps))

    def __repr__(self) -> str:
        return f"Graph({self.uri!r})"

    @property
    def uri(self) -> str:
        """Where the graph lies."""
        return self.repository.store.root

    @property
    def catalog(self) -> Catalog:
        """The types of `main`."""
        return self.snapshot().catalog

    @property
    def schema_hash(self) -> str:
        """The hash of what the schema of `main` says."""
        return content_hash(self.catalog)

    @property
    def schema(self) -> str:
        """The text of the schema of `main`."""
        return self.repository.schema_source(self.snapshot().commit.schema)

    def snapshot(self, target: str = MAIN) -> Snapshot:
        """Pin a branch where it stands now, or a commit by its id."""
        return self.repository.snapshot_of(target)

    def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Pin the commit that gave a branch a version."""
        return history.snapshot_at_version(self.repository, version, branch)

    def entity_at(
        self, table_key: str, entity_id: str, version: int, branch: str = MAIN
    ) -> Mapping[str, object] | None:
        """Give one node or edge as it was at a version, or None when it was not there."""
        table = self.snapshot_at_version(version, branch).table(table_key)
        rows = table.scan(where=pc.field("id") == entity_id)
        return with_moments(rows).to_pylist()[0] if rows.num_rows else None

    def branches(self) -> list[str]:
        """Give the names of all branches, `main` first."""
        return branches.list_branches(self.repository)

    def create_branch(self, name: str, source: str = MAIN) -> None:
        """Make a branch where another one, or a commit, stands."""
        branches.create_branch(self.repository, name, source)

    def delete_branch(self, name: str) -> None:
        """Remove a branch; one to which a run is to be published is refused."""
        live = runs.live_runs(self.repository, name)
        if live:
            raise InputError(
                f"run '{live[0].run_id}' is to be published to '{name}'",
                hint="publish or abort it first",
            )
        branches.delete_branch(self.repository, name)

    def tags(self) -> dict[str, str]:
        """Give the commit of every tag, by name."""
        return tags.list_tags(self.repository)

    def create_tag(self, name: str, target: str = MAIN) -> str:
        """Give a name to a commit, or to where a branch stands now; gives the commit's id."""
        return tags.create_tag(self.repository, name, target)

    def delete_tag(self, name: str) -> None:
        """Take a name away; the commit stays."""
        tags.delete_tag(self.repository, name)

    def blame(self, type_name: str, row_id: str, target: str = MAIN) -> list[Blamed]:
        """Give for each property of a node or edge the commit that it has its value from."""
        return blame(self.repository, target, type_name, row_id)

    def runs(self) -> list[RunRecord]:
        """Give all runs, newest first."""
        return runs.list_runs(self.repository)

    def run(self, run_id: str) -> RunRecord:
        """Give a run by its id."""
        return runs.get_run(self.repository, run_id)

    def begin_run(
        self,
        target: str = MAIN,
        *,
        operation_hash: str | None = None,
        actor: str | None = None,
    ) -> RunRecord:
        """Begin a run: what is written to its `run_branch` is published to the target at once."""
        return runs.begin_run(self.repository, target, operation_hash=operation_hash, actor=actor)

    def publish_run(
        self,
        run_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> RunRecord:
        """Merge what a run wrote into its target; its branch is removed."""
        how = _merge_how(actor, message, resolutions, strict=False)
        return runs.publish_run(self.repository, self._topology, run_id, how)[0]

    def abort_run(self, run_id: str) -> RunRecord:
        """Give a run up; what it wrote is never published."""
        return runs.end_run(self.repository, run_id, RunStatus.ABORTED)

    def fail_run(self, run_id: str) -> RunRecord:
        """Note that a run failed; what it wrote is never published."""
        return runs.end_run(self.repository, run_id, RunStatus.FAILED)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name."""
        branches.rename_branch(self.repository, name, new_name)

    def log(
        self, branch: str = MAIN, *, limit: int | None = None, after: str | None = None
    ) -> Iterator[Commit]:
        """Give the commits of a branch, newest first; `after` goes on behind one of them."""
        return islice(history.log(self.repository, branch, after=after), limit)

    def commit(self, commit_id: str) -> Commit:
        """Give a commit by its id."""
        return self.repository.commit(commit_id)

    def load(
        self,
        data: "Data",
        *,
        branch: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: "Unpack[LoadHow]",
    ) -> "Loaded":
        """Load rows into a branch as one commit, or raise ViolationsError and change nothing.

        `data` is a path or several, JSON lines as text or a stream of them, a frame of one
        `type`, or frames by the names of their types. The mode is `append` (the default),
        `merge` or `overwrite`.
        """
        from omnigraph.pipeline.load import Target
        from omnigraph.pipeline.load import load as run_load
        from omnigraph.pipeline.options import LoadMode, options_of

        options = options_of(how, LoadMode.APPEND)
        target = Target(branch, self.repository.snapshot(branch))
        with self._job(data, type, target, options) as (sources, runner):
            loaded = run_load(self.repository, target, sources, runner, options)
        self._written(target.snapshot, loaded.commit)
        return loaded

    def ingest(
        self,
        data: "Data",
        *,
        branch: str,
        base: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: "Unpack[LoadHow]",
    ) -> "Ingested":
        """Load rows into a branch, which is made from `base` by the same commit if need be.

        The mode is `merge` unless given otherwise.
        """
        from omnigraph.pipeline.ingest import ingest as run_ingest
        from omnigraph.pipeline.ingest import target_of
        from omnigraph.pipeline.options import LoadMode, options_of

        options = options_of(how, LoadMode.MERGE)
        target = target_of(self.repository, branch, base)
        with self._job(data, type, target, options) as (sources, runner):
            ingested = run_ingest(self.repository, target, base, sources, runner, options)
        self._written(target.snapshot, ingested.loaded.commit)
        return ingested

    def export(
        self, target: str = MAIN, *, types: Sequence[str] = (), tables: Sequence[str] = ()
    ) -> Iterator[bytes]:
        """Give the rows of a branch or commit as JSON lines, many at a time.

        Nodes come first, then edges, by type and by id, so equal graphs give equal bytes.
        """
        from omnigraph.pipeline.export import Selection, export_lines

        selection = Selection(tuple(types), tuple(tables))
        return export_lines(self.snapshot(target), selection)

    def export_to(
        self, folder: str | os.PathLike[str], target: str = MAIN, **how: "Unpack[ExportHow]"
    ) -> "Exported":
        """Write the rows of a branch or commit as files of a new or empty folder.

        The format is `jsonl` (the default) or `parquet`.
        """
        from omnigraph.pipeline.choice import runner_for
        from omnigraph.pipeline.export import export_folder, export_options, plan_export
        from omnigraph.pipeline.load import Target

        options = export_options(how)
        pinned = Target(target, self.snapshot(target))
        plan = plan_export(pinned, folder, options.selection, options.format)
        runner = runner_for(options.engine, options.spark, plan.size)
        return export_folder(plan, runner, options.progress)

    @contextmanager
    def _job(
        self, data: "Data", type_name: str | None, target: "Target", options: "LoadOptions"
    ) -> "Iterator[tuple[list[SourceFile], Runner]]":
        """Give the sources of a load and who runs it; what was laid down for it is removed."""
        from omnigraph.pipeline.choice import runner_for
        from omnigraph.pipeline.inputs import sources_of
        from omnigraph.pipeline.spool import spool

        self.repository.check_writable()
        with spool(self.repository.store) as laid:
            sources = sources_of(data, type_name, target.snapshot.catalog, laid)
            size = sum(source.file.size for source in sources)
            yield sources, runner_for(options.engine, options.spark, size)

    def _written(self, before: Snapshot, commit: Commit | None) -> None:
        """Let the next read find what is in memory extended by a small commit."""
        if commit is not None:
            Dense(self.repository.pinned(commit), self._topology).extend(before)

    def at(
        self, target: str = MAIN, *, budget: Budget | None = None, cancelled: Event | None = None
    ) -> View:
        """Give a branch where it stands now, or a commit, to read from.

        Its queries stop with CancelledError soon after `cancelled` is set by another thread.
        """
        return View(self.snapshot(target), self._topology, budget or Budget(), cancelled)

    def query(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Result:
        """Run a read on `main` as it stands now; `at` gives other branches and commits."""
        return self.at().query(source, name, **params)

    def on(
        self,
        branch: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        expect: str | None = None,
        operation_id: str | None = None,
        budget: Budget | None = None,
    ) -> Writer:
        """Give a branch to change.

        With `expect` the branch must stand at this commit, else HeadMovedError. An `operation_id`
        that was given before leads to the receipt of then, and nothing is done again.
        """
        if operation_id == "":
            raise InputError("an operation id cannot be empty", hint="leave it out, or choose one")
        intent = Intent(
            branch=branch,
            actor=actor,
            message=message,
            expect=expect,
            operation_id=operation_id,
        )
        return Writer(self, intent, budget or Budget())

    def change(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Receipt:
        """Run a mutation on `main` as one commit; `on` gives other branches and terms."""
        return self.on().change(source, name, **params)

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Give the plan of a read on `main`, and the road it would take; nothing is run."""
        return self.at().explain(source, name)

    def profile(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Profile:
        """Run a read on `main` and give its result with what each operator took."""
        return self.at().profile(source, name, **params)

    def diff(
        self,
        old: str,
        new: str = MAIN,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> ChangeSet:
        """Give the net changes from one branch or commit to another, read as they are used."""
        return ChangeSet(self.snapshot(old), self.snapshot(new), _filter(kinds, types, ops))

    def changes(
        self,
        branch: str = MAIN,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[CommitChanges]:
        """Give what each commit of a branch changed, oldest first, after the one of a cursor.

        Going on from the cursor of the last one that was dealt with, none is missed.
        """
        wanted = _filter(kinds, types, ops)
        for commit in history.since(self.repository, branch, since):
            assert commit.parent is not None
            before = self.repository.pinned(self.repository.commit(commit.parent))
            yield CommitChanges(commit, ChangeSet(before, self.repository.pinned(commit), wanted))

    def merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Merge a branch or commit into a branch, as one commit with two parents.

        Raises MergeConflictsError with all conflicts, and then nothing is changed. `ours` or
        `theirs`, or `Resolutions` by type, row and property, say whose version is taken. With
        `strict` any row that both sides changed differently is a conflict.
        """
        how = _merge_how(actor, message, resolutions, strict)
        return run_merge(self.repository, self._topology, source, into, how)

    def preview_merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Give what a merge would do, conflicts included; nothing is written."""
        how = _merge_how(None, None, resolutions, strict)
        return preview(self.repository, source, into, how)

    def revert(
        self,
        commit_id: str,
        branch: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> Merge:
        """Undo what a commit did, as a new commit of a branch."""
        how = _merge_how(actor, message, resolutions, strict=False)
        return run_revert(self.repository, self._topology, commit_id, branch, how)

    def merge_base(self, one: str, other: str) -> Commit:
        """Give the newest commit that two branches or commits came from."""
        ids = [self.snapshot(each).commit.id for each in (one, other)]
        return history.merge_base(self.repository, *ids)


def init(
    uri: str | os.PathLike[str], schema: str | Path | Source, *, durable: bool = True
) -> Graph:
    """Make a new graph; a `Path` is a schema file, a `str` is the schema itself.

    An existing graph is refused and not touched.
    """
    source = _schema_source(schema)
    return Graph(create(uri, compile_schema(source), source.text, durable=durable))


def open(  # noqa: A001 - read as omnigraph.open
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    durable: bool = True,
    keeps_topology: bool | None = None,
) -> Graph:
    """Open a graph. With `durable`, a commit is on the disk before it is acknowledged.

    Unless the graph is opened for reading only, what queries derive from its tables is kept
    beside it for later processes; `keeps_topology` says otherwise.
    """
    repository = open_repository(uri, read_only=read_only, durable=durable)
    return Graph(repository, keeps=not read_only if keeps_topology is None else keeps_topology)


def _filter(kinds: Iterable[str], types: Iterable[str], ops: Iterable[str]) -> ChangeFilter:
    return ChangeFilter(
        frozenset(_choice(EntityKind, each) for each in kinds),
        frozenset(types),
        frozenset(_choice(Op, each) for each in ops),
    )


def _choice(kinds: type[_Choice], given: str) -> _Choice:
    """Give what a word stands for, or raise InputError with the words that there are."""
    try:
        return kinds(given)
    except ValueError:
        known = ", ".join(kinds)
        raise InputError(f"there is no '{given}'", hint=f"it is one of: {known}") from None


def _merge_how(
    actor: str | None,
    message: str | None,
    resolutions: Resolutions | Side | str | None,
    strict: bool,
) -> MergeHow:
    if not isinstance(resolutions, Resolutions):
        resolutions = Resolutions(None if resolutions is None else _choice(Side, resolutions))
    return MergeHow(actor=actor, message=message, resolutions=resolutions, strict=strict)


def _shelf(repository: Repository, keeps: bool) -> Shelf | None:
    """Give where derived state is kept for other processes: beside a graph on a local disk."""
    if not repository.store.is_local:
        return None
    return Shelf(Path(repository.store.root, layout.TOPOLOGY), writable=keeps)


def _schema_source(schema: str | Path | Source) -> Source:
    if isinstance(schema, str):
        return Source("<schema>", schema)
    if isinstance(schema, Source):
        return schema
    return decode(str(schema), _bytes(schema), SchemaError, Code.SCHEMA_SYNTAX)


def _query_source(queries: str | Path | Source) -> str | Source:
    if isinstance(queries, str | Source):
        return queries
    return decode(str(queries), _bytes(queries), QueryError, Code.QUERY_SYNTAX)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
