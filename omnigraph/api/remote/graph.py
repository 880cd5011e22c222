"""Graph: a graph that a server has; the handle answers as that of a graph at hand."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from omnigraph.api import wire
from omnigraph.api.client import Client, Field, segment
from omnigraph.api.given import resolutions_of
from omnigraph.api.profile import Explanation, Profile
from omnigraph.api.remote import maintenance
from omnigraph.api.remote.sending import lines_of
from omnigraph.api.remote.view import (
    Place,
    RemoteBranch,
    RemoteView,
    load_query,
    place_of,
    place_query,
    snapshot_at,
    uploaded,
)
from omnigraph.api.wire import SentChanges, SentCommit
from omnigraph.data.result import Result
from omnigraph.errors import InputError, Json, UnavailableError
from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
from omnigraph.html import html_facts
from omnigraph.maintain.cleanup import GRACE, Cleaned, retention
from omnigraph.maintain.coverage import Coverage
from omnigraph.maintain.fsck import Checkup
from omnigraph.merge.blame import Blamed
from omnigraph.merge.merge import Merge
from omnigraph.merge.runs import RunRecord
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import content_hash
from omnigraph.span import Source
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.mutation import Receipt

if TYPE_CHECKING:
    from omnigraph.maintain.optimize import Optimized
    from omnigraph.report.page import Compared
    from omnigraph.write.load.ingest import Ingested
    from omnigraph.write.load.inputs import Data
    from omnigraph.write.load.load import Loaded


class RemoteGraph:
    """A graph that a server has: its branches and its history. The token says who acts."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __repr__(self) -> str:
        return f"RemoteGraph({self.uri!r})"

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
        """End the connections; whatever is asked of the graph or its handles later is refused."""
        self._client.close()

    @property
    def uri(self) -> str:
        """Where the server is."""
        return self._client.url

    @property
    def actor(self) -> NoReturn:
        """Refused: the server knows by the token who acts, and does not tell."""
        raise UnavailableError("the server alone knows for whom the token stands")

    def acting_as(self, actor: str | None) -> NoReturn:
        """Refuse it: the server knows by the token who acts."""
        hint = "connect with the token of that actor"
        raise UnavailableError(f"a token says who acts, and not '{actor}'", hint=hint)

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

    def branch(
        self,
        name: str = MAIN,
        *,
        message: str | None = None,
        expect: str | None = None,
        operation_id: str | None = None,
    ) -> RemoteBranch:
        """Give a branch to read and to change; it need not be there until it is used.

        An `operation_id` holds for every change that is made through the handle.
        """
        if operation_id == "":
            raise InputError("an operation id cannot be empty", hint="leave it out, or choose one")
        return RemoteBranch(
            self._client, name, message=message, expect=expect, operation_id=operation_id
        )

    on = branch

    def at(self, target: Place = MAIN) -> RemoteView:
        """Give a branch where it stands now, or a commit, to read from."""
        found = self.snapshot(target)
        return RemoteView(self._client, found.commit.id)

    def snapshot(self, target: Place = MAIN) -> Snapshot:
        """Give where a branch stands now, or a commit by its id."""
        return RemoteView(self._client, place_of(target)).snapshot

    def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Give the commit that gave a branch a version."""
        return snapshot_at(self._client, branch=branch, version=version)

    def entity_at(
        self, table_key: str, entity_id: str, version: int, branch: str = MAIN
    ) -> Mapping[str, object] | None:
        """Give one node or edge as it was at a version, or None when it was not there."""
        where: dict[str, Field] = {"branch": branch, "version": version}
        found = self._get("/entity", table=table_key, id=entity_id, **where)["entity"]
        if found is None:
            return None
        stored = self.snapshot_at_version(version, branch).catalog.by_identity[table_key]
        return wire.stored_row_of(found, stored)

    def branches(self) -> list[str]:
        """Give the names of all branches, `main` first."""
        return list(self._client.listed("/branches", "branches"))

    def create_branch(self, name: str, source: Place = MAIN) -> RemoteBranch:
        """Make a branch where another one, or a commit, stands, and give it."""
        self._client.post("/branches", {"name": name, "from": place_of(source)})
        return self.branch(name)

    def delete_branch(self, name: str) -> None:
        """Remove a branch; one to which a run is to be published is refused."""
        self._client.delete(f"/branches/{segment(name)}")

    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name."""
        self._client.post("/branches/rename", {"name": name, "new_name": new_name})

    def tags(self) -> dict[str, str]:
        """Give the commit of every tag, by name."""
        return {each["name"]: each["commit"] for each in self._client.listed("/tags", "tags")}

    def create_tag(self, name: str, target: Place = MAIN) -> str:
        """Give a name to a commit, or to where a branch stands now; gives the commit's id."""
        found = self._client.post("/tags", {"name": name, "target": place_of(target)})
        return str(cast(Any, found)["commit"])

    def delete_tag(self, name: str) -> None:
        """Take a name away; the commit stays."""
        self._client.delete(f"/tags/{segment(name)}")

    def runs(self, *, limit: int | None = None, after: str | None = None) -> list[RunRecord]:
        """Give the runs, newest first; `after` goes on behind one of them."""
        found = self._client.listed("/runs", "runs", limit=limit, after=after)
        return [wire.run_of(each) for each in found]

    def run(self, run_id: str) -> RunRecord:
        """Give a run by its id."""
        return wire.run_of(self._get(f"/runs/{segment(run_id)}"))

    def begin_run(self, target: str = MAIN, *, operation_hash: str | None = None) -> RunRecord:
        """Begin a run: what is written to its `run_branch` is published to the target at once."""
        body: Json = {"target_branch": target, "operation_hash": operation_hash}
        return wire.run_of(cast(Any, self._client.post("/runs", body)))

    def publish_run(
        self,
        run_id: str,
        *,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> RunRecord:
        """Merge what a run wrote into its target; its branch is removed."""
        body = {"message": message, **wire.choices_json(resolutions_of(resolutions))}
        return self._ended(run_id, "publish", body)

    def abort_run(self, run_id: str) -> RunRecord:
        """Give a run up; what it wrote is never published."""
        return self._ended(run_id, "abort")

    def fail_run(self, run_id: str) -> RunRecord:
        """Note that a run failed; what it wrote is never published."""
        return self._ended(run_id, "fail")

    def commit(self, commit_id: str) -> Commit:
        """Give a commit by its id."""
        return wire.commit_of(self._get(f"/commits/{segment(commit_id)}"))

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
        mode: str = "append",
        message: str | None = None,
        dry_run: bool = False,
    ) -> "Loaded":
        """Load rows into a branch as one commit; see `RemoteBranch.load`."""
        target = self.branch(branch, message=message)
        return target.load(data, type=type, mode=mode, dry_run=dry_run)

    def ingest(
        self,
        data: "Data",
        *,
        branch: str,
        base: str = MAIN,
        type: str | None = None,  # noqa: A002 - the word of the command line
        mode: str = "merge",
        message: str | None = None,
        dry_run: bool = False,
    ) -> "Ingested":
        """Load rows into a branch, which is made from `base` by the same commit if need be."""
        lines = lines_of(data, type, self.branch(base).catalog)
        query = {**load_query(branch, mode, message, dry_run), "from": base}
        return wire.ingested_of(uploaded(self._client, "/ingest", lines, query))

    def export(
        self, target: Place = MAIN, *, types: Sequence[str] = (), tables: Sequence[str] = ()
    ) -> Iterator[bytes]:
        """Give the rows of a branch or commit as JSON lines, many at a time."""
        return RemoteView(self._client, place_of(target)).export(types=types, tables=tables)

    def export_to(
        self, folder: str | os.PathLike[str], target: Place = MAIN, **_: object
    ) -> NoReturn:
        """Refuse it; see `RemoteView.export_to`."""
        RemoteView(self._client, place_of(target)).export_to(folder)

    def blame(self, type_name: str, row_id: str, target: Place = MAIN) -> list[Blamed]:
        """Give for each property of a node or edge the commit that it has its value from."""
        return RemoteView(self._client, place_of(target)).blame(type_name, row_id)

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
    ) -> SentChanges:
        """Give the net changes from one branch or commit to another."""
        earlier = RemoteView(self._client, place_of(old))
        return earlier.diff(new, kinds=kinds, types=types, ops=ops)

    def changes(
        self,
        branch: str = MAIN,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[SentCommit]:
        """Give what each commit of a branch changed, oldest first, after the one of a cursor."""
        return self.branch(branch).changes(since=since, kinds=kinds, types=types, ops=ops)

    def merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Merge a branch or commit into a branch, as one commit with two parents."""
        target = self.branch(place_of(into), message=message)
        return target.merge(source, resolutions=resolutions, strict=strict)

    def preview_merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Give what a merge would do, conflicts included; nothing is written."""
        target = self.branch(place_of(into))
        return target.preview_merge(source, resolutions=resolutions, strict=strict)

    def revert(
        self,
        commit_id: str,
        branch: Place = MAIN,
        *,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> Merge:
        """Undo what a commit did, as a new commit of a branch."""
        return self.branch(place_of(branch), message=message).revert(
            commit_id, resolutions=resolutions
        )

    def plan_schema(self, schema: str | Path | Source, branch: Place = MAIN) -> SchemaPlan:
        """Give what a schema would change on a branch; nothing is written."""
        return self.branch(place_of(branch)).plan_schema(schema)

    def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        branch: Place = MAIN,
        *,
        message: str | None = None,
    ) -> SchemaApplied:
        """Give a branch another schema, with everything that follows, as one commit."""
        return self.branch(place_of(branch), message=message).apply_schema(schema)

    def report(
        self,
        target: Place = MAIN,
        *,
        compared: "Mapping[str, Compared] | None" = None,
        answered: Mapping[str, Result] | None = None,
        commits: int = 40,
    ) -> str:
        """Give a page of HTML about the graph, which opens without a network."""
        from omnigraph.report.page import page_of

        return page_of(self, place_of(target), commits, compared, answered).html()

    def merge_base(self, one: Place, other: Place) -> Commit:
        """Give the newest commit that two branches or commits came from."""
        places = {"one": place_of(one), "other": place_of(other)}
        return wire.commit_of(self._get("/branches/base", **places))

    def optimize(self, branch: str = MAIN, *, indexes_only: bool = False) -> "Optimized":
        """Write a branch anew in few large files, all indexed; no content changes."""
        body: Json = {"branch": branch, "indexes_only": indexes_only}
        return maintenance.optimized_of(cast(Any, self._client.post("/optimize", body)))

    def ensure_indices(self, branch: str = MAIN) -> "Optimized":
        """Complete all indexes of a branch, and leave its files else as they are."""
        return self.optimize(branch, indexes_only=True)

    def coverage(self, target: Place = MAIN) -> list[Coverage]:
        """Give for each index how many rows are in it, how many are not yet, and why."""
        found = self._get("/coverage", **place_query(place_of(target)))
        return [maintenance.coverage_of(each) for each in found["indexes"]]

    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        grace: timedelta | str = GRACE,
        confirm: bool = False,
    ) -> Cleaned:
        """Remove what only old commits need; without `confirm`, tell what that would be."""
        retention(keep, older_than, grace)
        body: Json = {
            "keep": keep,
            "older_than": None if older_than is None else maintenance.age_of(older_than),
            "grace": maintenance.age_of(grace),
            "confirm": confirm,
        }
        return maintenance.cleaned_of(cast(Any, self._client.post("/cleanup", body)))

    def fsck(self) -> Checkup:
        """Check everything that the graph is made of and name all damage; nothing is changed."""
        return maintenance.checkup_of(self._get("/fsck"))

    def _ended(self, run_id: str, how: str, body: Json = None) -> RunRecord:
        return wire.run_of(cast(Any, self._client.post(f"/runs/{segment(run_id)}/{how}", body)))

    def _get(self, path: str, **query: Field) -> Any:  # noqa: ANN401 - a document
        return self._client.get(path, **query)


def connect(url: str, *, token: str | None = None, seconds: float | None = None) -> RemoteGraph:
    """Give the graph of a server; nothing is sent before it is asked for something.

    An answer that takes longer than so many seconds is given up; by default none is.
    """
    return RemoteGraph(Client(url, token, seconds=seconds))
