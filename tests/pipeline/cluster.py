"""Cluster: a master of Spark and workers on two addresses of this machine, as real processes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from omnigraph.spark.gateway import find_spark_home
from omnigraph.spark.java import find_java
from tests.pipeline.drivers import eventually, family, is_there

# Spark gives no task a second time to the same address, so that there must be two.
ADDRESSES = ("127.0.0.1", "127.0.0.2")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: the address of its master, and its workers."""

    master: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """Return the processes in which tasks run."""
        return [each for worker in self.workers for each in family(worker) if _is_executor(each)]


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Return a cluster with a worker of one core on each address; nothing of it is left."""
    folder.mkdir()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        log = folder / "master"
        processes.append(_started(log, "master.Master", "--host", ADDRESSES[0], "--port", "0"))
        master = _told(log, r"Starting Spark master at (spark://\S+)")
        for address in ADDRESSES:
            room = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / address))
            log = folder / f"worker{address}"
            processes.append(_started(log, "worker.Worker", "--host", address, *room, master))
        for address in ADDRESSES:
            _told(folder / f"worker{address}", "(Successfully registered) with master")
        yield Cluster(master, tuple(each.pid for each in processes[1:]))
    finally:
        below = [each for process in processes for each in family(process.pid)]
        for process in processes:
            process.kill()
            process.wait(60)
        for each in filter(is_there, below):
            os.kill(each, signal.SIGKILL)


def _is_executor(process: int) -> bool:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return b"CoarseGrainedExecutorBackend" in command


def _started(log: Path, *command: str) -> "subprocess.Popen[bytes]":
    home = find_spark_home()
    java = find_java(os.environ).executable
    options = ["-cp", f"{home}/jars/*", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    name, *arguments = command
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(each or str(Path.cwd()) for each in sys.path),
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [java, *options, f"org.apache.spark.deploy.{name}", "--webui-port", "0", *arguments],
            stdout=output,
            stderr=output,
            env=environment,
        )


def _told(log: Path, pattern: str) -> str:
    assert eventually(lambda: re.search(pattern, log.read_text()) is not None, 120), log.read_text()
    found = re.search(pattern, log.read_text())
    assert found is not None
    return found[1]
