"""Operations: looks up what an operation id led to before, and refuses it for another request."""

from omnigraph.errors import OperationReusedError
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.repository import Repository


def find_operation(
    repository: Repository, operation_id: str | None, actor: str | None, at: Table | None = None
) -> Commit | None:
    """Return the commit that an operation of an actor led to, or None when there is none."""
    if operation_id is None:
        return None
    manifest = repository.manifest
    return manifest.operation(operation_id, actor, manifest.newest() if at is None else at)


def repeated(
    repository: Repository,
    operation_id: str | None,
    actor: str | None,
    request: str | None,
    at: Table | None = None,
) -> Commit | None:
    """Return the commit that the same request led to before, or None when it is new.

    A commit may store its answer after its request. Raises OperationReusedError when the id was
    used for another request.
    """
    found = find_operation(repository, operation_id, actor, at)
    if found is not None and not _is_same(found.request, request):
        raise operation_reused(found)
    return found


def _is_same(noted: str | None, request: str | None) -> bool:
    if noted is None or request is None:
        return noted == request
    return f"{noted} ".startswith(f"{request} ") or f"{request} ".startswith(f"{noted} ")


def operation_reused(commit: Commit) -> OperationReusedError:
    """Return the error for an operation id that was used for something else before."""
    return OperationReusedError(
        f"the operation id '{commit.operation_id}' was used for another change",
        hint=f"it led to commit {commit.id}; use a new id for each change",
    )
