"""Indexes survive renames, are made for what is there, and cover what comes later."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.read import answer, road
from omnigraph.read.road import Road
from tests.evolution.town import PEOPLE, edited, files, rows
from tests.pipeline.loads import node, text

SCORE = "score: F64?"
PERSON = "node:Person"
MANY = 3_000
LARGE = "node Person { name: String @key  age: I32? @index  bio: String? @index  rank: I32? }\n"


def described(graph: Graph, key: str = PERSON) -> dict[tuple[str, str], int]:
    """Return the indexes of a table by column and kind, with how many rows they have."""
    dataset = graph.snapshot().table(key).dataset
    return {
        (index.field_names[0], index.index_type): index.num_rows_indexed
        for index in dataset.describe_indices()
    }


def found(graph: Graph, words: str, column: str = "bio") -> set[str]:
    pattern = f'$p: Person  search($p.{column}, "{words}")'
    result = graph.query(f"query q() {{ match {{ {pattern} }} return {{ $p.name as n }} }}")
    return {str(row["n"]) for row in result}


@pytest.fixture
def large(tmp_path: Path) -> Graph:
    """A graph whose rows a BTREE is worth it for."""
    graph = init(tmp_path / "large", LARGE, durable=False)
    numbers = range(MANY)
    lines = (node("Person", name=f"p{n}", age=n, bio=f"word{n}", rank=n) for n in numbers)
    graph.load(text(*lines), engine="inline")
    return graph


def test_a_renamed_column_keeps_its_index_which_is_used_and_extended(
    large: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, old = files(large), described(large)
    desired = LARGE.replace("age: I32?", 'years: I32? @rename_from("age")').replace(
        "bio: String?", 'life: String? @rename_from("bio")'
    )

    large.apply_schema(desired)

    assert files(large) == before
    new_names = {"age": "years", "bio": "life"}
    assert described(large) == {
        (new_names.get(column, column), kind): count for (column, kind), count in old.items()
    }
    monkeypatch.setattr(road, "LOOKUP_ROWS", 1)
    monkeypatch.setattr(answer, "LOOKUP_ROWS", 1)
    query = "query q() { match { $p: Person { years: 77 } } return { $p.name as n } }"
    profile = open_graph(large.uri, keeps_topology=False).profile(query)
    assert (profile.road, profile.result.to_dicts()) == (Road.INDEX, [{"n": "p77"}])
    plan = large.snapshot().table(PERSON).dataset.scanner(filter="years = 77").explain_plan()
    assert "ScalarIndexQuery" in plan
    lines = (node("Person", name=f"q{n}", years=n, life=f"new{n}") for n in range(MANY))
    large.load(text(*lines), engine="inline")
    assert set(described(large).values()) == {2 * MANY}
    assert found(large, "word9", "life") == {"p9"}
    assert found(large, "new9", "life") == {"q9"}


def test_a_name_with_an_index_can_be_used_for_another_column_with_an_index(large: Graph) -> None:
    renamed = LARGE.replace("bio: String?", 'life: String? @rename_from("bio")')
    large.apply_schema(renamed)
    again = renamed.replace(' @rename_from("bio")', "").replace(
        "rank:", "bio: String? @index  rank:"
    )

    large.apply_schema(again)
    large.mutate('query q() { update Person set { bio: "fresh word1" } where name = "p5" }')

    assert found(large, "word1", "life") == {"p1"}
    assert found(large, "word1", "bio") == {"p5"}
    assert found(large, "fresh", "bio") == {"p5"}
    kinds = described(large)
    assert {("life", "Inverted"), ("bio", "Inverted")} <= kinds.keys()


def test_an_index_is_made_for_the_rows_there_are(large: Graph) -> None:
    desired = LARGE.replace("rank: I32?", "rank: I32? @index")

    done = large.apply_schema(desired)

    assert [step.effect for step in done.plan.steps] == [f"indexes {MANY:,} rows"]
    assert described(large)["rank", "BTree"] == MANY
    plan = large.snapshot().table(PERSON).dataset.scanner(filter="rank = 77").explain_plan()
    assert "ScalarIndexQuery" in plan
    assert list(
        large.query("query q() { match { $p: Person { rank: 77 } } return { $p.name as n } }")
    ) == [{"n": "p77"}]


def test_a_text_index_is_made_for_the_rows_there_are_and_those_that_come(graph: Graph) -> None:
    desired = edited(("title: String?", "title: String? @index"))
    graph.mutate('query q() { update Person set { title: "chief engineer" } where age < 3 }')

    graph.apply_schema(desired)
    graph.mutate('query q() { insert Person { name: "new", title: "Engineers" } }')

    assert found(graph, "engineer", "title") == {"p00", "p01", "p02", "new"}
    assert described(graph)["title", "Inverted"] == PEOPLE + 1


def test_a_text_index_of_an_empty_table_has_the_rows_that_come(tmp_path: Path) -> None:
    schema = "node Person { name: String @key  bio: String? }\n"
    graph = init(tmp_path / "g", schema, durable=False)

    graph.apply_schema(schema.replace("bio: String?", "bio: String? @index"))
    assert found(graph, "walks") == set()
    graph.mutate('query q() { insert Person { name: "a", bio: "she walked" } }')
    graph.mutate('query q() { insert Person { name: "b", bio: "he runs" } }')

    assert found(graph, "walks") == {"a"}
    assert described(graph)["bio", "Inverted"] == 2


def test_a_text_index_of_a_new_column_has_the_rows_that_come(graph: Graph) -> None:
    graph.apply_schema(edited((SCORE, f"{SCORE}\n  note: String? @index")))
    assert found(graph, "hello", "note") == set()

    graph.mutate('query q() { update Person set { note: "hello there" } where name = "p04" }')

    assert found(graph, "hello", "note") == {"p04"}


def test_search_finds_the_same_after_a_rename(graph: Graph) -> None:
    before = found(graph, "word3"), found(graph, "likes")

    graph.apply_schema(edited(("bio: String?", 'life: String? @rename_from("bio")')))

    assert (found(graph, "word3", "life"), found(graph, "likes", "life")) == before
    graph.mutate('query q() { update Person set { life: "likes word3" } where name = "p07" }')
    assert found(graph, "word3", "life") == {"p03", "p07"}


def test_unique_values_are_kept_apart_after_a_rename(graph: Graph) -> None:
    graph.apply_schema(
        edited(
            ("mail: String? @unique", 'post: String? @unique @rename_from("mail")'),
            ("@check(mail,", "@check(post,"),
        )
    )

    with pytest.raises(Exception, match="already"):
        graph.mutate('query q() { insert Person { name: "new", post: "p01@x" } }')
    graph.mutate('query q() { insert Person { name: "new", post: "new@x" } }')
    assert len(rows(graph, PERSON)) == PEOPLE + 1


def test_an_index_of_vectors_is_left_to_optimize(graph: Graph) -> None:
    schema = edited((SCORE, f"{SCORE}\n  vec: Vector(4)?"))
    graph.apply_schema(schema)

    done = graph.apply_schema(schema.replace("Vector(4)?", "Vector(4)? @index"))

    (step,) = done.plan.steps
    assert (str(step.step), step.effect) == (
        "add @index(vec) to Person",
        "no row is read or written",
    )
