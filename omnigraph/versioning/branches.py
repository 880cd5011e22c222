"""Branches: creates, moves and removes branch heads, each by one flip."""

from collections.abc import Callable, Iterable, Mapping

from omnigraph.errors import (
    BranchNameError,
    BranchNotFoundError,
    CommitCleanedError,
    HeadMovedError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.storage.failures import CommitContentionError, CommitRejectedError
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest.manifest import Manifest
from omnigraph.versioning.names import (
    MAIN,
    TAG,
    fold,
    is_system,
    new_branch_name,
    no_place,
    normalize_name,
)
from omnigraph.versioning.publish import head_moved, sync_flip
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.turns.flip_turn import flip_turn
from omnigraph.versioning.ulid import is_ulid
from omnigraph.versioning.unknown_outcome import unknown_outcome

_LOOK = "list the branches before repeating the change"


def list_branches(repository: Repository) -> list[str]:
    """Return the names of the users' branches, `main` first."""
    heads = repository.manifest.heads(repository.manifest.newest()).values()
    names = sorted(head.name for head in heads if not is_system(head.name))
    return [MAIN, *(name for name in names if name != MAIN)]


def create_branch(
    repository: Repository,
    name: str,
    source: str = MAIN,
    newest: Callable[[], Table] | None = None,
) -> Head:
    """Create a branch at a commit, or where another branch or a tag stands.

    `newest` returns the manifest on which it is tried first.
    """
    return _create(repository, new_branch_name(name), source, newest)


def create_system_branch(repository: Repository, name: str, source: str = MAIN) -> Head:
    """Create a system branch, which listings do not show."""
    if not is_system(name):
        raise BranchNameError(f"'{name}' is not the name of a system branch")
    return _create(repository, normalize_name(name), source)


def delete_branch(repository: Repository, name: str, expect: str | None = None) -> None:
    """Delete a branch; its commits can still be read by their ids.

    With `expect`, the branch has to stand at this commit, else HeadMovedError.
    """
    given = normalize_name(name)
    _refuse_fixed(given, "deleted")

    def check(head: Head) -> None:
        if expect is not None and head.commit != expect:
            raise head_moved(given, expect, head.commit)

    _delete(repository, given, check)


def delete_system_branch(repository: Repository, name: str, commit_id: str | None = None) -> None:
    """Delete a system branch; with `commit_id`, only if it stands at that commit."""
    if not is_system(name):
        raise BranchNameError(f"'{name}' is not the name of a system branch")

    def check(head: Head) -> None:
        if commit_id is not None and head.commit != commit_id:
            raise BranchNotFoundError(f"no branch '{name}' at {commit_id}")

    _delete(repository, name, check)


def rename_branch(repository: Repository, name: str, new_name: str) -> Head:
    """Rename a branch; it stays at its commit."""
    given, wanted = normalize_name(name), new_branch_name(new_name)
    _refuse_fixed(given, "renamed")

    def updates(at: Table) -> Mapping[str, Head | None]:
        head = repository.manifest.head(given, at)
        if fold(wanted) != fold(given):
            repository.manifest.refuse_twin(wanted, at)
        moved = Head(wanted, head.commit, head.version, head.fragment)
        return {wanted: moved} if fold(wanted) == fold(given) else {given: None, wanted: moved}

    made = _flip(repository, updates)[wanted]
    assert made is not None
    return made


def _delete(repository: Repository, name: str, check: Callable[[Head], None]) -> None:
    """Delete a branch for whose head `check` raises nothing; the flip is refused if it moved."""

    def updates(at: Table) -> Mapping[str, Head | None]:
        head = repository.manifest.head(name, at)
        check(head)
        here = repository.manifest.standing_at(head.commit, at)
        others = {other.name: other for other in here if other.name != head.name}
        if not others:
            retired = repository.manifest.retire(at, head, repository.now())
            repository.tables.sync_table(retired)
            reached("branch retired")
        return {head.name: None, **_witness(head.name, others)}

    _flip(repository, updates)


def _witness(name: str, others: Mapping[str, Head]) -> Mapping[str, Head]:
    """Return a head that has to stay where it is while another one at the same commit is deleted.

    Then, of two concurrent deletes of the last two names of a commit, one is rejected and records
    where it stood. `main` leaves a commit only by moving on from it. Each delete takes the next
    name as its witness, so that many concurrent deletes interfere as little as possible.
    """
    if not others or MAIN in others:
        return {}
    witness = min(others, key=lambda each: (each < name, each))
    return {witness: others[witness]}


def _create(
    repository: Repository,
    name: str,
    source: str,
    newest: Callable[[], Table] | None = None,
) -> Head:
    def updates(at: Table) -> Mapping[str, Head | None]:
        repository.manifest.refuse_twin(name, at)
        head = _start(repository, name, source, at)
        repository.refuse_cleaned(head.commit, at)
        # A tag also reserves the key of the branch of the same name, so that none can be created.
        return {name: head, name.removeprefix(TAG): None} if name.startswith(TAG) else {name: head}

    made = _flip(repository, updates, newest)[name]
    assert made is not None
    # Either the cleanup sees the new head, or the cleanup is seen here.
    if _was_cleaned(repository, name, made):
        raise CommitCleanedError(f"commit {made.commit} was cleaned up meanwhile")
    return made


def _was_cleaned(repository: Repository, name: str, made: Head) -> bool:
    """Whether a cleanup removed the tables of a new branch's commit; the branch is then deleted."""
    done = f"'{name}' was created, but it is unknown whether a cleanup removed its commit"
    with unknown_outcome(done, _LOOK):
        try:
            repository.refuse_cleaned(made.commit, repository.manifest.newest())
        except CommitCleanedError:
            _delete(repository, name, lambda _: None)
            return True
        return False


def _start(repository: Repository, name: str, source: str, at: Table) -> Head:
    if is_ulid(source):
        commit = repository.commit(source, at)
        return Head(name, commit.id, commit.version, 0)
    try:
        head = repository.manifest.head(repository.head_name(source, at), at)
    except BranchNotFoundError as missing:
        raise no_place(source, missing.hint) from None
    return Head(name, head.commit, head.version, head.fragment)


def _refuse_fixed(name: str, verb: str) -> None:
    if name == MAIN:
        raise BranchNameError(f"'{MAIN}' cannot be {verb}")
    if is_system(name):
        raise BranchNotFoundError(f"no branch '{name}'")


def _flip(
    repository: Repository,
    updates: Callable[[Table], Mapping[str, Head | None]],
    newest: Callable[[], Table] | None = None,
) -> Mapping[str, Head | None]:
    """Flip the heads that `updates` returns for the newest manifest; retried after a lost race."""
    repository.check_writable()
    manifest = repository.manifest
    for _ in attempts(repository.patience.seconds):
        try:
            with flip_turn(repository.store):
                at = manifest.newest() if newest is None else newest()
                newest = None
                wanted = updates(at)
                flipped = _flip_once(repository, at, wanted)
        except CommitRejectedError:
            continue
        reached("branch flipped")
        sync_flip(repository, flipped, "the change")
        return wanted
    seconds = repository.patience.seconds
    raise HeadMovedError(f"the branch kept moving; gave up after {seconds:g} s, nothing changed")


def _flip_once(repository: Repository, at: Table, wanted: Mapping[str, Head | None]) -> Table:
    """Flip heads; when there is no answer, find out whether it happened."""
    manifest = repository.manifest
    try:
        return manifest.flip(at, wanted, needs_old=_needs_old(manifest, at, wanted))
    except (StorageError, CommitContentionError) as failed:
        with unknown_outcome(f"the store failed while changing a branch: {failed.message}", _LOOK):
            settled = manifest.settled(failed)
            after = manifest.heads(settled)
            if all(after.get(fold(name)) == head for name, head in wanted.items()):
                return settled
            moved = _have_moved(manifest, at, settled, wanted)
        if moved:
            # Others moved it since, from its old place or from its new one.
            raise OutcomeUnknownError(
                f"the store failed while changing a branch, which moved since: {failed.message}",
                hint=_LOOK,
            ) from failed
        raise


def _have_moved(manifest: Manifest, old: Table, new: Table, names: Iterable[str]) -> bool:
    """Whether any of some heads moved between two versions of the manifest.

    It may be back where it was, because others undid the move.
    """
    before, folded = manifest.heads(old), [fold(name) for name in names]
    later = (manifest.heads(old.at(v)) for v in range(old.version + 1, new.version + 1))
    return any(each.get(name) != before.get(name) for each in later for name in folded)


def _needs_old(manifest: Manifest, at: Table, wanted: Mapping[str, Head | None]) -> bool:
    """Whether a head is to stand where no head does, at a commit that a cleanup may be removing."""
    commits = {head.commit for head in wanted.values() if head is not None}
    return not all(any(manifest.standing_at(each, at)) for each in commits)
