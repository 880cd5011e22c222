"""Language: arithmetic, lists and shortest paths, beside NumPy, DuckDB and Ladybug."""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers import fill_duckdb, fill_ladybug, write_parquet
from bench.record import DATA_SEED, Timing, measure_in_turn, over, store
from bench.social import SCHEMA, social_tables
from omnigraph import Graph, init

ACCOUNTS = "node Account { number: I64 @key  balance: F64  count: I64 }"
ARITHMETIC = "match { $a: Account } return { $a.balance * 1.5 + $a.count as x }"
COLLECT = "match { $p: Person  $p follows $f } return { $p.id as person, collect($f.id) as ids }"
LIST = "SELECT source, list(target) FROM follows GROUP BY source"
HOPS = 6
PATH = f"""query path($a: String, $b: String) {{
  match {{
    $p: Person {{ id: $a }}
    $q: Person {{ id: $b }}
    $p follows{{1,{HOPS}}} $q as $way shortest
  }}
  return {{ length($way) as hops }}
}}"""
CYPHER = f"""MATCH p = (a:Person {{id: $a}})-[:Follows* SHORTEST 1..{HOPS}]->(b:Person {{id: $b}})
RETURN length(p)"""
FULL, QUICK = (1_000_000, 100_000, 2_400_000), (50_000, 5_000, 50_000)
PAIRS = 200
PACKAGES = ["duckdb", "ladybug", "numpy", "pyarrow", "pylance"]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.language", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=15)
    chosen = options.parse_args()
    rows, persons, follows = QUICK if chosen.quick else FULL
    findings: dict[str, object] = {
        "rows": rows,
        "persons": persons,
        "follows": follows,
        "load_average": round(os.getloadavg()[0], 1),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        findings |= _shown(arithmetic(folder, rows, chosen.runs))
        graph, keys = _social(folder, persons, follows)
        findings |= _shown(lists(graph, folder, chosen.runs))
        findings |= _shown(paths(graph, folder, keys))
    if not chosen.quick:
        print(f"stored in {store('language', PACKAGES, findings).relative_to(Path.cwd())}")


def arithmetic(folder: Path, rows: int, runs: int) -> dict[str, object]:
    """Compute a column from two, beside NumPy on the same columns."""
    rng = np.random.default_rng(DATA_SEED)
    balance, count = rng.normal(size=rows) * 1000, rng.integers(0, 9, rows)
    table = pa.table({"number": np.arange(rows), "balance": balance, "count": count})
    graph = init(folder / "accounts", ACCOUNTS, durable=False)
    graph.load({"Account": table}, engine="inline")
    view = graph.at()
    if not np.array_equal(np.sort(_column(view.query(ARITHMETIC))), np.sort(balance * 1.5 + count)):
        sys.exit("arithmetic has different answers")
    times = measure_in_turn(
        {"ours": partial(view.query, ARITHMETIC), "numpy": lambda: balance * 1.5 + count},
        runs=runs,
        warm_up=3,
    )
    return _compared("arithmetic", times, "numpy")


def lists(graph: Graph, folder: Path, runs: int) -> dict[str, object]:
    """Collect whom each person follows, beside the lists of DuckDB, both as Arrow."""
    import duckdb

    peer = duckdb.connect(str(folder / "duckdb"), read_only=True)
    view = graph.at()

    def ours() -> Any:
        return view.query(COLLECT).to_arrow()

    def theirs() -> Any:
        return peer.sql(LIST).to_arrow_table()

    if sorted(map(len, ours()["ids"].to_pylist())) != sorted(map(len, theirs()[1].to_pylist())):
        sys.exit("collect has different answers")
    times = measure_in_turn({"ours": ours, "duckdb": theirs}, runs=runs, warm_up=2)
    peer.close()
    return _compared("collect", times, "duckdb")


def paths(graph: Graph, folder: Path, keys: list[str]) -> dict[str, object]:
    """Find shortest paths between persons by chance, beside Ladybug."""
    import ladybug

    peer = ladybug.Connection(ladybug.Database(str(folder / "ladybug"), read_only=True))
    view, chance = graph.at(), random.Random(DATA_SEED)
    pairs = [chance.sample(range(len(keys)), 2) for _ in range(PAIRS)]

    def ours(pair: list[int]) -> list[int]:
        found = view.query(PATH, a=keys[pair[0]], b=keys[pair[1]])
        return [row["hops"] for row in found.to_dicts()]  # type: ignore[misc]

    def theirs(pair: list[int]) -> list[int]:
        found: Any = peer.execute(CYPHER, {"a": pair[0], "b": pair[1]})
        return [row[0] for row in found.get_all()]

    for pair in pairs[:20]:
        if ours(pair) != theirs(pair):
            sys.exit(f"the path of {pair} has different answers: {ours(pair)} and {theirs(pair)}")
    times = measure_in_turn(
        {"ours": _each(ours, pairs), "ladybug": _each(theirs, pairs)}, runs=PAIRS, warm_up=5
    )
    found = _compared("shortest_path", times, "ladybug")
    return found | {"ladybug_over_shortest_path": over(times["ladybug"], times["ours"])}


def _each(ask: Callable[[list[int]], object], pairs: list[list[int]]) -> Callable[[], object]:
    """Return work that asks for one pair after the other."""
    following: Iterator[list[int]] = cycle(pairs)
    return lambda: ask(next(following))


def _social(folder: Path, persons: int, follows: int) -> tuple[Graph, list[str]]:
    """Fill all systems with one social graph; return ours, and the keys of its persons."""
    tables = social_tables(persons, follows)
    write_parquet(tables, folder)
    fill_duckdb(folder / "duckdb", folder)
    fill_ladybug(folder / "ladybug", folder)
    graph = init(folder / "social", SCHEMA, durable=False)
    graph.load(tables, engine="inline")
    return graph, tables["Person"]["id_number"].cast(pa.string()).to_pylist()


def _column(result: Any) -> "np.ndarray":
    values: np.ndarray = result.to_arrow()["x"].to_numpy()
    return values


def _compared(what: str, times: dict[str, Timing], peer: str) -> dict[str, object]:
    return {
        what: times["ours"],
        f"{what}_{peer}": times[peer],
        f"{what}_over_{peer}": over(times["ours"], times[peer]),
    }


def _shown(found: dict[str, object]) -> dict[str, object]:
    for name, value in found.items():
        print(f"{name:36} {value}")
    return found


if __name__ == "__main__":
    main()
