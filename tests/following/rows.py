"""Rows: what tests write to topics, and what they find in graphs."""

from typing import Any

from omnigraph.api.graph import Graph


def person(slug: str, age: int | None = None, **more: object) -> dict[str, object]:
    given = {} if age is None else {"age": age}
    return {"type": "Person", "data": {"slug": slug, **given, **more}}


def note(text: str) -> dict[str, object]:
    return {"type": "Note", "data": {"text": text}}


def ages(graph: Graph, branch: str = "main") -> dict[str, int | None]:
    query = "match { $p: Person } return { $p.slug as slug, $p.age as age }"
    rows: list[dict[str, Any]] = graph.at(branch).query(query).to_dicts()
    return {row["slug"]: row["age"] for row in rows}


def texts(graph: Graph, branch: str = "main") -> list[str]:
    """Return the texts of notes, sorted; notes have no key, so each message makes one."""
    query = "match { $n: Note } return { $n.text as text }"
    rows: list[dict[str, Any]] = graph.at(branch).query(query).to_dicts()
    return sorted(row["text"] for row in rows)


def commits(graph: Graph, branch: str = "main") -> int:
    return len(list(graph.log(branch)))
