"""Aftermath: what fails once a change is made never says that the change was not made."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import OmniGraphError, OutcomeUnknownError


@contextmanager
def aftermath(done: str, hint: str) -> Iterator[None]:
    """Raise OutcomeUnknownError for any failure of the block, before which something was done."""
    try:
        yield
    except OutcomeUnknownError:
        raise
    except OmniGraphError as failed:
        raise OutcomeUnknownError(f"{done}: {failed.message}", hint=hint) from failed
