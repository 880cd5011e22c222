"""Warm: the `omnigraph` command from a process that has imported everything and forks for it.

Starting Python and importing Lance takes longer than most commands of the pages. `warmed` gives a
folder for the PATH whose `omnigraph` hands its arguments, environment and open files to that
process, and ends as the command ends. The process itself never calls Lance, so that no thread of
it is lost in a fork.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CALL = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as call:
    call.connect(sys.argv[1])
    given = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(call, [len(given).to_bytes(4, "big")], [0, 1, 2])
    call.sendall(given)
    sys.exit(int(call.recv(4)))
"""


@contextmanager
def warmed(folder: Path) -> Iterator[Path]:
    """Keep such a process running, and give the folder of its command."""
    address, command = folder / "call", folder / "omnigraph"
    call = shlex.join([sys.executable, "-SE", "-c", _CALL, str(address)])
    command.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
    command.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.docs.warm", str(address)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        end = time.monotonic() + 60
        while not address.exists():
            assert process.poll() is None, "the warm process ended"
            assert time.monotonic() < end, "the warm process did not say its address within 60 s"
            time.sleep(0.02)
        yield folder
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    """Answer calls until a signal ends the process."""
    import lance  # noqa: F401
    import pyarrow.dataset  # noqa: F401

    import omnigraph.api.graph  # noqa: F401

    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as calls:
        calls.bind(f"{sys.argv[1]}.new")
        calls.listen()
        Path(f"{sys.argv[1]}.new").rename(sys.argv[1])
        while True:
            call, _ = calls.accept()
            if os.fork() == 0:
                calls.close()
                _answer(call)
            call.close()


def _answer(call: socket.socket) -> None:
    """Run the command of a call in a child of its own, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, files, _, _ = socket.recv_fds(call, 4, 3)
    given = call.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    command = os.fork()
    if command == 0:
        call.close()
        _run(files, *json.loads(given))
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    call.sendall(str(code % 256).encode())
    os._exit(0)


def _run(files: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    from omnigraph.cli.main import main as command

    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["omnigraph", *arguments]
    code: object = 0
    try:
        command()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


if __name__ == "__main__":
    main()
