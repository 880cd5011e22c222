"""Branches: operations on branches and tags: make, list, rename, delete, merge and revert."""

from typing import Any, Generic, Literal

from msgspec import field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import (
    Count,
    Document,
    Key,
    Operation,
    R,
    Shape,
    Work,
    delete,
    get,
    named_or_main,
    page_of,
    post,
)
from omnigraph.api.operations.commits import CommitShape
from omnigraph.api.operations.read import catalog_at
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    Json,
    OmniGraphError,
    TagExistsError,
    TagNotFoundError,
)
from omnigraph.merge.conflict import Resolutions
from omnigraph.merge.outcome import Merge
from omnigraph.policy.actions import Action
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN

SideName = Literal["ours", "theirs"]


class BranchesShape(Shape, frozen=True, kw_only=True):
    """The names of branches, `main` first; a cursor is where the list goes on."""

    branches: list[str]
    cursor: str | None


class BranchCreatedShape(Shape, frozen=True, kw_only=True):
    """A branch that was made."""

    uri: str
    base: str = field(name="from")
    name: str
    actor_id: str | None


class BranchNamedShape(Shape, frozen=True, kw_only=True):
    """A branch that was removed or renamed."""

    uri: str
    name: str


class MergedShape(Shape, frozen=True, kw_only=True):
    """What a merge did or would do; where the target stood is told to those who may read it."""

    source: str
    target: str
    outcome: Literal["already_up_to_date", "fast_forward", "merged", "conflicts"]
    actor_id: str | None
    commit: str | None
    base_commit: str
    stats: dict[str, dict[str, int]]
    merge_conflicts: list[dict[str, Any]]
    commits: dict[str, CommitShape]
    ours_commit: str | None
    theirs_commit: str


class RevertedShape(Shape, frozen=True, kw_only=True):
    """A commit that was undone by another; without one there was nothing left to undo."""

    branch: str
    reverted: str
    commit: str | None
    merge: MergedShape


class TagShape(Shape, frozen=True, kw_only=True):
    """A name for a commit."""

    name: str
    commit: str


class TagsShape(Shape, frozen=True, kw_only=True):
    """Tags, by name; a cursor is where the list goes on."""

    tags: list[TagShape]
    cursor: str | None


class TagNamedShape(Shape, frozen=True, kw_only=True):
    """A tag that was removed."""

    name: str


class MergeOperation(Operation[R], Generic[R], frozen=True, kw_only=True):
    """An operation that merges.

    `take` says whose version is taken where both sides changed the same, `types` says it for the
    rows of a type, and `resolutions` are conflicts of a preview with `take`, `value` or `into` set.
    """

    work = Work.MERGE

    take: SideName | None = None
    types: dict[str, SideName] | None = None
    resolutions: list[dict[str, Any]] | None = None
    message: str | None = None

    @property
    def chosen(self) -> Resolutions:
        """Whose version is taken."""
        return Resolutions.from_json(self.take, self.types, self.resolutions)


class ListBranches(Operation[list[str]], frozen=True, kw_only=True):
    """List the branches."""

    endpoint = get("/branches", "branches", BranchesShape, errors=())

    limit: Count = 1_000
    after: Key | None = None

    def answer(self, result: list[str], backend: Backend) -> dict[str, Json]:
        first = None if self.after is None else _order(self.after)
        rest = (each for each in result if first is None or _order(each) > first)
        shown, cursor = page_of(rest, self.limit, str)
        return {"branches": [*shown], "cursor": cursor}

    def result(self, answer: Document, backend: Backend) -> list[str]:
        return list(answer["branches"])


class CreateBranch(Operation[None], frozen=True, kw_only=True):
    """Make a branch where another branch or a commit stands."""

    endpoint = post(
        "/branches", "create_branch", Action.BRANCH_CREATE, BranchCreatedShape, "BranchBody"
    )
    settled_by = (BranchExistsError,)

    name: Key
    base: str | None = field(name="from", default=None)

    def answer(self, result: None, backend: Backend) -> dict[str, Json]:
        base = named_or_main(self.base)
        return {"uri": backend.uri, "from": base, "name": self.name, "actor_id": backend.actor}


class DeleteBranch(Operation[None], frozen=True, kw_only=True):
    """Remove a branch; with `expect`, only where it stands at this commit."""

    endpoint = delete(
        "/branches/{branch:path}", "delete_branch", Action.BRANCH_DELETE, BranchNamedShape
    )
    settled_by = (BranchNotFoundError,)

    branch: str
    expect: Key | None = None

    def answer(self, result: None, backend: Backend) -> dict[str, Json]:
        return {"uri": backend.uri, "name": self.branch}


class RenameBranch(Operation[None], frozen=True, kw_only=True):
    """Rename a branch."""

    endpoint = post(
        "/branches/rename", "rename_branch", Action.BRANCH_CREATE, BranchNamedShape, "RenameBody"
    )
    settled_by = (BranchNotFoundError,)

    name: Key
    new_name: Key

    def answer(self, result: None, backend: Backend) -> dict[str, Json]:
        return {"uri": backend.uri, "name": self.new_name}


class GetMergeBase(Operation[Commit], frozen=True, kw_only=True):
    """Return the newest commit that two branches or commits came from."""

    endpoint = get("/branches/base", "merge_base", CommitShape)

    result_type = Commit

    one: Key
    other: Key


class MergeBranch(MergeOperation[Merge], frozen=True, kw_only=True):
    """Merge a branch or commit into a branch, or preview that.

    With `expect` the target, and with `expect_source` the source has to stand at this commit.
    """

    endpoint = post(
        "/branches/merge",
        "merge",
        Action.BRANCH_MERGE,
        MergedShape,
        "MergeBody",
        suffices=(Action.READ,),
    )

    source: Key
    target: Key = MAIN
    strict: bool = False
    preview: bool = False
    expect: Key | None = None
    expect_source: Key | None = None

    @property
    def writes(self) -> bool:
        return not self.preview

    def changed_branch(self, answer: Document) -> str | None:
        return None if self.preview else self.target

    def answer(self, result: Merge, backend: Backend) -> dict[str, Json]:
        return result.to_answer()

    def redacted(self, answer: dict[str, Json]) -> dict[str, Json]:
        return _without_target(answer)

    def result(self, answer: Document, backend: Backend) -> Merge:
        return Merge.from_json(answer, lambda: catalog_at(backend, answer["ours_commit"]))


class RevertCommit(MergeOperation[Merge], frozen=True, kw_only=True):
    """Undo what a commit did, as a new commit, or preview that."""

    endpoint = post(
        "/revert", "revert", Action.CHANGE, RevertedShape, "RevertBody", suffices=(Action.READ,)
    )

    commit: Key
    branch: Key = MAIN
    preview: bool = False

    @property
    def writes(self) -> bool:
        return not self.preview

    def answer(self, result: Merge, backend: Backend) -> dict[str, Json]:
        commit = None if result.commit is None else result.commit.id
        about: dict[str, Json] = {"branch": self.branch, "reverted": self.commit, "commit": commit}
        return {**about, "merge": result.to_answer()}

    def changed_branch(self, answer: Document) -> str | None:
        return None if self.preview else self.branch

    def redacted(self, answer: dict[str, Json]) -> dict[str, Json]:
        return {**answer, "merge": _without_target(answer["merge"])}

    def result(self, answer: Document, backend: Backend) -> Merge:
        merge = answer["merge"]
        return Merge.from_json(merge, lambda: catalog_at(backend, merge["ours_commit"]))


class ListTags(Operation[dict[str, str]], frozen=True, kw_only=True):
    """List the tags."""

    endpoint = get("/tags", "tags", TagsShape, errors=())

    limit: Count = 1_000
    after: Key | None = None

    def answer(self, result: dict[str, str], backend: Backend) -> dict[str, Json]:
        rest = (name for name in sorted(result) if self.after is None or name > self.after)
        shown, cursor = page_of(rest, self.limit, str)
        named: list[Json] = [{"name": name, "commit": result[name]} for name in shown]
        return {"tags": named, "cursor": cursor}

    def result(self, answer: Document, backend: Backend) -> dict[str, str]:
        return {each["name"]: each["commit"] for each in answer["tags"]}


class CreateTag(Operation[str], frozen=True, kw_only=True):
    """Name a commit, or where a branch stands."""

    endpoint = post("/tags", "create_tag", Action.BRANCH_CREATE, TagShape, "TagBody")
    settled_by = (TagExistsError,)

    name: Key
    target: Key = MAIN

    def answer(self, result: str, backend: Backend) -> dict[str, Json]:
        return {"name": self.name, "commit": result}

    def result(self, answer: Document, backend: Backend) -> str:
        return str(answer["commit"])

    def settled(self, backend: Backend, error: OmniGraphError) -> str:
        return backend.pin(self.name).commit_id


class DeleteTag(Operation[None], frozen=True, kw_only=True):
    """Remove a tag; its commit stays."""

    endpoint = delete("/tags/{tag:path}", "delete_tag", Action.BRANCH_DELETE, TagNamedShape)
    settled_by = (TagNotFoundError,)

    tag: str

    def answer(self, result: None, backend: Backend) -> dict[str, Json]:
        return {"name": self.tag}


def _order(branch: str) -> tuple[bool, str]:
    """Return what sorts the list of branches, in which `main` is the first."""
    return branch != MAIN, branch


def _without_target(answer: Any) -> dict[str, Json]:  # noqa: ANN401 - a document
    """Return a merge that does not say where the target stood, or which rows it had."""
    kept = (answer["base_commit"], answer["theirs_commit"])
    commits = {name: each for name, each in answer["commits"].items() if name in kept}
    return {**answer, "ours_commit": None, "stats": {}, "commits": commits}


OPERATIONS = (
    ListBranches,
    CreateBranch,
    MergeBranch,
    GetMergeBase,
    RenameBranch,
    DeleteBranch,
    RevertCommit,
    ListTags,
    CreateTag,
    DeleteTag,
)
