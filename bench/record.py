"""Record: times a piece of work and stores what a run found."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of repeated work in milliseconds: median, and the middle half of them."""

    median_ms: float
    low_ms: float
    high_ms: float
    runs: int

    def __str__(self) -> str:
        return f"{self.median_ms:8.3f} ms  ({self.low_ms:.3f} to {self.high_ms:.3f}, n={self.runs})"


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
    """Give the timing of repeated work that took so many seconds each time."""
    low, median, high = statistics.quantiles([each * 1000 for each in times], n=4)
    return Timing(median, low, high, len(times))


def store(workload: str, packages: list[str], findings: dict[str, object]) -> Path:
    """Write the findings with the machine and the versions they were made on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{workload}.json"
    record = {
        "workload": workload,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "system": platform.system(),
            "python": sys.version.split()[0],
        },
        "packages": {name: version(name) for name in packages},
        "findings": {name: _plain(found) for name, found in findings.items()},
    }
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path


def _plain(found: object) -> object:
    if isinstance(found, Timing):
        return {name: round(value, 4) for name, value in asdict(found).items()}
    return round(found, 3) if isinstance(found, float) else found
