"""Reviews: where the branches of a graph at hand stand, and what was said about them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, check_standing
from omnigraph.api.operations.reviews import (
    BranchStatus,
    CommentReview,
    GetReviewPage,
    GetReviewRecord,
    ListBranchStatus,
    ReviewChange,
    SetReview,
)
from omnigraph.errors import BranchNotFoundError, InputError
from omnigraph.merge.review.record import Review, ReviewedEntity, ReviewState
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN, normalize_name
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.unknown_outcome import unknown_outcome

if TYPE_CHECKING:
    from omnigraph.merge.review.page import ReviewPage
    from omnigraph.merge.review.record import ReviewEvent
    from omnigraph.write.load.keywords import BulkKeywords

_LOOK = "look at the review before saying it again"


def list_branch_status(
    access: Access, operation: ListBranchStatus, _: CallOptions
) -> list[BranchStatus]:
    """Return where the next branches stand that the actor may read, one more than a page has.

    A branch that is deleted meanwhile is left out.
    """
    from omnigraph.merge.review.reviews import review_states

    names = access.branches()
    if operation.cursor is not None:
        last = (operation.cursor != MAIN, operation.cursor)
        names = [each for each in names if (each != MAIN, each) > last]
    most = len(names) if operation.limit is None else operation.limit + 1
    found: list[BranchStatus] = []
    while names and len(found) < most:
        page, names = names[: most - len(found)], names[most - len(found) :]
        states = review_states(access.repository, page)
        each = (_status(access, name, states.get(name)) for name in page)
        found += (status for status in each if status is not None)
    return found


def _status(access: Access, name: str, state: ReviewState | None) -> BranchStatus | None:
    from omnigraph.versioning.history.history import ahead_behind

    try:
        head = access.standing(name, Action.READ).commit
    except BranchNotFoundError:
        return None
    ahead: int | None = None
    behind: int | None = None
    if access.may(Action.READ, MAIN):
        main = access.standing(MAIN, Action.READ).commit
        ahead, behind = ahead_behind(access.repository, head.id, main.id)
    return BranchStatus(
        name=name,
        head=head.id,
        ahead=ahead,
        behind=behind,
        actor_id=head.actor,
        created_at=head.created_at,
        message=head.message,
        review=None if state is None else str(state),
    )


def get_review_page(access: Access, operation: GetReviewPage, options: CallOptions) -> "ReviewPage":
    """Return what a branch would bring to another, and a page of its changes.

    A cursor names the commits that its pages compare, so that they fit together although the
    branch moves meanwhile.
    """
    from omnigraph.merge.bulk import make_task_merger
    from omnigraph.merge.compare.row_change import ChangeFilter
    from omnigraph.merge.merge import preview
    from omnigraph.merge.options import MergeOptions
    from omnigraph.merge.review.page import (
        ReviewPage,
        ReviewPlace,
        count_changes,
        page_changes,
    )
    from omnigraph.merge.review.reviews import find_review
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.versioning.history.history import merge_base

    repository = access.repository
    theirs = access.standing(operation.branch, Action.READ)
    ours = access.standing(operation.into, Action.READ)
    deadline = deadline_of("review", options.seconds, options.cancelled, options.bytes)
    if operation.cursor is None:
        base = repository.pin(merge_base(repository, ours.commit.id, theirs.commit.id))
        start = ReviewPlace(base.commit.id, theirs.commit.id)
    else:
        start = ReviewPlace.parse(operation.cursor)
        base, theirs = access.pin(start.base), access.pin(start.head)
    wanted = ChangeFilter.parse(None, operation.types, None).bound(base.catalog, theirs.catalog)
    ends = base, theirs
    changes, cursor = page_changes(repository, ends, wanted, start, operation.limit, deadline)
    page = ReviewPage(
        branch=normalize_name(operation.branch),
        into=normalize_name(operation.into),
        base=base.commit.id,
        head=theirs.commit.id,
        into_head=ours.commit.id,
        review=_shown(access, find_review(repository, operation.branch)),
        changes=changes,
        cursor=cursor,
    )
    if operation.cursor is not None:
        return page
    pinned = theirs, ours
    # A page of a review starts no Spark; large types are merged here, a part at a time.
    bulk: BulkKeywords = {
        "engine": Engine.INLINE,
        "seconds": options.seconds,
        "bytes": options.bytes,
        "cancelled": options.cancelled,
    }
    how = MergeOptions(bulk=make_task_merger(bulk))
    found = preview(repository, page.branch, page.into, how, pinned=pinned)
    return replace(page.with_merge(found), counts=count_changes(base, theirs, deadline))


def get_review_record(access: Access, operation: GetReviewRecord, _: CallOptions) -> Review | None:
    """Return what was said about a branch; None when that is nothing."""
    from omnigraph.merge.review.reviews import find_review

    access.standing(operation.branch, Action.READ)
    return _shown(access, find_review(access.repository, operation.branch))


def set_review(access: Access, operation: SetReview, options: CallOptions) -> Review:
    """Set the state of a branch's review; to decide needs the right to merge it."""
    head = _reviewed(access, operation, options)
    state = ReviewState(operation.state)
    if state is ReviewState.OPEN:
        access.allow(Action.REVIEW, operation.branch)
    else:
        access.allow(Action.BRANCH_MERGE, operation.into)
    if state is ReviewState.CHANGES_ASKED and not (operation.message or "").strip():
        raise InputError("whoever asks for changes says why", hint="give a message")
    return _say(access, operation, options, head, state=state)


def comment_review(access: Access, operation: CommentReview, options: CallOptions) -> Review:
    """Record a comment on a branch, or on something in it."""
    head = _reviewed(access, operation, options)
    access.allow(Action.REVIEW, operation.branch)
    if not (operation.message or "").strip():
        raise InputError("a comment has a message")
    return _say(access, operation, options, head, entity=_entity(operation))


def _say(
    access: Access,
    operation: ReviewChange,
    options: CallOptions,
    head: Snapshot,
    *,
    state: ReviewState | None = None,
    entity: ReviewedEntity | None = None,
) -> Review:
    """Record what the actor says about a branch that stands there; returns the whole review."""
    from omnigraph.merge.review.reviews import add_event

    event = add_event(
        access.repository,
        operation.branch,
        into=normalize_name(operation.into),
        head=head.commit.id,
        actor=access.author(options.actor),
        message=operation.message,
        state=state,
        entity=entity,
        new_id=options.new_id,
    )
    return _with(access, operation.branch, event)


def _reviewed(access: Access, operation: ReviewChange, options: CallOptions) -> Snapshot:
    """Return where a branch stands that the actor may read.

    Raises HeadMovedError if it moved, unless what is said now was said before.
    """
    from omnigraph.merge.review.reviews import find_event

    head = access.standing(operation.branch, Action.READ)
    if normalize_name(operation.branch) == normalize_name(operation.into):
        raise InputError("a branch is reviewed before it is merged into another one")
    said = options.new_id and find_event(access.repository, operation.branch, options.new_id)
    if not said:
        check_standing(operation.branch, head, operation.expect)
    return head


def _entity(operation: CommentReview) -> ReviewedEntity | None:
    if operation.type is None:
        if operation.id is not None or operation.property is not None:
            raise InputError("a row or a property is named with its type")
        return None
    if operation.property is not None and operation.id is None:
        raise InputError("a property is named with the id of its row")
    return ReviewedEntity(operation.type, operation.id, operation.property)


def _with(access: Access, branch: str, event: "ReviewEvent") -> Review:
    """Return the review with what was just said."""
    from omnigraph.merge.review.record import review_of
    from omnigraph.merge.review.reviews import find_review

    with unknown_outcome(f"the review of '{branch}' has it, but cannot be read", _LOOK):
        found = find_review(access.repository, branch)
    events = () if found is None else found.events
    known = events if any(each.id == event.id for each in events) else (*events, event)
    review = review_of(normalize_name(branch), known)
    shown = _shown(access, review)
    assert shown is not None
    return shown


def _shown(access: Access, review: Review | None) -> Review | None:
    """Return a review without the targets that the actor may not read, and their commits."""
    if review is None:
        return None
    targets = {review.into, *(each.into for each in review)}
    hidden = {into for into in targets if not access.may(Action.READ, into)}
    events = (
        replace(each, into=None, commit=None) if each.into in hidden else each for each in review
    )
    into = None if review.into in hidden else review.into
    return replace(review, into=into, events=tuple(events))


FUNCTIONS: Functions = {
    ListBranchStatus: list_branch_status,
    GetReviewPage: get_review_page,
    GetReviewRecord: get_review_record,
    SetReview: set_review,
    CommentReview: comment_review,
}
