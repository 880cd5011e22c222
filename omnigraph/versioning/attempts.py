"""Attempts: how often something is tried again that others were faster with."""

import random
import time
from collections.abc import Iterator

MOST_ATTEMPTS = 20
_SHORTEST_SECONDS = 0.002
_LONGEST_SECONDS = 0.2


def attempts() -> Iterator[int]:
    """Give the number of each attempt; before all but the first there is a pause by chance.

    The pauses grow, so that many writers of the same rows get out of each other's way.
    """
    for number in range(MOST_ATTEMPTS):
        if number:
            longest = min(_SHORTEST_SECONDS * 2**number, _LONGEST_SECONDS)
            time.sleep(random.uniform(0, longest))  # noqa: S311 - no secret
        yield number
