"""Cold growth: opening a graph and reading one row in a new process, by rows and by history."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from bench.ledger import COLD, POINT, SCHEMA, UPDATE, make_graph
from bench.record import exponent, store, timing
from omnigraph import Graph, init

PACKAGES = ["numpy", "pyarrow", "pylance"]
# The largest graph is grown further, because what a commit leaves is what a cold reader meets.
ROWS, COMMITS = (10_000, 100_000, 1_000_000), (10, 500, 5_000)
QUICK_ROWS, QUICK_COMMITS = (1_000, 2_000, 10_000), (10, 20, 50)
_STRIDE = 7_919


@dataclass(slots=True)
class Grown:
    """A graph of so many accounts that is changed again and again, one row in a commit."""

    root: Path
    rows: int
    graph: Graph
    commits: int = 0

    def change_until(self, commits: int) -> None:
        """Change rows until there were so many commits."""
        for number in range(self.commits, commits):
            self.graph.mutate(UPDATE, number=number * _STRIDE % self.rows, owner=f"o{number}")
        self.commits = commits

    def ask(self, empty: Path, mark: int) -> float:
        """Return the seconds that a new process takes to open it and to read one row."""
        number = str(mark * _STRIDE % self.rows)
        command = [
            sys.executable,
            "-c",
            COLD,
            "omnigraph",
            str(empty),
            str(self.root),
            number,
            POINT,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"cannot read in a new process:\n{done.stderr}")
        return float(done.stdout)


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.cold_growth", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    rows, commits = (QUICK_ROWS, QUICK_COMMITS) if chosen.quick else (ROWS, COMMITS)
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, each in _measured(Path(folder), rows, commits, chosen.runs):
            print(f"{name:32} {each}", flush=True)
            findings[name] = each
    if not chosen.quick:
        print(f"stored in {store('cold_growth', PACKAGES, findings).relative_to(Path.cwd())}")


def _measured(
    folder: Path, rows: tuple[int, ...], commits: tuple[int, ...], runs: int
) -> Iterator[tuple[str, object]]:
    """Yield what each size takes, and the power with which that grows from the smallest.

    The smallest graph is asked in turn with every other, so that both meet the same machine.
    """
    empty, marks = folder / "empty", count(1)
    init(empty, SCHEMA, durable=False)
    graphs = [_make(folder / f"rows_{many}", many, commits[0]) for many in rows]
    small, large = graphs[0], graphs[-1]
    steps = [(each, f"rows_{each.rows}", each.rows // small.rows) for each in graphs[1:]]
    steps += [(large, f"commits_{many}", many // commits[0]) for many in commits[1:]]
    for graph, name, times in steps:
        if name.startswith("commits_"):
            graph.change_until(commits[0] * times)
        pairs = [(small.ask(empty, at), graph.ask(empty, at)) for at in islice(marks, runs)]
        before, after = (timing(list(each)) for each in zip(*pairs, strict=True))
        yield f"{name}_smallest", before
        yield name, after
        yield f"{name}_exponent", exponent(before, after, times)


def _make(root: Path, rows: int, commits: int) -> Grown:
    made = Grown(root, rows, make_graph(root, rows))
    made.change_until(commits)
    return made


if __name__ == "__main__":
    main()
