"""Tags: names for commits, each kept as a system branch that never moves."""

from omnigraph.errors import (
    BranchExistsError,
    BranchNameError,
    BranchNotFoundError,
    TagExistsError,
    TagNotFoundError,
)
from omnigraph.syntax.names import MOST_BYTES as MOST_BRANCH_BYTES
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.branches import create_system_branch, delete_system_branch
from omnigraph.versioning.names import MAIN, TAG, new_branch_name
from omnigraph.versioning.repository import Repository

# The branch behind a tag has a longer name, which must not exceed the limit for branches.
MOST_BYTES = MOST_BRANCH_BYTES - len(TAG)


def create_tag(repository: Repository, name: str, target: str = MAIN) -> str:
    """Name a commit, or the one at which a branch stands now; returns the id of the commit."""
    given = _new_name(name)
    try:
        return create_system_branch(repository, TAG + given, target).commit
    except BranchExistsError as taken:
        raise TagExistsError(taken.message, hint=taken.hint) from None


def _new_name(name: str) -> str:
    """Return a new tag's name in normal form; raises when a user may not choose it."""
    given = new_branch_name(name)
    if len(given.encode()) > MOST_BYTES:
        raise BranchNameError(
            f"'{given[:57]}…' cannot name a tag: it is longer than {MOST_BYTES} bytes"
        )
    return given


def delete_tag(repository: Repository, name: str, commit_id: str | None = None) -> None:
    """Delete a tag; with `commit_id`, only if it names that commit. The commit stays."""
    try:
        delete_system_branch(repository, TAG + new_branch_name(name), commit_id)
    except BranchNotFoundError:
        hint = suggest(name, list_tags(repository))
        raise TagNotFoundError(f"no tag '{name}'", hint=hint) from None


def list_tags(repository: Repository) -> dict[str, str]:
    """Return the commit id of every tag, by name."""
    heads = repository.manifest.heads(repository.manifest.newest()).values()
    found = {head.name.removeprefix(TAG): head for head in heads if head.name.startswith(TAG)}
    return {name: found[name].commit for name in sorted(found)}
