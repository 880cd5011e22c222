"""Deadline: until when long work may run, and whether anybody still waits for it."""

import time
from dataclasses import dataclass, field
from math import inf
from threading import Event
from typing import TypedDict

from omnigraph.errors import BudgetError, CancelledError


class TimeKeywords(TypedDict, total=False):
    """The keywords that limit how long a call works: for `seconds`, or until `cancelled` is set."""

    seconds: float | None
    cancelled: Event | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """How many seconds some work may take, and an event that cancels it.

    `work` is what messages call it. A write checks it until it publishes, and never from there on.
    """

    work: str = "work"
    seconds: float = inf
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
        if self.cancelled.is_set():
            raise CancelledError(f"the {self.work} was cancelled")
        if time.monotonic() - self.started > self.seconds:
            message = f"the {self.work} ran longer than {self.seconds:g} s"
            raise BudgetError(message, limit="seconds")


def deadline_of(work: str, seconds: float | None, cancelled: Event | None) -> Deadline:
    """Return the deadline of some work that begins now; without `seconds` it has all the time."""
    return Deadline(
        work=work,
        seconds=inf if seconds is None else seconds,
        cancelled=Event() if cancelled is None else cancelled,
    )
