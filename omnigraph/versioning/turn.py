"""Turn: writers of one branch on one machine take turns, so that they do not race.

Nothing depends on a turn: a writer that waited long enough goes on without one, and the flip
decides. The kernel releases the lock of a process that dies.
"""

import hashlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.storage.store import Store
from omnigraph.versioning.names import fold

try:
    import fcntl
except ImportError:  # Windows: writers race, and the flip decides.
    fcntl = None  # type: ignore[assignment]

# Branches share lock files, so that ten thousand branches do not leave ten thousand files.
_LOCKS = 64
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.005


class _HeldLocks(threading.local):
    """The locks that this thread holds; it does not wait for itself."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()


_HELD = _HeldLocks()


@contextmanager
def turn(store: Store, branch: str, wait: float) -> Iterator[None]:
    """Hold the turn of a branch within the block; without it when it does not come in time."""
    path = _lock_path(store.root, branch) if store.is_local and fcntl is not None else None
    if path is None or path in _HELD.paths:
        yield
        return
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(file, wait)
        _HELD.paths.add(path)
        yield
    finally:
        _HELD.paths.discard(path)
        os.close(file)


def _acquire(file: int, wait: float) -> None:
    until, pause = time.monotonic() + wait, _SHORTEST_PAUSE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= until:
                return
        else:
            return
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - no secret
        pause = min(pause * 2, _LONGEST_PAUSE)


def _lock_path(root: str, branch: str) -> Path | None:
    """Return the lock file of a branch; None without a temporary folder of our own."""
    folder = Path(tempfile.gettempdir()) / f".omnigraph-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    digest = hashlib.sha256(f"{root}\0{fold(branch)}".encode()).digest()
    return folder / f"turn-{digest[0] % _LOCKS:02}.lock"
