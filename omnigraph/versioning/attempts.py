"""Attempts: retry with back-off after losing a race, within a time limit."""

import random
import time
from collections.abc import Iterator

from omnigraph.frozen import dataclass

_FIRST_PAUSE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a writer retries after lost races, and waits while no turn ends."""

    seconds: float = 60.0
    turn: float = 0.5


def attempts(seconds: float) -> Iterator[int]:
    """Yield the number of each attempt, from 0, until `seconds` have passed.

    Attempts are separated by random pauses that shrink with every lost race, so that whoever has
    waited longest comes first. One of the rivals always wins, so shorter pauses cannot block all.
    """
    until, number = time.monotonic() + seconds, 0
    while True:
        yield number
        number += 1
        if time.monotonic() >= until:
            return
        time.sleep(random.uniform(0, _FIRST_PAUSE / number))  # noqa: S311 - no secret
