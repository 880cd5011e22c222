"""Loads: a load with all checks and indexes beside tools that only read the same JSON lines.

Stock Spark writes them as Parquet, in a JVM of its own with default flags; DuckDB makes a table of
them. Beside the times stand the seconds that cores worked, which a busy machine changes less.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import mixed
from bench.pipeline import MASTER, PEER_SCHEMA
from bench.processes import cpu_seconds
from bench.raw_spark import RawSpark
from bench.record import Timing, over, rate, seconds, store, timing
from omnigraph import init
from omnigraph.spark.session import session, stop
from omnigraph.spark.settings import SparkSettings


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=2_000_000)
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, RawSpark(MASTER) as stock:
        findings = _measure(Path(folder), stock, chosen.lines, chosen.runs)
        stop()
    for name, found in findings.items():
        print(f"{name:44} {found}")
    path = store("loads", ["pyspark", "pylance", "pyarrow", "duckdb"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to take JSON lines in, and the clock of the cores that work for it."""

    work: Callable[[], object]
    worked: Callable[[], float]


def _measure(folder: Path, stock: RawSpark, lines: int, runs: int) -> dict[str, object]:
    """Take the lines in each way turn by turn, so that all of them meet the same machine."""
    data = folder / "mixed.jsonl"
    mixed.write_mixed(data, lines)
    session(SparkSettings(master=MASTER))
    ours, theirs = partial(cpu_seconds, os.getpid()), partial(cpu_seconds, stock.pid)
    ways = {
        "load_spark": _Way(lambda: _load(folder, data, "spark"), ours),
        "stock_spark": _Way(
            lambda: stock.convert(data, PEER_SCHEMA, folder / "peer.parquet"), theirs
        ),
        "load_inline": _Way(lambda: _load(folder, data, "inline"), time.process_time),
        "duckdb": _Way(lambda: _read_json(folder, data), time.process_time),
    }
    busy = [os.getloadavg()[0]]
    times: dict[str, list[float]] = {name: [] for name in ways}
    worked: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs + 1):
        for name, way in ways.items():
            before = way.worked()
            times[name].append(seconds(way.work))
            worked[name].append(way.worked() - before)
        busy.append(os.getloadavg()[0])
    wall = {name: timing(found[1:]) for name, found in times.items()}
    cores = {name: timing(found[1:]) for name, found in worked.items()}
    findings: dict[str, object] = {"lines": lines, "megabytes": data.stat().st_size / 1e6}
    findings |= {"load_average_least": min(busy), "load_average_most": max(busy)}
    findings |= wall | {f"{name}_cpu": found for name, found in cores.items()}
    findings |= {f"{name}_lines_per_s": rate(lines, wall[name]) for name in ways}
    return findings | _ratios("", wall) | _ratios("_cpu", cores)


def _ratios(suffix: str, times: dict[str, Timing]) -> dict[str, object]:
    return {
        f"load_spark_over_stock{suffix}": over(times["load_spark"], times["stock_spark"]),
        f"load_inline_over_duckdb{suffix}": over(times["load_inline"], times["duckdb"]),
    }


def _load(folder: Path, data: Path, engine: str) -> None:
    root = folder / "graph"
    shutil.rmtree(root, ignore_errors=True)
    graph = init(root, mixed.SCHEMA, durable=False)
    graph.load(data, engine=engine, spark=SparkSettings(master=MASTER))


def _read_json(folder: Path, data: Path) -> None:
    import duckdb

    (folder / "duck.db").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "duck.db")) as connection:
        connection.execute(f"create table t as select * from read_json('{data}')")


if __name__ == "__main__":
    main()
