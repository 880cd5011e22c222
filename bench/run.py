"""Run: all workloads one after the other, and the record of when each of them ran and how long."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.record import RESULTS

WORKLOADS = (
    "compile",
    "cli",
    "storage",
    "memory",
    "changes",
    "merges",
    "big",
    "busy",
    "large",
    "evolution",
    "maintenance",
    "policy",
    "agents",
    "server",
    "workers",
    "queries",
    "orders",
    "permuted",
    "short_reads",
    "versioned",
    "aggregates",
    "language",
    "algorithms",
    "scaling",
    "cold_growth",
    "fleet",
    "pipeline",
    "loads",
    "phases",
    "spark_queries",
)
_RECORD = RESULTS / "run.json"


@dataclass(frozen=True, slots=True)
class Ran:
    """One workload of a run."""

    workload: str
    seconds: float
    failed: bool


@dataclass(frozen=True, slots=True)
class Run:
    """When a run began and ended, and its workloads."""

    begun: str
    ended: str
    workloads: tuple[Ran, ...]

    @property
    def failed(self) -> list[str]:
        """The workloads that failed; what is stored of them is from an earlier run."""
        return [each.workload for each in self.workloads if each.failed]

    @property
    def minutes(self) -> float:
        """How long it took."""
        return sum(each.seconds for each in self.workloads) / 60


def run(workloads: Sequence[str], earlier: Path | None) -> Run:
    """Run each workload in a process of its own, and `busy` beside an older release if given."""
    begun = _now()
    beside = {} if earlier is None else {"busy": ("--earlier", str(earlier))}
    ran = tuple(_ran(name, beside.get(name, ())) for name in workloads)
    return Run(begun, _now(), ran)


def store_run(done: Run) -> None:
    """Write the record of a run, so that the page can say what is from it."""
    _RECORD.write_text(json.dumps(asdict(done), indent=2) + "\n")


def last_run() -> Run | None:
    """Return the record of the last run of all workloads, if there is one."""
    if not _RECORD.exists():
        return None
    found = json.loads(_RECORD.read_text())
    ran = tuple(Ran(**each) for each in found["workloads"])
    return Run(found["begun"], found["ended"], ran)


def _ran(workload: str, options: Sequence[str]) -> Ran:
    begun = time.perf_counter()
    print(f"== {workload}", flush=True)
    command = [sys.executable, "-m", f"bench.{workload}", *options]
    done = subprocess.run(command, check=False)
    taken = time.perf_counter() - begun
    print(f"{workload}: {taken:.0f} s\n", flush=True)
    return Ran(workload, round(taken, 1), done.returncode != 0)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
