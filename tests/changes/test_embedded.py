"""A change that sets a text makes its vector, unless one is given, and pays for each text once."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import EmbeddingError
from tests.changes.town import Row, column, commits, counts, do, refused, rows
from tests.pipeline.purse import Purse
from tests.templates import fresh_graph

SCHEMA = """
node Doc { slug: String @key  body: String?  size: I32?  v: Vector(4)? @embed("body") }
node Must { slug: String @key  body: String?  v: Vector(4) @embed("body") }
"""
GIVEN = [0.0, 1.0, 0.0, 0.0]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    return fresh_graph(tmp_path / "graph", SCHEMA)


@pytest.fixture
def paying(tmp_path: Path, purse: Purse) -> Graph:
    """A graph whose vectors come from a provider that counts what it is paid for."""
    return fresh_graph(tmp_path / "graph", SCHEMA)


def doc(slug: str, body: str, kind: str = "Doc") -> str:
    return f'insert {kind} {{ slug: "{slug}", body: "{body}" }}'


def mocked(body: str) -> list[float]:
    (row,) = embedder_for("mock", {}).embed([body], 4, EmbeddingTask.DOCUMENT)
    return [float(number) for number in row]


def vectors(graph: Graph, kind: str = "Doc") -> dict[str, list[float] | None]:
    return column(graph, kind, "v")


def test_an_insert_of_a_text_makes_its_vector(graph: Graph) -> None:
    receipt = do(
        graph,
        doc("a", "one"),
        doc("b", "two", "Must"),
        'insert Doc { slug: "none" }',
        'insert Doc { slug: "given", body: "one", v: [0.0, 1.0, 0.0, 0.0] }',
        'insert Doc { slug: "blank", body: "  " }',
    )
    assert counts(receipt) == (5, 0)
    assert vectors(graph) == {"a": mocked("one"), "none": None, "given": GIVEN, "blank": None}
    assert vectors(graph, "Must") == {"b": mocked("two")}


def test_an_update_of_a_text_refreshes_its_vector(graph: Graph) -> None:
    do(graph, doc("a", "one"), doc("b", "two"), doc("c", "three"))
    receipt = do(graph, 'update Doc set { body: "new" } where slug != "c"')
    assert counts(receipt) == (2, 0)
    assert vectors(graph) == {"a": mocked("new"), "b": mocked("new"), "c": mocked("three")}


def test_a_vector_that_is_given_with_the_text_is_kept(graph: Graph) -> None:
    do(graph, doc("a", "one"))
    do(graph, 'update Doc set { body: "new", v: [0.0, 1.0, 0.0, 0.0] } where slug = "a"')
    assert vectors(graph) == {"a": GIVEN}
    do(graph, 'update Doc set { size: 3 } where slug = "a"')
    assert vectors(graph) == {"a": GIVEN}, "an update of something else leaves it alone"
    do(graph, 'update Doc set { body: "newer" } where slug = "a"')
    assert vectors(graph) == {"a": mocked("newer")}


def test_a_vector_alone_can_be_set(graph: Graph) -> None:
    do(graph, doc("a", "one"))
    do(graph, 'update Doc set { v: [0.0, 1.0, 0.0, 0.0] } where slug = "a"')
    assert vectors(graph) == {"a": GIVEN}


def test_an_upsert_without_a_vector_makes_it_from_the_new_text(graph: Graph) -> None:
    do(graph, 'insert Doc { slug: "a", body: "one", v: [0.0, 1.0, 0.0, 0.0] }')
    do(graph, doc("a", "two"))
    assert vectors(graph) == {"a": mocked("two")}


@pytest.mark.parametrize("body", [None, "", " \t"])
def test_a_text_that_goes_takes_its_vector_with_it(graph: Graph, body: str | None) -> None:
    do(graph, doc("a", "one"), doc("a", "one", "Must"))
    text = 'query it($b: String?) { update Doc set { body: $b } where slug = "a" }'
    graph.mutate(text, b=body)
    assert vectors(graph) == {"a": None}

    before: list[Row] = rows(graph, "Must")
    clear = 'update Must set { body: " " } where slug = "a"'
    assert refused(graph, clear) == ["error[V6]: Must.v of 'a': is required"]
    assert rows(graph, "Must") == before


def test_statements_that_set_a_text_twice_make_the_last_vector(paying: Graph, purse: Purse) -> None:
    do(paying, doc("a", "first"), 'update Doc set { body: "last" } where slug = "a"')
    assert purse.paid == 1
    do(paying, doc("b", "last"))
    assert purse.paid == 1
    assert vectors(paying)["a"] == vectors(paying)["b"]


def test_the_texts_of_a_query_are_sent_together_and_equal_ones_once(
    paying: Graph, purse: Purse
) -> None:
    do(paying, *(doc(f"d{number}", f"text {number % 10}") for number in range(40)))
    assert purse.paid == 10
    assert len(purse.provider.received) == 1


def test_what_was_paid_once_is_not_paid_again(paying: Graph, purse: Purse) -> None:
    """The cache keeps what was sent together under one name, so it is found together."""
    both = doc("a", "one"), doc("b", "two")
    do(paying, *both)
    do(paying, doc("c", "three"))
    assert purse.paid == 3

    assert do(paying, *both).commit is None
    assert do(paying, 'update Doc set { body: "three" } where slug = "c"').commit is None
    do(paying, 'update Doc set { body: "three" } where slug = "b"')
    do(paying, doc("d", "three"))

    assert purse.paid == 3
    found = vectors(paying)
    assert found["b"] == found["c"] == found["d"]


def test_nothing_changes_when_no_vector_can_be_made(paying: Graph, purse: Purse) -> None:
    purse.money = 0
    with pytest.raises(EmbeddingError, match="no money left"):
        do(paying, doc("a", "one"), 'insert Doc { slug: "b" }')
    assert commits(paying) == 0
    do(paying, 'insert Doc { slug: "b" }')


def test_a_change_that_breaks_a_rule_is_not_paid_for_a_second_time(
    paying: Graph, purse: Purse
) -> None:
    bad = doc("a", "one"), 'insert Must { slug: "b" , body: " " }'
    refused(paying, *bad)
    do(paying, doc("a", "one"))
    assert purse.paid == 1
