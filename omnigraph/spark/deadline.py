"""Deadline: until when long work may run, what it may hold, and whether anybody waits for it."""

import time
from dataclasses import field, replace
from math import inf
from threading import Event
from typing import TypedDict

from omnigraph.errors import BudgetError, CancelledError
from omnigraph.frozen import dataclass


class TimeKeywords(TypedDict, total=False):
    """The keywords that limit how long a call works: for `seconds`, or until `cancelled` is set."""

    seconds: float | None
    cancelled: Event | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """How many seconds some work may take, how many bytes it may hold, and what cancels it.

    `work` is what messages call it. A write checks it until it publishes, and never from there on.
    """

    work: str = "work"
    seconds: float = inf
    bytes: float = inf
    cancelled: Event = field(default_factory=Event, compare=False)
    started: float = field(default_factory=time.monotonic, compare=False)

    def __reduce__(self) -> "tuple[type[Deadline], tuple[()]]":
        # A task on another machine is ended by its driver, whose clock and event it does not see.
        return Deadline, ()

    @property
    def is_over(self) -> bool:
        """Whether the work has to end now."""
        return self.cancelled.is_set() or time.monotonic() - self.started > self.seconds

    def check(self) -> None:
        """Raise CancelledError when the work was cancelled, BudgetError when it took too long."""
        self.check_cancelled()
        if time.monotonic() - self.started > self.seconds:
            message = f"the {self.work} ran longer than {self.seconds:g} s"
            raise BudgetError(message, limit="seconds")

    def check_cancelled(self) -> None:
        """Raise CancelledError when the work was cancelled."""
        if self.cancelled.is_set():
            raise CancelledError(f"the {self.work} was cancelled")

    def check_bytes(self, size: int) -> None:
        """Raise BudgetError when the work would hold more bytes than it may; see also `check`."""
        self.check()
        if size > self.bytes:
            most = f"{self.bytes / (1 << 20):,.4g} MiB"
            raise BudgetError(f"the {self.work} needs more than {most} of memory", limit="bytes")

    def from_now(self) -> "Deadline":
        """Return the deadline of another piece of the work, whose time begins now."""
        return replace(self, started=time.monotonic())


# For work that may take what it takes.
NO_DEADLINE = Deadline()


def deadline_of(
    work: str, seconds: float | None, cancelled: Event | None, size: int | None = None
) -> Deadline:
    """Return the deadline of some work that begins now; what is None has no limit.

    `size` is how many bytes the work may hold.
    """
    return Deadline(
        work=work,
        seconds=inf if seconds is None else seconds,
        bytes=inf if size is None else size,
        cancelled=Event() if cancelled is None else cancelled,
    )
