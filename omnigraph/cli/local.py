"""Local: answers commands with documents, about a graph that this process opens itself."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from omnigraph.cli.formats import Rows, about
from omnigraph.cli.output import Document
from omnigraph.cli.terms import (
    ChangeTerms,
    CleanupTerms,
    Difference,
    DiffTerms,
    Given,
    MergeTerms,
    MigrationTerms,
    Question,
    Target,
)
from omnigraph.errors import InputError
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.api.view import View
    from omnigraph.data.result import ResultStream
    from omnigraph.maintain.optimize import OptimizeHow
    from omnigraph.merge.threeway import Resolutions
    from omnigraph.query.compile import AcceptedSchema
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.session import SparkSettings
    from omnigraph.write.load.options import LoadHow

_Found = TypeVar("_Found")


class Local:
    """A graph on this machine or in a bucket; it is opened for each command."""

    def __init__(self, opened: "Callable[..., Graph]") -> None:
        self._opened = opened

    def schema(self, target: Target) -> "AcceptedSchema":
        """Give the schema of what is read."""
        from omnigraph.query.compile import AcceptedSchema

        snapshot = self._opened().snapshot(target.name)
        return AcceptedSchema(snapshot.commit.schema, snapshot.catalog)

    def show_schema(self, target: Target) -> Document:
        """Give the text of the schema of what is read."""
        from omnigraph.schema.codec import content_hash

        graph = self._opened()
        view = graph.at(target.name)
        return {
            "uri": graph.uri,
            "branch": target.branch,
            "schema_hash": content_hash(view.catalog),
            "schema_source": view.schema,
        }

    def plan_schema(self, source: Source, branch: str) -> Document:
        """Tell what a schema would change on a branch."""
        graph = self._opened()
        return {"uri": graph.uri, **graph.plan_schema(source, branch).to_json()}

    def apply_schema(self, source: Source, terms: MigrationTerms) -> Document:
        """Give a branch another schema, as one commit."""
        graph = self._opened(writing=True)
        branch = graph.branch(terms.branch, message=terms.message, expect=terms.expect)
        return {"uri": graph.uri, **branch.apply_schema(source).to_json()}

    def snapshot(self, branch: str) -> Document:
        """Give what a branch holds."""
        return self._opened().snapshot(branch).to_json(branch)

    def branches(self) -> Document:
        """Give the names of all branches."""
        return {"branches": self._opened().branches()}

    def create_branch(self, name: str, source: str) -> Document:
        """Make a branch where another branch or a commit stands."""
        graph = self._opened(writing=True)
        graph.create_branch(name, source)
        return {"uri": graph.uri, "from": source, "name": name, "actor_id": graph.actor}

    def delete_branch(self, name: str) -> Document:
        """Delete a branch."""
        graph = self._opened(writing=True)
        graph.delete_branch(name)
        return {"uri": graph.uri, "name": name}

    def rename_branch(self, name: str, new_name: str) -> Document:
        """Give a branch another name."""
        graph = self._opened(writing=True)
        graph.rename_branch(name, new_name)
        return {"uri": graph.uri, "name": new_name}

    def merge(self, source: str, into: str, terms: MergeTerms) -> Document:
        """Merge a branch into another, or tell what that would do."""
        resolutions = _resolutions(terms)
        if terms.only_preview:
            found = self._opened().preview_merge(
                source, into, resolutions=resolutions, strict=terms.strict, **(terms.bulk or {})
            )
        else:
            found = self._opened(writing=True).merge(
                source,
                into,
                message=terms.message,
                resolutions=resolutions,
                strict=terms.strict,
                **(terms.bulk or {}),
            )
        return found.to_json()

    def revert(self, commit_id: str, branch: str, terms: MergeTerms) -> Document:
        """Undo what a commit did, as a new commit."""
        done = self._opened(writing=True).revert(
            commit_id,
            branch,
            message=terms.message,
            resolutions=_resolutions(terms),
        )
        commit = None if done.commit is None else done.commit.id
        return {"branch": branch, "reverted": commit_id, "commit": commit}

    def commits(self, branch: str, limit: int | None, after: str | None) -> Document:
        """Give the commits of a branch, newest first."""
        found = self._opened().log(branch, limit=limit, after=after)
        return {"commits": [each.to_json() for each in found]}

    def commit(self, commit_id: str) -> Document:
        """Give a commit."""
        return self._opened().commit(commit_id).to_json()

    def diff(self, old: str, new: str, terms: DiffTerms) -> Difference:
        """Give what changed from one branch, commit or tag to another."""
        from omnigraph.api.wire import changes_json

        found = self._opened().diff(old, new, types=terms.types, ops=terms.ops, kinds=terms.kinds)
        versions = {"from_version": found.from_version, "to_version": found.to_version}
        known = {**versions, **changes_json(found)}
        return Difference(known, (change.to_json() for change in found))

    def changes(self, branch: str, since: str | None, terms: DiffTerms) -> Iterator[Document]:
        """Give what the commits of a branch changed, oldest first, each with its commit."""
        for each in self._opened().changes(
            branch, since=since, types=terms.types, ops=terms.ops, kinds=terms.kinds
        ):
            for change in each.changes:
                who = {"commit": each.cursor, "actor_id": each.commit.actor}
                yield {**who, **change.to_json()}

    def blame(self, type_name: str, row_id: str, place: str) -> Document:
        """Give which commit gave each property of a node or edge its value."""
        found = self._opened().blame(type_name, row_id, place)
        which = {"type_name": type_name, "id": row_id}
        return {**which, "blame": [each.to_json() for each in found]}

    def tags(self) -> Document:
        """Give all tags and their commits."""
        found = self._opened().tags()
        return {"tags": [{"name": name, "commit": commit} for name, commit in found.items()]}

    def create_tag(self, name: str, place: str) -> Document:
        """Give a name to a commit, or to where a branch stands."""
        return {"name": name, "commit": self._opened(writing=True).create_tag(name, place)}

    def delete_tag(self, name: str) -> Document:
        """Take a name away."""
        self._opened(writing=True).delete_tag(name)
        return {"name": name}

    def runs(self) -> Document:
        """Give all runs, newest first."""
        return {"runs": [each.to_json() for each in self._opened().runs()]}

    def run(self, run_id: str) -> Document:
        """Give a run."""
        return self._opened().run(run_id).to_json()

    def begin_run(self, branch: str, operation_hash: str | None) -> Document:
        """Begin a run that is to be published to a branch."""
        graph = self._opened(writing=True)
        begun = graph.begin_run(branch, operation_hash=operation_hash)
        return begun.to_json()

    def publish_run(self, run_id: str) -> Document:
        """Merge what a run wrote into its target."""
        return self._opened(writing=True).publish_run(run_id).to_json()

    def abort_run(self, run_id: str) -> Document:
        """Give a run up."""
        return self._opened(writing=True).abort_run(run_id).to_json()

    def fail_run(self, run_id: str) -> Document:
        """Note that a run failed."""
        return self._opened(writing=True).fail_run(run_id).to_json()

    def stream(
        self, question: Question, target: Target, engine: str, spark: "SparkSettings"
    ) -> "ResultStream":
        """Give the rows of a query, which Spark makes while they are read."""
        graph = self._opened(keeps_topology=True)
        view = graph.at(target.name, engine=engine, spark=spark)
        return view.stream(question.source, question.name, **question.params)

    def watched(self, question: Question, target: Target) -> Rows:
        """Give the rows of a query; Ctrl-C cancels it, and it raises CancelledError."""
        cancelled = Event()
        view = self._opened(keeps_topology=True).at(target.name, cancelled=cancelled)
        asked = partial(view.query, question.source, question.name, **question.params)
        return Rows.of_result(_cancellable(asked, cancelled), target.branch, target.snapshot)

    def explain(self, question: Question, target: Target) -> tuple[Document, str]:
        """Give how a query would be run, for programs and for people; nothing is run."""
        found = self._view(target).explain(question.source, question.name)
        what = about(found.plan.name, target.branch, target.snapshot)
        return {**what, **found.to_json()}, str(found)

    def profile(self, question: Question, target: Target) -> tuple[Document, str]:
        """Run a query, and give what that took, for programs and for people."""
        view = self._view(target)
        found = view.profile(question.source, question.name, **question.params)
        what = about(found.result.query_name, target.branch, target.snapshot)
        return {**what, **found.to_json()}, str(found)

    def change(
        self, question: Question, terms: ChangeTerms, cancelled: Event | None = None
    ) -> Document:
        """Run a mutation as one commit."""
        branch = self._opened(writing=True).branch(
            terms.branch,
            message=terms.message,
            expect=terms.expect,
            operation_id=terms.operation_id,
            cancelled=cancelled,
        )
        receipt = branch.mutate(question.source, question.name, **question.params)
        return receipt.to_json()

    def watched_change(self, question: Question, terms: ChangeTerms) -> Document:
        """Run a mutation; Ctrl-C cancels it before its commit, and it raises CancelledError."""
        cancelled = Event()
        return _cancellable(partial(self.change, question, terms, cancelled), cancelled)

    def load(self, rows: Given, branch: str, how: "LoadHow") -> Document:
        """Load rows into a branch."""
        graph = self._opened(writing=True)
        return graph.load(rows.data, branch=branch, type=rows.type_name, **how).to_json(graph.uri)

    def ingest(self, rows: Given, branch: str, base: str, how: "LoadHow") -> Document:
        """Load rows into a branch, which is made from another one when it is not there."""
        graph = self._opened(writing=True)
        done = graph.ingest(rows.data, branch=branch, base=base, type=rows.type_name, **how)
        return done.to_json(graph.uri)

    def export(
        self, target: Target, types: Sequence[str], tables: Sequence[str], progress: "Progress"
    ) -> Iterator[bytes]:
        """Give the rows as JSON lines, many at a time."""
        graph = self._opened()
        return graph.export(target.name, types=types, tables=tables, progress=progress)

    def optimize(self, branch: str, how: "OptimizeHow") -> Document:
        """Write a branch anew in few large files, all indexed."""
        graph = self._opened(writing=True)
        return graph.optimize(branch, **how).to_json(graph.uri)

    def coverage(self, target: Target) -> Document:
        """Give for each index how many rows are in it, and why not all."""
        graph = self._opened()
        found = graph.coverage(target.name)
        return {"uri": graph.uri, "indexes": [each.to_json() for each in found]}

    def cleanup(self, terms: CleanupTerms) -> Document:
        """Remove what only old commits need, or tell what that would be."""
        graph = self._opened(writing=terms.confirm)
        done = graph.cleanup(
            keep=terms.keep,
            older_than=terms.older_than,
            grace=terms.grace,
            confirm=terms.confirm,
        )
        return done.to_json(graph.uri)

    def fsck(self) -> Document:
        """Check everything that the graph is made of."""
        graph = self._opened()
        return graph.fsck().to_json(graph.uri)

    def _view(self, target: Target) -> "View":
        return self._opened(keeps_topology=True).at(target.name)


def _cancellable(work: Callable[[], _Found], cancelled: Event) -> _Found:
    """Do work on a thread and wait for it; Ctrl-C tells it to stop."""
    with ThreadPoolExecutor(1) as workers:
        done = workers.submit(work)
        while True:
            try:
                return done.result()
            except KeyboardInterrupt:
                cancelled.set()


def _resolutions(terms: MergeTerms) -> "Resolutions":
    from omnigraph.merge.threeway import Resolutions, Side

    side = None if terms.side is None else Side(terms.side)
    try:
        return Resolutions.chosen(terms.choices, side)
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "write a file of them with --preview --write-resolutions"
        raise InputError("the resolutions are not such as a preview gives", hint=hint) from None
