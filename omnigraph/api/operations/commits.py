"""Commits: operations on the history of a branch."""

from collections.abc import Iterator

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Count, Document, Key, Operation, Shape, get, page_of
from omnigraph.errors import Json
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN


class CommitShape(Shape, frozen=True, kw_only=True):
    """One point of the history."""

    graph_commit_id: str
    manifest_branch: str
    manifest_version: int
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    actor_id: str | None
    created_at: int
    kind: str
    message: str | None
    operation_id: str


class CommitsShape(Shape, frozen=True, kw_only=True):
    """The commits of a branch, newest first; a cursor is where the list goes on."""

    commits: list[CommitShape]
    cursor: str | None


class ListCommits(Operation[Iterator[Commit]], frozen=True, kw_only=True):
    """List the commits of a branch, newest first; `after` goes on behind one of them."""

    endpoint = get("/commits", "commits", CommitsShape)

    branch: str = MAIN
    limit: Count = 100
    after: Key | None = None

    def answer(self, result: Iterator[Commit], backend: Backend) -> dict[str, Json]:
        shown, cursor = page_of(result, self.limit, lambda each: each.id)
        return {"commits": [each.to_json() for each in shown], "cursor": cursor}

    def result(self, answer: Document, backend: Backend) -> Iterator[Commit]:
        return (Commit.from_json(each) for each in answer["commits"])


class GetCommit(Operation[Commit], frozen=True, kw_only=True):
    """Return a commit by its id."""

    endpoint = get("/commits/{commit_id}", "commit", CommitShape)
    result_type = Commit

    commit_id: str


OPERATIONS = (ListCommits, GetCommit)
