"""Changes: the commits of a graph at hand, and what differs between them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operations.changes import GetBlame, GetDiff, ListChanges, WatchChanges
from omnigraph.api.operations.commits import GetCommit, ListCommits
from omnigraph.errors import CommitCleanedError, HistoryGapError
from omnigraph.merge.blamed import Blamed
from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges
from omnigraph.merge.compare.row_change import ChangeFilter
from omnigraph.policy.actions import Action
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history import history
from omnigraph.versioning.repository import Repository

if TYPE_CHECKING:
    from omnigraph.spark.deadline import Deadline


def list_commits(access: Access, operation: ListCommits, _: CallOptions) -> Iterator[Commit]:
    """Return the commits of a branch, newest first; the limit is for pages of a server."""
    access.check(operation.branch, Action.READ)
    after = None if operation.after is None else access.commit(operation.after).id
    return history.log(access.repository, operation.branch, after=after)


def get_commit(access: Access, operation: GetCommit, _: CallOptions) -> Commit:
    """Return a commit by its id."""
    return access.commit(operation.commit_id)


def get_diff(access: Access, operation: GetDiff, options: CallOptions) -> ChangeSet:
    """Return the net changes from one place to another, read as they are used."""
    from omnigraph.merge.compare.changes import SnapshotChanges

    wanted = ChangeFilter.parse(operation.kinds, operation.types, operation.ops)
    old, new = snapshot_of(access, operation.old, options), access.pin(operation.new)
    if operation.merge_base:
        base = history.merge_base(access.repository, old.commit.id, new.commit.id)
        old = access.repository.pin(base)
    deadline = _deadline("diff", options)
    wanted, name = wanted.bound(old.catalog, new.catalog), access.branch_name(operation.new)
    return SnapshotChanges(old, new, wanted, deadline, name)


def list_changes(
    access: Access, operation: ListChanges, options: CallOptions
) -> Iterator[CommitChanges]:
    """Return what each commit of a branch changed, oldest first, after the one of a cursor."""
    from omnigraph.merge.compare.changes import SnapshotChanges

    repository = access.repository
    access.check(operation.branch, Action.READ)
    wanted = ChangeFilter.parse(operation.kinds, operation.types, operation.ops)
    begun = None if operation.since is None else access.commit(operation.since)
    past = [] if begun is None else [repository.pin(begun).catalog]
    wanted = wanted.bound(access.standing(operation.branch, Action.READ).catalog, *past)
    since = None if begun is None else begun.id
    if since is not None:
        _check_kept(repository, since)
    deadline = _deadline("list of changes", options)

    def changes() -> Iterator[CommitChanges]:
        for commit in history.since(repository, operation.branch, since):
            assert commit.parent is not None
            _check_kept(repository, commit.parent)
            before = repository.pin(repository.commit(commit.parent))
            found = SnapshotChanges(before, repository.pin(commit), wanted, deadline)
            yield CommitChanges(commit, found)

    return changes()


def watch_changes(
    access: Access, operation: WatchChanges, options: CallOptions
) -> Iterator[CommitChanges]:
    """Return what each commit changed that a branch has gained since a cursor, up to now."""
    since = operation.since or access.pin(operation.branch).commit.id
    return list_changes(access, operation.listing(since), options)


def _check_kept(repository: Repository, commit_id: str) -> None:
    """Raise HistoryGapError when a cleanup removed the rows of a commit."""
    try:
        repository.refuse_cleaned(commit_id)
    except CommitCleanedError:
        message = f"a cleanup removed what {commit_id} had, so that its changes are not known"
        hint = "read the branch where it stands, and follow it from that commit on"
        raise HistoryGapError(message, hint=hint) from None


def get_blame(access: Access, operation: GetBlame, options: CallOptions) -> list[Blamed]:
    """Return for each property of a row the commit that it has its value from."""
    from omnigraph.merge.blame import blame

    snapshot = snapshot_of(access, operation.branch, options)
    deadline = _deadline("blame", options)
    return blame(access.repository, snapshot, operation.type, operation.id, deadline)


def _deadline(work: str, options: CallOptions) -> "Deadline":
    from omnigraph.spark.deadline import deadline_of

    return deadline_of(work, options.seconds, options.cancelled, options.bytes)


FUNCTIONS: Functions = {
    ListCommits: list_commits,
    GetCommit: get_commit,
    GetDiff: get_diff,
    ListChanges: list_changes,
    WatchChanges: watch_changes,
    GetBlame: get_blame,
}
