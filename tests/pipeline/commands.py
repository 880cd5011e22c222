"""Commands: Python on its own, watched and ended by a test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(*command: str, cwd: Path, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Run Python on its own; whatever happens, it has ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)


def until(seen: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is seen."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
