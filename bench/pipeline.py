"""Pipeline: loading and exporting on Spark, beside Spark's own way from JSON lines to Parquet."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench import mixed, social
from bench.processes import family
from bench.record import measure, over, rate, seconds, store, timing
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.spark.session import session, stop
from omnigraph.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
PEER_SCHEMA = """
type string, edge string, `from` string, `to` string, data struct<
  slug string, name string, age int, email string, bio string, joined timestamp, score double,
  active boolean, tags array<string>, founded date, employees int, about string, since date,
  weight double, title string, salary int>
"""
SMALL_LINES = 500
_SAMPLE_SECONDS = 0.05


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=2_000_000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--only-load", type=Path, help="load a file and tell how it went")
    chosen = options.parse_args()
    if chosen.only_load is not None:
        _only_load(chosen.only_load)
        return
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), chosen.runs)
        findings |= bench.start()
        findings |= bench.load_and_peer(chosen.lines)
        findings |= bench.small()
        findings |= bench.export()
        findings |= bench.alone(chosen.lines)
        findings |= bench.alone(3 * chosen.lines)
        findings |= bench.social()
        stop()
    for name, found in findings.items():
        print(f"{name:44} {found}")
    path = store("pipeline", ["pyspark", "pylance", "pyarrow"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


@dataclass(slots=True)
class _Bench:
    folder: Path
    runs: int

    @property
    def spark(self) -> "SparkSession":
        return session(SparkSettings(master=MASTER))

    def start(self) -> dict[str, object]:
        begun = time.perf_counter()
        self.spark.range(1).collect()
        return {"session_start_s": time.perf_counter() - begun}

    def load_and_peer(self, lines: int) -> dict[str, object]:
        """Load and let Spark write Parquet, turn by turn, so that both meet the same machine."""
        data = self.folder / "mixed.jsonl"
        mixed.write_mixed(data, lines)
        times: list[float] = []
        peers: list[float] = []
        for _ in range(self.runs + 1):
            times.append(seconds(lambda: self._loaded(data, mixed.SCHEMA)))
            peers.append(seconds(lambda: self._parquet(data)))
        load, peer = timing(times[1:]), timing(peers[1:])
        return {
            "lines": lines,
            "megabytes": data.stat().st_size / 1e6,
            "load": load,
            "load_lines_per_s": rate(lines, load),
            "spark_json_to_parquet": peer,
            "load_over_peer": over(load, peer),
            "load_first": timing(times[:1]),
            "spark_json_to_parquet_first": timing(peers[:1]),
        }

    def small(self) -> dict[str, object]:
        """Load few lines on the warm session, into an empty graph and into the large one."""
        numbers = count()
        empty = init(self.folder / "empty", mixed.SCHEMA, durable=False)
        large = open_graph(self.folder / "graph", durable=False)
        chosen = {"": (empty, "spark"), "_into_large": (large, "spark")}
        chosen["_into_large_inline"] = (large, "inline")
        return {
            f"load_{SMALL_LINES}_lines{name}": measure(
                partial(_load_few, graph, engine, numbers), runs=11, warm_up=2
            )
            for name, (graph, engine) in chosen.items()
        }

    def export(self) -> dict[str, object]:
        """Export the large graph as one stream, and as shards."""
        graph = open_graph(self.folder / "graph", durable=False)
        rows = sum(state.row_count for state in graph.snapshot().commit.tables.values())
        stream = seconds(lambda: sum(map(len, graph.export())))
        shards = []
        for number in range(3):
            target = self.folder / f"shards-{number}"
            shards.append(seconds(partial(graph.export_to, target, engine="spark")))
            shutil.rmtree(target)
        return {
            "export_stream_rows_per_s": rows / stream,
            "export_shards_rows_per_s": rows / min(shards),
        }

    def alone(self, lines: int) -> dict[str, object]:
        """Load in a process that did nothing else: memory must not follow the size of the file."""
        data = self.folder / "alone.jsonl"
        mixed.write_mixed(data, lines)
        command = [sys.executable, "-m", "bench.pipeline", "--only-load", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        data.unlink()
        took, megabytes = map(float, done.stdout.splitlines()[-1].split())
        return {
            f"load_{lines}_lines_alone_per_s": lines / took,
            f"peak_memory_mb_{lines}_lines": megabytes,
        }

    def social(self) -> dict[str, object]:
        data = self.folder / "social.jsonl"
        lines = social.write_social(data)
        took = [seconds(lambda: self._loaded(data, social.SCHEMA)) for _ in range(3)]
        return {"social_lines": lines, "social_load_lines_per_s": lines / min(took)}

    def _loaded(self, data: Path, schema: str) -> None:
        root = self.folder / "graph"
        shutil.rmtree(root, ignore_errors=True)
        _load(root, data, schema)

    def _parquet(self, data: Path) -> None:
        target = str(self.folder / "peer.parquet")
        self.spark.read.schema(PEER_SCHEMA).json(str(data)).write.parquet(target, mode="overwrite")


def _load(root: Path, data: Path, schema: str) -> None:
    init(root, schema, durable=False).load(data, spark=SparkSettings(master=MASTER))


def _only_load(data: Path) -> None:
    """Load a file into a new graph, and print the seconds that took and the most memory in MB."""
    session(SparkSettings(master=MASTER))
    with tempfile.TemporaryDirectory() as folder, _memory() as peak:
        took = seconds(lambda: _load(Path(folder, "graph"), data, mixed.SCHEMA))
    stop()
    print(took, peak.megabytes)


@dataclass(slots=True)
class _Peak:
    megabytes: float = 0.0


@contextmanager
def _memory() -> Iterator[_Peak]:
    """Watch the memory of this process and all that it started, the JVM and its workers."""
    peak, ended = _Peak(), threading.Event()

    def watch() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            peak.megabytes = max(peak.megabytes, sum(map(_proportional_mb, family(os.getpid()))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _proportional_mb(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _load_few(graph: Graph, engine: str, numbers: Iterator[int]) -> None:
    """Load some new persons and edges between them."""
    half, at = SMALL_LINES // 2, next(numbers)
    person = {"name": "N", "age": 1, "email": "a@b", "bio": "b", "joined": "2024-01-01T00:00:00Z"}
    person |= {"score": 1.5, "active": True, "tags": []}
    names = [f"{graph.uri[-5:]}-{engine}-{at}-{number}" for number in range(half)]
    lines: list[object] = [{"type": "Person", "data": {"slug": n, **person}} for n in names]
    data = {"since": "2024-01-01", "weight": 1}
    lines += [{"edge": "Knows", "from": n, "to": names[0], "data": data} for n in names]
    graph.load("\n".join(map(json.dumps, lines)), engine=engine)


if __name__ == "__main__":
    main()
