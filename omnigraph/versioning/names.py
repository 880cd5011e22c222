"""Names: branch names: those reserved for the system, and those that a user may choose."""

import re

from omnigraph.errors import BranchNameError, BranchNotFoundError, CommitNotFoundError
from omnigraph.syntax.names import fold, is_system, normalize_name
from omnigraph.versioning.ulid import is_ulid

__all__ = [
    "MAIN",
    "SCHEMA_LOCK",
    "TAG",
    "fold",
    "is_system",
    "new_branch_name",
    "no_commit",
    "no_place",
    "normalize_name",
]

MAIN = "main"
TAG = "__tag__"
SCHEMA_LOCK = "__schema_apply_lock__"
_BEGINNING = re.compile(r"0[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,6}")  # all ids begin with 0
_TOO_SHORT = ": give at least 8 characters of an id"


def new_branch_name(name: str) -> str:
    """Return a new branch's name in normal form; raises when a user may not choose it."""
    text = normalize_name(name)
    if is_system(text):
        raise BranchNameError(f"invalid branch name '{text}': names with __ are reserved")
    if is_ulid(text):
        raise BranchNameError(f"invalid branch name '{text}': it has the form of a commit id")
    return text


def no_commit(given: str) -> CommitNotFoundError:
    """Return the error for a commit that is not there, or may not be seen."""
    return CommitNotFoundError(f"no commit '{given}'{_too_short(given)}")


def no_place(given: str, hint: str | None = None) -> BranchNotFoundError:
    """Return the error where a branch, a tag or a commit may be named, and none is so called."""
    name = normalize_name(given)
    return BranchNotFoundError(f"no branch, tag or commit '{name}'{_too_short(name)}", hint=hint)


def _too_short(given: str) -> str:
    """Return what is wrong with a beginning of an id; the text alone tells, not what is there."""
    return _TOO_SHORT if _BEGINNING.fullmatch(given) else ""
