"""Reviews: operations on branches before they are merged: where they stand, what was said."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from msgspec import Meta, field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Count, Document, Key, Operation, Shape, Work, get, page_of, post
from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.merge.review.record import Review
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from omnigraph.merge.review.page import ReviewPage

MOST_CHANGES = 1_000
StateName = Literal["open", "changes_asked", "approved", "merged"]
SaidState = Literal["open", "changes_asked", "approved"]


class BranchStatusShape(Shape, frozen=True, kw_only=True):
    """Where a branch stands: its newest commit, and how far it is ahead of and behind `main`.

    Whoever may not read `main` is not told how far.
    """

    name: str
    head: str
    ahead: int | None
    behind: int | None
    actor_id: str | None
    created_at: int
    message: str | None
    review: StateName | None


class BranchStatusesShape(Shape, frozen=True, kw_only=True):
    """Branches, `main` first; a cursor is where the list goes on."""

    branches: list[BranchStatusShape]
    cursor: str | None


class EntityNameShape(Shape, frozen=True, kw_only=True):
    """What a comment is about: a type, a row of it, or a property of a row."""

    type: str
    id: str | None
    property: str | None


class ReviewEventShape(Shape, frozen=True, kw_only=True):
    """A comment, or a state that a review was given; `head` is the commit it was said about.

    `into` and `commit`, the merge, are null for whoever may not read the branch `into`.
    """

    id: str
    at: int
    actor_id: str | None
    kind: Literal["state", "comment"]
    state: StateName | None
    message: str | None
    into: str | None
    head: str
    entity: EntityNameShape | None
    commit: str | None


class ReviewShape(Shape, frozen=True, kw_only=True):
    """The review of a branch; `head` is the commit that its state was said about.

    `into` is null for whoever may not read that branch.
    """

    branch: str
    into: str | None
    state: StateName
    head: str
    events: list[ReviewEventShape]


class FoundReviewShape(Shape, frozen=True, kw_only=True):
    """The review of a branch; null when nobody said anything about it."""

    branch: str
    review: ReviewShape | None


class TypeCountShape(Shape, frozen=True, kw_only=True):
    """How many rows of a type a branch inserted, updated and deleted."""

    type: str
    inserted: int
    updated: int
    deleted: int


class ReviewedChangeShape(Shape, frozen=True, kw_only=True):
    """A node or edge that a branch changed, and the commit that did so last, if it is known."""

    kind: Literal["node", "edge"]
    type: str
    id: str
    label: str
    op: Literal["insert", "update", "delete"]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    fields: list[str]
    actor_id: str | None
    commit_id: str | None


class ReviewPageShape(Shape, frozen=True, kw_only=True):
    """What a branch would bring to another, and a page of its changes.

    A page behind a cursor does not tell again what the first one tells of the whole: outcome,
    counts, conflicts and violations.
    """

    branch: str
    into: str
    base: str
    head: str
    into_head: str
    outcome: Literal["already_up_to_date", "fast_forward", "merged", "conflicts"] | None
    counts: list[TypeCountShape]
    conflicts: int | None
    violations: int | None
    review: ReviewShape | None
    changes: list[ReviewedChangeShape]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStatus:
    """Where a branch stands: its newest commit, and how far it is ahead of and behind `main`."""

    name: str
    head: str
    ahead: int | None
    behind: int | None
    actor_id: str | None
    created_at: int
    message: str | None
    review: str | None

    def to_json(self) -> dict[str, Json]:
        """Return the status as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, document: Document) -> Self:
        """Return the status that `to_json` wrote."""
        return cls(**document)


class ListBranchStatus(Operation[list[BranchStatus]], frozen=True, kw_only=True):
    """List the branches with where each stands."""

    endpoint = get("/branches/status", "branch_status", BranchStatusesShape, errors=())

    limit: Count = 100
    cursor: Key | None = None

    def answer(self, result: list[BranchStatus], backend: Backend) -> dict[str, Json]:
        shown, cursor = page_of(result, self.limit, lambda each: each.name)
        return {"branches": [each.to_json() for each in shown], "cursor": cursor}

    def result(self, answer: Document, backend: Backend) -> list[BranchStatus]:
        found = [BranchStatus.from_json(each) for each in answer["branches"]]
        if answer["cursor"] is None:
            return found
        rest = ListBranchStatus(limit=self.limit, cursor=answer["cursor"])
        return [*found, *backend.run(rest)]


class GetReviewPage(Operation["ReviewPage"], frozen=True, kw_only=True):
    """Return what a branch would bring to another: counts, conflicts, and a page of its changes."""

    work = Work.CHANGES
    endpoint = get("/review", "review", ReviewPageShape)

    branch: Key
    into: Key = MAIN
    types: list[str] | None = field(name="type", default=None)
    limit: Annotated[int, Meta(ge=1, le=MOST_CHANGES)] = 100
    cursor: Key | None = None

    def result(self, answer: Document, backend: Backend) -> "ReviewPage":
        from omnigraph.merge.review.page import ReviewPage

        return ReviewPage.from_json(answer)


class GetReviewRecord(Operation[Review | None], frozen=True, kw_only=True):
    """Return what was said about a branch, and the state of its review."""

    endpoint = get("/reviews", "review_record", FoundReviewShape)

    branch: Key

    def answer(self, result: Review | None, backend: Backend) -> dict[str, Json]:
        return {"branch": self.branch, "review": None if result is None else result.to_json()}

    def result(self, answer: Document, backend: Backend) -> Review | None:
        found = answer["review"]
        return None if found is None else Review.from_json(found)


class ReviewChange(Operation[Review], frozen=True, kw_only=True):
    """An operation that says something about a branch; with `expect`, about this commit of it."""

    result_type = Review

    branch: Key
    into: Key = MAIN
    message: str | None = None
    expect: Key | None = None


class SetReview(ReviewChange, frozen=True, kw_only=True):
    """Open the review of a branch, approve the branch, or ask for changes."""

    endpoint = post(
        "/reviews",
        "set_review",
        Action.REVIEW,
        ReviewShape,
        "ReviewBody",
        suffices=(Action.BRANCH_MERGE,),
    )

    state: SaidState


class CommentReview(ReviewChange, frozen=True, kw_only=True):
    """Comment on a branch, or on a type, a row or a property of it."""

    endpoint = post(
        "/reviews/comments", "comment_review", Action.REVIEW, ReviewShape, "CommentBody"
    )

    type: Key | None = None
    id: Key | None = None
    property: Key | None = None


OPERATIONS: tuple[type[Operation[Any]], ...] = (
    ListBranchStatus,
    GetReviewPage,
    GetReviewRecord,
    SetReview,
    CommentReview,
)
