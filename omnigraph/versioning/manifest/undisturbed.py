"""Undisturbed: writers of one machine that move a table let each other finish.

Lance tries again when another version came first, and reads every version since. Nothing depends on
the lock: it is not waited for long, and Lance itself decides who was first.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # Windows: writers race
    fcntl = None  # type: ignore[assignment]

# So long does nobody wait for one who was stopped, and so often does who waits look.
_LONGEST, _SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 0.0005, 0.008


@contextmanager
def undisturbed(folder: str) -> Iterator[None]:
    """Hold the lock of a folder within the block, or go on without it after a short while."""
    file = None
    with suppress(OSError):
        file = None if fcntl is None else os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if file is not None:
            with suppress(OSError):  # a file system without locks
                _wait(file)
        yield
    finally:
        if file is not None:
            os.close(file)


def _wait(file: int) -> None:
    until, pause = time.monotonic() + _LONGEST, _SHORTEST_PAUSE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - no secret
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return
