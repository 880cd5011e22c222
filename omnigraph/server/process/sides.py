"""Sides: an actor that has much work waiting is served by workers that give way to the others.

Threads of one interpreter wait for each other, and processes of one priority for a processor: an
actor that scans, encodes or loads without pause has to be apart from the others in both.
"""

import time
from dataclasses import field
from math import log
from typing import Any

import numpy as np

from omnigraph.frozen import dataclass
from omnigraph.server.process.shared import BUCKETS, SharedTurns, WorkerSide

# The niceness of the workers of the back: others go first, and leave them a tenth at least.
NICENESS = 10
# An actor with less work waiting than this, in seconds of a processor, disturbs nobody.
_LEAST_WAITING = 0.002
# To be noisy, so many times as much is waiting as of the quietest; to stay so, this is enough.
_MORE, _STILL_MORE = 3.0, 1.5
# A noisy actor that takes less than this part of a processor disturbs nobody.
_LEAST_USE = 0.05
_EVERY_SECONDS = 0.2
# What was counted is worth half after so long; an actor that is worth less than `_GONE` is gone.
_HALF_SECONDS = 2.0
_GONE = 0.05
# What comes in each second adds up to this many times as much.
_SUMMED = _HALF_SECONDS / log(2)


@dataclass(slots=True)
class WorkerSides:
    """Decides now and then on which side each actor is, by what its requests lately cost."""

    shared: SharedTurns
    _at: float = field(default_factory=time.monotonic)
    _totals: Any = field(init=False)
    _lately: Any = field(default_factory=lambda: np.zeros((3, BUCKETS)))

    def __post_init__(self) -> None:
        self._totals = self.shared.totals()

    def look(self) -> None:
        """Decide again, if it is time."""
        now = time.monotonic()
        if now - self._at >= _EVERY_SECONDS:
            self.decide(now - self._at)
            self._at = now

    def decide(self, seconds: float) -> None:
        """Decide by what was counted before, and in the seconds since the last decision."""
        totals = self.shared.totals()
        self._lately = self._lately * 0.5 ** (seconds / _HALF_SECONDS) + (totals - self._totals)
        self._totals = totals
        spent, stayed, answered = self._lately
        self.shared.sides[:] = sides(spent, stayed, answered, self.shared.sides)


def sides(spent: Any, stayed: Any, answered: Any, before: Any) -> Any:  # noqa: ANN401 - arrays
    """Return the side of each actor, by its processor time, its stay and its requests lately.

    Noisy is who has much more work waiting than the quietest: as many requests as are here at a
    time, each with what one costs. When nobody is noisy, or most are, all workers serve everybody.
    """
    found = np.full(len(spent), WorkerSide.ANY, np.int8)
    is_there = answered > _GONE
    if not is_there.any():
        return found
    waiting = stayed / _SUMMED * spent / np.maximum(answered, _GONE)
    times = np.where(before == WorkerSide.BACK, _STILL_MORE, _MORE)
    least = np.maximum(times * waiting[is_there].min(), _LEAST_WAITING)
    is_noisy = is_there & (waiting > least)
    is_felt = spent[is_noisy].sum() > _LEAST_USE * _SUMMED
    if is_felt and is_noisy.sum() <= 2 * (is_there & ~is_noisy).sum():
        found[:] = WorkerSide.FRONT
        found[is_noisy] = WorkerSide.BACK
    return found
