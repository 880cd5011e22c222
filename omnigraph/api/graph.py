"""Graph: the handle on a graph that a user holds; it only delegates."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow.compute as pc

from omnigraph.api.access import Access
from omnigraph.api.branch import Branch, job, merge_how
from omnigraph.api.given import schema_source
from omnigraph.api.profile import Explanation, Profile
from omnigraph.api.view import Place, Reads, View, exported, place_of
from omnigraph.data.result import Result
from omnigraph.data.values.columns import with_moments
from omnigraph.errors import InputError
from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
from omnigraph.html import html_facts
from omnigraph.maintain.cleanup import GRACE, Cleaned, cleanup, retention
from omnigraph.maintain.coverage import Coverage, coverage
from omnigraph.maintain.fsck import Checkup, fsck
from omnigraph.merge import runs
from omnigraph.merge.blame import Blamed
from omnigraph.merge.changes import ChangeSet, CommitChanges
from omnigraph.merge.merge import Merge
from omnigraph.merge.runs import RunRecord, RunStatus
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.policy.actions import Action, Decider
from omnigraph.read.execution import Budget
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import content_hash
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source
from omnigraph.versioning import branches, history, tags
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN, new_branch_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.repository import create, open_repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent
from omnigraph.versioning.ulid import is_ulid
from omnigraph.write.mutation import Receipt

if TYPE_CHECKING:
    from typing import Unpack

    from omnigraph.export.export import Exported, ExportHow
    from omnigraph.maintain.optimize import Optimized, OptimizeHow
    from omnigraph.report.page import Compared
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.session import SparkSettings
    from omnigraph.write.load.ingest import Ingested
    from omnigraph.write.load.inputs import Data
    from omnigraph.write.load.load import Loaded
    from omnigraph.write.load.options import BulkHow, LoadHow


class Graph:
    """A graph on a store: its branches, its history and its snapshots."""

    def __init__(self, access: Access) -> None:
        self.repository = access.repository
        self._access = access

    def __repr__(self) -> str:
        return f"Graph({self.uri!r})"

    def _repr_html_(self) -> str:
        facts = [("branches", ", ".join(self.branches())), ("tags", ", ".join(self.tags()) or None)]
        return html_facts(repr(self), facts, self.branch()._repr_html_())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the graph; whatever is asked of it or of its handles later is refused."""
        self._access.close()

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
        return self.branch().schema

    @property
    def actor(self) -> str | None:
        """Who acts through this handle, and is noted with what changes."""
        return self._access.actor

    def acting_as(self, actor: str | None) -> "Graph":
        """Give a handle on the same graph for another actor; the policy asks about that one."""
        return Graph(self._access.acting_as(actor))

    def branch(
        self,
        name: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        expect: str | None = None,
        operation_id: str | None = None,
        budget: Budget | None = None,
        cancelled: Event | None = None,
    ) -> Branch:
        """Give a branch to read and to change; it need not be there until it is used.

        Changes are noted with the actor and the message. With `expect` a mutation is only done
        when the branch stands at this commit, else it raises HeadMovedError. An `operation_id`
        that was given before leads to the receipt of then, and nothing is done again.
        """
        if operation_id == "":
            raise InputError("an operation id cannot be empty", hint="leave it out, or choose one")
        check_notes(message=message, operation=operation_id)
        intent = Intent(
            branch=name,
            actor=self._access.author(actor),
            message=message,
            expect=expect,
            operation_id=operation_id,
        )
        return Branch(self._access, intent, budget, cancelled)

    on = branch

    def at(
        self,
        target: Place = MAIN,
        *,
        budget: Budget | None = None,
        cancelled: Event | None = None,
        engine: "Engine | str" = "inline",
        spark: "SparkSettings | None" = None,
    ) -> View:
        """Give a branch where it stands now, or a commit, to read from.

        Its queries stop with CancelledError soon after `cancelled` is set by another thread. They
        are answered in this process, unless the `engine` is `spark`, or it is `auto` and they are
        large. On Spark they may take any time, unless a `budget` is given.
        """
        snapshot = self.snapshot(target)
        return View(self._access, snapshot, budget, cancelled, Reads.by(engine, spark))

    def snapshot(self, target: Place = MAIN) -> Snapshot:
        """Pin a branch where it stands now, or a commit by its id."""
        return self._access.pin(place_of(target))

    def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Pin the commit that gave a branch a version."""
        self._access.check(branch, Action.READ)
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
        return self._access.branches()

    def create_branch(self, name: str, source: Place = MAIN) -> Branch:
        """Make a branch where another one, or a commit, stands, and give it."""
        self._access.allow(Action.BRANCH_CREATE, name)
        branches.create_branch(self.repository, name, self._access.readable(place_of(source)))
        return self.branch(name)

    def delete_branch(self, name: str) -> None:
        """Remove a branch; one to which a run is to be published is refused."""
        self._access.check(name, Action.BRANCH_DELETE)
        runs.refuse_live(self.repository, name)
        branches.delete_branch(self.repository, name)

    def tags(self) -> dict[str, str]:
        """Give the commit of every tag, by name."""
        return self._access.tags()

    def create_tag(self, name: str, target: Place = MAIN) -> str:
        """Give a name to a commit, or to where a branch stands now; gives the commit's id."""
        self._access.allow(Action.BRANCH_CREATE, name)
        return tags.create_tag(self.repository, name, self._access.readable(place_of(target)))

    def delete_tag(self, name: str) -> None:
        """Take a name away; the commit stays."""
        self._access.allow(Action.BRANCH_DELETE, name)
        tags.delete_tag(self.repository, name, self._access.tag(name))

    def runs(self, *, limit: int | None = None, after: str | None = None) -> list[RunRecord]:
        """Give the runs, newest first; `after` goes on behind one of them."""
        return list(islice(self._access.runs(after), limit))

    def run(self, run_id: str) -> RunRecord:
        """Give a run by its id."""
        return self._access.run(run_id)

    def begin_run(
        self,
        target: str = MAIN,
        *,
        operation_hash: str | None = None,
        actor: str | None = None,
    ) -> RunRecord:
        """Begin a run: what is written to its `run_branch` is published to the target at once."""
        self._access.check(target, Action.CHANGE)
        actor = self._access.author(actor)
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
        record = self._access.run(run_id, Action.RUN_PUBLISH)
        how = merge_how(self._access.author(actor), message, resolutions, strict=False, bulk={})
        with self._access.merging(record.target_branch, Action.RUN_PUBLISH):
            return runs.publish_run(self.repository, run_id, how)

    def abort_run(self, run_id: str) -> RunRecord:
        """Give a run up; what it wrote is never published."""
        self._access.run(run_id, Action.RUN_ABORT)
        return runs.end_run(self.repository, run_id, RunStatus.ABORTED)

    def fail_run(self, run_id: str) -> RunRecord:
        """Note that a run failed; what it wrote is never published."""
        self._access.run(run_id, Action.RUN_ABORT)
        return runs.end_run(self.repository, run_id, RunStatus.FAILED)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name; one to which a run is to be published is refused."""
        self._access.check(name, Action.BRANCH_DELETE)
        self._access.check(name, Action.READ)
        self._access.allow(Action.BRANCH_CREATE, new_name)
        runs.refuse_live(self.repository, name)
        branches.rename_branch(self.repository, name, new_name)

    def commit(self, commit_id: str) -> Commit:
        """Give a commit by its id."""
        return self._access.commit(commit_id)

    def query(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Result:
        """Run a read on `main` as it stands now."""
        return self.branch().query(source, name, **params)

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Give the plan of a read on `main`, and the road it would take; nothing is run."""
        return self.branch().explain(source, name)

    def profile(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Profile:
        """Run a read on `main` and give its result with what each operator took."""
        return self.branch().profile(source, name, **params)

    def change(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Receipt:
        """Run a mutation on `main` as one commit."""
        return self.branch().mutate(source, name, **params)

    mutate = change

    def load(
        self,
        data: "Data",
        *,
        branch: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: "Unpack[LoadHow]",
    ) -> "Loaded":
        """Load rows into a branch as one commit; see `Branch.load`."""
        return self.branch(branch).load(data, type=type, **how)

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
        from omnigraph.write.load.ingest import ingest as run_ingest
        from omnigraph.write.load.load import Target
        from omnigraph.write.load.options import LoadMode, options_of

        how = {**how, "actor": self._access.author(how.get("actor"))}
        check_notes(message=how.get("message"), operation=how.get("operation_id"))
        options = options_of(how, LoadMode.MERGE)
        snapshot, is_new = self._access.ingesting(branch, base)
        target = Target(new_branch_name(branch) if is_new else branch, snapshot, is_new, base)
        with job(self._access, data, type, target, options) as (sources, runner):
            return run_ingest(self.repository, target, base, sources, runner, options)

    def export(
        self,
        target: Place = MAIN,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: "Progress | None" = None,
    ) -> Iterator[bytes]:
        """Give the rows of a branch or commit as JSON lines; see `View.export`."""
        snapshot = self._access.pin(place_of(target), Action.EXPORT)
        view = View(self._access, snapshot)
        return view.export(types=types, tables=tables, progress=progress)

    def export_to(
        self, folder: str | os.PathLike[str], target: Place = MAIN, **how: "Unpack[ExportHow]"
    ) -> "Exported":
        """Write the rows of a branch or commit as files; see `View.export_to`."""
        snapshot = self._access.pin(place_of(target), Action.EXPORT)
        return exported(snapshot, place_of(target), folder, how)

    def blame(self, type_name: str, row_id: str, target: Place = MAIN) -> list[Blamed]:
        """Give for each property of a node or edge the commit that it has its value from."""
        return self.at(target).blame(type_name, row_id)

    def log(
        self, branch: str = MAIN, *, limit: int | None = None, after: str | None = None
    ) -> Iterator[Commit]:
        """Give the commits of a branch, newest first; `after` goes on behind one of them."""
        return self.branch(branch).log(limit=limit, after=after)

    def diff(
        self,
        old: Place,
        new: Place = MAIN,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> ChangeSet:
        """Give the net changes from one branch or commit to another, read as they are used."""
        return self.at(old).diff(new, kinds=kinds, types=types, ops=ops)

    def changes(
        self,
        branch: str = MAIN,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[CommitChanges]:
        """Give what each commit of a branch changed, oldest first; see `Branch.changes`."""
        return self.branch(branch).changes(since=since, kinds=kinds, types=types, ops=ops)

    def merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: "Unpack[BulkHow]",
    ) -> Merge:
        """Merge a branch or commit into a branch; see `Branch.merge`."""
        target = self.branch(place_of(into), actor=actor, message=message)
        return target.merge(source, resolutions=resolutions, strict=strict, **bulk)

    def preview_merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: "Unpack[BulkHow]",
    ) -> Merge:
        """Give what a merge would do, conflicts included; nothing is written."""
        target = self.branch(place_of(into))
        return target.preview_merge(source, resolutions=resolutions, strict=strict, **bulk)

    def revert(
        self,
        commit_id: str,
        branch: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> Merge:
        """Undo what a commit did, as a new commit of a branch."""
        target = self.branch(place_of(branch), actor=actor, message=message)
        return target.revert(commit_id, resolutions=resolutions)

    def plan_schema(self, schema: str | Path | Source, branch: Place = MAIN) -> SchemaPlan:
        """Give what a schema would change on a branch; nothing is written."""
        return self.branch(place_of(branch)).plan_schema(schema)

    def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        branch: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
    ) -> SchemaApplied:
        """Give a branch another schema, with everything that follows, as one commit."""
        return self.branch(place_of(branch), actor=actor, message=message).apply_schema(schema)

    def report(
        self,
        target: Place = MAIN,
        *,
        compared: "Mapping[str, Compared] | None" = None,
        answered: Mapping[str, Result] | None = None,
        commits: int = 40,
    ) -> str:
        """Give a page of HTML about the graph, which opens without a network.

        It shows the schema of a branch or commit, the newest commits of all branches, and, each
        under its title, changes that were compared and results of queries.
        """
        from omnigraph.report.page import page_of

        return page_of(self, place_of(target), commits, compared, answered).html()

    def merge_base(self, one: Place, other: Place) -> Commit:
        """Give the newest commit that two branches or commits came from."""
        ids = [self._commit_at(place_of(each)).id for each in (one, other)]
        return history.merge_base(self.repository, *ids)

    def _commit_at(self, place: str) -> Commit:
        """Give the commit that is meant; its rows may have been cleaned up."""
        return self._access.commit(place) if is_ulid(place) else self.snapshot(place).commit

    def optimize(self, branch: str = MAIN, **how: "Unpack[OptimizeHow]") -> "Optimized":
        """Write a branch anew in few large files, all indexed; no content changes.

        Small fragments are joined and indexes completed, as one commit that diffs and changes
        pass by. Writers are never held up: a table that they change meanwhile is left to them.
        """
        from omnigraph.maintain.optimize import optimize, optimize_options

        self._access.allow(Action.ADMIN)
        options = optimize_options({**how, "actor": self._access.author(how.get("actor"))})
        return optimize(self.repository, branch, options)

    def ensure_indices(self, branch: str = MAIN) -> "Optimized":
        """Complete all indexes of a branch, and leave its files else as they are."""
        return self.optimize(branch, indexes_only=True)

    def coverage(self, target: Place = MAIN) -> list[Coverage]:
        """Give for each index how many rows are in it, how many are not yet, and why."""
        return coverage(self.snapshot(target))

    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        grace: timedelta | str = GRACE,
        confirm: bool = False,
    ) -> Cleaned:
        """Remove what only old commits need; without `confirm`, tell what that would be.

        The newest `keep` commits of each branch stay, and those at which a branch stood within
        `older_than`, such as `7d`; at least one of the two has to be given. What branches, tags
        and runs stand at always stays, and so does everything of the last `grace`. Runs to which
        nobody wrote within `older_than` end as failed.
        """
        self._access.allow(Action.ADMIN)
        rule = retention(keep, older_than, grace)
        return cleanup(self.repository, rule, confirm=confirm)

    def fsck(self) -> Checkup:
        """Check everything that the graph is made of and name all damage; nothing is changed."""
        self._access.allow(Action.ADMIN)
        return fsck(self.repository.store)


def init(
    uri: str | os.PathLike[str], schema: str | Path | Source, *, durable: bool = True
) -> Graph:
    """Make a new graph; a `Path` is a schema file, a `str` is the schema itself.

    An existing graph is refused and not touched.
    """
    source = schema_source(schema)
    repository = create(uri, compile_schema(source), source.text, durable=durable)
    return Graph(Access.to(repository, keeps=True))


def open(  # noqa: A001 - read as omnigraph.open
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    durable: bool = True,
    keeps_topology: bool | None = None,
    actor: str | None = None,
    policy: Decider | str | Path | None = None,
) -> Graph:
    """Open a graph. With `durable`, a commit is on the disk before it is acknowledged.

    Unless the graph is opened for reading only, what queries derive from its tables is kept
    beside it for later processes; `keeps_topology` says otherwise.

    The actor is noted with every change. With a policy, a `Path` to its file or its text, the
    actor can do what it allows and nothing else.
    """
    repository = open_repository(uri, read_only=read_only, durable=durable)
    keeps = not read_only if keeps_topology is None else keeps_topology
    access = Access.to(repository, keeps=keeps).under(_policy(policy), actor)
    return Graph(access)


def _policy(given: Decider | str | Path | None) -> Decider | None:
    if not isinstance(given, str | Path):
        return given
    from omnigraph.policy.policy import load_policy, parse_policy

    if isinstance(given, Path):
        return load_policy(given)
    return parse_policy("<policy>", given.encode())
