"""Cluster: a master of Spark and workers on two addresses of this machine, as real processes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from omnigraph.spark.gateway import find_spark_home
from omnigraph.spark.java import find_java
from tests.pipeline.drivers import eventually, family, is_there

# Spark gives no task a second time to the same address, so that there must be two.
ADDRESSES = ("127.0.0.1", "127.0.0.2")
# What a session needs to run on such a cluster, as small and as quick to start as it can be.
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": _SMALL,
    "spark.executor.extraJavaOptions": _SMALL,
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.quantile": "0.5",
}
_START_SECONDS = 120


class Cluster:
    """A running cluster: a master, and a worker of one core on each address."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._started = 0
        self._killed: list[int] = []
        log = folder / "master"
        self._master = self._start(log, "master.Master", "--host", ADDRESSES[0], "--port", "0")
        self.master = _told(log, r"Starting Spark master at (spark://\S+)")

    def add_worker(self, address: str) -> None:
        """Start a worker on an address that has none."""
        self._started += 1
        room = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / address))
        log = self._folder / f"worker-{self._started}"
        worker = self._start(log, "worker.Worker", "--host", address, *room, self.master)
        self._workers[address] = worker
        _told(log, "(Successfully registered) with master")

    def kill_worker(self, process: int) -> str:
        """Kill the worker that a process belongs to, with all its processes, and return where."""
        for address, worker in self._workers.items():
            below = family(worker.pid)
            if process in below:
                self._killed += below
                _kill(worker, below)
                del self._workers[address]
                return address
        raise AssertionError(f"no worker runs the process {process}")

    def executors(self) -> list[int]:
        """Return the processes in which tasks run."""
        return [
            each
            for worker in self._workers.values()
            for each in family(worker.pid)
            if _is_executor(each)
        ]

    def close(self) -> None:
        """End everything; raises when a process is left."""
        processes = [*self._workers.values(), self._master]
        below = [each for process in processes for each in family(process.pid)]
        for process in processes:
            _kill(process, [])
        for each in filter(is_there, below):
            _kill_process(each)
        every = [*self._killed, *below]
        assert eventually(lambda: not any(map(is_there, every))), "a process of Spark is left"

    def _start(self, log: Path, *command: str) -> "subprocess.Popen[bytes]":
        home = find_spark_home()
        java = find_java(os.environ).executable
        options = ["-cp", f"{home}/jars/*", "-Xmx256m", *_SMALL.split()]
        name, *arguments = command
        environment = {
            **self._environment,
            "SPARK_HOME": str(home),
            "SPARK_SCALA_VERSION": "2.13",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(each or str(Path.cwd()) for each in sys.path),
        }
        with log.open("wb") as output:
            return subprocess.Popen(
                [
                    *(java, *options, f"org.apache.spark.deploy.{name}"),
                    *("--webui-port", "0", *arguments),
                ],
                stdout=output,
                stderr=output,
                env=environment,
            )


@contextmanager
def cluster(folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[Cluster]:
    """Run a cluster with a worker of one core on each address; nothing of it is left."""
    folder.mkdir()
    running = Cluster(folder, environment)
    try:
        for address in ADDRESSES:
            running.add_worker(address)
        yield running
    finally:
        running.close()


def _kill(process: "subprocess.Popen[bytes]", below: list[int]) -> None:
    """Kill a process and then those below it, so that it cannot start others in their place."""
    process.kill()
    process.wait(60)
    for each in below:
        _kill_process(each)


def _kill_process(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_executor(process: int) -> bool:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return b"CoarseGrainedExecutorBackend" in command


def _told(log: Path, pattern: str) -> str:
    found = re.compile(pattern)
    is_told = eventually(lambda: found.search(log.read_text()) is not None, _START_SECONDS)
    assert is_told, f"no '{pattern}' within {_START_SECONDS} s: {log.read_text()}"
    told = found.search(log.read_text())
    assert told is not None
    return told[1]
