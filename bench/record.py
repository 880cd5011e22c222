"""Record: times a piece of work and stores what a run found."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import log
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
# All data that is made by chance is made from this seed, so that every run meets the same data.
DATA_SEED = 7


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of repeated work in milliseconds: median, and the middle half of them."""

    median_ms: float
    low_ms: float
    high_ms: float
    runs: int

    def __str__(self) -> str:
        return f"{self.median_ms:8.3f} ms  ({self.low_ms:.3f} to {self.high_ms:.3f}, n={self.runs})"


@dataclass(frozen=True, slots=True)
class Derived:
    """A figure made of timings, and the least and most that their middle halves allow."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:8.3f}     ({self.low:.3f} to {self.high:.3f})"


def over(above: Timing, below: Timing) -> Derived:
    """Return how many times as long the one takes as the other."""
    return Derived(
        above.median_ms / below.median_ms,
        above.low_ms / below.high_ms,
        above.high_ms / below.low_ms,
    )


def rate(count: int, taken: Timing) -> Derived:
    """Return how many of so many things are done in a second."""
    return Derived(
        1000 * count / taken.median_ms, 1000 * count / taken.high_ms, 1000 * count / taken.low_ms
    )


def exponent(small: Timing, large: Timing, times: int) -> Derived:
    """Return the power of the size that the time grows with, when the size grew so many times."""
    grown = over(large, small)
    return Derived(*(log(each) / log(times) for each in (grown.value, grown.low, grown.high)))


def measure(work: Callable[[], object], *, runs: int, warm_up: int = 0) -> Timing:
    """Time each run of the work, after some that do not count."""
    return measure_in_turn({"": work}, runs=runs, warm_up=warm_up)[""]


def measure_in_turn(
    works: Mapping[str, Callable[[], object]], *, runs: int, warm_up: int = 0
) -> dict[str, Timing]:
    """Time several pieces of work turn by turn, so that all of them meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(warm_up + runs):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: timing(found[warm_up:]) for name, found in times.items()}


def seconds(work: Callable[[], object]) -> float:
    """Time a piece of work once."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def timing(times: list[float]) -> Timing:
    """Return the timing of work that took so many seconds each time; once alone has no spread."""
    found = [each * 1000 for each in times]
    if len(found) == 1:
        return Timing(found[0], found[0], found[0], 1)
    low, median, high = statistics.quantiles(found, n=4, method="inclusive")
    return Timing(median, low, high, len(found))


def store(workload: str, packages: list[str], findings: dict[str, object]) -> Path:
    """Write the findings with the machine, the versions and the seed they were made with."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{workload}.json"
    record = {
        "workload": workload,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit_of_tree(),
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "system": platform.system(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "python": sys.version.split()[0],
        },
        "packages": {name: version(name) for name in ("omnigraph", *packages)},
        "seed": DATA_SEED,
        "findings": {name: _plain(found) for name, found in findings.items()},
    }
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path


def commit_of_tree() -> str:
    """Return the commit of the working tree, marked where more than records and pages changed."""
    commit = _git("describe", "--always", "--exclude", "*")
    changed = _git(
        "status", "--porcelain", "--", ".", ":!bench/results", ":!docs/*.md", ":!docs/*.svg"
    )
    return f"{commit}-dirty" if changed else commit


def _git(*command: str) -> str:
    """Return what a command of Git says."""
    said = subprocess.run(
        ["git", *command], cwd=RESULTS.parents[1], capture_output=True, text=True, check=True
    )
    return said.stdout.strip()


def stored(workload: str) -> dict[str, Any] | None:
    """Return the stored run of a workload, if there is one."""
    path = RESULTS / f"{workload}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _plain(found: object) -> object:
    if isinstance(found, Timing | Derived):
        return {name: round(value, 4) for name, value in asdict(found).items()}
    return round(found, 3) if isinstance(found, float) else found
