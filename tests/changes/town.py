"""Town: a graph with every kind of rule, and how the tests of changes read and change it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.data.values.columns import to_timestamps
from omnigraph.errors import Violation, ViolationsError
from omnigraph.write.receipt import Receipt
from tests.templates import fresh_graph

SCHEMA = """
node Person {
  slug: String @key
  name: String
  age: I32? @index
  email: String? @unique
  kind: enum(guest, staff) @default("guest")
  seen: DateTime?
  tags: [String]?
  @range(age, 0..150)
  @check(email, "@")
}
node City { slug: String @key  people: I64? }
node Note { text: String  stars: F64? }
node Seat { line: I32  number: I32  label: String?  @key(line, number) }
edge Knows: Person -> Person { since: Date?  weight: F64? }
edge Lives: Person -> City @card(0..1)
edge Wrote: Person -> Note { at: DateTime?  @key(src, dst) }
edge Twinned: City -> City { @unique(dst) }
"""

Row = dict[str, Any]


def town(folder: Path) -> Graph:
    """Make an empty town; without flushing to disk, which most tests do not need."""
    return fresh_graph(folder / "town", SCHEMA)


def do(graph: Graph | Branch, *statements: str, **params: object) -> Receipt:
    """Run statements as one mutation; the parameters are declared by what they hold."""
    declared = ", ".join(f"${name}: {_kind(value)}" for name, value in params.items())
    return graph.mutate(f"query it({declared}) {{ {' '.join(statements)} }}", **params)


def refused(graph: Graph | Branch, *statements: str, **params: object) -> list[str]:
    """Return the violations for which a mutation is refused, a line of text each."""
    return [each.render() for each in violations(graph, *statements, **params)]


def violations(graph: Graph | Branch, *statements: str, **params: object) -> tuple[Violation, ...]:
    """Return the violations for which a mutation is refused."""
    with pytest.raises(ViolationsError) as caught:
        do(graph, *statements, **params)
    return caught.value.violations


def rows(graph: Graph, name: str, target: str = "main") -> list[Row]:
    """Return the rows of a type, sorted by their ids."""
    snapshot = graph.snapshot(target)
    stored = snapshot.catalog.stored(name)
    assert stored is not None
    table = snapshot.table(stored.identity).scan()
    columns = {name: _kept_whole(table[name].combine_chunks()) for name in table.column_names}
    found: list[Row] = pa.table(columns).to_pylist()
    assert len(found) == snapshot.state(stored.identity).row_count
    assert len({row["id"] for row in found}) == len(found), "an id is there twice"
    return sorted(found, key=lambda row: str(row["id"]))


def column(graph: Graph, name: str, property_: str) -> dict[str, Any]:
    """Return one property of every row of a type by its id."""
    return {row["id"]: row[property_] for row in rows(graph, name)}


def ends(graph: Graph, name: str) -> list[tuple[str, str]]:
    """Return the ends of every edge of a type."""
    return sorted((row["src"], row["dst"]) for row in rows(graph, name))


def content(graph: Graph, target: str = "main") -> dict[str, list[Row]]:
    """Return everything that a graph holds."""
    catalog = graph.snapshot(target).catalog
    return {name: rows(graph, name, target) for name in (*catalog.nodes, *catalog.edges)}


def commits(graph: Graph) -> int:
    """Return how many commits main has had since the graph was made."""
    return graph.snapshot().version


def counts(receipt: Receipt) -> tuple[int | None, int | None]:
    """Return how many nodes and edges a change affected."""
    return receipt.affected_nodes, receipt.affected_edges


def _kept_whole(values: pa.Array) -> pa.Array:
    """Return times as Python keeps them: of a date64 it takes the day alone."""
    return to_timestamps(values) if pa.types.is_date64(values.type) else values


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "I32"
    return "F64" if isinstance(value, float) else "String"
