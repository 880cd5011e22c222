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


class Bell:
    """Rings when a call takes too long, and ends the process when that is not heard.

    Native code hears no bell; the second signal has no handler and kills.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        signal.signal(signal.SIGPROF, _ring)

    def wind(self) -> None:
        """Let the time begin again."""
        signal.setitimer(signal.ITIMER_PROF, self._most)
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * self._most)

    def stop(self) -> None:
        """Ring no more."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow
