"""Backend: runs operations on a graph at hand, each by the function for it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.api.access import Access
from omnigraph.api.backend import USUAL, CallOptions, Pin
from omnigraph.api.local import branches, changes, maintenance, reads, writes
from omnigraph.api.operation import Document, Operation, R
from omnigraph.api.operations.branches import (
    CreateBranch,
    CreateTag,
    DeleteBranch,
    DeleteTag,
    GetMergeBase,
    ListBranches,
    ListTags,
    MergeBranch,
    RenameBranch,
    RevertCommit,
)
from omnigraph.api.operations.changes import GetBlame, GetDiff, ListChanges
from omnigraph.api.operations.commits import GetCommit, ListCommits
from omnigraph.api.operations.maintenance import CheckFiles, CleanUp, GetCoverage, OptimizeBranch
from omnigraph.api.operations.read import (
    ExportFiles,
    ExportRows,
    GetBlob,
    GetEntity,
    GetSchema,
    GetSnapshot,
    ReadRecords,
    ReadRows,
)
from omnigraph.api.operations.runs import (
    AbortRun,
    BeginRun,
    FailRun,
    GetRun,
    ListRuns,
    PublishRun,
)
from omnigraph.api.operations.schemas import ApplySchema, PlanSchema
from omnigraph.api.operations.write import Ingest, Load, Mutate

FUNCTIONS: Mapping[type[Operation[Any]], Callable[[Access, Any, CallOptions], Any]] = {
    GetSnapshot: reads.get_snapshot,
    GetEntity: reads.get_entity,
    GetSchema: reads.get_schema,
    GetBlob: reads.get_blob,
    ReadRows: reads.read_rows,
    ReadRecords: reads.read_records,
    ExportRows: reads.export_rows,
    ExportFiles: reads.export_files,
    Mutate: writes.mutate,
    Load: writes.load,
    Ingest: writes.ingest,
    ListBranches: branches.list_branches,
    CreateBranch: branches.create_branch,
    DeleteBranch: branches.delete_branch,
    RenameBranch: branches.rename_branch,
    MergeBranch: branches.merge_branch,
    RevertCommit: branches.revert_commit,
    GetMergeBase: branches.get_merge_base,
    ListTags: branches.list_tags,
    CreateTag: branches.create_tag,
    DeleteTag: branches.delete_tag,
    ListRuns: branches.list_runs,
    GetRun: branches.get_run,
    BeginRun: branches.begin_run,
    PublishRun: branches.publish_run,
    AbortRun: branches.end_run,
    FailRun: branches.end_run,
    ListCommits: changes.list_commits,
    GetCommit: changes.get_commit,
    GetDiff: changes.get_diff,
    ListChanges: changes.list_changes,
    GetBlame: changes.get_blame,
    PlanSchema: maintenance.plan_schema,
    ApplySchema: maintenance.apply_schema,
    GetCoverage: maintenance.get_coverage,
    OptimizeBranch: maintenance.optimize_branch,
    CleanUp: maintenance.clean_up,
    CheckFiles: maintenance.check_files,
}


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """A graph on a local disk or in a bucket, for one actor and under one policy."""

    access: Access

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self.access.repository.store.root

    @property
    def actor(self) -> str | None:
        """Who acts, and is noted with what changes."""
        return self.access.actor

    def acting_as(self, actor: str | None) -> "LocalBackend":
        """Return the same graph for another actor, about whom the policy is asked then."""
        return LocalBackend(self.access.acting_as(actor))

    def author(self, actor: str | None) -> str | None:
        """Return who is noted with a change; raise InputError for another than who acts."""
        return self.access.author(actor)

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Run an operation, if the policy allows it."""
        found: R = FUNCTIONS[type(operation)](self.access, operation, options)
        return found

    def document(self, operation: Operation[Any], options: CallOptions = USUAL) -> Document:
        """Run an operation and return its result as the JSON of a server's answer."""
        return operation.answer(self.run(operation, options), self)

    def stream(self, operation: Operation[Any], options: CallOptions = USUAL) -> Iterator[bytes]:
        """Run an operation and return its rows as bytes."""
        found = self.run(operation, options)
        pieces: Iterator[bytes] = found.to_ipc() if isinstance(operation, ReadRows) else found
        return pieces

    def pin(self, place: str) -> Pin:
        """Return the commit at which a branch stands, or that a tag or an id names."""
        snapshot = self.access.pin(place)
        return Pin(snapshot.commit.id, snapshot)

    def close(self) -> None:
        """Let go of the graph; later operations raise InputError."""
        self.access.close()
