"""Flip turn: those who change the manifest of a graph on one machine do it one at a time.

Lance reads all versions that came since for each race that it loses. So whoever falls behind would
fall further behind, until it gives up. Nothing depends on the turn: the flip decides, and who has
waited for long goes on without it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.storage.store import Store
from omnigraph.versioning.turns.branch_turn import has_waited
from omnigraph.versioning.turns.locks import lock_file, lock_within, unlock

_LONGEST_WAIT = 1.0


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
    """Return the locked file; None after a long wait, or on a disk without locks.

    Those who waited for the turn of their branch go ahead: the others first stand in line for the
    one place behind whoever has the turn.
    """
    try:
        if has_waited():
            return lock_within(path, _LONGEST_WAIT)
        file = lock_within(path, 0.0)
        if file is not None:
            return file
        place = lock_within(path.with_name(f"line-{path.name}"), _LONGEST_WAIT)
        try:
            return lock_within(path, _LONGEST_WAIT)
        finally:
            if place is not None:
                unlock(place)
    except OSError:
        return None
