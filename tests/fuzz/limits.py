"""Limits: runs a call for at most some seconds of the processor."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlow(BaseException):
    """The time is over; not an Exception, so that no handler of the tested code takes it."""


@contextmanager
def seconds(most: float) -> Iterator[None]:
    """Raise TooSlow in the block when it is not done in time; for the main thread only."""
    # The processor's time is the same on a machine that is busy with other things.
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow
