"""Apart: runs long work in a process of its own, which can be ended at any time.

Native code does not look at a clock, nor whether anybody still waits for it.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from omnigraph.errors import UnavailableError
from omnigraph.read.algorithms.native import NativeTask, check_installed, run_native
from omnigraph.read.algorithms.worker import read_answer, write_task
from omnigraph.spark.deadline import Deadline

if TYPE_CHECKING:
    import numpy as np

# Shorter work is done before another process has started.
APART_NANOSECONDS = 2e9
_POLL_SECONDS = 0.05
_MAIN = "from omnigraph.read.algorithms.worker import main; main()"


def run_task(task: NativeTask, deadline: Deadline) -> "np.ndarray":
    """Return the answer of a task; raise when it is cancelled, or takes too long or too much."""
    deadline.check_bytes(task.nbytes)
    if task.nanoseconds < APART_NANOSECONDS:
        found = run_native(task)
        deadline.check()
        return found
    check_installed()
    with TemporaryDirectory(prefix="omnigraph-") as folder:
        asked, answer, said = (Path(folder) / name for name in ("task", "answer", "errors"))
        write_task(task, asked)
        with said.open("wb") as errors:
            code = _run([str(asked), str(answer)], errors.fileno(), deadline)
        if code != 0:
            lines = said.read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {code}"
            raise UnavailableError(f"the process that computed '{task.name}' failed: {reason}")
        return read_answer(answer).to_numpy()  # type: ignore[no-any-return]


def _run(arguments: list[str], errors: int, deadline: Deadline) -> int:
    """Return how a worker ended."""
    path = os.pathsep.join(each for each in sys.path if each)
    worker = subprocess.Popen(  # noqa: S603 - this Python, and files of our own
        [sys.executable, "-c", _MAIN, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env={**os.environ, "PYTHONPATH": path},
    )
    with worker:
        return wait_for(worker, deadline)


def wait_for(worker: "subprocess.Popen[bytes]", deadline: Deadline) -> int:
    """Return how a process ended; it is killed when the deadline is over."""
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return worker.wait(_POLL_SECONDS)
            deadline.check()
    finally:
        worker.kill()
