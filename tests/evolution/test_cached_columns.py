"""What is kept in memory or beside the graph for one column is never taken for another."""

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.data.derived import topology
from omnigraph.read import answer
from omnigraph.read.road import Road, RoadChoice
from tests.evolution.town import PEOPLE, SCHEMA, edited

SCORE = "score: F64?"
ALL = "query q() {{ match {{ $p: Person }} return {{ $p.name as name, $p.{} as value }} }}"
OVER = "query q() {{ match {{ $p: Person  $p.{} >= {} }} return {{ $p.name as name }} }}"
ONE = 'query q() {{ match {{ $p: Person {{ name: "p05" }} }} return {{ $p.{} as value }} }}'
EDGES = "query q() {{ match {{ $p: Person  $p $l:lives $c }} return {{ $l.{} as value }} }}"
NEXT = """query q() {{
  match {{ $p: Person {{ name: "p05" }}  $p knows $f }} return {{ $f.{} as value }}
}}"""

RENAMED = edited(("age: I32?", 'years: I32? @rename_from("age")'))
AGAIN = edited(("age: I32?", "years: I32?"), (SCORE, f"{SCORE}\n  age: I32? "))
FILLED = edited(("age: I32?", "years: I32?"), (SCORE, f"{SCORE}\n  age: I32 @default(40)"))


@pytest.fixture(params=[Road.ADJACENCY, Road.INDEX])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Road:
    """Let all queries take one road."""
    monkeypatch.setattr(answer, "choose_road", lambda *_: RoadChoice(request.param, 0, 0))
    return Road(request.param)


@pytest.fixture
def shelved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let also small things be kept beside the graph."""
    monkeypatch.setattr(topology, "_LEAST_STORED", 1)


def values(graph: Graph, name: str, query: str = ALL) -> list[object]:
    return [row["value"] for row in graph.query(query.format(name))]


def by_name(graph: Graph, name: str) -> dict[object, object]:
    return {row["name"]: row["value"] for row in graph.query(ALL.format(name))}


AGES = {f"p{number:02}": number for number in range(PEOPLE)}


@pytest.mark.parametrize(("again", "other"), [(AGAIN, None), (FILLED, 40)])
def test_a_name_that_is_used_again_has_values_of_its_own(
    graph: Graph, road: Road, again: str, other: int | None
) -> None:
    first = graph.snapshot().commit.id
    assert by_name(graph, "age") == AGES
    assert values(graph, "age", NEXT) == [6]

    graph.apply_schema(RENAMED)
    assert by_name(graph, "years") == AGES
    assert (values(graph, "years", ONE), values(graph, "years", NEXT)) == ([5], [6])

    graph.apply_schema(again)
    assert by_name(graph, "age") == dict.fromkeys(AGES, other)
    assert by_name(graph, "years") == AGES
    assert (values(graph, "age", ONE), values(graph, "age", NEXT)) == ([other], [other])
    assert len(list(graph.query(OVER.format("years", 6)))) == PEOPLE - 6
    assert len(list(graph.query(OVER.format("age", 6)))) == (PEOPLE if other else 0)

    graph.mutate('query q() { update Person set { age: 70, years: 71 } where name = "p05" }')
    assert by_name(graph, "age") == {**dict.fromkeys(AGES, other), "p05": 70}
    assert by_name(graph, "years") == {**AGES, "p05": 71}
    assert (values(graph, "age", ONE), values(graph, "years", ONE)) == ([70], [71])

    old = graph.at(first).query(ALL.format("age"))
    assert {row["name"]: row["value"] for row in old} == AGES


def test_edges_and_their_columns_are_not_mixed(graph: Graph, road: Road) -> None:
    since = list(range(PEOPLE - 1))
    lives = "{ since: I32? }"
    assert sorted(map(str, values(graph, "since", EDGES))) == sorted(map(str, since))

    graph.apply_schema(edited((lives, '{ begun: I32? @rename_from("since") }')))
    assert sorted(map(str, values(graph, "begun", EDGES))) == sorted(map(str, since))

    graph.apply_schema(edited((lives, "{ begun: I32?  since: I32 @default(9) }")))
    assert set(values(graph, "since", EDGES)) == {9}
    assert sorted(map(str, values(graph, "begun", EDGES))) == sorted(map(str, since))
    graph.mutate('query q() { delete Lives where from = "p03" }')
    assert set(values(graph, "since", EDGES)) == {9}
    assert len(values(graph, "begun", EDGES)) == PEOPLE - 2


def test_files_of_an_earlier_process_are_not_taken_for_another_column(
    copied: Callable[[], Path], shelved: None
) -> None:
    root = copied()
    texts = (
        (SCHEMA, "age", AGES),
        (RENAMED, "years", AGES),
        (FILLED, "age", dict.fromkeys(AGES, 40)),
        (FILLED, "years", AGES),
    )
    for schema, name, expected in texts:
        writer = open_graph(root, durable=False)
        writer.apply_schema(schema)
        assert by_name(writer, name) == expected
        assert values(writer, name, NEXT) == [expected["p06"]]
        reader = open_graph(root, durable=False, keeps_topology=True)
        assert by_name(reader, name) == expected
        assert values(reader, name, NEXT) == [expected["p06"]]
    assert list(Path(root, "_topology").iterdir())


def test_a_handle_sees_the_schema_that_another_one_applied(graph: Graph, road: Road) -> None:
    other = open_graph(graph.uri, durable=False)
    assert by_name(other, "age") == AGES

    graph.apply_schema(RENAMED)
    graph.apply_schema(FILLED)

    assert by_name(other, "age") == dict.fromkeys(AGES, 40)
    other.mutate('query q() { update Person set { age: 1 } where name = "p05" }')
    assert by_name(graph, "age") == {**dict.fromkeys(AGES, 40), "p05": 1}
    assert by_name(other, "years") == AGES
