"""Workers: several processes that serve one address, started again when one dies."""

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from omnigraph.errors import ConfigError
from omnigraph.frozen import dataclass
from omnigraph.server.monitoring.logs import log, warn
from omnigraph.server.process.shared import SharedTurns, first_of_back
from omnigraph.server.process.sides import WorkerSides

VARIABLE = "OMNIGRAPH_SERVER_WORKER"
_FIRST_SECONDS = 120.0
_LOOK_SECONDS = 0.1
# One that dies sooner than this after its start is not started again at once.
_EARLY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Which worker a process is, the socket that all share, and the pipe to who supervises it."""

    index: int
    workers: int
    folder: Path
    listening: int
    alive: int

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "WorkerSettings | None":
        """Return what the environment of a worker says; None in any other process."""
        text = environment.get(VARIABLE)
        if text is None:
            return None
        index, workers, listening, alive, folder = text.split(",", 4)
        return cls(
            index=int(index),
            workers=int(workers),
            folder=Path(folder),
            listening=int(listening),
            alive=int(alive),
        )

    @property
    def is_back(self) -> bool:
        """Whether this worker is one of the back, which give way to the others."""
        return self.index >= first_of_back(self.workers)

    def to_text(self) -> str:
        """Return the value of the variable from which `of` reads it."""
        return f"{self.index},{self.workers},{self.listening},{self.alive},{self.folder}"

    def socket(self) -> socket.socket:
        """Return the socket that all workers accept connections from."""
        found = socket.socket(fileno=self.listening)
        found.settimeout(0)  # asyncio waits for it
        return found

    def ready(self) -> None:
        """Tell who supervises that this worker serves."""
        (self.folder / f"ready-{os.getpid()}").touch()

    def stop_when_alone(self) -> None:
        """Stop this process when the one that supervises it is gone."""

        def watch() -> None:
            os.read(self.alive, 1)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, name="omnigraph-alone", daemon=True).start()


@dataclass(slots=True)
class Supervisor:
    """Starts workers on one socket, and again when one dies, until a signal says stop."""

    host: str
    port: int
    workers: int
    stop_seconds: float
    _processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _begun: dict[int, float] = field(default_factory=dict)
    _stopping: bool = False

    def run(self) -> None:
        """Serve until a signal says stop."""
        with (
            _listening(self.host, self.port) as listening,
            tempfile.TemporaryDirectory(prefix="omnigraph-workers-") as folder,
        ):
            reading, writing = os.pipe()
            SharedTurns.make(Path(folder), self.workers)
            shared = SharedTurns.at(Path(folder), 0, self.workers)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: self._stop())
            signal.signal(signal.SIGHUP, lambda *_: self._tell(signal.SIGHUP))
            try:
                self._serve(listening, Path(folder), reading, shared)
            finally:
                self._tell(signal.SIGTERM)
                self._wait()
                os.close(writing)
                os.close(reading)

    def _serve(
        self, listening: socket.socket, folder: Path, alive: int, shared: SharedTurns
    ) -> None:
        settings = [
            WorkerSettings(
                index=index,
                workers=self.workers,
                folder=folder,
                listening=listening.fileno(),
                alive=alive,
            )
            for index in range(self.workers)
        ]
        for each in settings:
            self._start(each)
        self._wait_until_ready(folder)
        if self._stopping:
            return
        address = _address(listening)
        log("serving", address=address, workers=self.workers)
        if self.port == 0:
            print(f"http://{address}", flush=True)  # noqa: T201 - nobody else knows the port
        sides = WorkerSides(shared)
        while not self._stopping:
            time.sleep(_LOOK_SECONDS)
            sides.look()
            for each in settings:
                if self._processes[each.index].poll() is not None and not self._stopping:
                    self._restart(each, shared)

    def _start(self, settings: WorkerSettings) -> None:
        environment = {**os.environ, VARIABLE: settings.to_text()}
        command = [sys.executable, "-m", "omnigraph.server.main", *sys.argv[1:]]
        self._begun[settings.index] = time.monotonic()
        self._processes[settings.index] = subprocess.Popen(  # noqa: S603 - this very program
            command, env=environment, pass_fds=(settings.listening, settings.alive)
        )

    def _restart(self, settings: WorkerSettings, shared: SharedTurns) -> None:
        code = self._processes[settings.index].returncode
        warn("worker died", worker=settings.index, code=code)
        shared.clear(settings.index)
        if time.monotonic() - self._begun[settings.index] < _EARLY_SECONDS:
            time.sleep(1.0)
        if not self._stopping:
            self._start(settings)

    def _wait_until_ready(self, folder: Path) -> None:
        end = time.monotonic() + _FIRST_SECONDS
        while len(list(folder.glob("ready-*"))) < self.workers and not self._stopping:
            for each in self._processes.values():
                if each.poll() is not None:
                    raise ConfigError(f"a worker ended with code {each.returncode} at its start")
            if time.monotonic() > end:
                raise ConfigError(f"the workers did not start within {_FIRST_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def _stop(self) -> None:
        self._stopping = True

    def _tell(self, number: int) -> None:
        for each in self._processes.values():
            if each.poll() is None:
                each.send_signal(number)

    def _wait(self) -> None:
        """Wait until all workers ended; those that do not within their time are killed."""
        end = time.monotonic() + self.stop_seconds + 5.0
        for each in self._processes.values():
            try:
                each.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def check_free(host: str, port: int, *, option: str = "--bind") -> None:
    """Raise ConfigError where a server cannot listen."""
    _bound(host, port, option).close()


def _listening(host: str, port: int) -> socket.socket:
    found = _bound(host, port, "--bind")
    found.listen(256)
    return found


def _bound(host: str, port: int, option: str) -> socket.socket:
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((name, port))
    except OSError as failed:
        found.close()
        if failed.errno == errno.EADDRINUSE:
            hint = f"choose another with {option}"
            raise ConfigError(f"{host}:{port} is in use", hint=hint) from None
        reason = failed.strerror or type(failed).__name__
        raise ConfigError(f"cannot listen at {host}:{port}: {reason}") from None
    return found


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
