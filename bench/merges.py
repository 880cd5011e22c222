"""Merges: comparing and merging branches of large tables that differ in a few rows."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.record import DATA_SEED, Timing, over, seconds, store, timing
from omnigraph import Graph, init
from omnigraph import open as open_graph

TYPES, ROWS, LARGE, CHANGES = 8, 100_000, 1_000_000, 600
DIMENSION, VECTORS = 1024, 100_000
MANY = (100_000, 300_000)
_PLAIN = "node {name} {{ number: I64 @key  name: String  value: F64 }}"
_WIDE = f"node Wide {{ number: I64 @key  vector: Vector({DIMENSION}) }}"
MEASURED = """
import re, sys
from pathlib import Path
import omnigraph
import time
graph = omnigraph.open(sys.argv[1], durable=False)
before = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
start = time.perf_counter()
graph.merge("side", engine="inline")
took = time.perf_counter() - start
after = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(after - before >> 10, took)
"""


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--large", action="store_true", help="also a merge of many changed rows")
    chosen = options.parse_args()
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        findings |= dict(_many_types(Path(folder, "types"), chosen.runs))
        for name, rows in (("100k", ROWS), ("1m", LARGE)):
            findings |= {
                f"{name}_{what}": found
                for what, found in _one_type(Path(folder, name), rows, chosen.runs)
            }
        findings["vector_merge_extra_mib"] = _vectors(Path(folder, "vectors"))
        if chosen.large:
            findings |= dict(_large(Path(folder, "large")))
    for what in ("diff", "merge"):
        large, small = (findings[f"{size}_{what}_{CHANGES}"] for size in ("1m", "100k"))
        assert isinstance(large, Timing)
        assert isinstance(small, Timing)
        findings[f"{what}_1m_over_100k"] = over(large, small)
    for key, each in findings.items():
        print(f"{key:40} {each}")
    path = store("merges", ["pylance", "pyarrow"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def _many_types(root: Path, runs: int) -> Iterator[tuple[str, object]]:
    names = [f"T{number}" for number in range(TYPES)]
    graph = init(root, "\n".join(_PLAIN.format(name=name) for name in names), durable=False)
    for name in names:
        graph.load(_rows(ROWS), type=name, engine="inline")
    for delta in (1, 50):
        yield f"types_merge_{delta}", _merged(graph, names, delta, runs)[1]


def _one_type(root: Path, rows: int, runs: int) -> Iterator[tuple[str, object]]:
    graph = init(root, _PLAIN.format(name="T0"), durable=False)
    graph.load(_rows(rows), type="T0", engine="inline")
    compared, merged = _merged(graph, ["T0"], CHANGES, runs)
    yield f"diff_{CHANGES}", compared
    yield f"merge_{CHANGES}", merged


def _merged(graph: Graph, names: list[str], delta: int, runs: int) -> tuple[Timing, Timing]:
    """Change both sides of a branch and merge it, again and again."""
    marks = count(1)
    compared, merged = [], []
    for _ in range(runs + 1):
        branch = f"b{next(marks)}-{delta}"
        graph.create_branch(branch)
        for target, shift in ((branch, 0), ("main", 50_000)):
            _change(graph, target, names, delta, shift, float(next(marks)))
        compared.append(seconds(partial(_read_all, graph, branch)))
        merged.append(seconds(partial(graph.merge, branch)))
        graph.delete_branch(branch)
    return timing(compared[1:]), timing(merged[1:])


def _read_all(graph: Graph, branch: str) -> int:
    return sum(1 for _ in graph.diff("main", branch))


def _change(
    graph: Graph, branch: str, names: list[str], delta: int, shift: int, value: float
) -> None:
    """Replace rows, spread over the types."""
    for place, name in enumerate(names):
        own = delta // len(names) + (place < delta % len(names))
        if own:
            numbers = (np.arange(own) * 37 + shift + int(value)) % ROWS
            rows = _rows(0, numbers, value)
            graph.load(rows, type=name, mode="merge", engine="inline", branch=branch)


def _rows(count_: int, numbers: "np.ndarray | None" = None, value: float = 0.5) -> pa.Table:
    found = np.arange(count_) if numbers is None else np.unique(numbers)
    names = [f"Name {number}" for number in found]
    return pa.table({"number": found, "name": names, "value": np.full(len(found), value)})


def _vectors(root: Path) -> int:
    """Return how much more memory a process takes to merge ten wide rows, in MiB."""
    graph = init(root, _WIDE, durable=False)
    chance = np.random.default_rng(DATA_SEED)
    for first in range(0, VECTORS, 10_000):
        graph.load(_wide(chance, np.arange(first, first + 10_000)), type="Wide", engine="inline")
    graph.create_branch("side")
    for branch, first in (("side", 0), ("main", 50_000)):
        rows = _wide(chance, np.arange(first, first + 10))
        graph.load(rows, type="Wide", mode="merge", engine="inline", branch=branch)
    return _measured(root)[0]


def _large(root: Path) -> Iterator[tuple[str, object]]:
    """Merge rows of which both sides changed many, and most of these both; memory stays bounded."""
    for many in MANY:
        graph = init(root / str(many), _PLAIN.format(name="T0"), durable=False)
        graph.load(_rows(many * 4 // 3), type="T0", engine="inline")
        graph.create_branch("side")
        first, second = np.arange(many), np.arange(many // 3, many * 4 // 3)
        values = _rows(0, first, 0.7)
        graph.load(values, type="T0", mode="merge", engine="inline", branch="side")
        names = pa.array([f"New {number}" for number in second])
        renamed = _rows(0, second).set_column(1, "name", names)
        graph.load(renamed, type="T0", mode="merge", engine="inline")
        extra, took = _measured(root / str(many))
        yield f"merge_{many}_extra_mib", extra
        yield f"merge_{many}_s", took


def _measured(root: Path) -> tuple[int, float]:
    """Merge in another process; return how many MiB more it takes for that, and how long."""
    open_graph(root, durable=False)
    command = [sys.executable, "-c", MEASURED, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    extra, took = done.stdout.split()
    return int(extra), float(took)


def _wide(chance: np.random.Generator, numbers: "np.ndarray") -> pa.Table:
    values = chance.standard_normal(len(numbers) * DIMENSION, np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    return pa.table({"number": numbers, "vector": vectors})


if __name__ == "__main__":
    main()
