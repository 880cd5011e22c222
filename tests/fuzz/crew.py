"""Crew: processes that try chunks of inputs; one that dies is a failure of the input it was at."""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from ctypes import c_uint64
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from random import Random
from typing import Any

from tests.fuzz.limits import Bell, TooSlow
from tests.fuzz.target import Broken, Target
from tests.fuzz.targets import TARGETS

HANGS_AFTER = 10.0
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some inputs for one target, all made from one seed; those before `first` are done."""

    target: str
    seed: int
    inputs: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An input, its place in its chunk, and what it broke."""

    reason: str
    place: int
    given: object


@dataclass(slots=True)
class Outcome:
    """What became of the inputs of a chunk that were tried, and the seconds they took."""

    chunk: Chunk
    inputs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def run_chunk(chunk: Chunk, reached: Any, target: Target | None = None) -> Outcome:
    """Try the inputs of a chunk one after the other; `reached.value` says which one it is at."""
    target = TARGETS[chunk.target] if target is None else target
    outcome, random, bell = Outcome(chunk), Random(chunk.seed), Bell(HANGS_AFTER)
    begun = time.process_time()
    for place in range(chunk.inputs):
        given = target.make(random)
        if place < chunk.first:
            continue
        reached.value = place
        bell.wind()
        try:
            outcome.slowest = max(outcome.slowest, target.attempt(given))
        except Broken as broken:
            outcome.failures.append(Failure(str(broken), place, given))
        except TooSlow:
            outcome.failures.append(Failure(f"no answer in {HANGS_AFTER} s", place, given))
    bell.stop()
    outcome.inputs = chunk.inputs - chunk.first
    outcome.seconds = time.process_time() - begun
    return outcome


RunChunk = Callable[[Chunk, Any], Outcome]


def outcomes(
    chunks: Iterable[Chunk], processes: int, run: RunChunk = run_chunk
) -> Iterator[Outcome]:
    """Try chunks in processes and yield what became of each, as they end.

    After the death of a process the rest of its chunk is tried by another one.
    """
    waiting = iter(chunks)
    crew = [_Worker(run) for _ in range(processes)]
    try:
        for each in crew:
            each.take(next(waiting, None))
        while busy := {each.pipe: each for each in crew if each.chunk is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                outcome, left = worker.finish()
                yield outcome
                worker.take(left or next(waiting, None))
    finally:
        for each in crew:
            each.end()


class _Worker:
    """A process, the chunk that it has, and the input that it is at."""

    def __init__(self, run: RunChunk) -> None:
        self._run = run
        self.chunk: Chunk | None = None
        self._start()

    def _start(self) -> None:
        self._reached = _SPAWN.RawValue(c_uint64, 0)
        self.pipe, theirs = _SPAWN.Pipe()
        arguments = (theirs, self._run, self._reached)
        self._process = _SPAWN.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def take(self, chunk: Chunk | None) -> None:
        """Begin with a chunk; None is for nothing more to do."""
        self.chunk = chunk
        if chunk is not None:
            self._reached.value = chunk.first
            self.pipe.send(chunk)

    def finish(self) -> tuple[Outcome, Chunk | None]:
        """Return what became of the chunk, and what is left of it when the process died."""
        try:
            return self.pipe.recv(), None
        except EOFError:
            return self._buried()

    def _buried(self) -> tuple[Outcome, Chunk | None]:
        assert self.chunk is not None
        self._process.join()
        code, place = self._process.exitcode, int(self._reached.value)
        reason = f"the process died, with the exit code {code}"
        failure = Failure(reason, place, _given(self.chunk, place))
        outcome = Outcome(self.chunk, place + 1 - self.chunk.first, failures=[failure])
        left = replace(self.chunk, first=place + 1)
        self._start()
        return outcome, left if left.first < left.inputs else None

    def end(self) -> None:
        """End the process."""
        self.pipe.close()
        self._process.join()


def _given(chunk: Chunk, place: int) -> object:
    """Return the input of a place, made again."""
    random, target = Random(chunk.seed), TARGETS.get(chunk.target)
    if target is None:
        return None
    for _ in range(place):
        target.make(random)
    return target.make(random)


def _serve(pipe: Connection, run: RunChunk, reached: Any) -> None:
    """Try chunks as they come, until the other end is closed."""
    while True:
        try:
            chunk = pipe.recv()
        except EOFError:
            return
        pipe.send(run(chunk, reached))
