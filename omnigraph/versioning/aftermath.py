"""Aftermath: reports failures after a change was made without denying the change."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import OmniGraphError, OutcomeUnknownError


@contextmanager
def aftermath(done: str, hint: str) -> Iterator[None]:
    """Raise OutcomeUnknownError for any failure of the block, which runs after `done` happened."""
    try:
        yield
    except OutcomeUnknownError:
        raise
    except OmniGraphError as failed:
        raise OutcomeUnknownError(f"{done}: {failed.message}", hint=hint) from failed
