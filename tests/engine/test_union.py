"""A union has the rows of all its reads, each once, or as often as it is there."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.engine.asking import made, rows
from tests.engine.trial import by_index
from tests.pipeline.loads import edge, node

SCHEMA = """
node Person { slug: String @key  name: String @index  age: I32?  tags: [String]? }
node Firm { slug: String @key  name: String @index }
edge WorksAt: Person -> Firm
"""
BOTH = (
    'match { $x: Person  $x.name != "Zoe" } return { $x.name as name }'
    " %s match { $x: Firm } return { $x.name as name }"
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Two people called Ann and one Ben; firms called Ben and Acme."""
    return made(
        tmp_path,
        SCHEMA,
        node("Person", slug="a", name="Ann", age=3, tags=["x"]),
        node("Person", slug="b", name="Ann"),
        node("Person", slug="c", name="Ben"),
        node("Firm", slug="d", name="Ben"),
        node("Firm", slug="e", name="Acme"),
        edge("WorksAt", "a", "e"),
    )


@pytest.mark.parametrize("road", ["adjacency", "index"])
@pytest.mark.parametrize(
    ("word", "rest", "expected"),
    [
        ("union", "", ["Acme", "Ann", "Ben"]),
        ("union all", "", ["Ann", "Ann", "Ben", "Ben", "Acme"]),
        ("union", "order { name desc } limit 2", ["Ben", "Ann"]),
        ("union all", "order { length(name) desc } limit 3", ["Acme", "Ann", "Ann"]),
        ("union all", "skip 2 limit 2", ["Ben", "Ben"]),
    ],
)
def test_two_reads_give_these_rows(
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    road: str,
    word: str,
    rest: str,
    expected: list[str],
) -> None:
    if road == "index":
        by_index(monkeypatch)

    assert rows(graph, f"{BOTH % word} {rest}") == [(name,) for name in expected]


def test_whole_nodes_are_the_same_by_who_they_are(graph: Graph) -> None:
    body = (
        'match { $p: Person { slug: "a" } } return { $p as who }'
        " union match { $p: Person  $p worksAt $_ } return { $p as who }"
        ' union match { $p: Person { slug: "b" } } return { $p as who }'
    )
    found = rows(graph, body)

    assert [row[0]["id"] for row in found] == ["a", "b"]  # type: ignore[index]


def test_lists_stay_in_a_union_that_keeps_all(graph: Graph) -> None:
    body = (
        "match { $p: Person } return { $p.name as n, collect($p.slug) as slugs }"
        " union all match { $f: Firm } return { $f.name as n, collect($f.slug) as slugs }"
    )

    assert rows(graph, body) == [
        ("Ann", ["a", "b"]),
        ("Ben", ["c"]),
        ("Acme", ["e"]),
        ("Ben", ["d"]),
    ]


def test_a_union_is_explained_and_measured(graph: Graph) -> None:
    text = f"query q() {{ {BOTH % 'union'} }}"

    assert "Union       of 2 reads" in str(graph.explain(text))
    assert "Union" in str(graph.profile(text))
