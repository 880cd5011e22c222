"""Merge: three-way merge of two branches, as one commit or not at all."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from omnigraph.errors import InputError, OmniGraphError
from omnigraph.evolve.align import Sides
from omnigraph.merge.merge_plan import MergePlan, plan_aligned, plan_merge
from omnigraph.merge.options import MergeOptions
from omnigraph.merge.outcome import Merge, Outcome
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import Drop, UnsupportedChange
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, find_earlier, transact
from omnigraph.versioning.unknown_outcome import unknown_outcome
from omnigraph.write.load.aside import Aside, new_aside


def merge(
    repository: Repository,
    source: str,
    target: str,
    options: MergeOptions,
    *,
    pinned: Callable[[], Snapshot | None] = lambda: None,
) -> Merge:
    """Merge a branch or commit into a branch by one commit with two parents.

    The head of the source is merged, or the commit that `pinned` returns for it; what that raises
    counts unless the merge was done before. Raises MergeConflictsError with every conflict that no
    resolution settles, and then nothing is changed. When the target moves meanwhile, the merge is
    repeated on its new head.
    """
    intent = options.intent(target, "merge", source)
    judged = _pinned(repository, intent, pinned)

    def their_head() -> Snapshot:
        return judged or repository.snapshot_of(source)

    def proposal(planned: MergePlan) -> Proposal[MergePlan]:
        found = planned.result(source, target)
        if found.outcome is Outcome.ALREADY_UP_TO_DATE:
            return Proposal(None, planned)
        theirs = planned.theirs.commit.id

        def rebase(ours: Snapshot) -> Proposal[MergePlan] | None:
            moved = theirs != their_head().commit.id
            again = None if moved else planned.rebased(repository, ours)
            return None if again is None else proposal(again)

        return Proposal(planned.write_set(found, options, theirs), planned, rebase)

    def propose(ours: Snapshot) -> Proposal[MergePlan]:
        with _new_aside(repository, options) as aside:
            return proposal(plan_merge(repository, ours, their_head(), options, aside))

    done = transact(repository, intent, propose)
    if done.finding is None:
        assert done.commit is not None
        with _made_before(done.commit):
            ours, theirs = (repository.snapshot_of(each) for each in done.commit.parents)
            return plan_merge(repository, ours, theirs, options).result(source, target, done.commit)
    return done.finding.result(source, target, done.commit)


def _pinned(
    repository: Repository, intent: Intent, pinned: Callable[[], Snapshot | None]
) -> Snapshot | None:
    """Return what is pinned for the source, which may be gone once it was merged."""
    try:
        return pinned()
    except OmniGraphError:
        if find_earlier(repository, intent) is None:
            raise
        return None


def preview(
    repository: Repository,
    source: str,
    target: str,
    options: MergeOptions,
    *,
    pinned: tuple[Snapshot, Snapshot] | None = None,
) -> Merge:
    """Return what a merge would do, conflicts included; there is no commit.

    Where the schemas differ, tables are written as versions that nobody sees.
    The heads of source and target are compared, or the commits that were pinned for them.
    """
    theirs, ours = pinned or (repository.snapshot_of(source), repository.snapshot(target))
    return plan_merge(repository, ours, theirs, options).result(source, target)


def revert(repository: Repository, commit_id: str, target: str, options: MergeOptions) -> Merge:
    """Undo a commit by a new commit of a branch: merge its parent, with the commit as the base."""
    repository.check_writable()
    undone, before = _around(repository, commit_id)

    def planned_on(ours: Snapshot, aside: Aside | None = None) -> MergePlan:
        return _plan_revert(repository, undone, before, ours, options, aside)

    def propose(ours: Snapshot) -> Proposal[MergePlan]:
        with _new_aside(repository, options) as aside:
            planned = planned_on(ours, aside)
            found = planned.result(commit_id, target)
            if not (planned.changes or found.conflicts or planned.sides.schema is not None):
                return Proposal(None, planned)
            return Proposal(planned.write_set(found, options, None), planned)

    done = transact(repository, options.intent(target, "revert", commit_id), propose)
    if done.commit is None:
        assert done.finding is not None
        found = done.finding.result(commit_id, target)
        return replace(found, outcome=Outcome.ALREADY_UP_TO_DATE)
    if done.finding is None:
        with _made_before(done.commit):
            planned = planned_on(repository.snapshot_of(done.commit.parents[0]))
            return planned.result(commit_id, target, done.commit)
    return done.finding.result(commit_id, target, done.commit)


def _made_before(commit: Commit) -> AbstractContextManager[None]:
    """Report what goes wrong in the block, which looks at a commit again, without denying it."""
    done = f"it was done before by commit {commit.id}, but what that changed cannot be told"
    return unknown_outcome(done, "look at the commit; do not repeat it with another operation id")


def preview_revert(
    repository: Repository, commit_id: str, target: str, options: MergeOptions, ours: Snapshot
) -> Merge:
    """Return what a revert would do to a branch that stands there; there is no commit."""
    planned = _plan_revert(repository, *_around(repository, commit_id), ours, options)
    found = planned.result(commit_id, target)
    if planned.changes or found.conflicts or planned.sides.schema is not None:
        return found
    return replace(found, outcome=Outcome.ALREADY_UP_TO_DATE)


def _around(repository: Repository, commit_id: str) -> tuple[Snapshot, Snapshot]:
    """Return a commit that can be undone, and the one before it."""
    undone = repository.commit(commit_id)
    if undone.parent is None:
        raise InputError(f"commit {commit_id} is the first; there is nothing before it")
    before, after = repository.pin(repository.commit(undone.parent)), repository.pin(undone)
    _refuse_drops(after, before)
    return after, before


def _plan_revert(
    repository: Repository,
    undone: Snapshot,
    before: Snapshot,
    ours: Snapshot,
    options: MergeOptions,
    aside: Aside | None = None,
) -> MergePlan:
    sides = Sides((undone,), ours, before, ours)
    return plan_aligned(repository, sides, options, aside)


def _refuse_drops(undone: Snapshot, before: Snapshot) -> None:
    """Raise InputError for a commit that cannot be undone without dropping what it added."""
    steps = plan_schema_migration(undone.catalog, before.catalog).steps
    lossy = [str(each) for each in steps if isinstance(each, Drop | UnsupportedChange)]
    if lossy:
        raise InputError(
            f"commit {undone.commit.id} changed the schema, which cannot be undone: {lossy[0]}",
            hint="apply another schema instead",
        )


@contextmanager
def _new_aside(repository: Repository, options: MergeOptions) -> Iterator[Aside | None]:
    """Return a folder for what a bulk merge keeps until it is written."""
    aside = None if options.bulk is None else new_aside(repository.store)
    try:
        yield aside
    finally:
        if aside is not None:
            aside.discard()
