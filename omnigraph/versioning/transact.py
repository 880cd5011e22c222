"""Transact: the one road on which a change becomes a commit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from typing import Generic, TypeAlias, TypeVar

from omnigraph.errors import BranchNotFoundError, ExpectedVersionMismatchError, HeadMovedError
from omnigraph.frozen import dataclass
from omnigraph.telemetry.spans import BRANCH, COMMIT_ID, Kind, note, span
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.operations import find_repeated
from omnigraph.versioning.publish import head_moved, publish
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.turns.branch_turn import Ticket, turn
from omnigraph.versioning.writes import Staged, WriteSet, stage

FindingT = TypeVar("FindingT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Where a change goes, who makes it, and under which conditions.

    With `expect`, the branch has to stand at this commit. An `operation_id` stands for one change
    with one content, of which `request` is the digest: repeating it returns the commit of the first
    time. With `base`, the change creates its branch, which starts at this commit. `check` is called
    before anything is published, and raises when the change was cancelled or is too late.
    """

    branch: str
    actor: str | None = None
    message: str | None = None
    expect: str | None = None
    operation_id: str | None = None
    request: str | None = None
    base: str | None = None
    check: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Proposal(Generic[FindingT]):
    """What a planner proposes for one snapshot, and what it found out on the way.

    Without a write set there is nothing to change. `rebase` returns the same change on a later
    commit of the branch, or None when something that it read moved meanwhile.
    """

    write_set: WriteSet | None
    finding: FindingT
    rebase: "Callable[[Snapshot], Proposal[FindingT] | None] | None" = field(
        default=None, repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class TransactResult(Generic[FindingT]):
    """The outcome of a change: its commit, if there was anything to change.

    Without a finding the operation was done before, and the commit is that of the first time.
    """

    commit: Commit | None
    finding: FindingT | None


Planner: TypeAlias = Callable[[Snapshot], Proposal[FindingT]]


def transact(
    repository: Repository, intent: Intent, plan: Planner[FindingT]
) -> TransactResult[FindingT]:
    """Plan a change on the newest commit of a branch and publish it as one commit.

    When others came first, it is rebased on the result, and planned again if they changed what it
    read. Whatever `plan` raises passes through, and then nothing is visible.
    """
    repository.check_writable()
    propose = _Rebasing(plan)
    patience, ticket = repository.patience, Ticket()
    for _ in attempts(patience.seconds, lambda: ticket.waited):
        with turn(repository.store, intent.branch, patience, ticket, intent.check):
            try:
                return _attempt(repository, intent, propose)
            except (ExpectedVersionMismatchError, HeadMovedError) as lost:
                if intent.expect is not None:
                    raise _not_as_expected(repository, intent, lost) from lost
    raise HeadMovedError(
        f"'{intent.branch}' kept moving; gave up after {patience.seconds:g} s",
        hint="repeat the change",
    )


@dataclass(slots=True)
class _Rebasing(Generic[FindingT]):
    """A planner that plans again only what cannot be rebased."""

    plan: Planner[FindingT]
    last: Proposal[FindingT] | None = None

    def __call__(self, snapshot: Snapshot) -> Proposal[FindingT]:
        """Return the proposal for a snapshot."""
        found = None
        if self.last is not None and self.last.rebase is not None:
            found = self.last.rebase(snapshot)
        self.last = self.plan(snapshot) if found is None else found
        return self.last


def _attempt(
    repository: Repository, intent: Intent, plan: Planner[FindingT]
) -> TransactResult[FindingT]:
    try:
        snapshot, is_new = _pin(repository, intent)
    except BranchNotFoundError:
        # The operation may have been done before the branch was deleted.
        earlier = find_earlier(repository, intent)
        if earlier is None:
            raise
        return TransactResult(earlier, None)
    # After pinning the snapshot: an operation that is not found now is not in the snapshot.
    earlier = find_earlier(repository, intent)
    if earlier is not None:
        return TransactResult(earlier, None)
    if intent.expect is not None and snapshot.commit.id != intent.expect:
        raise head_moved(intent.branch, intent.expect, snapshot.commit.id)
    proposal = plan(snapshot)
    if proposal.write_set is None:
        return TransactResult(None, proposal.finding)
    write_set = replace(
        proposal.write_set,
        actor=intent.actor,
        message=intent.message or proposal.write_set.message,
        operation_id=intent.operation_id,
        request=proposal.write_set.request or intent.request,
        expected_head=intent.expect,
        creates_branch=is_new,
    )
    newest = repository.manifest.look_ahead(folds=True)
    staged = stage(write_set, intent.branch)
    intent.check()  # not called again: from here on the change is published
    with span(Kind.COMMIT, "commit", {BRANCH: intent.branch}) as published:
        commit = publish(repository, intent.branch, staged, newest)
        published.note({COMMIT_ID: commit.id})
    note({COMMIT_ID: commit.id, BRANCH: intent.branch})
    if not _is_of(commit, staged):
        return TransactResult(commit, None)
    _extend(repository, write_set.base, commit)
    return TransactResult(commit, proposal.finding)


def find_earlier(repository: Repository, intent: Intent) -> Commit | None:
    """Return the commit by which an operation was done before, if it was."""
    return find_repeated(repository, intent.operation_id, intent.actor, intent.request)


def _pin(repository: Repository, intent: Intent) -> tuple[Snapshot, bool]:
    """Return the branch's newest commit, or where it will start, and whether it is new."""
    if intent.base is None:
        return repository.snapshot(intent.branch), False
    return repository.snapshot_of(intent.base), True


def _is_of(commit: Commit, staged: Staged) -> bool:
    """Whether a commit holds what was staged here, and not by another process for the same id."""
    return all(commit.tables.get(key) == state for key, state in staged.tables.items())


def _extend(repository: Repository, before: Snapshot, commit: Commit) -> None:
    """Update the caches that are derived from tables by a small commit, for the next read."""
    if repository.extend is None or commit.parent != before.commit.id:
        return
    # The commit is made; if this fails, whatever it is, the next read computes the caches anew.
    with suppress(Exception):
        repository.extend(before, repository.pin(commit))


def _not_as_expected(repository: Repository, intent: Intent, lost: BaseException) -> BaseException:
    current = repository.snapshot(intent.branch).commit.id
    if intent.expect is None or current == intent.expect:
        return lost
    return head_moved(normalize_name(intent.branch), intent.expect, current)
