"""Evolution: what changing the schema of a large table takes, in time and in bytes."""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.record import seconds, store, timing
from omnigraph import Graph, init

ROWS = 1_000_000
_NAME = "name: String"
_SCHEMA = f"node T0 {{ number: I64 @key  {_NAME}  value: F64  colour: enum(c0) }}"


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=ROWS)
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    findings: dict[str, object] = {"rows": chosen.rows}
    with tempfile.TemporaryDirectory() as folder:
        graph = init(Path(folder, "graph"), _SCHEMA)
        graph.load(_rows(chosen.rows), type="T0", engine="inline")
        for name, change in _CHANGES.items():
            findings |= _measured(graph, name, change, chosen.runs)
    for key, each in findings.items():
        print(f"{key:32} {each}")
    if chosen.rows == ROWS:
        path = store("evolution", ["pylance", "pyarrow"], findings)
        print(f"stored in {path.relative_to(Path.cwd())}")


def _measured(
    graph: Graph, name: str, change: Callable[[str, int], str], runs: int
) -> dict[str, object]:
    """Apply a change as often as wanted, each time another one of its kind, on branches of main.

    Every branch starts where main stands, so that no change meets what another one left.
    """
    times, grown = [], 0
    for number in range(runs + 1):
        branch = graph.create_branch(f"{name}-{number}")
        desired, before = change(graph.schema, number), _bytes(graph)
        planned = branch.plan_schema(desired)
        assert planned.supported
        assert not planned.violation_count
        times.append(seconds(partial(branch.apply_schema, desired)))
        grown = _bytes(graph) - before
    return {f"{name}": timing(times[1:]), f"{name}_bytes": grown}


def _bytes(graph: Graph) -> int:
    return sum(each.stat().st_size for each in Path(graph.uri).rglob("*") if each.is_file())


def _renamed_property(schema: str, number: int) -> str:
    return schema.replace(_NAME, f'name{number}: String @rename_from("name")')


def _renamed_type(schema: str, number: int) -> str:
    return schema.replace("node T0", f'node R{number} @rename_from("T0")')


def _added(text: str) -> Callable[[str, int], str]:
    def change(schema: str, number: int) -> str:
        return schema.replace(_NAME, f"{_NAME}  {text.format(number=number)}")

    return change


_CHANGES: dict[str, Callable[[str, int], str]] = {
    "rename_property": _renamed_property,
    "rename_type": _renamed_type,
    "add_nullable": _added("extra{number}: String?"),
    "add_enum_value": lambda schema, number: schema.replace("enum(c0)", f"enum(c0, d{number})"),
    "add_required": _added("extra{number}: I32 @default({number})"),
    "add_range": _added("@range(value, -{number}..)"),
    "add_unique": _added("@unique(value)"),
    "add_index": _added("@index(value)"),
    "add_text_index": _added("@index(name)"),
}


def _rows(count: int) -> pa.Table:
    numbers = np.arange(count)
    names = [f"Name {number}" for number in numbers]
    colours = ["c0"] * count
    columns = {"number": numbers, "name": names, "value": numbers + 0.5, "colour": colours}
    return pa.table(columns)


if __name__ == "__main__":
    main()
