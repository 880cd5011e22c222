"""Ulid: ids that sort by the time they were made, even within one millisecond."""

import os
import threading
import time
from collections.abc import Callable

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_MOST = 2**128 - 1


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


class Clock:
    """Makes ids and times that never go back, whatever the machine's clock does."""

    def __init__(self, time_us: Callable[[], int] = now_us) -> None:
        self._time_us = time_us
        self._last = 0
        self._last_us = 0
        self._lock = threading.Lock()

    def time(self) -> int:
        """Return the time in microseconds, later than every time returned before."""
        with self._lock:
            self._last_us = max(self._time_us(), self._last_us + 1)
            return self._last_us

    def ulid(self) -> str:
        """Return a new id that sorts after every id returned before."""
        with self._lock:
            milliseconds = max(self._time_us() // 1000, 0)
            fresh = (milliseconds << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8))
            self._last = min(fresh if fresh > self._last else self._last + 1, _MOST)
            return _encoded(self._last)


def is_ulid(text: str) -> bool:
    """Whether a text has the form of an id."""
    return len(text) == 26 and text[0] in "01234567" and set(text) <= set(_ALPHABET)


def time_of(ulid: str) -> int:
    """Return the time at which an id was made, in microseconds, accurate to a millisecond."""
    number = 0
    for char in ulid:
        number = number << 5 | _ALPHABET.index(char)
    return (number >> _RANDOM_BITS) * 1000


def _encoded(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
