"""Schema lock: one schema change of a graph at a time, marked by a system branch.

Correctness does not depend on it: a commit is published only if the schema is still the one that
was read. The lock spares two concurrent changes the work that one of them would lose. So a lock
that a crash left behind is simply taken over.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from omnigraph.errors import BranchExistsError, BranchNotFoundError, OmniGraphError
from omnigraph.storage.steps import reached
from omnigraph.versioning.branches import create_system_branch, delete_system_branch
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.names import SCHEMA_LOCK
from omnigraph.versioning.repository import Repository

LEASE_SECONDS = 20.0
_PAUSE_SECONDS = 0.02


@contextmanager
def schema_lock(
    repository: Repository,
    lease: float = LEASE_SECONDS,
    check: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Keep others from changing the schema within the block; waits for whoever is changing it.

    `check` is called while it waits, and raises when the change was cancelled or is too late.
    """
    repository.check_writable()
    _acquire(repository, lease, check)
    reached("schema locked")
    try:
        yield
    finally:
        # Somebody who waited longer than the lease may have taken it over. No other failure may
        # hide what was done; the lock is then taken over as after a crash.
        with suppress(OmniGraphError):
            delete_system_branch(repository, SCHEMA_LOCK)


def _acquire(repository: Repository, lease: float, check: Callable[[], None]) -> None:
    seen: Head | None = None
    since = time.monotonic()
    while True:
        check()
        try:
            create_system_branch(repository, SCHEMA_LOCK)
            return
        except BranchExistsError:
            held = repository.manifest.twin(SCHEMA_LOCK, repository.manifest.newest())
        if held != seen:
            seen, since = held, time.monotonic()
        elif time.monotonic() - since > lease:
            with suppress(BranchNotFoundError):
                delete_system_branch(repository, SCHEMA_LOCK)
        time.sleep(_PAUSE_SECONDS)
