"""Target: a server that is killed, stopped and started again, and what its lives leave behind."""

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import tests.attack.server as script
from omnigraph.api.graph import open as open_graph
from tests.server.process import Running, running

STOP_SECONDS = 8
# More than the answers and loads of all threads may hold together, and less than would be endless.
MOST_RESIDENT = 3 << 30
LIMITS = {
    "threads": 8,
    "share": 4,
    "query_seconds": 5,
    "query_bytes": 128 << 20,
    "header_seconds": 2,
    "body_seconds": 5,
    "write_seconds": 30,
    "connections": 128,
    "address_connections": 112,
    "stop_seconds": STOP_SECONDS,
}
_ENDINGS = ("kill", "kill", "terminate", "freeze", "cut")
_RESIDENT = re.compile(r"VmHWM:\s+(\d+) kB")


@dataclass
class Target:
    """A graph and its server, which lives again and again; `counts` is what happened to it."""

    folder: Path
    tokens: dict[str, str]
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    resident: int = 0
    _server: Running | None = None

    @property
    def address(self) -> str | None:
        """Where the server is; None while there is none."""
        server = self._server
        return None if server is None else server.address

    @property
    def gate(self) -> Path:
        """The file that lets faults begin."""
        return self.folder / "gate"

    def wrong(self, what: str) -> None:
        """Note something that must never happen."""
        self.violations.append(what)

    def live(self, seconds: float, life: float) -> None:
        """Let the server live and die until the time is over; a life takes about so many seconds.

        A violation ends the time.

        The last life is a healthy one, in which everybody ends what they have begun, and which
        goes on until `over` is set.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.violations:
            ending = self.chance.choice(_ENDINGS)
            left = min(self.chance.uniform(0.5, 1.5) * life, max(end - time.monotonic(), 0.1))
            with self._started(ending) as server:
                self._end(server, ending, left)
            self._look(server)
        with self._started("over") as server:
            self.over.wait()
            self._stop(server)
        self._look(server)

    def _started(self, ending: str) -> "_Life":
        faults = 0.002 if ending != "over" and self.chance.random() < 0.5 else 0.0
        cut = self.chance.randint(1, 200) if ending == "cut" else 0
        environment = {
            "ATTACK_SEED": str(self.chance.random()),
            "ATTACK_FAULTS": str(faults),
            "ATTACK_CUT": str(cut),
            "ATTACK_GATE": str(self.gate),
            "PYTHONPATH": str(Path.cwd()),
            "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(self.tokens),
        }
        self.counts["lives"] += 1
        return _Life(self, environment)

    def _end(self, server: Running, ending: str, seconds: float) -> None:
        process = server.process
        time.sleep(seconds)
        if ending == "freeze":
            process.send_signal(signal.SIGSTOP)
            time.sleep(self.chance.uniform(0.5, 2.0))
            process.send_signal(signal.SIGCONT)
            time.sleep(self.chance.uniform(0.1, 1.0))
        self.counts[ending] += 1
        self._measure(process.pid)
        if ending == "terminate":
            self._stop(server)
        elif ending != "cut":
            process.kill()

    def _stop(self, server: Running) -> None:
        """Stop the server, which has to end within its grace period."""
        began = time.monotonic()
        server.process.terminate()
        try:
            code = server.process.wait(60)
        except subprocess.TimeoutExpired:
            self.wrong("the server did not stop within 60 s")
            return
        taken = time.monotonic() - began
        if code not in (0, -signal.SIGKILL):
            self.wrong(f"a stopping server ended with {code}: {server.log.read_text()[-500:]}")
        self.counts["slow stops"] += taken > STOP_SECONDS + 5

    def _measure(self, pid: int) -> None:
        try:
            found = _RESIDENT.search(Path(f"/proc/{pid}/status").read_text())
        except OSError:
            return
        self.resident = max(self.resident, int(found[1]) << 10 if found else 0)
        if self.resident > MOST_RESIDENT:
            self.wrong(f"the server held {self.resident >> 20} MiB")

    def _look(self, server: Running) -> None:
        """Read the log of a life, and now and then check the graph that it left."""
        for line in server.log.read_text(errors="replace").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                self.wrong(f"a line of the log is no JSON: {line[:300]}")
                continue
            self.counts["faults"] += event["event"] == "injected fault"
            if event.get("kind") not in (None, "StorageError", "OutcomeUnknownError", "StoreError"):
                self.wrong(f"the server failed: {line[:900]}")
        server.log.unlink()
        if self.chance.random() < 0.25:
            self.check()

    def check(self) -> None:
        """Check the files of the graph while no server is up."""
        found = open_graph(self.folder / "graph", read_only=True).fsck().findings
        self.counts["checks"] += 1
        if found:
            self.wrong(f"fsck: {found[:5]}")


class _Life:
    """One life of the server, which is gone when the block ends."""

    def __init__(self, target: Target, environment: dict[str, str]) -> None:
        self._target, self._environment, self._stack = target, environment, ExitStack()

    def __enter__(self) -> Running:
        limits = [part for name, each in LIMITS.items() for part in ("--limit", f"{name}={each}")]
        server = self._stack.enter_context(
            running(
                self._target.folder,
                "graph",
                "--allow-writes-without-policy",
                *limits,
                environment={**os.environ, **self._environment},
                script=Path(script.__file__),
            )
        )
        self._target._server = server
        self._target.gate.touch()
        return server

    def __exit__(self, *_: object) -> None:
        self._target._server = None
        self._target.gate.unlink()
        self._stack.close()
