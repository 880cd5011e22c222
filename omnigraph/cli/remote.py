"""Remote: answers commands with documents, about a graph that a server has."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from omnigraph.api.client import Client, segment
from omnigraph.cli.formats import Rows
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
from omnigraph.cli.upload import Upload
from omnigraph.errors import CancelledError, InputError, Json, OutcomeUnknownError
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.maintain.optimize import OptimizeHow
    from omnigraph.query.compile import AcceptedSchema
    from omnigraph.spark.progress import Progress
    from omnigraph.write.load.options import LoadHow

_COMMITS_AT_ONCE = 100
_FOR_HANDLES = (
    "nodes",
    "edges",
    "loaded",
    "ours_commit",
    "theirs_commit",
    "from_commit",
    "to_commit",
    "plan",
    "merge",
)


class Remote:
    """A graph that a server has; every answer is what the server says."""

    def __init__(self, url: str, token: str | None) -> None:
        self._client = Client(url, token)

    def schema(self, target: Target) -> "AcceptedSchema":
        """Give the schema of what is read."""
        from omnigraph.query.compile import AcceptedSchema
        from omnigraph.schema.compile import compile_schema

        found = self._get("/schema", branch=target.branch, snapshot=target.snapshot)
        return AcceptedSchema(found["schema_hash"], compile_schema(found["schema_source"]))

    def show_schema(self, target: Target) -> Document:
        """Give the text of the schema of what is read."""
        found = self._get("/schema", branch=target.branch, snapshot=target.snapshot)
        said = {name: found[name] for name in ("schema_hash", "schema_source")}
        return {"uri": self._client.url, "branch": target.branch, **said}

    def plan_schema(self, source: Source, branch: str) -> Document:
        """Tell what a schema would change on a branch."""
        body: Document = {"schema_source": source.text, "branch": branch}
        return cast(Document, self._client.ask("/schema/plan", body, source=source))

    def apply_schema(self, source: Source, terms: MigrationTerms) -> Document:
        """Give a branch another schema, as one commit."""
        body: Document = {
            "schema_source": source.text,
            "branch": terms.branch,
            "message": terms.message,
            "expect": terms.expect,
        }
        return _told(self._client.post("/schema/apply", body, source=source))

    def snapshot(self, branch: str) -> Document:
        """Give what a branch holds."""
        return self._get("/snapshot", branch=branch)

    def branches(self) -> Document:
        """Give the names of all branches."""
        return self._get("/branches")

    def create_branch(self, name: str, source: str) -> Document:
        """Make a branch where another branch or a commit stands."""
        return self._post("/branches", {"name": name, "from": source})

    def delete_branch(self, name: str) -> Document:
        """Delete a branch."""
        return cast(Document, self._client.delete(f"/branches/{segment(name)}"))

    def rename_branch(self, name: str, new_name: str) -> Document:
        """Give a branch another name."""
        return self._post("/branches/rename", {"name": name, "new_name": new_name})

    def merge(self, source: str, into: str, terms: MergeTerms) -> Document:
        """Merge a branch into another, or tell what that would do."""
        _refuse_engine((terms.bulk or {}).get("engine"))
        how: Document = {"strict": terms.strict, "preview": terms.only_preview}
        body = {"source": source, "target": into, **how, **_choices(terms)}
        return self._post("/branches/merge", body)

    def revert(self, commit_id: str, branch: str, terms: MergeTerms) -> Document:
        """Undo what a commit did, as a new commit."""
        return self._post("/revert", {"commit": commit_id, "branch": branch, **_choices(terms)})

    def commits(self, branch: str, limit: int | None, after: str | None) -> Document:
        """Give the commits of a branch, newest first."""
        return self._get("/commits", branch=branch, limit=limit, after=after)

    def commit(self, commit_id: str) -> Document:
        """Give a commit."""
        return self._get(f"/commits/{segment(commit_id)}")

    def diff(self, old: str, new: str, terms: DiffTerms) -> Difference:
        """Give what changed from one branch, commit or tag to another."""
        found = self._ask("/diff", {"from": old, "to": new, **_wanted(terms)})
        changes = found.pop("changes")
        return Difference(_told(found), changes)

    def changes(self, branch: str, since: str | None, terms: DiffTerms) -> Iterator[Document]:
        """Give what the commits of a branch changed, oldest first, each with its commit."""
        which = {"type": terms.types, "op": terms.ops, "kind": terms.kinds}
        given = {name: list(texts) for name, texts in which.items() if texts}
        more = True
        while more:
            found = self._get(
                "/changes", branch=branch, since=since, limit=_COMMITS_AT_ONCE, **given
            )
            since, more = found["cursor"], found["more"]
            for each in found["commits"]:
                made = each["commit"]
                who = {"commit": made["graph_commit_id"], "actor_id": made["actor_id"]}
                yield from ({**who, **change} for change in each["changes"])

    def blame(self, type_name: str, row_id: str, place: str) -> Document:
        """Give which commit gave each property of a node or edge its value."""
        return self._get("/blame", type=type_name, id=row_id, branch=place)

    def tags(self) -> Document:
        """Give all tags and their commits."""
        return self._get("/tags")

    def create_tag(self, name: str, place: str) -> Document:
        """Give a name to a commit, or to where a branch stands."""
        return self._post("/tags", {"name": name, "target": place})

    def delete_tag(self, name: str) -> Document:
        """Take a name away."""
        return cast(Document, self._client.delete(f"/tags/{segment(name)}"))

    def runs(self) -> Document:
        """Give all runs, newest first."""
        return self._get("/runs")

    def run(self, run_id: str) -> Document:
        """Give a run."""
        return self._get(f"/runs/{segment(run_id)}")

    def begin_run(self, branch: str, operation_hash: str | None) -> Document:
        """Begin a run that is to be published to a branch."""
        return self._post("/runs", {"target_branch": branch, "operation_hash": operation_hash})

    def publish_run(self, run_id: str) -> Document:
        """Merge what a run wrote into its target."""
        return self._post(f"/runs/{segment(run_id)}/publish", {})

    def abort_run(self, run_id: str) -> Document:
        """Give a run up."""
        return self._post(f"/runs/{segment(run_id)}/abort", None)

    def fail_run(self, run_id: str) -> Document:
        """Note that a run failed."""
        return self._post(f"/runs/{segment(run_id)}/fail", None)

    def read(self, question: Question, target: Target) -> Rows:
        """Give the rows of a query."""
        return Rows.of_document(self._read(question, target, "rows"))

    def watched(self, question: Question, target: Target) -> Rows:
        """Give the rows of a query; Ctrl-C cancels it, and it raises CancelledError."""
        try:
            return self.read(question, target)
        except KeyboardInterrupt:  # the connection is closed, and so the server gives it up
            raise CancelledError("the query was cancelled") from None

    def read_arrow(self, question: Question, target: Target) -> bytes:
        """Give the rows of a query as an Arrow IPC stream."""
        body = _asked(question, target)
        return self._client.ask_arrow("/read", body, source=question.source)

    def explain(self, question: Question, target: Target) -> tuple[Document, str | None]:
        """Give how a query would be run, for programs; nothing is run."""
        return self._read(question, target, "explain"), None

    def profile(self, question: Question, target: Target) -> tuple[Document, str | None]:
        """Run a query, and give what that took, for programs."""
        return self._read(question, target, "profile"), None

    def change(self, question: Question, terms: ChangeTerms) -> Document:
        """Run a mutation as one commit."""
        body = {
            **_asked(question, Target(terms.branch)),
            "message": terms.message,
            "expect": terms.expect,
        }
        done = self._client.post("/change", body, key=terms.operation_id, source=question.source)
        return _told(done)

    def watched_change(self, question: Question, terms: ChangeTerms) -> Document:
        """Run a mutation; Ctrl-C ends the connection, and nobody here knows whether it was done."""
        try:
            return self.change(question, terms)
        except KeyboardInterrupt:  # the server gives it up, unless it is being committed
            hint = "look at the branch"
            message = "the change was given up, and it may have been done"
            raise OutcomeUnknownError(message, hint=hint) from None

    def load(self, given: Given, branch: str, how: "LoadHow") -> Document:
        """Load rows into a branch."""
        return self._upload("/load", given, how, branch=branch)

    def ingest(self, given: Given, branch: str, base: str, how: "LoadHow") -> Document:
        """Load rows into a branch, which is made from another one when it is not there."""
        return self._upload("/ingest", given, how, branch=branch, **{"from": base})

    def export(
        self, target: Target, types: Sequence[str], tables: Sequence[str], _: "Progress"
    ) -> Iterator[bytes]:
        """Give the rows as JSON lines, many at a time."""
        body = {
            "branch": target.branch,
            "snapshot": target.snapshot,
            "type_names": list(types),
            "table_keys": list(tables),
        }
        return self._client.download("/export", cast(Json, body))

    def optimize(self, branch: str, how: "OptimizeHow") -> Document:
        """Write a branch anew in few large files, all indexed."""
        _refuse_engine(how.get("engine"))
        return self._post("/optimize", {"branch": branch, "indexes_only": how["indexes_only"]})

    def coverage(self, target: Target) -> Document:
        """Give for each index how many rows are in it, and why not all."""
        found = self._get("/coverage", branch=target.branch, snapshot=target.snapshot)
        return {"uri": found["uri"], "indexes": found["indexes"]}

    def cleanup(self, terms: CleanupTerms) -> Document:
        """Remove what only old commits need, or tell what that would be."""
        return self._post("/cleanup", asdict(terms))

    def fsck(self) -> Document:
        """Check everything that the graph is made of."""
        return self._get("/fsck")

    def _read(self, question: Question, target: Target, mode: str) -> Document:
        body = {**_asked(question, target), "mode": mode}
        return cast(Document, self._client.ask("/read", body, source=question.source))

    def _get(self, path: str, **query: Any) -> Document:  # noqa: ANN401
        return _told(self._client.get(path, **query))

    def _ask(self, path: str, body: Json) -> Document:
        return cast(Document, self._client.ask(path, body))

    def _post(self, path: str, body: Json) -> Document:
        return _told(self._client.post(path, body))

    def _upload(self, path: str, given: Given, how: "LoadHow", **into: str) -> Document:
        if how["report"] is not None or str(how["engine"]) != "auto":
            raise InputError("--report and --engine do not work through a server")
        upload = Upload(given)
        query = {"mode": str(how["mode"]), "message": how["message"]}
        dry_run = "true" if how["dry_run"] else None
        with upload.placing(how["shown"]):
            done = self._client.upload(path, upload.lines(), **into, **query, dry_run=dry_run)
        return _told(done)


def _refuse_engine(engine: str | None) -> None:
    if engine is not None and str(engine) != "auto":
        raise InputError("--engine does not work through a server")


def _told(found: Json) -> Document:
    """Give what a server says without what it adds for handles in other processes."""
    assert isinstance(found, dict)
    added = {name for name in _FOR_HANDLES if name in found}
    if isinstance(found.get("commits"), dict):
        added.add("commits")
    return {name: value for name, value in found.items() if name not in added}


def _asked(question: Question, target: Target) -> Document:
    return {
        "query_source": question.source.text,
        "query_name": question.name,
        "params": dict(question.params),
        "branch": target.branch,
        "snapshot": target.snapshot,
    }


def _choices(terms: MergeTerms) -> Document:
    choices = list(terms.choices) or None
    return {"take": terms.side, "resolutions": choices, "message": terms.message}


def _wanted(terms: DiffTerms) -> Document:
    return {"types": list(terms.types), "ops": list(terms.ops), "kinds": list(terms.kinds)}
