"""Turn: writers of one branch on one machine take turns, so that they do not race.

Nothing depends on a turn: a writer that waits while nobody gets on goes on without one, and the
flip decides. The kernel releases the lock of a process that dies.
"""

import hashlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from omnigraph.storage.store import Store
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.names import fold

try:
    import fcntl
except ImportError:  # Windows: writers race, and the flip decides.
    fcntl = None  # type: ignore[assignment]

# Branches share lock files, so that ten thousand branches do not leave ten thousand files.
_LOCKS = 64
# Who has waited longer asks more often, and so comes first among many.
_FIRST_PAUSE, _SHORTEST_PAUSE = 0.02, 0.0005
_HASTE = 20.0
_COUNT_BYTES = 8


class _HeldLocks(threading.local):
    """The locks that this thread holds; it does not wait for itself."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()


_HELD = _HeldLocks()


@contextmanager
def turn(store: Store, branch: str, patience: Patience) -> Iterator[None]:
    """Hold the turn of a branch within the block, or go on without it after waiting in vain.

    That is when nobody was given the turn for a while, because whoever has it is at something long,
    or when a writer waited for as long as it would retry.
    """
    path = _lock_path(store.root, branch) if store.is_local and fcntl is not None else None
    if path is None or path in _HELD.paths:
        yield
        return
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(file, patience)
        _HELD.paths.add(path)
        yield
    finally:
        _HELD.paths.discard(path)
        os.close(file)


def _acquire(file: int, patience: Patience) -> None:
    begun = time.monotonic()
    until, turns = begun + patience.turn, _turns(file)
    while not _has_lock(file):
        now, seen = time.monotonic(), _turns(file)
        if seen != turns:
            until, turns = now + patience.turn, seen
        if now >= min(until, begun + patience.seconds):
            return
        pause = max(_FIRST_PAUSE / (1 + _HASTE * (now - begun)), _SHORTEST_PAUSE)
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - no secret
    with suppress(OSError):  # a full disk: those who wait go on earlier
        os.pwrite(file, (_turns(file) + 1).to_bytes(_COUNT_BYTES), 0)


def _has_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _turns(file: int) -> int:
    """Return how many writers have had a turn."""
    return int.from_bytes(os.pread(file, _COUNT_BYTES, 0))


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
