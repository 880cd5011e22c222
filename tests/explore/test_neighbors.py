"""Neighbors: a node's edges are counted by type and shown a page at a time."""

import time
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import InputError, RowNotFoundError
from omnigraph.read.neighbors import Neighbor
from tests.api.people import people

SCHEMA = """
node Person { slug: String @key  name: String? }
node Team { slug: String @key }
edge Knows: Person -> Person { since: I32? }
edge MemberOf: Person -> Team
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    found = init(tmp_path_factory.mktemp("neighbors") / "g", SCHEMA)
    slugs = ["hub", *(f"p{number:02}" for number in range(25))]
    found.load([{"slug": each, "name": each.upper()} for each in slugs], type="Person")
    found.load([{"slug": "red"}], type="Team")
    knows = [{"from": "hub", "to": each, "since": at} for at, each in enumerate(slugs)]
    found.load([*knows, {"from": "p01", "to": "hub"}], type="Knows")
    found.load([{"from": "hub", "to": "red"}], type="MemberOf")
    return found


def test_edges_are_counted_by_type_and_direction(graph: Graph) -> None:
    found = graph.branch().neighbors("Person", "hub")

    assert (found.node.type, found.node.id, found.node.label) == ("Person", "hub", "HUB")
    assert found.node.properties == {"slug": "hub", "name": "HUB"}
    told = [(each.edge, each.direction, each.type, each.count) for each in found.groups]
    assert told == [
        ("Knows", "out", "Person", 26),
        ("Knows", "in", "Person", 2),
        ("MemberOf", "out", "Team", 1),
    ]
    assert (found.neighbors, found.cursor) == ((), None)


def test_pages_show_every_edge_once_with_the_node_at_its_end(graph: Graph) -> None:
    seen: list[Neighbor] = []
    cursor = None
    while True:
        page = graph.branch().neighbors("Person", "hub", edge="Knows", limit=10, after=cursor)
        seen += page.neighbors
        cursor = page.cursor
        if cursor is None:
            break

    assert len(seen) == len({each.edge_id for each in seen}) == 26
    assert sorted(each.node.id for each in seen) == sorted({each.node.id for each in seen})
    assert all(each.node.label == each.node.id.upper() for each in seen)
    assert {each.edge["since"] for each in seen} == {*range(26)}


def test_edges_can_be_followed_backwards(graph: Graph) -> None:
    found = graph.branch().neighbors("Person", "hub", edge="Knows", direction="in")

    assert sorted(each.node.id for each in found) == ["hub", "p01"]
    members = graph.branch().neighbors("Team", "red", edge="MemberOf")
    assert [each.node.id for each in members] == ["hub"]


def test_what_is_not_there_is_an_error_with_a_hint(graph: Graph) -> None:
    with pytest.raises(RowNotFoundError, match="no Person 'nobody'"):
        graph.branch().neighbors("Person", "nobody")
    with pytest.raises(InputError, match="no node type 'Persn'"):
        graph.branch().neighbors("Persn", "hub")
    with pytest.raises(InputError, match="no edge 'MemberOf'") as wrong:
        graph.branch().neighbors("Person", "hub", edge="MemberOf", direction="in")
    assert wrong.value.hint == "it goes out"


def test_values_are_those_of_json_without_blobs_and_vectors(tmp_path: Path) -> None:
    found = people(tmp_path / "g").branch().neighbors("Person", "ana", edge="Knows")

    assert found.node.properties["born"] == "1988-02-29"
    assert found.node.properties["count"] == "18446744073709551615"
    assert not {"photo", "place"} & {*found.node.properties}
    assert [each.edge for each in found] == [{"since": "2020-05-01", "weight": 0.5}]


def test_a_node_with_many_neighbours_is_expanded_a_page_at_a_time(tmp_path: Path) -> None:
    many = 100_000
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    slugs = pa.array([f"p{number:06}" for number in range(many)])
    graph.load(pa.table({"slug": slugs}), type="Person")
    graph.load([{"slug": "red"}], type="Team")
    graph.load(pa.table({"from": slugs, "to": ["red"] * many}), type="MemberOf")

    started = time.monotonic()
    counted = graph.branch().neighbors("Team", "red")
    page = graph.branch().neighbors("Team", "red", edge="MemberOf", limit=50)
    rest = graph.branch().neighbors("Team", "red", edge="MemberOf", after=page.cursor)

    assert counted.groups[0].count == many
    assert len(page.neighbors) == len(rest.neighbors) == 50
    assert time.monotonic() - started < 60
