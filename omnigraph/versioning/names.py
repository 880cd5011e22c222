"""Names: branch names: those reserved for the system, and those that a user may choose."""

from omnigraph.errors import BranchNameError
from omnigraph.syntax.names import fold, is_system, normalize_name
from omnigraph.versioning.ulid import is_ulid

__all__ = ["MAIN", "SCHEMA_LOCK", "TAG", "fold", "is_system", "new_branch_name", "normalize_name"]

MAIN = "main"
TAG = "__tag__"
SCHEMA_LOCK = "__schema_apply_lock__"


def new_branch_name(name: str) -> str:
    """Return a new branch's name in normal form; raises when a user may not choose it."""
    text = normalize_name(name)
    if is_system(text):
        raise BranchNameError(f"invalid branch name '{text}': names with __ are reserved")
    if is_ulid(text):
        raise BranchNameError(f"invalid branch name '{text}': it has the form of a commit id")
    return text
