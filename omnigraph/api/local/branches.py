"""Branches: branches, tags, merges, reverts and runs of a graph at hand."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, check_standing
from omnigraph.api.operation import named_or_main
from omnigraph.api.operations.branches import (
    CreateBranch,
    CreateTag,
    DeleteBranch,
    DeleteTag,
    GetMergeBase,
    ListBranches,
    ListTags,
    MergeBranch,
    MergeOperation,
    RenameBranch,
    RevertCommit,
)
from omnigraph.api.operations.runs import (
    AbortRun,
    BeginRun,
    FailRun,
    GetRun,
    ListRuns,
    PublishRun,
    RunEnding,
)
from omnigraph.errors import InputError
from omnigraph.merge.outcome import Merge
from omnigraph.merge.review import reviews
from omnigraph.merge.review.record import ReviewState
from omnigraph.merge.run_record import RunRecord
from omnigraph.policy.actions import Action
from omnigraph.versioning import branches, tags
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import is_ulid
from omnigraph.versioning.unknown_outcome import unknown_outcome

if TYPE_CHECKING:
    from typing import Any

    from omnigraph.merge.options import MergeOptions
    from omnigraph.write.load.keywords import BulkKeywords


_LOOK = "list the branches before repeating it"


def list_branches(access: Access, _: ListBranches, __: CallOptions) -> list[str]:
    """Return the names of the branches, `main` first."""
    return access.branches()


def create_branch(access: Access, operation: CreateBranch, _: CallOptions) -> None:
    """Make a branch where another branch or a commit stands."""
    access.allow(Action.BRANCH_CREATE, operation.name)
    base = access.readable(named_or_main(operation.base))
    newest = access.repository.manifest.look_ahead(folds=False)
    left = reviews.left_over(access.repository, operation.name)
    branches.create_branch(access.repository, operation.name, base, newest)
    with unknown_outcome(f"'{operation.name}' was made, but has an old review", _LOOK):
        reviews.drop(access.repository, left)


def delete_branch(access: Access, operation: DeleteBranch, _: CallOptions) -> None:
    """Remove a branch; raise InputError for one to which a run is to be published."""
    from omnigraph.merge.runs import refuse_live

    access.check(operation.branch, Action.BRANCH_DELETE)
    try:
        refuse_live(access.repository, operation.branch)
    except InputError as refused:
        if access.shows(operation.branch, Action.BRANCH_DELETE):
            raise
        message = f"a run is to be published to '{operation.branch}'"
        raise InputError(message, hint=refused.hint) from None
    # Listed before, as what is there afterwards may be about a branch that was made anew.
    said = reviews.left_over(access.repository, operation.branch)
    branches.delete_branch(access.repository, operation.branch, operation.expect)
    with unknown_outcome(f"'{operation.branch}' was deleted, but not its review", _LOOK):
        reviews.drop(access.repository, said)


def rename_branch(access: Access, operation: RenameBranch, _: CallOptions) -> None:
    """Rename a branch; raise InputError for one to which a run is to be published."""
    from omnigraph.merge.runs import refuse_live

    access.check(operation.name, Action.BRANCH_DELETE)
    access.check(operation.name, Action.READ)
    access.allow(Action.BRANCH_CREATE, operation.new_name)
    refuse_live(access.repository, operation.name)
    with reviews.renaming(access.repository, operation.name, operation.new_name):
        branches.rename_branch(access.repository, operation.name, operation.new_name)


def list_tags(access: Access, _: ListTags, __: CallOptions) -> dict[str, str]:
    """Return the commit of every tag, by name."""
    return access.tags()


def create_tag(access: Access, operation: CreateTag, _: CallOptions) -> str:
    """Name a commit, or where a branch stands now; return the id of the commit."""
    access.allow(Action.BRANCH_CREATE, operation.name)
    target = access.readable(operation.target)
    return tags.create_tag(access.repository, operation.name, target)


def delete_tag(access: Access, operation: DeleteTag, _: CallOptions) -> None:
    """Remove a tag; the commit stays."""
    access.allow(Action.BRANCH_DELETE, operation.tag)
    tags.delete_tag(access.repository, operation.tag, access.tag(operation.tag))


def get_merge_base(access: Access, operation: GetMergeBase, _: CallOptions) -> Commit:
    """Return the newest common ancestor of two places, whose rows may have been cleaned up."""
    from omnigraph.versioning.history.history import merge_base

    ids = [
        access.commit(place).id if is_ulid(place) else access.pin(place).commit.id
        for place in (operation.one, operation.other)
    ]
    return merge_base(access.repository, *ids)


def merge_branch(access: Access, operation: MergeBranch, options: CallOptions) -> Merge:
    """Merge a branch or commit into a branch, or say what that would do."""
    from omnigraph.merge.merge import merge, preview

    how = _merge_how(access, operation, options, strict=operation.strict)
    how = replace(how, expect=operation.expect)
    source, target = operation.source, operation.target
    if operation.preview:
        ours, theirs = access.standing(target, Action.READ), access.pin(source)
        check_standing(target, ours, operation.expect)
        check_standing(source, theirs, operation.expect_source)
        return preview(access.repository, source, target, how, pinned=(theirs, ours))
    with (
        access.merging(target, Action.BRANCH_MERGE),
        access.expecting(target, Action.BRANCH_MERGE, operation.expect),
    ):
        judged = partial(_judged, access, operation)
        done = merge(access.repository, source, target, how, pinned=judged)
    _note_merge(access, done, how.actor)
    return done


def _judged(access: Access, operation: MergeBranch) -> Snapshot | None:
    """Pin the source where the actor looked at it; None where it is taken as it is found."""
    judged = access.judged(operation.source)
    if operation.expect_source is not None:
        judged = judged or access.pin(operation.source)
        check_standing(operation.source, judged, operation.expect_source)
    return judged


def _note_merge(access: Access, done: Merge, actor: str | None) -> None:
    """Record in the review of a branch that it was merged; a branch without one gets none."""
    repository, commit = access.repository, done.commit
    if commit is None or is_ulid(done.source):
        return
    told = f"'{done.source}' was merged by commit {commit.id}, but its review does not say so"
    with unknown_outcome(told, _LOOK):
        review = reviews.find_review(repository, done.source)
        if review is None or any(each.commit == commit.id for each in review):
            return
        reviews.add_event(
            repository,
            done.source,
            into=normalize_name(done.target),
            head=done.theirs.id,
            actor=actor,
            message=None,
            state=ReviewState.MERGED,
            commit=commit.id,
        )


def revert_commit(access: Access, operation: RevertCommit, options: CallOptions) -> Merge:
    """Undo what a commit did, as a new commit, or say what that would do."""
    from omnigraph.merge.merge import preview_revert, revert

    how = _merge_how(access, operation, options)
    if operation.preview:
        ours = access.standing(operation.branch, Action.READ)
        access.check_place(operation.commit)
        undone = access.commit(operation.commit).id
        return preview_revert(access.repository, undone, operation.branch, how, ours)
    with access.merging(operation.branch, Action.CHANGE):
        access.check_place(operation.commit)
        undone = access.commit(operation.commit).id
        return revert(access.repository, undone, operation.branch, how)


def list_runs(access: Access, operation: ListRuns, _: CallOptions) -> Iterator[RunRecord]:
    """Return the runs, newest first, behind one of them; the limit is for pages of a server."""
    return access.runs(operation.after)


def get_run(access: Access, operation: GetRun, _: CallOptions) -> RunRecord:
    """Return a run by its id."""
    return access.run(operation.run_id)


def begin_run(access: Access, operation: BeginRun, options: CallOptions) -> RunRecord:
    """Begin a run, or return the live one that has the same operation hash."""
    from omnigraph.merge.runs import begin_run as begin

    access.check(operation.target_branch, Action.CHANGE)
    return begin(
        access.repository,
        operation.target_branch,
        operation_hash=operation.operation_hash,
        actor=access.author(options.actor),
    )


def publish_run(access: Access, operation: PublishRun, options: CallOptions) -> RunRecord:
    """Merge what a run wrote into its target; its branch is removed."""
    from omnigraph.merge.runs import publish_run as publish

    record = access.run(operation.run_id, Action.RUN_PUBLISH)
    how = _merge_how(access, operation, options)
    with access.merging(record.target_branch, Action.RUN_PUBLISH):
        return publish(access.repository, operation.run_id, how)


def end_run(access: Access, operation: RunEnding, _: CallOptions) -> RunRecord:
    """End a run as aborted or failed; what it wrote is never published."""
    from omnigraph.merge.runs import end_run as end

    access.run(operation.run_id, Action.RUN_ABORT)
    return end(access.repository, operation.run_id, operation.status)


def _merge_how(
    access: Access,
    operation: "MergeOperation[Any]",
    options: CallOptions,
    *,
    strict: bool = False,
) -> "MergeOptions":
    from omnigraph.merge.bulk import make_task_merger
    from omnigraph.merge.options import MergeOptions
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import NO_PROGRESS

    bulk: BulkKeywords = {
        "engine": options.engine or Engine.AUTO,
        "spark": options.spark,
        "progress": options.progress or NO_PROGRESS,
        "seconds": options.seconds,
        "bytes": options.bytes,
        "cancelled": options.cancelled,
    }
    check_notes(message=operation.message, operation=options.operation_id)
    return MergeOptions(
        actor=access.author(options.actor),
        message=operation.message,
        operation_id=options.operation_id,
        resolutions=operation.chosen,
        strict=strict,
        bulk=make_task_merger(bulk),
    )


FUNCTIONS: Functions = {
    ListBranches: list_branches,
    CreateBranch: create_branch,
    DeleteBranch: delete_branch,
    RenameBranch: rename_branch,
    MergeBranch: merge_branch,
    RevertCommit: revert_commit,
    GetMergeBase: get_merge_base,
    ListTags: list_tags,
    CreateTag: create_tag,
    DeleteTag: delete_tag,
    ListRuns: list_runs,
    GetRun: get_run,
    BeginRun: begin_run,
    PublishRun: publish_run,
    AbortRun: end_run,
    FailRun: end_run,
}
