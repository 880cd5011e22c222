"""A vector that comes back is that of the text of today, or there is none."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import SchemaConflictError, ViolationsError
from tests.evolution.test_drops import change, dropped, effects
from tests.evolution.town import rows
from tests.templates import fresh_graph

VECTOR = '  v: Vector(4)? @embed("text", model="mock")\n'
WITH = f"node D {{\n  slug: String @key\n{VECTOR}  text: String?\n  n: I32?\n}}\n"
WITHOUT = WITH.replace(VECTOR, "")
REQUIRED = WITH.replace("Vector(4)?", "Vector(4)").replace("String?", "String")


def vector_of(text: str) -> list[float]:
    (made,) = embedder_for("mock", {}).embed([text], 4, EmbeddingTask.DOCUMENT)
    return [float(each) for each in made]


def vectors(graph: Graph, branch: str = "main") -> dict[str, str | None]:
    """Return the text of which each row has the vector, after looking that it is its own."""
    found: dict[str, str | None] = {}
    for row in rows(graph, "node:D", branch):
        text = None if row["v"] is None else str(row["text"])
        assert text is None or row["v"] == vector_of(text), row
        found[str(row["id"])] = text
    return found


def rewrite(graph: Graph, slug: str, text: str, branch: str = "main") -> None:
    change(graph, f'update D set {{ text: "{text}" }} where slug = "{slug}"', branch)


def documents(root: Path, schema: str) -> Graph:
    graph = fresh_graph(root, schema)
    for slug in "abc":
        change(graph, f'insert D {{ slug: "{slug}" text: "one {slug}" }}')
    return graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Three documents whose vectors were dropped before one got another text."""
    found = documents(tmp_path / "g", WITH)
    dropped(found, WITHOUT)
    rewrite(found, "a", "two")
    return found


def test_a_vector_of_a_text_that_changed_does_not_come_back(graph: Graph) -> None:
    rewrite(graph, "b", "two")
    rewrite(graph, "b", "one b")
    change(graph, 'insert D { slug: "d" text: "one" }')
    change(graph, 'delete D where slug = "c"')
    change(graph, 'insert D { slug: "c" }')
    assert effects(graph, WITH) == [
        ("restore property D.v: Vector(4)?", "shows 1 value again and writes one column of 4 rows")
    ]

    graph.apply_schema(WITH)

    assert vectors(graph) == {"a": None, "b": "one b", "c": None, "d": None}
    change(graph, 'update D set { n: 1 } where slug = "a"')
    assert vectors(graph) == {"a": "two", "b": "one b", "c": None, "d": None}
    graph.branch().embed_again()
    assert vectors(graph) == {"a": "two", "b": "one b", "c": None, "d": "one"}


def test_a_revert_of_a_drop_brings_no_vector_of_another_text(graph: Graph) -> None:
    rewrite(graph, "a", "one a")
    done = graph.apply_schema(WITH).commit
    assert done is not None
    drop = graph.apply_schema(WITHOUT, allow_data_loss=True).commit
    assert drop is not None
    rewrite(graph, "b", "two")

    graph.revert(drop.id)

    assert vectors(graph) == {"a": "one a", "b": None, "c": "one c"}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_text_that_comes_back_too_is_the_one_it_had_last(graph: Graph, is_first: bool) -> None:
    bare = WITHOUT.replace("  text: String?\n", "")
    dropped(graph, bare)

    graph.apply_schema(WITHOUT if is_first else WITH)
    graph.apply_schema(WITH)

    assert vectors(graph) == {"a": None, "b": "one b", "c": "one c"}


def test_a_text_under_another_name_is_still_the_text(graph: Graph) -> None:
    graph.create_branch("draft")
    graph.apply_schema(WITH, "draft")
    renamed = WITH.replace('"text"', '"body"').replace(
        "text: String?", 'body: String? @rename_from("text")'
    )
    graph.apply_schema(renamed, "draft")
    rewrite(graph, "b", "two")

    graph.merge("draft")

    found = {row["id"]: (row["body"], row["v"]) for row in rows(graph, "node:D")}
    assert found == {"a": ("two", None), "b": ("two", None), "c": ("one c", vector_of("one c"))}


@pytest.mark.parametrize(("source", "target"), [("draft", "main"), ("main", "draft")])
def test_a_merge_brings_no_vector_of_another_text(graph: Graph, source: str, target: str) -> None:
    graph.create_branch("draft")
    graph.apply_schema(WITH, "draft")
    rewrite(graph, "b", "two")
    rewrite(graph, "c", "three", "draft")

    graph.merge(source, target)

    # The merge makes vectors only for the rows that it brings.
    brought = "two" if source == "main" else None
    assert vectors(graph, target) == {"a": None, "b": brought, "c": "three"}


def test_a_required_vector_comes_back_only_where_no_text_changed(tmp_path: Path) -> None:
    graph = documents(tmp_path / "g", REQUIRED)
    bare = WITHOUT.replace("String?", "String")
    dropped(graph, bare)
    graph.create_branch("draft")
    graph.apply_schema(REQUIRED, "draft")
    rewrite(graph, "a", "two")

    with pytest.raises(ViolationsError, match="its text changed") as refused:
        graph.apply_schema(REQUIRED)
    assert [each.id for each in refused.value.violations] == ["a"]
    with pytest.raises(SchemaConflictError, match="its text changed"):
        graph.merge("draft")

    rewrite(graph, "a", "one a")
    graph.apply_schema(REQUIRED)
    rewrite(graph, "a", "two")
    assert vectors(graph) == {"a": "two", "b": "one b", "c": "one c"}


@pytest.mark.parametrize("how", ["after", "with", "on a branch"])
def test_a_vector_comes_back_though_its_text_was_renamed_meanwhile(
    tmp_path: Path, how: str
) -> None:
    graph = documents(tmp_path / "g", WITH)
    renamed = 'body: String? @rename_from("text")'
    if how == "on a branch":
        graph.create_branch("draft")
        graph.apply_schema(
            WITH.replace('"text"', '"body"').replace("text: String?", renamed), "draft"
        )
        dropped(graph, WITHOUT)
        graph.merge("draft")
    elif how == "with":
        dropped(graph, WITHOUT.replace("text: String?", renamed))
    else:
        dropped(graph, WITHOUT)
        graph.apply_schema(WITHOUT.replace("text: String?", renamed))
    change(graph, 'update D set { body: "two" } where slug = "a"')

    graph.apply_schema(WITH.replace('"text"', '"body"').replace("text:", "body:"))

    found = {str(row["id"]): row["v"] for row in rows(graph, "node:D")}
    assert found == {"a": None, "b": vector_of("one b"), "c": vector_of("one c")}
