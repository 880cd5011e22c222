"""Branches: heads that are made, moved and removed by one flip each."""

from collections.abc import Callable, Mapping

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
from omnigraph.versioning.manifest import Head
from omnigraph.versioning.names import MAIN, TAG, fold, is_system, new_branch_name, normalize_name
from omnigraph.versioning.publish import RETRY_BUDGET, sync_flip
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import is_ulid


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


def delete_system_branch(repository: Repository, name: str) -> None:
    """Remove one of the system's own branches."""
    if not is_system(name):
        raise BranchNameError(f"'{name}' is not the name of a system branch")
    _delete(repository, name)


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


def _delete(repository: Repository, name: str) -> None:
    def updates(ledger: Table) -> Mapping[str, Head | None]:
        head = repository.manifest.head(name, ledger)
        here = repository.manifest.standing_at(head.commit, ledger)
        if all(other.name == head.name for other in here):
            retired = repository.manifest.retire(ledger, head, repository.clock.time())
            repository.tables.sync_table(retired)
            reached("branch retired")
        return {head.name: None}

    _flip(repository, updates)


def _create(repository: Repository, name: str, source: str) -> Head:
    def updates(ledger: Table) -> Mapping[str, Head | None]:
        repository.manifest.refuse_twin(name, ledger)
        head = _start(repository, name, source, ledger)
        repository.refuse_cleaned(head.commit, ledger)
        # A tag also takes the key of the branch of its name, which it must not meet later.
        return {name: head, name.removeprefix(TAG): None} if name.startswith(TAG) else {name: head}

    made = _flip(repository, updates)[name]
    assert made is not None
    try:
        # A cleanup either sees the new head, or is seen here.
        repository.refuse_cleaned(made.commit, repository.manifest.newest())
    except CommitCleanedError:
        _delete(repository, name)
        raise
    return made


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
    for _ in range(RETRY_BUDGET):
        try:
            ledger = manifest.newest()
            wanted = updates(ledger)
            flipped = _flipped(repository, ledger, wanted)
        except Rejected:
            continue
        reached("branch flipped")
        sync_flip(repository, flipped, "the change")
        return wanted
    raise HeadMovedError("the branch moved again and again; nothing was changed")


def _flipped(repository: Repository, ledger: Table, wanted: Mapping[str, Head | None]) -> Table:
    """Flip heads; when there is no answer, find out whether it was done."""
    manifest = repository.manifest
    try:
        return manifest.flip(ledger, wanted)
    except (StorageError, Crowded) as failed:
        try:
            settled = manifest.settled(failed)
        except (StorageError, Crowded):
            raise OutcomeUnknownError(
                f"the store failed while changing a branch: {failed.message}",
                hint="list the branches before repeating the change",
            ) from failed
        heads = manifest.heads(settled)
        if all(heads.get(fold(name)) == head for name, head in wanted.items()):
            return settled
        raise
