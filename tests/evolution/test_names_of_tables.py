"""Tables are named as their types are now; names of the past mean the same tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, connect
from omnigraph.errors import TableNotFoundError
from tests.changes.town import do
from tests.parity.serving import serving
from tests.templates import fresh_graph

BEFORE = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
AFTER = """
node Human @rename_from("Person") { name: String @key  age: I32? }
edge Met: Human -> Human @rename_from("Knows")
"""
TAKEN = """
node Human { name: String @key  age: I32? }
node Person { title: String @key }
edge Met: Human -> Human
"""


@pytest.fixture(params=["at hand", "served"])
def graph(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Graph]:
    """A graph whose people became humans, with a tag `before` that."""
    made = fresh_graph(tmp_path / "graph", BEFORE)
    do(made, 'insert Person { name: "ada"  age: 36 }')
    made.create_tag("before")
    made.apply_schema(AFTER)
    do(made, 'insert Human { name: "bo" }')
    if request.param == "at hand":
        yield made
        return
    with serving(tmp_path / "graph") as url:
        yield connect(url)


def test_a_diff_names_the_type_and_its_table_as_they_are_now(graph: Graph) -> None:
    found = [(each.table_key, each.type_name, each.id) for each in graph.diff("before", "main")]

    assert found == [("node:Human", "Human", "bo")]


@pytest.mark.parametrize("name", ["Person", "Human"])
def test_a_filter_takes_the_name_of_either_side(graph: Graph, name: str) -> None:
    assert [each.id for each in graph.diff("before", "main", types=[name])] == ["bo"]


@pytest.mark.parametrize("name", ["Person", "Human"])
def test_a_feed_takes_old_and_new_names(graph: Graph, name: str) -> None:
    found = [each.id for commit in graph.changes(types=[name]) for each in commit.changes]

    assert found == ["ada", "bo"]


def test_an_unknown_type_is_refused_by_diffs_and_feeds(graph: Graph) -> None:
    with pytest.raises(TableNotFoundError, match="no type 'Humn'") as refused:
        list(graph.diff("before", "main", types=["Humn"]))
    assert refused.value.hint == "did you mean 'Human'?"
    with pytest.raises(TableNotFoundError, match="no type 'Humn'"):
        list(graph.changes(types=["Humn"]))


def test_a_snapshot_names_tables_as_their_types_are_at_its_commit(graph: Graph) -> None:
    now, then = graph.snapshot(), graph.at("before").snapshot
    documents = [each.to_json("main")["tables"] for each in (now, then)]

    keys = [[each["table_key"] for each in tables] for tables in documents]  # type: ignore[union-attr, index, call-overload]
    assert keys == [["node:Human", "edge:Met"], ["node:Person", "edge:Knows"]]
    assert [now.state(key).row_count for key in ("node:Human", "node:Person")] == [2, 2]


@pytest.mark.parametrize("key", ["node:Human", "node:Person"])
def test_rows_are_exported_and_looked_up_by_either_key(graph: Graph, key: str) -> None:
    lines = b"".join(graph.export(tables=[key])).splitlines()

    assert len(lines) == 2
    assert graph.entity_at(key, "ada", graph.snapshot().version) is not None


def test_a_key_belongs_to_the_type_that_took_the_name(graph: Graph) -> None:
    graph.apply_schema(TAKEN)
    graph.mutate('query q() { insert Person { title: "x" } }')

    assert len(b"".join(graph.export(tables=["node:Person"])).splitlines()) == 1
    found = graph.diff("before", "main")
    assert {(each.table_key, each.id) for each in found} == {
        ("node:Human", "bo"),
        ("node:Person", "x"),
    }
    assert graph.entity_at("node:Person", "x", graph.snapshot().version) is not None
    assert graph.entity_at("node:Person", "ada", graph.snapshot().version) is None


def test_maintenance_names_tables_as_they_are_now(tmp_path: Path) -> None:
    made = fresh_graph(tmp_path / "graph", BEFORE)
    made.apply_schema(AFTER)

    assert {each.table_key for each in made.optimize().tables} == {"node:Human", "edge:Met"}
    assert {each.table_key for each in made.coverage()} <= {"node:Human", "edge:Met"}
    assert {each.table_key for each in made.cleanup(keep=1).tables} <= {"node:Human", "edge:Met"}
