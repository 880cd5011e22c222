"""Changes: one row and ten thousand, into tables of a thousand and of a million rows."""

import argparse
import json
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.record import DATA_SEED, Derived, Timing, measure, over, store
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.storage.reading import metered
from omnigraph.write.draft import Draft
from omnigraph.write.validate import validate

SCHEMA = """
node Account {
  number: I64 @key
  email: String @unique
  group: I32 @index
  owner: String
  balance: F64
}
edge Pays: Account -> Account @card(0..100) { amount: F64? }
"""
INSERT = """query q($number: I64, $email: String) {
  insert Account { number: $number email: $email group: 1 owner: "somebody" balance: 1.5 }
}"""
UPDATE = """query q($number: I64, $balance: F64) {
  update Account set { balance: $balance } where number = $number
}"""
UPDATE_MANY = """query q($group: I32, $balance: F64) {
  update Account set { balance: $balance } where group = $group
}"""
EDGE = """query q($from: String, $to: String) { insert Pays { from: $from to: $to } }"""
SMALL, LARGE = 1_000, 1_000_000
MANY = 10_000
_STRIDE = 7_919


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=31)
    options.add_argument("--rows", type=int, default=LARGE)
    chosen = options.parse_args()
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("small", SMALL), ("large", chosen.rows)):
            root = Path(folder, name)
            _fill(root, rows)
            findings |= {f"{name}_rows": rows}
            for durable in (False, True):
                graph = open_graph(root, durable=durable)
                suffix = "synced" if durable else "unsynced"
                for what, found in _one_row(graph, rows, chosen.runs):
                    findings[f"{name}_{what}_{suffix}"] = found
            findings |= {f"{name}_{key}": each for key, each in _costs(root, rows, chosen.runs)}
        findings |= dict(_many(Path(folder, "large"), chosen.rows))
    findings["validator_large_over_small"] = _ratio(findings, "validate_edge")
    findings["edge_large_over_small"] = _ratio(findings, "insert_edge_unsynced")
    for key, each in findings.items():
        print(f"{key:44} {each}")
    if chosen.rows == LARGE:
        path = store("changes", ["pylance", "pyarrow"], findings)
        print(f"stored in {path.relative_to(Path.cwd())}")


def _fill(root: Path, rows: int) -> None:
    numbers = np.arange(rows)
    table = {
        "number": numbers,
        "email": [f"{number}@example.org" for number in numbers],
        "group": (numbers // MANY).astype(np.int32),
        "owner": [f"Owner {number}" for number in numbers],
        "balance": numbers * 0.25,
    }
    graph = init(root, SCHEMA, durable=False)
    graph.load(pa.table(table), type="Account", engine="inline")
    ends = np.random.default_rng(DATA_SEED).integers(0, rows, (2, rows)).astype(str)
    edges = pa.table({"from": ends[0], "to": np.roll(ends[0], 1)})
    graph.load(edges, type="Pays", engine="inline")


def _one_row(graph: Graph, rows: int, runs: int) -> Iterator[tuple[str, Timing]]:
    places = count(1)

    def number() -> int:
        return next(places) * _STRIDE % rows

    fresh = count(rows + int(graph.snapshot().version) * 1_000)

    def insert() -> None:
        new = next(fresh)
        graph.mutate(INSERT, number=new, email=f"{new}@example.org")

    yield "insert_node", measure(insert, runs=runs, warm_up=3)
    edge = measure(
        lambda: graph.mutate(EDGE, **{"from": str(number()), "to": str(number())}),
        runs=runs,
        warm_up=3,
    )
    yield "insert_edge", edge
    balances = count(-int(graph.snapshot().version) * 1_000_000, -1)
    update = measure(
        lambda: graph.mutate(UPDATE, number=number(), balance=float(next(balances))),
        runs=runs,
        warm_up=3,
    )
    yield "update_node", update


def _costs(root: Path, rows: int, runs: int) -> Iterator[tuple[str, object]]:
    """Yield what one-row changes read, and what the validator alone takes."""
    graph = open_graph(root, durable=False)
    with metered() as meter:
        graph.mutate(UPDATE, number=rows // 2, balance=-1.0)
    yield "update_node_bytes_read", meter.bytes
    draft = Draft(graph.snapshot())
    schema = draft.change("Pays").rows.schema
    edge = {"id": "new", "src": str(rows // 3), "dst": str(rows // 4), "amount": 1.0}
    draft.put("Pays", pa.Table.from_pylist([edge], schema=schema))
    changes = draft.changes()
    yield "validate_edge", measure(lambda: validate(draft.snapshot, changes), runs=runs, warm_up=3)


def _many(root: Path, rows: int) -> Iterator[tuple[str, object]]:
    """Yield what ten thousand rows take: by an update, and by a load that replaces rows."""
    graph = open_graph(root, durable=False)
    balances = count(1)
    group = rows // MANY // 2
    update = measure(
        lambda: graph.mutate(UPDATE_MANY, group=group, balance=float(next(balances))),
        runs=5,
        warm_up=1,
    )
    yield "update_ten_thousand", update

    def lines() -> str:
        balance = float(next(balances))
        records = (
            {
                "type": "Account",
                "data": {
                    "number": number,
                    "email": f"{number}@example.org",
                    "group": 1,
                    "owner": "somebody",
                    "balance": balance,
                },
            }
            for number in range(0, rows, max(rows // MANY, 1))
        )
        return "\n".join(map(json.dumps, records))

    prepared = [lines() for _ in range(6)]
    texts = iter(prepared)
    merge = measure(
        lambda: graph.load(next(texts), mode="merge", engine="inline"), runs=5, warm_up=1
    )
    yield "merge_ten_thousand", merge


def _ratio(findings: dict[str, object], what: str) -> Derived:
    large, small = (findings[f"{size}_{what}"] for size in ("large", "small"))
    assert isinstance(large, Timing)
    assert isinstance(small, Timing)
    return over(large, small)


if __name__ == "__main__":
    main()
