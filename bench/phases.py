"""Phases: what each phase of a load and of a merge moves, by Spark's own records, at three sizes.

Beside what was counted stands what the formulas of docs/ten-billion-edges.md say. Bytes and tasks
do not depend on how busy the machine is.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bench import mixed
from bench.record import store

SIZES = (500_000, 1_000_000, 2_000_000)
SLOTS = 2
MIB = 1 << 20
ONE_MORE = (
    '{"type": "Company", "data": {"slug": "one-more", "name": "One more", '
    '"founded": "2026-01-01", "employees": 0}}'
)
# What the formulas say of one value of about 15 characters: in files, and compressed by Spark.
KEPT_VALUE = 19.1
SHUFFLED_VALUE = 9.8
# As many bytes of JSON lines are thought to be a row when buckets are counted.
LINE_BYTES = 64
# Rows of the tables of `bench.mixed`, of all lines, and how many indexes their tables have.
SHARES = {"Person": 0.35, "Company": 0.05, "Knows": 0.45, "WorksAt": 0.15}
INDEXES = {"Person": 2, "Company": 2, "Knows": 3, "WorksAt": 3}

Metrics: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class Phase:
    """What Spark wrote down of one phase, and what this process took meanwhile."""

    tasks: int = 0
    shuffle_bytes: int = 0
    most_task_shuffle_bytes: int = 0
    result_bytes: int = 0
    aside_bytes: int = 0
    driver_peak_mib: int = 0

    def add(self, metrics: Metrics) -> None:
        """Count a task that has ended."""
        written = metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.tasks += 1
        self.shuffle_bytes += written
        self.most_task_shuffle_bytes = max(self.most_task_shuffle_bytes, written)
        self.result_bytes += metrics["Result Size"]


@dataclass(slots=True)
class Clock:
    """Progress that notes when each phase begins, and the memory of the one before."""

    graph: Path
    begun: list[tuple[str, float]] = field(default_factory=list)
    taken: list[tuple[int, int]] = field(default_factory=list)

    def begin(self, stage: str, size: int = 0) -> None:  # noqa: ARG002 - a method of Progress
        """Note the end of a phase and the beginning of another."""
        if self.begun:
            self.taken.append((_folder_bytes(self.graph / "_aside"), _peak_mib()))
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        self.begun.append((stage, time.time()))

    def advance(self, done: int, total: int) -> None:
        """Nothing: Spark counts tasks itself."""

    def phases(self, events: Path) -> dict[str, Phase]:
        """Return the phases with what Spark wrote down; the last one is the end of all."""
        found: dict[str, Phase] = {}
        for (name, _), (size, peak) in zip(self.begun, self.taken, strict=False):
            phase = found.setdefault(name, Phase())
            phase.aside_bytes = max(phase.aside_bytes, size)
            phase.driver_peak_mib = max(phase.driver_peak_mib, peak)
        for when, metrics in _ended_tasks(events):
            names = [name for name, begun in self.begun if begun <= when]
            if names and names[-1] in found:
                found[names[-1]].add(metrics)
        return found


def main() -> None:
    """Measure, print and store; with `--one`, do the work of one size."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, nargs="*", default=SIZES)
    options.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one is not None:
        _work(chosen.one)
        return
    findings: dict[str, object] = {"lines": list(chosen.lines)}
    for lines in chosen.lines:
        with tempfile.TemporaryDirectory() as made:
            found = _measured(Path(made), lines)
        print(f"{lines} lines: {json.dumps(found, indent=2)}", flush=True)
        findings[f"lines_{lines}"] = found
    path = store("phases", ["pylance", "pyarrow", "pyspark"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def expected(lines: int, size: int, slots: int) -> dict[str, dict[str, int]]:
    """Return what the formulas say of the load of so many lines of `bench.mixed`."""
    part = min(max(size // (4 * slots), 4 * MIB), 64 * MIB)
    parts = max(1, size // part)
    buckets = min(-(-size // LINE_BYTES // 400_000), 4_096)
    nodes = sum(SHARES[name] for name in ("Person", "Company"))
    values = int(lines * (nodes + 2 * (1 - nodes)))
    return {
        "reading": {"tasks": parts, "shuffle_bytes": 0, "aside_bytes": int(values * KEPT_VALUE)},
        "checking": {
            "tasks": parts + min(buckets, 4 * slots),
            "shuffle_bytes": int(values * SHUFFLED_VALUE),
        },
        "indexing": {"tasks": sum(_segments(lines)), "shuffle_bytes": 0},
    }


def _segments(lines: int) -> Iterator[int]:
    for name, share in SHARES.items():
        rows = int(lines * share)
        most = max(10_000_000, -(-rows // 256))
        yield INDEXES[name] * -(-rows // most)


def _measured(folder: Path, lines: int) -> Mapping[str, object]:
    """Do the work in a process of its own, and join what it found with what formulas say."""
    data = folder / "mixed.jsonl"
    mixed.write_mixed(data, lines)
    with data.open() as source, (folder / "changed.jsonl").open("w") as target:
        nodes = (line for line in source if not line.startswith('{"edge"'))
        target.writelines(line.replace('"name":"', '"name":"Dr ') for line in nodes)
    subprocess.run(
        [sys.executable, "-m", "bench.phases", "--one", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found: dict[str, object] = json.loads((folder / "found.json").read_text())
    size = data.stat().st_size
    return {"input_bytes": size, **found, "formulas": expected(lines, size, SLOTS)}


def _work(folder: Path) -> None:
    """Load a graph, replace all its nodes on a branch, and merge that; all of it on Spark."""
    from dataclasses import asdict

    from omnigraph import init
    from omnigraph.spark.session import session, stop
    from omnigraph.spark.settings import SparkSettings

    events = folder / "events"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    spark = SparkSettings(f"local[{SLOTS}]", conf=conf)
    session(spark)
    graph = init(folder / "graph", mixed.SCHEMA, durable=False)
    clocks = {name: Clock(folder / "graph") for name in ("load", "replace", "merge")}
    started = _peak_mib()
    graph.load(folder / "mixed.jsonl", engine="spark", progress=clocks["load"])
    clocks["load"].begin("end")
    sizes = {name: _folder_bytes(folder / "graph" / name) for name in ("nodes", "edges")}
    for branch in ("ours", "theirs"):
        graph.create_branch(branch)
    changed = folder / "changed.jsonl"
    graph.load(changed, branch="theirs", mode="merge", engine="spark", progress=clocks["replace"])
    clocks["replace"].begin("end")
    graph.load(ONE_MORE, branch="ours", engine="inline")
    graph.merge("theirs", into="ours", engine="spark", progress=clocks["merge"])
    clocks["merge"].begin("end")
    graph.close()
    stop()
    (log,) = events.iterdir()
    every = {
        name: {phase: asdict(found) for phase, found in clock.phases(log).items()}
        for name, clock in clocks.items()
    }
    found = {"driver_before_mib": started, "table_bytes": sizes, **every}
    (folder / "found.json").write_text(json.dumps(found))


def _ended_tasks(events: Path) -> Iterator[tuple[float, Metrics]]:
    """Yield when the stage of each task was begun, and the metrics of the task."""
    begun: dict[int, float] = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageSubmitted":
            stage = event["Stage Info"]
            begun[stage["Stage ID"]] = stage.get("Submission Time", 0) / 1000
        elif event["Event"] == "SparkListenerTaskEnd":
            yield begun[event["Stage ID"]], event["Task Metrics"]


def _folder_bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _peak_mib() -> int:
    """Return the most memory that this process has had since it was last asked to forget."""
    status = Path("/proc/self/status").read_text()
    (line,) = (each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10


if __name__ == "__main__":
    main()
