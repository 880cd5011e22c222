"""Unknown outcome: reports failures after a change was made, without denying the change."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import OmniGraphError, OutcomeUnknownError


@contextmanager
def unknown_outcome(done: str, hint: str) -> Iterator[None]:
    """Raise OutcomeUnknownError for any failure of the block, which runs after `done` happened.

    Where a part of the block cannot tell its outcome either, `done` is told all the same.
    """
    try:
        yield
    except OmniGraphError as failed:
        raise OutcomeUnknownError(f"{done}: {failed.message}", hint=hint) from failed
