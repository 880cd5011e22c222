"""Village: a graph with every rule that two branches can break together, and how tests merge it."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import MergeConflictsError
from omnigraph.merge.conflict import Resolutions, Side
from tests.changes.town import Row, content, do, rows
from tests.merging.statements import edge, person

SCHEMA = """
node Person {
  slug: String @key
  name: String?
  age: I32?
  email: String? @unique
  @range(age, 0..150)
}
node Club { slug: String @key }
edge Knows: Person -> Person { weight: I32?  @key(src, dst) }
edge Likes: Person -> Person { weight: I32? }
edge Joined: Person -> Club @card(0..1)
edge Hosts: Club -> Person @card(1..2) { @key(src, dst) }
"""
OURS, THEIRS = "main", "draft"

Conflict = dict[str, Any]  # as a preview writes it


def village(folder: Path) -> Graph:
    """Make a village of three people, of whom ada knows bob, and a club."""
    graph = init(folder / "village", SCHEMA, durable=False)
    do(
        graph,
        person("ada", age=30, name="Ada"),
        person("bob", age=20, email="bob@x"),
        person("cy"),
        'insert Club { slug: "chess" }',
        edge("Knows", "ada", "bob", weight=1),
        edge("Hosts", "chess", "ada"),
        edge("Hosts", "chess", "bob"),
    )
    return graph


def part(graph: Graph, ours: list[str], theirs: list[str]) -> None:
    """Make the draft where main stands; then eve changes main and adam the draft.

    Each statement is a commit of its own.
    """
    graph.create_branch(THEIRS, OURS)
    for statement in ours:
        do(graph.branch(OURS, actor="eve"), statement)
    for statement in theirs:
        do(graph.branch(THEIRS, actor="adam"), statement)


def each(graph: Graph, *statements: str, branch: str = OURS) -> None:
    """Make every statement a commit of its own."""
    for statement in statements:
        do(graph.branch(branch), statement)


def conflicts(
    graph: Graph,
    source: str = THEIRS,
    into: str = OURS,
    *,
    resolutions: Resolutions | Side | str | None = None,
    strict: bool = False,
) -> list[Conflict]:
    """Return the conflicts for which a merge is refused; it must leave everything as it is."""
    before, head = content(graph, into), graph.snapshot(into).commit.id
    with pytest.raises(MergeConflictsError) as caught:
        graph.merge(source, into, resolutions=resolutions, strict=strict)
    assert graph.snapshot(into).commit.id == head
    assert content(graph, into) == before
    foreseen = graph.preview_merge(source, into, resolutions=resolutions, strict=strict)
    assert str(foreseen.outcome) == "conflicts"
    assert foreseen.conflicts == caught.value.conflicts
    assert foreseen.conflicts_json() == list(caught.value.documents)
    return [dict(each) for each in caught.value.documents]


def brief(found: list[Conflict]) -> list[tuple[object, ...]]:
    """Return what conflicts are about: kind, type, row and property."""
    return sorted(
        ((each["kind"], each["type_name"], each["row_id"], each["property"]) for each in found),
        key=str,
    )


def of(graph: Graph, type_name: str, row_id: str, target: str = OURS) -> Row | None:
    """Return one row, or None when it is not there."""
    return next((row for row in rows(graph, type_name, target) if row["id"] == row_id), None)


def joined(source: str, target: str) -> str:
    """Return the id of a keyed edge."""
    return f'["{source}","{target}"]'
