"""Sample: a small graph of people, and how tests change and read it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from omnigraph.api.access import Access
from omnigraph.api.graph import Graph, init
from omnigraph.api.local.backend import LocalBackend
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.compile import compile_schema
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import publish
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import TableWrite, WriteSet, stage
from tests.templates import fresh_graph

SCHEMA = """
node Person { slug: String @key  name: String @index  age: I32? @index }
node Company { name: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
"""
PERSON, COMPANY, KNOWS, WORKS_AT = "node:Person", "node:Company", "edge:Knows", "edge:WorksAt"

_CATALOG = compile_schema(SCHEMA)
_PERSON = arrow_schema(_CATALOG.nodes["Person"])
_KNOWS = arrow_schema(_CATALOG.edges["Knows"])


def new_graph(uri: str | Path, *, durable: bool = False) -> Graph:
    """Make an empty graph of people; without flushing to disk, which most tests do not need."""
    if durable or not isinstance(uri, Path) or uri.exists():
        return init(uri, SCHEMA, durable=durable)
    return fresh_graph(uri, SCHEMA)


def people(ages: dict[str, int | None]) -> pa.Table:
    """Return rows of persons with these ages; their name is made from their slug."""
    slugs = list(ages)
    names = [f"{slug} of the north" for slug in slugs]
    columns = {"id": slugs, "slug": slugs, "name": names, "age": list(ages.values())}
    return pa.table(columns, schema=_PERSON)


def knows(pairs: Iterable[tuple[str, str]]) -> pa.Table:
    """Return rows of edges between persons; their id is made from both ends."""
    ends = list(pairs)
    columns = {
        "id": [f"{a}-{b}" for a, b in ends],
        "src": [a for a, _ in ends],
        "dst": [b for _, b in ends],
    }
    return pa.table(columns, schema=_KNOWS)


def write(
    graph: Graph,
    writes: Mapping[str, tuple[TableWrite, ...]],
    branch: str = "main",
    *,
    base: Snapshot | None = None,
    message: str | None = None,
    merged_parent: str | None = None,
) -> Commit:
    """Stage a change on a snapshot, the newest one if none is given, and publish it."""
    write_set = WriteSet(
        base=base or graph.snapshot(branch),
        writes=writes,
        message=message,
        merged_parent=merged_parent,
    )
    return publish(graph.repository, branch, stage(write_set, branch))


def ages(graph: Graph, target: str = "main") -> dict[str, int | None]:
    """Return the age of every person at a branch or commit."""
    rows = graph.snapshot(target).table(PERSON).scan(["id", "age"]).to_pylist()
    found = {row["id"]: row["age"] for row in rows}
    assert len(found) == len(rows), "an id is there twice"
    return found


def edges(graph: Graph, target: str = "main") -> set[tuple[str, str]]:
    """Return the ends of every Knows edge at a branch or commit."""
    rows = graph.snapshot(target).table(KNOWS).scan(["src", "dst"]).to_pylist()
    return {(row["src"], row["dst"]) for row in rows}


def access_of(graph: Graph) -> Access:
    """Return what the handles of a graph at hand share."""
    assert isinstance(graph.backend, LocalBackend)
    return graph.backend.access
