"""Large: one change that replaces or deletes every row of a large table, and its memory."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.record import store
from omnigraph import init

ROWS, FILES = 5_000_000, 10
SCHEMA = "node Item { number: I64 @key  value: I64 }"
CHANGES = {
    "load": 'graph.load(sorted(folder.glob("*.parquet")), type="Item", mode="merge", **how)',
    "merge": 'graph.merge("theirs", into="ours", **how)',
    "delete": 'graph.branch("doomed").mutate("query q() { delete Item where number >= 0 }")',
}
MEASURED = """
import json, re, sys, time
from pathlib import Path
import omnigraph
from omnigraph.spark.session import stop
from omnigraph.spark.settings import SparkSettings

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10

folder, engine = Path(sys.argv[1]), sys.argv[2]
graph = omnigraph.open(folder / "graph", durable=False)
how = {"engine": engine, "spark": SparkSettings("local[2]")}
start = time.perf_counter()
CHANGE
print(json.dumps({"seconds": round(time.perf_counter() - start, 1), "peak_mib": peak()}))
stop()
"""


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=ROWS)
    chosen = options.parse_args()
    findings = dict(_measure(chosen.rows))
    path = store("large", ["pylance", "pyarrow", "pyspark"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def _measure(rows: int) -> Iterator[tuple[str, object]]:
    yield "rows", rows
    for engine in ("inline", "spark"):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            _prepare(folder, rows)
            for name in ("load", "merge", "delete") if engine == "inline" else ("load", "merge"):
                found = _changed(folder, engine, CHANGES[name])
                print(f"{engine} {name:10} {found}", flush=True)
                for figure, value in found.items():
                    yield f"{engine}_{name}_{figure}", value


def _prepare(folder: Path, rows: int) -> None:
    """Make a graph, a branch on which every row differs, and files that replace every row."""
    graph = init(folder / "graph", SCHEMA, durable=False)
    for value, name in ((0, "main"), (1, "theirs")):
        _write(folder, rows, value)
        if name != "main":
            for branch in ("doomed", "ours", name):
                graph.create_branch(branch)
        files = sorted(folder.glob("*.parquet"))
        graph.load(files, type="Item", mode="merge", branch=name, engine="inline")
    graph.load(pa.table({"number": [rows], "value": [9]}), type="Item", branch="ours")
    _write(folder, rows, 2)
    graph.close()


def _write(folder: Path, rows: int, value: int) -> None:
    for number, part in enumerate(np.array_split(np.arange(rows), FILES)):
        table = pa.table({"number": part, "value": np.full(len(part), value)})
        pq.write_table(table, folder / f"{number}.parquet")


def _changed(folder: Path, engine: str, change: str) -> dict[str, float]:
    """Make a change in a process of its own, so that its peak is that of the change."""
    script = MEASURED.replace("CHANGE", change)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), engine],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
