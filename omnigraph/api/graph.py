"""Graph: the handle on a graph, at hand or behind a server, that a user holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.api import operations
from omnigraph.api.backend import Backend, CallOptions
from omnigraph.api.branch import Branch
from omnigraph.api.closing import Closing
from omnigraph.api.keywords import check_keywords
from omnigraph.api.log import Log
from omnigraph.api.operation import place_fields
from omnigraph.api.texts import names_of, schema_source
from omnigraph.api.view import Place, View, check_limit, place_of
from omnigraph.errors import InputError, OmniGraphError, OutcomeUnknownError
from omnigraph.html import html_facts, notebook_part
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import content_hash
from omnigraph.span import Source
from omnigraph.spark.deadline import TimeKeywords
from omnigraph.syntax.problems import parse_choice
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history.retention import GRACE, retention
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.snapshot import Snapshot, snapshot_html
from omnigraph.write.load.keywords import AgainKeywords, BulkKeywords, LoadKeywords

if TYPE_CHECKING:
    from threading import Event
    from typing import Unpack

    from omnigraph.api.algorithms import Algorithms
    from omnigraph.api.operations.reviews import BranchStatus
    from omnigraph.api.profile import Explanation, Profile
    from omnigraph.api.queries import Queries
    from omnigraph.api.registry import QueryFiles
    from omnigraph.data.result import Result
    from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
    from omnigraph.export.export import ExportResult
    from omnigraph.export.keywords import ExportKeywords
    from omnigraph.maintain.keywords import BackupKeywords, OptimizeKeywords
    from omnigraph.maintain.reports import Checkup, Cleaned, Copied, Coverage, Optimized
    from omnigraph.merge.blamed import Blamed
    from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges
    from omnigraph.merge.conflict import Resolutions, Side
    from omnigraph.merge.outcome import Merge
    from omnigraph.merge.review.page import ReviewPage
    from omnigraph.merge.review.record import Review
    from omnigraph.merge.run_record import RunRecord
    from omnigraph.notebook.picture import Picture
    from omnigraph.policy.actions import Decider
    from omnigraph.policy.rights import Rights
    from omnigraph.query.stored import StoredQueries
    from omnigraph.read.execution import Budget
    from omnigraph.report.page import ShownChanges
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings
    from omnigraph.versioning.repository import Repository
    from omnigraph.write.load.loaded import Ingested, Loaded
    from omnigraph.write.load.sources.inputs import Data
    from omnigraph.write.receipt import Receipt


class Graph(Closing):
    """A graph: its branches, its history and its snapshots.

    It is at hand, on a disk or in a bucket, or a server has it; the methods are the same. What
    only one of the two can do raises UnavailableError with the other.
    """

    # Of a graph at hand alone.
    repository: Repository

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        access = getattr(backend, "access", None)
        if access is not None:
            self.repository = access.repository

    def __repr__(self) -> str:
        return f"Graph({self.uri!r})"

    def _repr_html_(self) -> str:
        facts = [("branches", ", ".join(self.branches())), ("tags", ", ".join(self.tags()) or None)]
        more = html_facts(repr(self.branch()), (), snapshot_html(self.branch().snapshot))
        return notebook_part(html_facts(repr(self), facts, more))

    def close(self) -> None:
        """Close the graph; later calls on it and on its handles raise InputError."""
        self.backend.close()

    @property
    def uri(self) -> str:
        """Where the graph is: a folder, a bucket, or a server."""
        return self.backend.uri

    @property
    def actor(self) -> str | None:
        """Who acts through this handle, and is noted with what changes."""
        return self.backend.actor

    def acting_as(self, actor: str | None) -> Graph:
        """Return a handle on the same graph for another actor; the policy asks about that one.

        Raises UnavailableError for a server's graph, where the token says who acts.
        """
        return Graph(self.backend.acting_as(actor))

    def rights(self) -> Rights:
        """Return who acts through this handle, and what the policy lets them do."""
        return self.backend.run(operations.rights.GetRights())

    @property
    def catalog(self) -> Catalog:
        """The types of `main`."""
        return self.branch().catalog

    @property
    def schema_hash(self) -> str:
        """The hash of what the schema of `main` says."""
        return content_hash(self.catalog)

    @property
    def schema(self) -> str:
        """The text of the schema of `main`."""
        return self.branch().schema

    @property
    def queries(self) -> Queries:
        """The stored queries that the actor may run on `main`; see `View.queries`."""
        return self.branch().queries

    @property
    def algo(self) -> Algorithms:
        """What the shape of `main` says of its nodes; see `View.algo`."""
        return self.branch().algo

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
        """Return a branch to read and to change; it need not be there until it is used.

        Changes are noted with the actor and the message. With `expect` a mutation is only done
        when the branch stands at this commit, else it raises HeadMovedError. An `operation_id`
        that was given before leads to the receipt of then, and nothing is done again.
        """
        if operation_id == "":
            raise InputError("an operation id cannot be empty", hint="leave it out, or choose one")
        check_notes(message=message, operation=operation_id)
        options = CallOptions(
            actor=self.backend.author(actor),
            operation_id=operation_id,
            budget=budget,
            cancelled=cancelled,
        )
        return Branch(self.backend, name, options, message=message, expect=expect)

    @cached_property
    def _main(self) -> Branch:
        return self.branch()

    def at(
        self,
        target: Place = MAIN,
        *,
        budget: Budget | None = None,
        cancelled: Event | None = None,
        engine: Engine | str | None = None,
        spark: SparkSettings | None = None,
    ) -> View:
        """Return a branch where it stands now, or a commit, to read from.

        Its queries stop with CancelledError soon after `cancelled` is set by another thread. They
        are answered in this process, unless the `engine` is `spark`, or it is `auto` and they are
        large. On Spark they may take any time, unless a `budget` is given.
        """
        if engine not in (None, "inline"):
            from omnigraph.spark.choice import Engine

            engine = parse_choice(Engine, engine)
        pin = self.backend.pin(place_of(target))
        options = CallOptions(
            pinned=pin.snapshot, budget=budget, cancelled=cancelled, engine=engine, spark=spark
        )
        return View(self.backend, pin.commit_id, options)

    def snapshot(self, target: Place = MAIN) -> Snapshot:
        """Pin a branch where it stands now, or a commit by its id."""
        return self.backend.run(operations.read.GetSnapshot(**place_fields(place_of(target))))

    def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Pin the commit that gave a branch a version."""
        return self.backend.run(operations.read.GetSnapshot(branch=branch, version=version))

    def entity_at(
        self, table_key: str, entity_id: str, version: int, branch: str = MAIN
    ) -> Mapping[str, object] | None:
        """Return one node or edge as it was at a version, or None when it was not there."""
        return self.backend.run(
            operations.read.GetEntity(table=table_key, id=entity_id, version=version, branch=branch)
        )

    def branches(self) -> list[str]:
        """Return the names of all branches, `main` first."""
        return self.backend.run(operations.branches.ListBranches())

    def branch_status(self) -> list[BranchStatus]:
        """Return where each branch stands: its newest commit, how far it is from `main`."""
        return self.backend.run(operations.reviews.ListBranchStatus(limit=None))

    def review_page(
        self,
        branch: str,
        *,
        into: str = MAIN,
        types: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> ReviewPage:
        """Return what a branch would bring to another, in all, and a page of its changes.

        `after` goes on behind the `cursor` of a page; then only changes are told. Only the rows of
        the page are read, however many changed.
        """
        check_limit(limit, operations.reviews.MOST_CHANGES)
        asked = {"branch": branch, "into": into, "limit": limit, "cursor": after}
        return self.backend.run(
            operations.reviews.GetReviewPage.decode(
                {**asked, "types": names_of(types, "types") or None}
            )
        )

    def review_record(self, branch: str) -> Review | None:
        """Return what was said about a branch, and the state of its review; None if nothing."""
        return self.backend.run(operations.reviews.GetReviewRecord(branch=branch))

    def set_review(
        self,
        branch: str,
        state: str,
        message: str | None = None,
        *,
        into: str = MAIN,
        expect: str | None = None,
    ) -> Review:
        """Open the review of a branch (`open`), or decide it: `approved`, or `changes_asked`.

        With `expect`, the branch has to stand at this commit, else HeadMovedError. A merge sets
        the state `merged`.
        """
        if state not in ("open", "changes_asked", "approved"):
            raise InputError(f"a review is open, changes_asked or approved, not {state!r}")
        about = {"branch": branch, "into": into, "message": message, "expect": expect}
        return self.backend.run(operations.reviews.SetReview.decode({**about, "state": state}))

    def comment_review(
        self,
        branch: str,
        message: str,
        *,
        type: str | None = None,  # noqa: A002 - the word of the request
        id: str | None = None,  # noqa: A002
        property: str | None = None,  # noqa: A002
        into: str = MAIN,
        expect: str | None = None,
    ) -> Review:
        """Comment on a branch, or on a type, a row or a property of it."""
        about = {"type": type, "id": id, "property": property}
        said = operations.reviews.CommentReview(
            branch=branch, into=into, message=message, expect=expect, **about
        )
        return self.backend.run(said)

    def create_branch(self, name: str, source: Place = MAIN) -> Branch:
        """Make a branch where another one, or a commit, stands, and return it."""
        self.backend.run(operations.branches.CreateBranch(name=name, base=place_of(source)))
        return self.branch(name)

    def delete_branch(self, name: str, *, expect: str | None = None) -> None:
        """Remove a branch; raises InputError for one to which a run is to be published.

        With `expect`, the branch has to stand at this commit, else HeadMovedError.
        """
        self.backend.run(operations.branches.DeleteBranch(branch=name, expect=expect))

    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch; raises InputError for one to which a run is to be published."""
        self.backend.run(operations.branches.RenameBranch(name=name, new_name=new_name))

    def tags(self) -> dict[str, str]:
        """Return the commit of every tag, by name."""
        return self.backend.run(operations.branches.ListTags())

    def create_tag(self, name: str, target: Place = MAIN) -> str:
        """Name a commit, or where a branch stands now; returns the id of the commit."""
        return self.backend.run(operations.branches.CreateTag(name=name, target=place_of(target)))

    def delete_tag(self, name: str) -> None:
        """Remove a tag; the commit stays."""
        self.backend.run(operations.branches.DeleteTag(tag=name))

    def runs(self, *, limit: int | None = None, after: str | None = None) -> list[RunRecord]:
        """Return the runs, newest first; `after` goes on behind one of them."""
        return list(
            islice(self.backend.run(operations.runs.ListRuns(limit=limit, after=after)), limit)
        )

    def run_record(self, run_id: str) -> RunRecord:
        """Return a run by its id."""
        return self.backend.run(operations.runs.GetRun(run_id=run_id))

    @contextmanager
    def run(
        self,
        target: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        operation_hash: str | None = None,
    ) -> Iterator[Branch]:
        """Begin a run and yield its branch; at the end of the block it is published.

        What is written to the branch appears on the target at once, as one merge. A block that
        raises, or a publication that fails, aborts the run, and then nothing of it is published.
        """
        begun = self.begin_run(target, operation_hash=operation_hash, actor=actor)
        try:
            yield self.branch(begun.run_branch, actor=actor, message=message)
            self.publish_run(begun.run_id, actor=actor, message=message)
        except OutcomeUnknownError:
            raise
        except BaseException as raised:
            try:
                self.abort_run(begun.run_id)
            except OmniGraphError as failed:
                raised.add_note(f"the run {begun.run_id} was not aborted: {failed.message}")
            raise

    def begin_run(
        self,
        target: str = MAIN,
        *,
        operation_hash: str | None = None,
        actor: str | None = None,
    ) -> RunRecord:
        """Begin a run: what is written to its `run_branch` is published to the target at once."""
        begin = operations.runs.BeginRun(target_branch=target, operation_hash=operation_hash)
        return self.backend.run(begin, CallOptions(actor=actor))

    def publish_run(
        self,
        run_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> RunRecord:
        """Merge what a run wrote into its target; its branch is removed.

        `seconds` and `cancelled` end it before it publishes, and the run goes on.
        """
        from omnigraph.merge.conflict import Resolutions

        check_keywords("publish_run", bulk, BulkKeywords)
        choices = Resolutions.parse(resolutions).to_json()
        publish = operations.runs.PublishRun(run_id=run_id, message=message, **choices)
        return self.backend.run(publish, CallOptions(actor=actor).with_how(bulk))

    def abort_run(self, run_id: str) -> RunRecord:
        """Abort a run; what it wrote is never published."""
        return self.backend.run(operations.runs.AbortRun(run_id=run_id))

    def fail_run(self, run_id: str) -> RunRecord:
        """Record that a run failed; what it wrote is never published."""
        return self.backend.run(operations.runs.FailRun(run_id=run_id))

    def commit(self, commit_id: str) -> Commit:
        """Return a commit by its id."""
        return self.backend.run(operations.commits.GetCommit(commit_id=commit_id))

    def query(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Result:
        """Run a read on `main` as it stands now."""
        return self._main.query(source, name, params, **keywords)

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Return the plan of a read on `main`, and the road it would take; nothing is run."""
        return self.branch().explain(source, name)

    def profile(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Profile:
        """Run a read on `main` and return its result with what each operator took."""
        return self.branch().profile(source, name, params, **keywords)

    def mutate(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Receipt:
        """Run a mutation on `main` as one commit."""
        return self.branch().mutate(source, name, params, **keywords)

    def load(
        self,
        data: Data,
        *,
        branch: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: Unpack[LoadKeywords],
    ) -> Loaded:
        """Load rows into a branch as one commit; see `Branch.load`."""
        return self.branch(branch).load(data, type=type, **how)

    def embed_again(self, *types: str, branch: str = MAIN, **how: Unpack[AgainKeywords]) -> Loaded:
        """Make all vectors of types anew; see `Branch.embed_again`."""
        return self.branch(branch).embed_again(*types, **how)

    def ingest(
        self,
        data: Data,
        *,
        branch: str,
        base: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: Unpack[LoadKeywords],
    ) -> Ingested:
        """Load rows into a branch, which is made from `base` by the same commit if need be.

        The mode is `merge` unless given otherwise.
        """
        from omnigraph.write.load.loaded import LoadMode

        check_keywords("ingest", how, LoadKeywords)
        rows = operations.write.Ingest(
            branch=branch,
            base=base,
            mode=parse_choice(LoadMode, how.get("mode", LoadMode.MERGE)).value,
            message=how.get("message"),
            dry_run=how.get("dry_run", False),
            always=how.get("always", False),
            data=data,
        )
        return self.backend.run(rows, CallOptions(type_name=type).with_how(how))

    def export(
        self,
        target: Place = MAIN,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Iterator[bytes]:
        """Return the rows of a branch or commit as JSON lines; see `View.export`."""
        return self._view(target).export(types=types, tables=tables, progress=progress)

    def export_to(
        self, folder: str | os.PathLike[str], target: Place = MAIN, **how: Unpack[ExportKeywords]
    ) -> ExportResult:
        """Write the rows of a branch or commit as files; see `View.export_to`."""
        return self._view(target).export_to(folder, **how)

    def schema_view(self, target: Place = MAIN) -> Picture:
        """Return the types of a branch or commit as a picture; see `View.schema_view`."""
        return self._view(target).schema_view()

    def blame(self, type_name: str, row_id: str, target: Place = MAIN) -> list[Blamed]:
        """Return for each property of a node or edge the commit that it has its value from."""
        return self._view(target).blame(type_name, row_id)

    def log(self, branch: str = MAIN, *, limit: int | None = None, after: str | None = None) -> Log:
        """Return the commits of a branch, newest first; `after` goes on behind one of them."""
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
        """Return the net changes from one branch or commit to another, read as they are used."""
        return self._view(old).diff(new, kinds=kinds, types=types, ops=ops)

    def review(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> ChangeSet:
        """Return what a branch did since it parted from another, read as it is used.

        What the other did meanwhile is not in it, as it would be in a `diff` of the two.
        """
        view = self._view(into)
        return view.diff(source, kinds=kinds, types=types, ops=ops, merge_base=True)

    def changes(
        self,
        branch: str = MAIN,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[CommitChanges]:
        """Return what each commit of a branch changed, oldest first; see `Branch.changes`."""
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
        expect: str | None = None,
        expect_source: str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Merge a branch or commit into a branch; see `Branch.merge`."""
        target = self.branch(place_of(into), actor=actor, message=message, expect=expect)
        return target.merge(
            source, resolutions=resolutions, strict=strict, expect_source=expect_source, **bulk
        )

    def preview_merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a merge would do, conflicts included; nothing is written."""
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
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Undo what a commit did, as a new commit of a branch."""
        target = self.branch(place_of(branch), actor=actor, message=message)
        return target.revert(commit_id, resolutions=resolutions, **bulk)

    def plan_schema(
        self,
        schema: str | Path | Source,
        branch: Place = MAIN,
        **limits: Unpack[TimeKeywords],
    ) -> SchemaPlan:
        """Return what a schema would change on a branch; nothing is written."""
        return self.branch(place_of(branch)).plan_schema(schema, **limits)

    def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        branch: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        allow_data_loss: bool = False,
        **limits: Unpack[TimeKeywords],
    ) -> SchemaApplied:
        """Apply a schema to a branch, with everything that follows for its rows, as one commit.

        One that drops a type, a property, a rule or an index is refused without
        `allow_data_loss`; what it hides can be restored until a cleanup removes it.
        """
        target = self.branch(place_of(branch), actor=actor, message=message)
        return target.apply_schema(schema, allow_data_loss=allow_data_loss, **limits)

    def report(
        self,
        target: Place = MAIN,
        *,
        compared: Mapping[str, ShownChanges] | None = None,
        answered: Mapping[str, Result] | None = None,
        commits: int = 40,
    ) -> str:
        """Return a page of HTML about the graph, which opens without a network.

        It shows the schema of a branch or commit, the newest commits of all branches, and, each
        under its title, changes that were compared and results of queries.
        """
        from omnigraph.report.page import build_page

        return build_page(self, place_of(target), commits, compared, answered).to_html()

    def merge_base(self, one: Place, other: Place) -> Commit:
        """Return the newest commit that two branches or commits came from."""
        return self.backend.run(
            operations.branches.GetMergeBase(one=place_of(one), other=place_of(other))
        )

    def optimize(self, branch: str = MAIN, **how: Unpack[OptimizeKeywords]) -> Optimized:
        """Rewrite a branch in few large files, all indexed; no content changes.

        Small fragments are joined and indexes completed, as one commit that diffs and changes
        pass by. Writers are never held up: a table that they change meanwhile is left to them.
        With `types` only their tables are rewritten, and those of `exclude` never are: a table of
        large values does not keep the others waiting. `seconds` and `cancelled` end it before it
        publishes.
        """
        from omnigraph.maintain.keywords import OptimizeKeywords

        check_keywords("optimize", how, OptimizeKeywords)
        optimize = operations.maintenance.OptimizeBranch(
            branch=branch,
            indexes_only=how.get("indexes_only", False),
            types=list(how.get("types", ())) or None,
            exclude=list(how.get("exclude", ())) or None,
        )
        return self.backend.run(optimize, CallOptions().with_how(how))

    def ensure_indices(self, branch: str = MAIN) -> Optimized:
        """Complete all indexes of a branch, and leave its files as they are otherwise."""
        return self.optimize(branch, indexes_only=True)

    def coverage(self, target: Place = MAIN) -> list[Coverage]:
        """Return for each index how many rows are in it, how many are not yet, and why."""
        return self.backend.run(
            operations.maintenance.GetCoverage(**place_fields(place_of(target)))
        )

    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        grace: timedelta | str = GRACE,
        branches: Iterable[str] = (),
        types: Iterable[str] = (),
        confirm: bool = False,
        progress: Progress | None = None,
        **limits: Unpack[TimeKeywords],
    ) -> Cleaned:
        """Remove what only old commits need; without `confirm`, report what that would be.

        The newest `keep` commits of each branch stay, and those at which a branch stood within
        `older_than`, such as `7d`; at least one of the two has to be given. What branches, tags
        and runs stand at always stays, and so does everything of the last `grace`. Runs to which
        nobody wrote within `older_than` end as failed. With `branches` or `types`, only what their
        commits and tables have goes. `seconds` and `cancelled` end it before anything is removed.
        """
        check_keywords("cleanup", limits, TimeKeywords)
        retention(keep, older_than, grace)
        wanted = operations.maintenance.CleanUp(
            keep=keep,
            older_than=older_than,
            grace=grace,
            branches=list(branches) or None,
            types=list(types) or None,
            confirm=confirm,
        )
        return self.backend.run(wanted, CallOptions(progress=progress).with_how(limits))

    def fsck(
        self,
        *,
        branches: Iterable[str] = (),
        types: Iterable[str] = (),
        progress: Progress | None = None,
        **limits: Unpack[TimeKeywords],
    ) -> Checkup:
        """Check everything that the graph is made of and name all damage; nothing is changed.

        With `branches` or `types`, only their versions and rows are read. `seconds` and `cancelled`
        end it early.
        """
        check_keywords("fsck", limits, TimeKeywords)
        wanted = operations.maintenance.CheckFiles(
            branches=list(branches) or None, types=list(types) or None
        )
        return self.backend.run(wanted, CallOptions(progress=progress).with_how(limits))

    def backup(self, dest: str | os.PathLike[str], **how: Unpack[BackupKeywords]) -> Copied:
        """Make a consistent copy of the graph in an empty place, or renew the one that is there.

        Others may write meanwhile: the copy is the graph as it was at one moment, with all history
        that can be read. Only what is new is copied. Until the copy is complete, the place has the
        one before, or none. Afterwards all of it is checked as by `fsck`, unless `verify` is False.
        `seconds` and `cancelled` end it early. A server does not do this.
        """
        from omnigraph.maintain.keywords import BackupKeywords

        check_keywords("backup", how, BackupKeywords)
        copy = operations.maintenance.BackUp(dest=os.fspath(dest), verify=how.get("verify", True))
        return self.backend.run(copy, CallOptions().with_how(how))

    def _view(self, target: Place) -> View:
        """Return what is read at a branch or commit, which is looked up when it is used."""
        return View(self.backend, place_of(target))


def init(
    uri: str | os.PathLike[str], schema: str | Path | Source, *, durable: bool = True
) -> Graph:
    """Make a new graph; a `Path` is a schema file, a `str` is the schema itself.

    An existing graph is refused and not touched.
    """
    from omnigraph.api.access import Access
    from omnigraph.api.local.backend import LocalBackend
    from omnigraph.schema.compile import compile_schema
    from omnigraph.versioning.repository import create

    source = schema_source(schema)
    repository = create(uri, compile_schema(source), source.text, durable=durable)
    return Graph(LocalBackend(Access.to(repository, keeps=True)))


def open(  # noqa: A001 - read as omnigraph.open
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    durable: bool = True,
    keeps_topology: bool | None = None,
    actor: str | None = None,
    policy: Decider | str | Path | None = None,
    queries: StoredQueries | QueryFiles | None = None,
    environment: Mapping[str, str] | None = None,
) -> Graph:
    """Open a graph. With `durable`, a commit is on the disk before it is acknowledged.

    Unless the graph is opened for reading only, what queries derive from its tables is kept
    beside it for later processes; `keeps_topology` says otherwise.

    The actor is noted with every change. With a policy, a `Path` to its file or its text, the
    actor can do what it allows and nothing else.

    `queries` are the files or folders of the stored queries that `Graph.queries` has. The
    `environment` has the variables that select who embeds texts; by default it is that of the
    process.
    """
    from omnigraph.api.access import Access
    from omnigraph.api.local.backend import LocalBackend
    from omnigraph.versioning.repository import open_repository

    repository = open_repository(uri, read_only=read_only, durable=durable, environment=environment)
    keeps = not read_only if keeps_topology is None else keeps_topology
    access = Access.to(repository, keeps=keeps).under(_policy(policy), actor)
    return Graph(LocalBackend(access.with_queries(_queries(queries))))


def restore(
    source: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    durable: bool = True,
    **how: Unpack[BackupKeywords],
) -> Copied:
    """Make a graph of a backup, or of another graph, in an empty place; see `Graph.backup`.

    An existing graph is refused and not touched.
    """
    from omnigraph.maintain.backup import backup_options
    from omnigraph.maintain.backup import restore as restore_graph
    from omnigraph.maintain.keywords import BackupKeywords

    check_keywords("restore", how, BackupKeywords)
    return restore_graph(source, dest, backup_options(how, "restore"), durable=durable)


def connect(url: str, *, token: str | None = None, seconds: float | None = None) -> Graph:
    """Return the graph of a server; nothing is sent before it is asked for something.

    An answer that takes longer than so many seconds is given up; by default none is.
    """
    from omnigraph.api.client import Client
    from omnigraph.api.http import HttpBackend

    return Graph(HttpBackend(Client(url, token, seconds=seconds)))


def _queries(given: StoredQueries | QueryFiles | None) -> StoredQueries:
    from omnigraph.query.stored import NO_QUERIES, StoredQueries

    if given is None or isinstance(given, StoredQueries):
        return given or NO_QUERIES
    from omnigraph.api.registry import open_queries

    return open_queries(given)


def _policy(given: Decider | str | Path | None) -> Decider | None:
    if not isinstance(given, str | Path):
        return given
    from omnigraph.policy.policy import load_policy, parse_policy

    if isinstance(given, Path):
        return load_policy(given)
    return parse_policy("<policy>", given.encode())
