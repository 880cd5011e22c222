"""Limits: runs a call for at most some seconds."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlow(BaseException):
    """The time is over; not an Exception, so that no handler of the tested code takes it."""


@contextmanager
def seconds(most: float) -> Iterator[None]:
    """Raise TooSlow in the block when it is not done in time; for the main thread only."""
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow
