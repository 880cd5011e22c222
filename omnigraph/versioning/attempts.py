"""Attempts: retry with back-off after losing a race, within a time limit."""

import random
import time
from collections.abc import Callable, Iterator

from omnigraph.frozen import dataclass

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a writer retries after lost races.

    `turn` is how many a turn takes at least before the next in line overtakes it.
    """

    seconds: float = 60.0
    turn: float = 0.5


def attempts(seconds: float, waited: Callable[[], float] = lambda: 0.0) -> Iterator[int]:
    """Yield the number of each attempt, from 0, until `seconds` have passed beside waiting in line.

    Attempts are separated by random pauses, about as long as the attempt that was lost. They shrink
    with every lost race, so that whoever has lost most comes first. One of the rivals always wins,
    so shorter pauses cannot block all.
    """
    begun, number = time.monotonic(), 0
    while True:
        before, waiting = time.monotonic(), waited()
        yield number
        number += 1
        now = time.monotonic()
        spent = now - before - (waited() - waiting)
        if now - begun - waited() >= seconds:
            return
        pause = min(max(_FIRST_PAUSE, spent / 2), _LONGEST_PAUSE) / number
        time.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
