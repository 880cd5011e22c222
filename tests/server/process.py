"""Process: the command `omnigraph-server` as it is run in earnest."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

_LONGEST_START = 120.0


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs, and the file that gets its log."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def wait(self) -> int:
        """Wait for the end and give the exit code."""
        return self.process.wait(30)


@contextmanager
def running(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    script: Path | None = None,
) -> Iterator[Running]:
    """Run the command, or a script that does, until the block ends; it may have ended before."""
    log = folder / f"log-{time.monotonic_ns()}"
    program = str(Path(sys.executable).with_name("omnigraph-server"))
    command = [*([program] if script is None else [sys.executable, str(script)]), *arguments]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--bind", "127.0.0.1:0"],
            stderr=file,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
    try:
        yield Running(process, _address(process, log), log)
    finally:
        process.kill()
        process.wait(30)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines():
            found = re.search(r'"address": "([^"]+)"', line)
            if found is not None:
                return str(json.loads(f'"{found[1]}"'))
        time.sleep(0.02)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def ask(url: str, path: str, body: object, token: str | None = None) -> httpx.Response:
    """Send a POST on a connection of its own."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.post(f"{url}{path}", json=body, headers=headers, timeout=30)
