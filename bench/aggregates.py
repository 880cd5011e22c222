"""Aggregates: averages and counts over a million rows, beside DuckDB in the same process."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bench.record import DATA_SEED, measure_in_turn, over, store
from omnigraph import View, init

SCHEMA = "node Account { number: I64 @key  group: I32  balance: F64  city: String }"
# Each question in our language, and in that of DuckDB.
ASKED = {
    "average_of_100_groups": (
        "match { $a: Account } return { $a.group as g, avg($a.balance) as m } order { g }",
        'SELECT "group", avg(balance) FROM account GROUP BY "group" ORDER BY "group"',
    ),
    "filtered_count": (
        "match { $a: Account  $a.balance > 500.0 } return { count($a) as n }",
        "SELECT count(*) FROM account WHERE balance > 500",
    ),
    "text_count": (
        'match { $a: Account { city: "city7" } } return { count($a) as n }',
        "SELECT count(*) FROM account WHERE city = 'city7'",
    ),
}
FULL, QUICK = 1_000_000, 50_000
PACKAGES = ["duckdb", "numpy", "pyarrow", "pylance"]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.aggregates", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=31)
    chosen = options.parse_args()
    rows = QUICK if chosen.quick else FULL
    findings: dict[str, object] = {"rows": rows, "load_average": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory() as name:
        view, peer = _fill(Path(name), rows)
        for what, (ours, theirs) in ASKED.items():
            ask = partial(view.query, f"query q() {{ {ours} }}")
            tell: Callable[[], list[tuple[object, ...]]] = partial(_fetch, peer, theirs)
            _compare(what, [list(row.values()) for row in ask()], [list(row) for row in tell()])
            times = measure_in_turn({"ours": ask, "peer": tell}, runs=chosen.runs, warm_up=3)
            found: dict[str, object] = {
                what: times["ours"],
                f"{what}_duckdb": times["peer"],
                f"{what}_over_duckdb": over(times["ours"], times["peer"]),
            }
            findings |= found
            for each, value in found.items():
                print(f"{each:36} {value}")
    if not chosen.quick:
        print(f"stored in {store('aggregates', PACKAGES, findings).relative_to(Path.cwd())}")


def _fill(folder: Path, rows: int) -> tuple[View, Any]:
    rng = np.random.default_rng(DATA_SEED)
    table = pa.table(
        {
            "number": pa.array(np.arange(rows)),
            "group": pa.array(rng.integers(0, 100, rows).astype(np.int32)),
            "balance": pa.array(rng.normal(size=rows) * 1000),
            "city": pa.array([f"city{each}" for each in rng.integers(0, 500, rows)]),
        }
    )
    graph = init(folder / "graph", SCHEMA, durable=False)
    graph.load({"Account": table}, engine="inline")
    peer = duckdb.connect()
    peer.register("given", table)
    peer.execute("CREATE TABLE account AS SELECT * FROM given")
    return graph.at(), peer


def _fetch(peer: Any, text: str) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = peer.execute(text).fetchall()
    return found


def _compare(what: str, ours: list[list[object]], theirs: list[list[object]]) -> None:
    """End when the answers differ; the averages of DuckDB are rounded on the way."""
    if not np.allclose(np.array(ours, float), np.array(theirs, float), rtol=1e-9):
        sys.exit(f"{what} has different answers")


if __name__ == "__main__":
    main()
