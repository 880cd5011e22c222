"""Versioned: branches, diffs and merges beside Doltlite, and two hops beside CozoDB.

Each system runs in a process of its own. The peers are installed into a folder of their own, which
`--peers` names; without it they are installed into one that is deleted in the end:

    pip install --target FOLDER doltlite==0.51.3 cozo-embedded==0.7.6
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, Protocol

from bench.record import DATA_SEED, Timing, over, seconds, store, timing

PINNED = {"doltlite": "0.51.3", "cozo-embedded": "0.7.6"}
PACKAGES = ["numpy", "pyarrow", "pylance"]
FULL, QUICK = (100_000, 2_400_000, 9), (2_000, 20_000, 3)
_CHANGED = 100
_SEEDS = 20


class Versioned(Protocol):
    """Rows with a history: main, and branches of it."""

    def create_branch(self, name: str) -> None:
        """Create a branch where main stands."""

    def change(self, branch: str, numbers: list[int], value: int) -> None:
        """Change a value in rows of a branch, as one commit."""

    def count_changes(self, branch: str) -> int:
        """Return how many rows differ between main and a branch."""

    def merge(self, branch: str) -> None:
        """Merge a branch into main."""

    def total(self) -> int:
        """Return the sum of all values of main."""


class OmniGraphRows:
    """Rows as nodes of OmniGraph."""

    def __init__(self, folder: Path, rows: int) -> None:
        import pyarrow as pa

        import omnigraph

        schema = "node Account { number: I64 @key  name: String  value: I64 }"
        self.graph = omnigraph.init(folder / "omnigraph", schema)
        numbers = pa.array(range(rows))
        names = [f"Account {each}" for each in range(rows)]
        table = pa.table({"number": numbers, "name": names, "value": numbers})
        self.graph.load({"Account": table}, engine="inline")

    def create_branch(self, name: str) -> None:
        """Create a branch where main stands."""
        self.graph.create_branch(name)

    def change(self, branch: str, numbers: list[int], value: int) -> None:
        """Change a value in rows of a branch, as one commit."""
        rows = [{"number": each, "value": value} for each in numbers]
        self.graph.branch(branch).load(rows, type="Account", mode="merge", engine="inline")

    def count_changes(self, branch: str) -> int:
        """Return how many rows differ between main and a branch."""
        return sum(1 for _ in self.graph.diff("main", branch))

    def merge(self, branch: str) -> None:
        """Merge a branch into main."""
        self.graph.merge(branch, engine="inline")

    def total(self) -> int:
        """Return the sum of all values of main."""
        asked = "query q() { match { $a: Account } return { sum($a.value) as n } }"
        return int(str(self.graph.query(asked).to_dicts()[0]["n"]))


class DoltliteRows:
    """Rows as a table of Doltlite."""

    def __init__(self, folder: Path, rows: int) -> None:
        importlib.import_module("doltlite")  # from here on, SQLite is Doltlite
        import sqlite3

        self.connection = sqlite3.connect(folder / "doltlite.db", isolation_level=None)
        self._ask("CREATE TABLE account (number INTEGER PRIMARY KEY, name TEXT, value INTEGER)")
        self._ask("BEGIN")
        given = ((each, f"Account {each}", each) for each in range(rows))
        self.connection.executemany("INSERT INTO account VALUES (?, ?, ?)", given)
        self._ask("COMMIT")
        self._ask("SELECT dolt_commit('-A', '-m', 'rows')")

    def create_branch(self, name: str) -> None:
        """Create a branch where main stands."""
        self._ask("SELECT dolt_branch(?)", name)

    def change(self, branch: str, numbers: list[int], value: int) -> None:
        """Change a value in rows of a branch, as one commit."""
        self._ask("SELECT dolt_checkout(?)", branch)
        self._ask("BEGIN")
        given = ((value, each) for each in numbers)
        self.connection.executemany("UPDATE account SET value = ? WHERE number = ?", given)
        self._ask("COMMIT")
        self._ask("SELECT dolt_commit('-A', '-m', 'changed')")
        self._ask("SELECT dolt_checkout('main')")

    def count_changes(self, branch: str) -> int:
        """Return how many rows differ between main and a branch."""
        asked = "SELECT * FROM dolt_diff_account('main', ?)"
        return len(self._ask(asked, branch))

    def merge(self, branch: str) -> None:
        """Merge a branch into main."""
        self._ask("SELECT dolt_merge(?)", branch)

    def total(self) -> int:
        """Return the sum of all values of main."""
        return int(self._ask("SELECT sum(value) FROM account")[0][0])

    def _ask(self, text: str, *given: object) -> list[Any]:
        return self.connection.execute(text, given).fetchall()


def _two_hops_of_omnigraph(folder: Path, pairs: list[tuple[int, int]]) -> Callable[[int], int]:
    import pyarrow as pa

    import omnigraph

    schema = "node Person { number: I64 @key }  edge Follows: Person -> Person"
    graph = omnigraph.init(folder / "hops", schema, durable=False)
    ends = [[str(pair[at]) for pair in pairs] for at in (0, 1)]
    persons = pa.array(sorted({each for pair in pairs for each in pair}))
    edges = pa.table({"from": ends[0], "to": ends[1]})
    graph.load({"Person": pa.table({"number": persons}), "Follows": edges}, engine="inline")
    asked = """query q($seed: I64) {
      match { $a: Person { number: $seed }  $a follows $b  $b follows $c }
      return { count(distinct $c) as n }
    }"""
    return lambda seed: int(str(graph.query(asked, seed=seed).to_dicts()[0]["n"]))


def _two_hops_of_cozo(_: Path, pairs: list[tuple[int, int]]) -> Callable[[int], int]:
    database = importlib.import_module("cozo_embedded").CozoDbPy("mem", "", "{}")
    database.run_script(":create follows {a: Int, b: Int}", {}, False)  # noqa: FBT003
    rows = [list(pair) for pair in pairs]
    database.import_relations({"follows": {"headers": ["a", "b"], "rows": rows}})
    asked = "?[count_unique(c)] := *follows{a: $seed, b}, *follows{a: b, b: c}"

    def count(seed: int) -> int:
        found = database.run_script(asked, {"seed": seed}, True)  # noqa: FBT003
        return int(found["rows"][0][0])

    return count


ROWS: dict[str, Callable[[Path, int], Versioned]] = {
    "omnigraph": OmniGraphRows,
    "doltlite": DoltliteRows,
}
HOPS: dict[str, Callable[[Path, list[tuple[int, int]]], Callable[[int], int]]] = {
    "omnigraph": _two_hops_of_omnigraph,
    "cozo-embedded": _two_hops_of_cozo,
}
WORKS = ("create_branch", "change", "diff", "merge")


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.versioned", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--peers", type=Path, help="the folder that the peers are installed in")
    options.add_argument("--one", nargs=2, metavar=("PART", "SYSTEM"), help="of one process")
    chosen = options.parse_args()
    sizes = QUICK if chosen.quick else FULL
    if chosen.one:
        part, system = chosen.one
        print(json.dumps(_measure_one(part, system, sizes)))
        return
    with _installed(chosen.peers) as peers:
        findings = _compare(peers, quick=chosen.quick)
    for name, found in findings.items():
        print(f"{name:36} {found}")
    if not chosen.quick:
        path = store("versioned", PACKAGES, findings)
        print(f"stored in {path.relative_to(Path.cwd())}")


def _compare(peers: Path, *, quick: bool) -> dict[str, object]:
    findings: dict[str, object] = {"load_average": round(os.getloadavg()[0], 1)}
    findings |= {f"version_of_{name}": pinned for name, pinned in PINNED.items()}
    for part, systems in (("rows", [*ROWS]), ("hops", [*HOPS])):
        found = {name: _ask_process(part, name, peers, quick=quick) for name in systems}
        ours, theirs = systems
        if found[ours]["answers"] != found[theirs]["answers"]:
            sys.exit(f"{ours} and {theirs} have different answers in {part}: {found}")
        for work, times in found[ours]["times"].items():
            both: dict[str, Timing] = {
                ours: timing(times),
                theirs: timing(found[theirs]["times"][work]),
            }
            findings |= {f"{work}_{name}": each for name, each in both.items()}
            findings[f"{work}_{theirs}_over_ours"] = over(both[theirs], both[ours])
    return findings


def _ask_process(part: str, system: str, peers: Path, *, quick: bool) -> dict[str, Any]:
    """Let a process of its own measure one system."""
    command = [sys.executable, "-m", "bench.versioned", "--one", part, system]
    paths = [str(Path.cwd()), *([] if system == "omnigraph" else [str(peers)])]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*command, *(["--quick"] if quick else [])], env=known, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def _installed(peers: Path | None) -> Iterator[Path]:
    """Yield the folder of the peers, which are installed if there is none."""
    if peers is not None:
        yield peers.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        named = [f"{name}=={pinned}" for name, pinned in PINNED.items()]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", folder, *named], check=True)
        yield Path(folder)


def _measure_one(part: str, system: str, sizes: tuple[int, int, int]) -> dict[str, object]:
    """Return the times of one system, and its answers, which all systems must have."""
    if system in PINNED and version(system) != PINNED[system]:
        sys.exit(f"{system} is {version(system)}, not {PINNED[system]}")
    rows, follows, runs = sizes
    with tempfile.TemporaryDirectory() as folder:
        if part == "rows":
            return _measure_rows(ROWS[system](Path(folder), rows), rows, runs)
        pairs = _pairs(rows, follows // 10)
        return _measure_hops(HOPS[system](Path(folder), pairs), pairs, runs)


def _measure_rows(system: Versioned, rows: int, runs: int) -> dict[str, object]:
    """Change rows on both sides and merge, again and again; the first time does not count."""
    random = Random(DATA_SEED)
    times: dict[str, list[float]] = {work: [] for work in WORKS}
    changes = []
    for at in range(runs + 1):
        branch = f"b{at}"
        numbers = random.sample(range(rows), 2 * _CHANGED)
        ours, theirs = numbers[:_CHANGED], numbers[_CHANGED:]
        times["create_branch"].append(seconds(partial(system.create_branch, branch)))
        times["change"].append(seconds(partial(system.change, branch, theirs, -at - 1)))
        system.change("main", ours, -at - 1)
        times["diff"].append(seconds(lambda: changes.append(system.count_changes(branch))))  # noqa: B023
        times["merge"].append(seconds(partial(system.merge, branch)))
    kept = {work: taken[1:] for work, taken in times.items()}
    return {"times": kept, "answers": [system.total(), *changes]}


def _measure_hops(
    count: Callable[[int], int], pairs: list[tuple[int, int]], runs: int
) -> dict[str, object]:
    """Ask for the two hops from some persons, all of them once beforehand."""
    seeds = [pair[0] for pair in Random(DATA_SEED).sample(pairs, _SEEDS)]
    answers = [count(seed) for seed in seeds]
    times = [seconds(partial(count, seed)) for _ in range(runs) for seed in seeds]
    return {"times": {"two_hops": times}, "answers": answers}


def _pairs(persons: int, follows: int) -> list[tuple[int, int]]:
    """Return who follows whom: the lower the number, the more followers."""
    random = Random(DATA_SEED)
    found: set[tuple[int, int]] = set()
    while len(found) < follows:
        found.add((random.randrange(persons), int(persons * random.random() ** 3)))
    return sorted(found)


if __name__ == "__main__":
    main()
