"""Shared: what the workers of one server know of each other: turns of actors, and counts.

Each worker writes to a part of its own, so that one that is killed leaves nothing locked; who
supervises them clears the part of a dead one.
"""

import fcntl
import json
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

_BUCKETS = 1024
_TURNS = "turns"
# So long after its last request an actor is still counted on.
_LATELY = 1.0
# A worker that works on a request for longer than this leaves new connections to idle ones.
_BUSY_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class SharedTurns:
    """How many requests of each actor run in each worker. Actors are told apart by a hash."""

    folder: Path
    index: int
    workers: int
    _running: Any = field(repr=False)
    _seen: Any = field(repr=False)
    _busy: Any = field(repr=False)
    _file: int = field(repr=False)

    @staticmethod
    def make(folder: Path, workers: int) -> None:
        """Make the table for a number of workers."""
        (folder / _TURNS).write_bytes(bytes(workers * (_BUCKETS * 12 + 8)))

    @classmethod
    def at(cls, folder: Path, index: int, workers: int) -> "SharedTurns":
        """Open the table as one of the workers."""
        file = os.open(folder / _TURNS, os.O_RDWR)
        memory = mmap.mmap(file, 0)
        cells = workers * _BUCKETS
        seen = np.frombuffer(memory, np.float64, cells).reshape(workers, _BUCKETS)
        busy = np.frombuffer(memory, np.float64, workers, cells * 8)
        running = np.frombuffer(memory, np.int32, cells, cells * 8 + workers * 8)
        return cls(folder, index, workers, running.reshape(workers, _BUCKETS), seen, busy, file)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other worker look and count meanwhile; a killed one holds no lock."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def count(self, actor: str, running: int) -> None:
        """Note how many requests of an actor run in this worker."""
        self._running[self.index, _bucket(actor)] = running

    def saw(self, actor: str) -> None:
        """Note that an actor asked for something now."""
        self._seen[self.index, _bucket(actor)] = time.monotonic()

    def elsewhere(self, actor: str) -> int:
        """Return how many requests of an actor run in the other workers."""
        column = self._running[:, _bucket(actor)]
        return int(column.sum() - column[self.index])

    def has_others(self, actor: str) -> bool:
        """Return whether another actor asked for something lately, or has something running."""
        lately = (self._seen > time.monotonic() - _LATELY) | (self._running > 0)
        lately[:, _bucket(actor)] = False
        return bool(lately.any())

    def note_busy(self, since: float | None) -> None:
        """Note since when this worker works on its longest request; None when on none."""
        self._busy[self.index] = since or 0.0

    def yields(self) -> bool:
        """Return whether this worker is busy and another one is not."""
        begun = time.monotonic() - _BUSY_SECONDS
        is_busy = (self._busy > 0) & (self._busy < begun)
        return bool(is_busy[self.index]) and not bool(is_busy.all())

    def clear(self, index: int) -> None:
        """Forget what a worker counted, because it died."""
        self._running[index] = 0
        self._seen[index] = 0
        self._busy[index] = 0

    def write_counts(self, counts: dict[str, Any]) -> None:
        """Let the other workers know what this one counted."""
        path = self.folder / f"counts-{os.getpid()}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(counts))
        part.replace(path)

    def counts_of_others(self) -> list[dict[str, Any]]:
        """Return what other workers counted, those that died included."""
        found = []
        for path in self.folder.glob("counts-*.json"):
            pid = int(path.stem.removeprefix("counts-"))
            if pid == os.getpid():
                continue
            with suppress(OSError, ValueError):  # it is being replaced, and is there again soon
                counts = json.loads(path.read_text())
                found.append(counts if _is_alive(pid) else {**counts, "gauges": {}})
        return found


def _bucket(actor: str) -> int:
    return crc32(actor.encode()) % _BUCKETS


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
