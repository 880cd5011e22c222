"""Branches: heads that are made, moved and removed by one flip each."""

from collections.abc import Callable, Iterable, Mapping

from omnigraph.errors import (
    BranchNameError,
    BranchNotFoundError,
    CommitCleanedError,
    HeadMovedError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.storage.failures import Crowded, Rejected
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.versioning.aftermath import aftermath
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.manifest import Head, Manifest
from omnigraph.versioning.names import MAIN, TAG, fold, is_system, new_branch_name, normalize_name
from omnigraph.versioning.publish import sync_flip
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import is_ulid

_LOOK = "list the branches before repeating the change"


def list_branches(repository: Repository) -> list[str]:
    """Give the names of the users' branches, `main` first."""
    heads = repository.manifest.heads(repository.manifest.newest()).values()
    names = sorted(head.name for head in heads if not is_system(head.name))
    return [MAIN, *(name for name in names if name != MAIN)]


def create_branch(repository: Repository, name: str, source: str = MAIN) -> Head:
    """Make a branch that stands where another one or a tag does, or at a commit."""
    return _create(repository, new_branch_name(name), source)


def create_system_branch(repository: Repository, name: str, source: str = MAIN) -> Head:
    """Make one of the system's own branches, hidden from listings."""
    if not is_system(name):
        raise BranchNameError(f"'{name}' is not the name of a system branch")
    return _create(repository, normalize_name(name), source)


def delete_branch(repository: Repository, name: str) -> None:
    """Remove a branch; its commits can still be read by their ids."""
    given = normalize_name(name)
    _refuse_fixed(given, "deleted")
    _delete(repository, given)


def delete_system_branch(repository: Repository, name: str, commit_id: str | None = None) -> None:
    """Remove one of the system's own branches, if it stands at a commit when one is given."""
    if not is_system(name):
        raise BranchNameError(f"'{name}' is not the name of a system branch")
    _delete(repository, name, commit_id)


def rename_branch(repository: Repository, name: str, new_name: str) -> Head:
    """Give a branch another name; it stays where it stands."""
    given, wanted = normalize_name(name), new_branch_name(new_name)
    _refuse_fixed(given, "renamed")

    def updates(ledger: Table) -> Mapping[str, Head | None]:
        head = repository.manifest.head(given, ledger)
        if fold(wanted) != fold(given):
            repository.manifest.refuse_twin(wanted, ledger)
        moved = Head(wanted, head.commit, head.version, head.fragment)
        return {wanted: moved} if fold(wanted) == fold(given) else {given: None, wanted: moved}

    made = _flip(repository, updates)[wanted]
    assert made is not None
    return made


def _delete(repository: Repository, name: str, commit_id: str | None = None) -> None:
    def updates(ledger: Table) -> Mapping[str, Head | None]:
        head = repository.manifest.head(name, ledger)
        if commit_id is not None and head.commit != commit_id:
            raise BranchNotFoundError(f"no branch '{name}' at {commit_id}")
        here = repository.manifest.standing_at(head.commit, ledger)
        others = {other.name: other for other in here if other.name != head.name}
        if not others:
            retired = repository.manifest.retire(ledger, head, repository.clock.time())
            repository.tables.sync_table(retired)
            reached("branch retired")
        return {head.name: None, **_witness(head.name, others)}

    _flip(repository, updates)


def _witness(name: str, others: Mapping[str, Head]) -> Mapping[str, Head]:
    """Return a head that has to stay where it stands while another one there is deleted.

    Of two deletes at once of the last two names of a commit one is rejected then, and notes where
    it stood. `main` leaves a commit only by going on from it. Each takes the next name, so that
    many deletes at once are in each other's way as little as can be.
    """
    if not others or MAIN in others:
        return {}
    witness = min(others, key=lambda each: (each < name, each))
    return {witness: others[witness]}


def _create(repository: Repository, name: str, source: str) -> Head:
    def updates(ledger: Table) -> Mapping[str, Head | None]:
        repository.manifest.refuse_twin(name, ledger)
        head = _start(repository, name, source, ledger)
        repository.refuse_cleaned(head.commit, ledger)
        # A tag also takes the key of the branch of its name, which it must not meet later.
        return {name: head, name.removeprefix(TAG): None} if name.startswith(TAG) else {name: head}

    made = _flip(repository, updates)[name]
    assert made is not None
    # A cleanup either sees the new head, or is seen here.
    if _was_cleaned(repository, name, made):
        raise CommitCleanedError(f"commit {made.commit} was cleaned up meanwhile")
    return made


def _was_cleaned(repository: Repository, name: str, made: Head) -> bool:
    """Tell whether a cleanup took what a new branch stands at; the branch is removed then."""
    done = f"'{name}' was made, but whether a cleanup took its commit meanwhile cannot be told"
    with aftermath(done, _LOOK):
        try:
            repository.refuse_cleaned(made.commit, repository.manifest.newest())
        except CommitCleanedError:
            _delete(repository, name)
            return True
        return False


def _start(repository: Repository, name: str, source: str, ledger: Table) -> Head:
    if is_ulid(source):
        commit = repository.commit(source)
        return Head(name, commit.id, commit.version, 0)
    head = repository.manifest.head(repository.head_name(source, ledger), ledger)
    return Head(name, head.commit, head.version, head.fragment)


def _refuse_fixed(name: str, verb: str) -> None:
    if name == MAIN:
        raise BranchNameError(f"'{MAIN}' cannot be {verb}")
    if is_system(name):
        raise BranchNotFoundError(f"no branch '{name}'")


def _flip(
    repository: Repository, updates: Callable[[Table], Mapping[str, Head | None]]
) -> Mapping[str, Head | None]:
    """Flip the heads that `updates` gives for the newest ledger; again when another was faster."""
    repository.check_writable()
    manifest = repository.manifest
    for _ in attempts(repository.patience.seconds):
        try:
            ledger = manifest.newest()
            wanted = updates(ledger)
            flipped = _flipped(repository, ledger, wanted)
        except Rejected:
            continue
        reached("branch flipped")
        sync_flip(repository, flipped, "the change")
        return wanted
    seconds = repository.patience.seconds
    raise HeadMovedError(f"the branch kept moving; gave up after {seconds:g} s, nothing changed")


def _flipped(repository: Repository, ledger: Table, wanted: Mapping[str, Head | None]) -> Table:
    """Flip heads; when there is no answer, find out whether it was done."""
    manifest = repository.manifest
    try:
        return manifest.flip(ledger, wanted, needs_old=_needs_old(manifest, ledger, wanted))
    except (StorageError, Crowded) as failed:
        with aftermath(f"the store failed while changing a branch: {failed.message}", _LOOK):
            settled = manifest.settled(failed)
            after = manifest.heads(settled)
            if all(after.get(fold(name)) == head for name, head in wanted.items()):
                return settled
            moved = _have_moved(manifest, ledger, settled, wanted)
        if moved:
            # Others moved it since, from where it stood or from where it was to stand.
            raise OutcomeUnknownError(
                f"the store failed while changing a branch, which moved since: {failed.message}",
                hint=_LOOK,
            ) from failed
        raise


def _have_moved(manifest: Manifest, ledger: Table, settled: Table, names: Iterable[str]) -> bool:
    """Tell whether any of some heads stood elsewhere in one of the ledgers after another.

    It may stand where it stood before, because others undid what was done.
    """
    before, folded = manifest.heads(ledger), [fold(name) for name in names]
    later = (manifest.heads(ledger.at(v)) for v in range(ledger.version + 1, settled.version + 1))
    return any(each.get(name) != before.get(name) for each in later for name in folded)


def _needs_old(manifest: Manifest, ledger: Table, wanted: Mapping[str, Head | None]) -> bool:
    """Tell whether a head is to stand where none does, which a cleanup may be about to take."""
    commits = {head.commit for head in wanted.values() if head is not None}
    return not all(any(manifest.standing_at(each, ledger)) for each in commits)
