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
from dataclasses import field
from enum import IntEnum
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from omnigraph.frozen import dataclass

BUCKETS = 1024
_TURNS = "turns"
# So long after its last request an actor is still counted on.
_LATELY = 1.0
# A worker that works on a request for longer than this leaves new connections to idle ones.
_BUSY_SECONDS = 0.02
# What a worker writes, by actor and of itself.
_WORKER = np.dtype(
    [
        ("seen", np.float64, BUCKETS),
        ("spent", np.float64, BUCKETS),
        ("stayed", np.float64, BUCKETS),
        ("answered", np.float64, BUCKETS),
        ("running", np.int32, BUCKETS),
        ("busy", np.float64),
        ("connections", np.int64),
    ]
)


class WorkerSide(IntEnum):
    """Which of the workers serve an actor."""

    ANY = 0
    FRONT = 1
    BACK = 2


@dataclass(frozen=True, slots=True)
class SharedTurns:
    """How many requests of each actor run in each worker. Actors are told apart by a hash.

    `sides` is written by who supervises the workers, and everything else by a worker each.
    """

    folder: Path
    index: int
    workers: int
    sides: Any = field(repr=False)
    _table: Any = field(repr=False)
    _file: int = field(repr=False)

    @staticmethod
    def make(folder: Path, workers: int) -> None:
        """Make the table for a number of workers."""
        (folder / _TURNS).write_bytes(bytes(workers * _WORKER.itemsize + BUCKETS))

    @classmethod
    def at(cls, folder: Path, index: int, workers: int) -> "SharedTurns":
        """Open the table as one of the workers."""
        file = os.open(folder / _TURNS, os.O_RDWR)
        memory = mmap.mmap(file, 0)
        table = np.frombuffer(memory, _WORKER, workers)
        sides = np.frombuffer(memory, np.int8, BUCKETS, workers * _WORKER.itemsize)
        return cls(folder, index, workers, sides, table, file)

    @contextmanager
    def locked(self, actor: str) -> Iterator[None]:
        """Let no other worker look at an actor and count it meanwhile; a killed one holds no lock.

        Others are not waited for: the worker of a noisy actor may wait long for a processor.
        """
        bucket = _bucket(actor)
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, bucket)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, bucket)

    def count(self, actor: str, running: int) -> None:
        """Note how many requests of an actor run in this worker."""
        self._table["running"][self.index, _bucket(actor)] = running

    def saw(self, actor: str) -> None:
        """Note that an actor asked for something now."""
        self._table["seen"][self.index, _bucket(actor)] = time.monotonic()

    def spend(self, actor: str, seconds: float) -> None:
        """Note the processor time of some work for an actor."""
        self._table["spent"][self.index, _bucket(actor)] += seconds

    def left(self, actor: str, seconds: float) -> None:
        """Note that a request of an actor was answered, and how long it was here."""
        bucket = _bucket(actor)
        self._table["stayed"][self.index, bucket] += seconds
        self._table["answered"][self.index, bucket] += 1

    def totals(self) -> Any:  # noqa: ANN401 - an array
        """Return of each actor, since the start: its processor time, its stay, its requests."""
        return np.stack([self._table[name].sum(axis=0) for name in ("spent", "stayed", "answered")])

    def elsewhere(self, actor: str) -> int:
        """Return how many requests of an actor run in the other workers."""
        column = self._table["running"][:, _bucket(actor)]
        return int(column.sum() - column[self.index])

    def has_others(self, actor: str) -> bool:
        """Return whether another actor asked for something lately, or has something running."""
        table = self._table
        lately = (table["seen"] > time.monotonic() - _LATELY) | (table["running"] > 0)
        lately[:, _bucket(actor)] = False
        return bool(lately.any())

    def note_busy(self, since: float | None) -> None:
        """Note since when this worker works on its longest request; None when on none."""
        self._table["busy"][self.index] = since or 0.0

    def note_connections(self, count: int) -> None:
        """Note how many connections this worker has."""
        self._table["connections"][self.index] = count

    def connections(self) -> list[int]:
        """Return how many connections each worker has."""
        return [int(each) for each in self._table["connections"]]

    def yields(self) -> bool:
        """Return whether this worker is busy and another one is not."""
        begun = time.monotonic() - _BUSY_SECONDS
        is_busy = (self._table["busy"] > 0) & (self._table["busy"] < begun)
        return bool(is_busy[self.index]) and not bool(is_busy.all())

    def better_for(self, actor: str, most: int) -> int | None:
        """Return the worker that had better serve the next request of a connection, if another.

        It is one of the actor's side; within a side, an idle one that has fewer connections, or
        any idle one when this worker is busy for long. None gets more than `most` connections.
        """
        connections = self.connections()
        of_side = _of_side(WorkerSide(self.sides[_bucket(actor)]), self.workers)
        others = [each for each in of_side if each != self.index and connections[each] < most]
        if self.index in of_side:
            busy = self._table["busy"]
            here = connections[self.index] - 1
            if not busy[self.index]:
                return None
            is_long = self.yields()
            others = [
                each for each in others if not busy[each] and (is_long or connections[each] < here)
            ]
        return min(others, key=connections.__getitem__, default=None)

    def clear(self, index: int) -> None:
        """Forget what a worker counted, because it died; what it spent is in the past."""
        for name in ("running", "seen", "busy", "connections"):
            self._table[name][index] = 0

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


def first_of_back(workers: int) -> int:
    """Return the first of the workers that give way to the others: half of them, or fewer."""
    return -(-workers // 2)


def _of_side(side: WorkerSide, workers: int) -> range:
    match side:
        case WorkerSide.ANY:
            return range(workers)
        case WorkerSide.FRONT:
            return range(first_of_back(workers))
        case WorkerSide.BACK:
            return range(first_of_back(workers), workers)


def _bucket(actor: str) -> int:
    return crc32(actor.encode()) % BUCKETS


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
