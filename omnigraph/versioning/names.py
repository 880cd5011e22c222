"""Names: those that the system uses itself, and those that a user may give to a new branch."""

from omnigraph.errors import BranchNameError
from omnigraph.syntax.names import fold, is_system, normalize_name
from omnigraph.versioning.ulid import is_ulid

__all__ = ["MAIN", "SCHEMA_LOCK", "TAG", "fold", "is_system", "new_branch_name", "normalize_name"]

MAIN = "main"
TAG = "__tag__"
SCHEMA_LOCK = "__schema_apply_lock__"


def new_branch_name(name: str) -> str:
    """Give the form of a name that a user may give to a new branch."""
    text = normalize_name(name)
    if is_system(text):
        raise BranchNameError(f"invalid branch name '{text}': names with __ are reserved")
    if is_ulid(text):
        raise BranchNameError(f"invalid branch name '{text}': it has the form of a commit id")
    return text
