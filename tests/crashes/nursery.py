"""Nursery: a process that has imported everything and forks a child for every job.

Starting Python and importing Lance takes longer than most jobs. The nursery itself never calls
Lance, so no thread of it is lost in the fork. `python -m tests.crashes.nursery` reads jobs from
its input, a line of JSON each, and answers with the child's pid, and then with its end.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.errors import OmniGraphError
from omnigraph.versioning.manifest import fresh
from tests.crashes import checks, workload
from tests.crashes.model import Kind, Operation

HANGING = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: the signal that killed it, or what it answered."""

    signal: int
    answer: Any

    @property
    def was_killed(self) -> bool:
        return self.signal == signal.SIGKILL


class Nursery:
    """The handle on a nursery; one child at a time. Use it in a `with` block.

    A module that has more jobs is named.
    """

    def __init__(self, module: str = "tests.crashes.nursery") -> None:
        quiet = {"OPENBLAS_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
            env={**os.environ, **quiet},
            text=True,
        )

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(60)

    def start(self, job: str, **arguments: Any) -> int:
        """Start a child and give its pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([job, arguments]) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def end(self, pid: int, *, kill_after: float | None = None) -> Ended:
        """Wait for a child; TimeoutError when it hangs, or it is killed at a moment."""
        limit = HANGING if kill_after is None else kill_after
        timer = threading.Timer(limit, os.kill, (pid, signal.SIGKILL))
        timer.start()
        began = time.monotonic()
        try:
            ended = Ended(*json.loads(self._line()))
        finally:
            timer.cancel()
            timer.join()
            self._release()
        if kill_after is None and time.monotonic() - began >= limit:
            raise TimeoutError(f"the child did not end within {limit} s")
        return ended

    def do(self, job: str, **arguments: Any) -> Ended:
        """Run a job to its end."""
        return self.end(self.start(job, **arguments))

    def answer(self, job: str, **arguments: Any) -> Any:
        """Run a job that must answer; what it raises is raised here."""
        ended = self.do(job, **arguments)
        if ended.signal or "raised" in ended.answer:
            raise AssertionError(f"{job} {arguments} ended with {ended}")
        return ended.answer["value"]

    def _release(self) -> None:
        """Let the nursery reap the child: its pid is not given away before."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the nursery is gone"
        return line


def _run(root: str, operations: list[Any], acks: str, cut: int | None) -> list[str]:
    return workload.run(root, map(Operation.from_json, operations), acks, cut)


def _run_and_note_flushes(flushes: str, **arguments: Any) -> list[str]:
    """Run operations, and note the path of everything that is flushed to disk."""
    flush = os.fsync

    def noted(fd: Any) -> None:
        flush(fd)
        with Path(flushes).open("a") as file:
            file.write(f"{Path(f'/proc/self/fd/{fd}').readlink()}\n")

    os.fsync = noted
    return _run(**arguments)


def _check(root: str, candidates: Any, following: list[Any], depth: int) -> checks.Verdict:
    return checks.check(root, candidates, [Operation.from_json(each) for each in following], depth)


def _attempt(root: str, operation: Any, gate: str) -> str:
    """Warm up on another graph, wait at the gate, and tell how an operation went."""
    warm = f"{gate}.warm"
    graph = workload.perform(warm, None, Operation(Kind.INIT, 0))
    workload.perform(warm, graph, Operation(Kind.WRITE, 1))
    Path(f"{gate}.ready").touch()
    while not Path(f"{gate}.go").exists():
        time.sleep(0.002)
    return _outcome(root, Operation.from_json(operation))


def _outcome(root: str, operation: Operation) -> str:
    try:
        workload.perform(root, None, operation)
    except OmniGraphError as failed:
        return f"{type(failed).__name__}: {failed}"
    return "done"


def _fill(root: str, first: int, acks: str) -> str:
    """Write until that fails, acknowledging every commit, and give the failure."""
    graph = None
    for number in range(first, first + 10_000):
        operation = Operation(Kind.WRITE, number)
        try:
            graph = workload.perform(root, graph, operation)
        except OmniGraphError as failed:
            return f"{type(failed).__name__}: {failed}"
        workload.acknowledge(acks, operation)
    return "done"


JOBS: dict[str, Callable[..., Any]] = {
    "run": _run,
    "run and note flushes": _run_and_note_flushes,
    "check": _check,
    "first format": workload.make_first_format,
    "attempt": _attempt,
    "fill": _fill,
    "schema files": checks.schema_files,
}


def _child(job: str, arguments: dict[str, Any], pipe: int) -> None:
    """Run one job and answer it; what it raises, a panic of Lance too, is part of the answer."""
    try:
        answer = {"value": JOBS[job](**arguments)}
    except BaseException as failed:
        answer = {"raised": f"{type(failed).__name__}: {failed}"}
    with os.fdopen(pipe, "wb") as answers:
        answers.write(json.dumps(answer).encode())
    os._exit(0)


def _serve(line: str) -> None:
    job, arguments = json.loads(line)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(job, arguments, writing)
    os.close(writing)
    _say(pid)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    killed = ended.si_status if ended.si_code == os.CLD_KILLED else 0
    _say([killed, json.loads(answer) if answer and not killed else None])
    sys.stdin.readline()
    os.waitpid(pid, 0)


def _say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve jobs until the input ends."""
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    fresh.MOST_FRESH = 2  # so that a few commits become rows of the manifest, too
    for line in iter(sys.stdin.readline, ""):
        _serve(line)


if __name__ == "__main__":
    main()
