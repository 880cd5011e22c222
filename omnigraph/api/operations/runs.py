"""Runs: operations on changes made aside, which are published at once or given up."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import msgspec

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Count, Document, Key, Operation, Shape, get, page_of, post
from omnigraph.api.operations.branches import MergeOperation
from omnigraph.errors import InputError, Json, OmniGraphError
from omnigraph.merge.run_record import RunRecord, RunStatus
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN


class RunShape(Shape, frozen=True, kw_only=True):
    """A run: where it publishes to, where it writes meanwhile, and how it ended."""

    run_id: str
    target_branch: str
    run_branch: str
    base_snapshot_id: str | None
    base_manifest_version: int | None
    operation_hash: str | None
    actor_id: str | None
    status: Literal["running", "published", "failed", "aborted"]
    published_snapshot_id: str | None
    created_at: int
    updated_at: int


class RunsShape(Shape, frozen=True, kw_only=True):
    """Runs, newest first; a cursor is where the list goes on."""

    runs: list[RunShape]
    cursor: str | None


class ListRuns(Operation[Iterator[RunRecord]], frozen=True, kw_only=True):
    """List the runs, newest first."""

    endpoint = get("/runs", "runs", RunsShape, errors=())

    limit: Count = 100
    after: Key | None = None

    def answer(self, result: Iterator[RunRecord], backend: Backend) -> dict[str, Json]:
        shown, cursor = page_of(result, self.limit, lambda each: each.run_id)
        return {"runs": [each.to_json() for each in shown], "cursor": cursor}

    def result(self, answer: Document, backend: Backend) -> Iterator[RunRecord]:
        return (RunRecord.from_json(each) for each in answer["runs"])


class RunOperation(Operation[RunRecord], frozen=True, kw_only=True):
    """An operation that begins or ends a run, and answers with its record."""

    result_type = RunRecord

    def changed_branch(self, answer: Document) -> str | None:
        return str(answer["target_branch"])

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        hidden = ("base_snapshot_id", "base_manifest_version", "published_snapshot_id")
        return {**answer, **dict.fromkeys(hidden)}


class BeginRun(RunOperation, frozen=True, kw_only=True):
    """Begin a run; a live one with the same operation hash, or the same key, is returned again."""

    endpoint = post("/runs", "begin_run", Action.CHANGE, RunShape, "RunBody")

    target_branch: Key = MAIN
    operation_hash: str | None = None

    def keyed(self, name: str) -> Self:
        return msgspec.structs.replace(self, operation_hash=self.operation_hash or name)


class GetRun(Operation[RunRecord], frozen=True, kw_only=True):
    """Return a run by its id."""

    endpoint = get("/runs/{run_id}", "run", RunShape)
    result_type = RunRecord

    run_id: str


class PublishRun(RunOperation, MergeOperation[RunRecord], frozen=True, kw_only=True):
    """Merge what a run wrote into its target."""

    endpoint = post(
        "/runs/{run_id}/publish",
        "publish_run",
        Action.RUN_PUBLISH,
        RunShape,
        "PublishBody",
        needs_body=False,
    )
    settled_by = (InputError,)

    run_id: str

    def settled(self, backend: Backend, error: OmniGraphError) -> RunRecord:
        return _found(self.run_id, RunStatus.PUBLISHED, backend, error)


class RunEnding(RunOperation, frozen=True, kw_only=True):
    """An operation that gives a run up, with the status that it leaves."""

    settled_by = (InputError,)
    status: ClassVar[RunStatus]

    run_id: str

    def settled(self, backend: Backend, error: OmniGraphError) -> RunRecord:
        return _found(self.run_id, self.status, backend, error)


class AbortRun(RunEnding, frozen=True, kw_only=True):
    """Abort a run."""

    endpoint = post("/runs/{run_id}/abort", "abort_run", Action.RUN_ABORT, RunShape)
    status = RunStatus.ABORTED


class FailRun(RunEnding, frozen=True, kw_only=True):
    """Record that a run failed."""

    endpoint = post("/runs/{run_id}/fail", "fail_run", Action.RUN_ABORT, RunShape)
    status = RunStatus.FAILED


def _found(run_id: str, status: RunStatus, backend: Backend, error: OmniGraphError) -> RunRecord:
    """Return the record of a run that was ended in this way before, else raise the error."""
    record = backend.run(GetRun(run_id=run_id))
    if record.status is not status:
        raise error
    return record


OPERATIONS = (ListRuns, BeginRun, GetRun, PublishRun, AbortRun, FailRun)
