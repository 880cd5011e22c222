"""A small town: the schema that tests change, rows for it, and ways to change a schema's text."""

from itertools import pairwise
from pathlib import Path

from omnigraph.api.graph import Graph
from tests.pipeline.loads import edge, node, text
from tests.templates import fresh_graph

SCHEMA = """
interface Named { title: String? }
node Person @description("people") implements Named {
  name: String @key
  age: I32? @index
  mood: enum(glad, sad)?
  bio: String? @index
  mail: String? @unique
  score: F64?
  @range(score, 0.0..9.0)
  @check(mail, ".+@.+")
}
node City { name: String @key }
edge Lives: Person -> City @card(0..1) { since: I32? }
edge Knows: Person -> Person { weight: F32? @key(src, dst) }
"""
PEOPLE = 12
# The machine form of the step that adds `nick: String?` to Person.
ADDED_NICK = {
    "kind": "add_property",
    "type_kind": "node",
    "type_name": "Person",
    "property_name": "nick",
    "property_type": "String?",
    "text": "add property Person.nick: String?",
    "effect": "no row is read or written",
    "rows_written": 0,
    "rows_checked": 0,
    "rows_hidden": 0,
    "rows_restored": 0,
    "breaking": False,
}


def edited(*changes: tuple[str, str], schema: str = SCHEMA) -> str:
    """Return the schema with parts of its text replaced, each of which stands there once."""
    for old, new in changes:
        assert schema.count(old) == 1, old
        schema = schema.replace(old, new)
    return schema


def renamed_type(old: str, new: str, schema: str = SCHEMA) -> str:
    """Return the schema with a node type renamed, wherever it is named."""
    declared = schema.replace(f"node {old} ", f'node {new} @rename_from("{old}") ')
    return declared.replace(f"{old} ->", f"{new} ->").replace(f"-> {old}", f"-> {new}")


def town(root: Path, schema: str = SCHEMA) -> Graph:
    """Make a graph with people p00 to p11, who know their successors and live in two cities."""
    graph = fresh_graph(root, schema)
    names = [f"p{number:02}" for number in range(PEOPLE)]
    lines = [node("City", name="ulm"), node("City", name="bonn")]
    for number, name in enumerate(names):
        facts = {"bio": f"likes word{number}", "mail": f"{name}@x", "score": number / 2}
        lines.append(node("Person", name=name, age=number, mood="glad", **facts))
    for number, (name, following) in enumerate(pairwise(names)):
        lines.append(edge("Knows", name, following, weight=number + 0.5))
        lines.append(edge("Lives", name, ("ulm", "bonn")[number % 2], since=number))
    graph.load(text(*lines), engine="inline")
    return graph


def rows(graph: Graph, key: str, place: str = "main") -> list[dict[str, object]]:
    """Return the rows of a table, by id."""
    found: list[dict[str, object]] = graph.snapshot(place).table(key).scan().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def files(graph: Graph) -> set[str]:
    """Return the files that hold rows and indexes."""
    root = Path(graph.uri)
    found = [*root.glob("*/*/data/**/*"), *root.glob("*/*/_indices/**/*")]
    return {str(each.relative_to(root)) for each in found if each.is_file()}
