"""Flip turn: those who change the manifest of a graph on one machine do it one at a time.

Lance reads all versions that came since for each race that it loses. So whoever falls behind would
fall further behind, until it gives up. Nothing depends on the turn: the flip decides, and who has
waited for long goes on without it.
"""

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.storage.store import Store
from omnigraph.versioning.turns.branch_turn import came_at
from omnigraph.versioning.turns.locks import FLAGS, has_lock, lock_file, unlock

_LONGEST_WAIT = 1.0
# How often somebody looks: the oftener, the longer it has waited, also for the turn of its branch.
_FIRST_PAUSE, _SHORTEST_PAUSE, _HALVED_AFTER = 0.008, 0.0005, 0.05


class _Own(threading.local):
    """The turns that this thread has; it does not wait for itself."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()


_OWN = _Own()


@contextmanager
def flip_turn(store: Store) -> Iterator[None]:
    """Hold the turn to change the manifest of a graph within the block.

    Those of a bucket race: the way to it takes far longer than what Lance reads after a lost race.
    """
    path = lock_file("flip", store.root) if store.is_local else None
    if path is None or path in _OWN.paths:
        yield
        return
    file = _waited_for(path)
    _OWN.paths.add(path)
    try:
        yield
    finally:
        _OWN.paths.discard(path)
        if file is not None:
            unlock(file)


def _waited_for(path: Path) -> int | None:
    """Return the locked file; None after a long wait, or on a disk without locks."""
    try:
        file = os.open(path, FLAGS, 0o600)
    except OSError:
        return None
    is_ours, begun, came = False, time.monotonic(), came_at() / 1e9
    try:
        while not (is_ours := has_lock(file)):
            now = time.monotonic()
            if now - begun > _LONGEST_WAIT:
                return None
            pause = max(_FIRST_PAUSE / (1 + (now - came) / _HALVED_AFTER), _SHORTEST_PAUSE)
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - no secret
    except OSError:
        return None
    finally:
        if not is_ours:
            os.close(file)
    return file
