"""Failures: turns what Lance and the object store raise into errors of our own."""

from collections.abc import Iterator
from contextlib import contextmanager

from lance.commit import CommitConflictError
from obstore.exceptions import BaseError as ObjectError

from omnigraph.errors import StorageError

_PANIC = "PanicException"
_LOST = "Incompatible transaction"
_CROWDED = "Too many concurrent writers"


class Rejected(Exception):
    """A commit lost against another one and was certainly not made."""


class Crowded(Rejected):
    """Lance gave up a commit, because others came first again and again.

    It cuts off its last attempt when the time is up, so that one may have been made after all;
    that matters for what others see.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@contextmanager
def reported(doing: str) -> Iterator[None]:
    """Raise StorageError for whatever the substrate raises while the block runs.

    A panic inside Lance derives from BaseException; it is an error like any other here.
    """
    try:
        yield
    except CommitConflictError as lost:
        raise Rejected(str(lost)) from lost
    except (OSError, RuntimeError, ValueError, ObjectError) as failed:
        if _LOST in str(failed):
            raise Rejected(str(failed)) from failed
        if _CROWDED in str(failed):
            raise Crowded(f"{doing}: {_brief(failed)}") from failed
        raise StorageError(f"{doing}: {_brief(failed)}", hint=_hint(failed)) from failed
    except BaseException as failed:
        if type(failed).__name__ != _PANIC:
            raise
        raise StorageError(f"{doing}: {_brief(failed)}") from failed


def _hint(failed: BaseException) -> str | None:
    """Say who may have removed a file, which readers of an old commit meet."""
    if "not found" not in str(failed).casefold():
        return None
    return "a cleanup removes what only old commits need; fsck tells whether something is missing"


def _brief(failed: BaseException) -> str:
    """Give the first line of a message, without the place in Lance's own source."""
    text = str(failed).partition("\n")[0]
    return text.partition(", /home/")[0].partition(", rust/")[0] or type(failed).__name__
