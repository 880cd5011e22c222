"""Failures: turns what Lance and the object store raise into errors of our own."""

from collections.abc import Iterator
from contextlib import contextmanager

from lance.commit import CommitConflictError
from obstore.exceptions import BaseError as ObjectError

from omnigraph.errors import StorageError, StoreError
from omnigraph.storage.causes import NO_BUCKET, cause_of, code_of, hint_of, reason_of

_PANIC = "PanicException"
_LOST = "Incompatible transaction"
_CROWDED = "Too many concurrent writers"


class CommitRejectedError(Exception):
    """A commit lost against another one and was certainly not made."""


class CommitContentionError(CommitRejectedError):
    """Lance gave up on a commit after losing one race after another.

    It cuts off its last attempt when the time is up, and that one may have been made after all.
    Whether it was matters for what others see.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class LingeringError(StorageError):
    """It is unknown what became of a commit, and a later one does not tell.

    It got no answer in time and may still be made by this process: Lance retries by itself and
    cannot be stopped. Or it was made so late that it may have undone what others did before it.
    """


@contextmanager
def report_as(doing: str) -> Iterator[None]:
    """Raise StorageError for whatever Lance or the store raises while the block runs.

    A panic inside Lance derives from BaseException; here it is an error like any other.
    """
    try:
        yield
    except CommitConflictError as lost:
        raise CommitRejectedError(str(lost)) from lost
    except (OSError, RuntimeError, ValueError, KeyError, ObjectError) as failed:
        if _LOST in str(failed):
            raise CommitRejectedError(str(failed)) from failed
        if _CROWDED in str(failed):
            raise CommitContentionError(f"{doing}: {_brief(failed)}") from failed
        raise _error(doing, failed) from failed
    except BaseException as failed:
        if type(failed).__name__ != _PANIC:
            raise
        raise StorageError(f"{doing}: {_brief(failed)}") from failed


def _error(doing: str, failed: BaseException) -> StorageError | StoreError:
    kind = StoreError if code_of(str(failed)) == NO_BUCKET else StorageError
    error = kind(f"{doing}: {_brief(failed)}", hint=_hint(failed))
    error.cause = cause_of(str(failed))
    return error


def _hint(failed: BaseException) -> str | None:
    """Return what to do next, or who may have removed a file that an old commit needs."""
    known = hint_of(str(failed))
    if known is not None or "not found" not in str(failed).casefold():
        return known
    return "a cleanup removes what only old commits need; fsck tells whether something is missing"


def _brief(failed: BaseException) -> str:
    """Return the first line of a message and the reason, without the position in Lance's source.

    A store answers with a document of many lines; only the reason is kept.
    """
    text, reason = str(failed), reason_of(str(failed))
    line = text.partition("\n")[0].partition("<?xml")[0].partition("<Error")[0]
    line = line.partition(", /home/")[0].partition(", rust/")[0].rstrip(": ")
    shown = line or type(failed).__name__
    return shown if reason is None or reason in shown else f"{shown}: {reason}"
