"""Sides: actors whose requests are costly are served by workers that give way to the others.

Threads of one interpreter wait for each other, and processes of one priority for a processor; an
actor that scans, encodes or loads without pause must be apart from the others in both.
"""

import time
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np

from omnigraph.server.process.shared import BUCKETS, SharedTurns, Side

# The workers of the back have this niceness: they get what the others leave, and a tenth at least.
NICENESS = 10
# Pieces of work that take more of a processor than this, on average, are costly.
_COSTLY_SECONDS = 0.002
# Costly work that takes less than this part of a processor disturbs nobody.
_LEAST_USE = 0.05
_EVERY_SECONDS = 0.2
# What was spent counts half after so long.
_HALF_SECONDS = 2.0


# What is spent in each second adds up to this many times as much.
_SUMMED = _HALF_SECONDS / log(2)
# One piece of work is forgotten when it counts less than this, which is after some seconds.
_GONE = 0.05


@dataclass(slots=True)
class Sides:
    """Decides now and then on which side each actor is, by what its requests lately cost.

    With nobody costly, or nobody else, all workers serve everybody.
    """

    shared: SharedTurns
    _at: float = field(default_factory=time.monotonic)
    _spent: Any = field(init=False)
    _done: Any = field(init=False)
    _lately_spent: Any = field(default_factory=lambda: np.zeros(BUCKETS))
    _lately_done: Any = field(default_factory=lambda: np.zeros(BUCKETS))

    def __post_init__(self) -> None:
        self._spent, self._done = self.shared.spent()

    def look(self) -> None:
        """Decide again, if it is time."""
        now = time.monotonic()
        if now - self._at >= _EVERY_SECONDS:
            self.decide(now - self._at)
            self._at = now

    def decide(self, seconds: float) -> None:
        """Decide by what was spent before, and in the seconds since the last decision."""
        spent, done = self.shared.spent()
        kept = 0.5 ** (seconds / _HALF_SECONDS)
        self._lately_spent = self._lately_spent * kept + (spent - self._spent)
        self._lately_done = self._lately_done * kept + (done - self._done)
        self._spent, self._done = spent, done
        self.shared.sides[:] = sides(self._lately_spent, self._lately_done)


def sides(spent: Any, done: Any) -> Any:  # noqa: ANN401 - arrays
    """Return the side of each actor, by its processor time and its pieces of work lately."""
    is_there = done > _GONE
    is_costly = is_there & (spent > _COSTLY_SECONDS * done)
    found = np.full(len(spent), Side.ANY, np.int8)
    if spent[is_costly].sum() > _LEAST_USE * _SUMMED and (is_there & ~is_costly).any():
        found[:] = Side.FRONT
        found[is_costly] = Side.BACK
    return found
