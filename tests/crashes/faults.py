"""Faults: makes system calls of a process fail with strace, and makes small file systems."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from omnigraph.storage.layout import MANIFEST
from tests.crashes.model import Operation
from tests.crashes.nursery import Ended, Nursery

_NEWEST = 2**64 - 1
_AHEAD = 40
WRITTEN, STANDING = "{:020d}.manifest#1", "{:020d}.manifest"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the n-th of some system calls of each thread; `10+` is all from there on.

    With `files`, a pattern for the number of a version, only calls on these versions of the
    manifest count. Writes always need it: strace cannot tell other files from the event queues of
    Lance's threads, which no full disk ever fails.
    """

    calls: str
    when: str
    effect: str
    files: str = ""

    def __str__(self) -> str:
        return f"{self.calls} {self.when} {self.effect}"

    def arguments(self, root: str) -> list[str]:
        """Return strace's arguments for it."""
        calls = ",".join(f"?{call}" for call in self.calls.split(","))
        chosen = [f"-etrace={calls}", f"-einject={calls}:{self.effect}:when={self.when}"]
        if not self.files:
            return chosen
        folder = Path(root, MANIFEST, "_versions")
        names = [self.files.format(_NEWEST - version) for version in range(_AHEAD)]
        return [*chosen, *(f"-P{folder}/{name}" for name in names)]


def require_strace() -> None:
    """Skip the test where processes cannot be traced."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    tried = _tried([strace, "-o/dev/null", "true"])
    if tried.returncode:
        pytest.skip(f"processes cannot be traced here: {tried.stderr.strip()}")


def attempted(
    nursery: Nursery, root: str, operation: Operation, fault: Fault
) -> tuple[Ended, bool]:
    """Do an operation under a fault; give how it ended, and whether the fault was met."""
    gate = f"{root}.gate"
    pid = nursery.start("attempt", root=root, operation=operation.to_json(), gate=gate)
    _await(Path(f"{gate}.ready"))
    with _traced(pid, f"{gate}.trace", fault.arguments(root)):
        Path(f"{gate}.go").touch()
        ended = nursery.end(pid)
    met = "INJECTED" in Path(f"{gate}.trace").read_text() or ended.was_killed
    return ended, met


@contextmanager
def _traced(pid: int, output: str, arguments: list[str]) -> Iterator[None]:
    command = ["strace", "-f", f"-p{pid}", f"-o{output}", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        for line in tracer.stderr:
            if "attached" in line:
                break
        try:
            yield
        finally:
            tracer.terminate()


def _await(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.002)


def _tried(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, check=False, capture_output=True, text=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Return a file system of a small size; the test is skipped where mounting is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    tried = _tried(command)
    if tried.returncode:
        pytest.skip(f"file systems cannot be mounted here: {tried.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
