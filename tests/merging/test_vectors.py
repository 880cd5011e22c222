"""A vector goes with the text that it was made from, whichever side both come from."""

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.merge import merge
from omnigraph.merge.options import MergeOptions
from tests.changes.town import do
from tests.merging.nursery import IN_PARTS
from tests.templates import fresh_graph

PLAIN = "node D { slug: String @key  text: String  n: I32? }"
EMBEDDED = PLAIN.replace("n: I32?", 'n: I32?  v: Vector(4)? @embed("text", model="mock")')
REQUIRED = EMBEDDED.replace("Vector(4)?", "Vector(4)")


def update(what: str) -> str:
    return f'update D set {{ {what} }} where slug = "a"'


def texts(graph: Graph, branch: str = "main") -> dict[str, str]:
    """Return the texts by id, after looking that each row has the vector of its text."""
    rows = graph.snapshot(branch).table("node:D").scan().to_pylist()
    vectors = embedder_for("mock", {}).embed(
        [row["text"] for row in rows], 4, EmbeddingTask.DOCUMENT
    )
    for row, vector in zip(rows, vectors, strict=True):
        assert row["v"] == [float(each) for each in vector], row
    return {row["id"]: row["text"] for row in rows}


def models(graph: Graph, branch: str = "main") -> list[str]:
    return [model for _, model in graph.snapshot(branch).models("node:D")]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph whose main got vectors while branch `b` changed a text."""
    found = fresh_graph(tmp_path / "g", PLAIN)
    do(found, 'insert D { slug: "a" text: "one" } insert D { slug: "c" text: "other" }')
    do(found.create_branch("b"), update('text: "two"'))
    found.apply_schema(EMBEDDED)
    found.branch().embed_again()
    return found


@pytest.mark.parametrize("how", [MergeOptions(), MergeOptions(bulk=IN_PARTS)])
@pytest.mark.parametrize(("source", "target"), [("b", "main"), ("main", "b")])
def test_a_text_of_a_side_without_vectors_gets_one(
    graph: Graph, source: str, target: str, how: MergeOptions
) -> None:
    merge(graph.repository, source, target, how)

    assert texts(graph, target) == {"a": "two", "c": "other"}
    assert models(graph, target) == ["mock"]


def test_a_revert_to_a_text_from_before_there_were_vectors_makes_one(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", PLAIN)
    do(graph, 'insert D { slug: "a" text: "one" }')
    do(graph, update('text: "two"'))
    changed = graph.snapshot().commit
    graph.apply_schema(EMBEDDED)
    graph.branch().embed_again()

    graph.revert(changed.id)

    assert texts(graph) == {"a": "one"}


@pytest.mark.parametrize("schema", [EMBEDDED, REQUIRED])
@pytest.mark.parametrize(
    "chosen",
    [
        Resolutions(Side.OURS, properties={("D", "a", "text"): Side.THEIRS}),
        Resolutions(Side.OURS, properties={("D", "a", "v"): Side.THEIRS}),
    ],
)
def test_a_choice_about_a_text_or_its_vector_parts_them_not(
    tmp_path: Path, schema: str, chosen: Resolutions
) -> None:
    graph = fresh_graph(tmp_path / "g", schema)
    do(graph, 'insert D { slug: "a" text: "one" }')
    do(graph.create_branch("b"), update('text: "two"'))
    do(graph, update('text: "three"'))

    graph.merge("b", resolutions=chosen)

    of_text = ("D", "a", "text") in chosen.properties
    assert texts(graph) == {"a": "two" if of_text else "three"}


def test_after_a_criss_cross_vectors_go_with_their_texts_too(graph: Graph) -> None:
    do(graph, update("n: 1"))
    heads = [graph.snapshot(branch).commit.id for branch in ("main", "b")]
    graph.merge(heads[1])
    graph.merge(heads[0], "b")
    do(graph.branch("b"), update('text: "one"'))
    do(graph, update("n: 2"))

    graph.merge("b")

    assert texts(graph) == {"a": "one", "c": "other"}


@pytest.mark.parametrize("how", [MergeOptions(), MergeOptions(bulk=IN_PARTS)])
@pytest.mark.parametrize("other", [None, 'text: "two"'])
def test_rows_of_a_side_without_vectors_get_them_whatever_else_is_merged(
    tmp_path: Path, how: MergeOptions, other: str | None
) -> None:
    graph = fresh_graph(tmp_path / "g", PLAIN)
    do(graph, 'insert D { slug: "a" text: "one" }')
    branch = graph.create_branch("b")
    graph.apply_schema(EMBEDDED)
    graph.branch().embed_again()
    for number in range(4):
        do(branch, f'insert D {{ slug: "y{number}" text: "new" }}')
    if other is not None:
        do(branch, update(other))

    merge(graph.repository, "b", "main", how)

    assert len(texts(graph)) == 5


@pytest.mark.parametrize("how", [MergeOptions(), MergeOptions(bulk=IN_PARTS)])
@pytest.mark.parametrize(("side", "text"), [(Side.OURS, "one"), (Side.THEIRS, "same")])
def test_a_unique_text_that_is_taken_from_a_side_has_its_vector(
    tmp_path: Path, how: MergeOptions, side: Side, text: str
) -> None:
    graph = fresh_graph(tmp_path / "g", EMBEDDED.replace("text: String", "text: String @unique"))
    do(graph, 'insert D { slug: "a" text: "one" } insert D { slug: "c" text: "other" }')
    do(graph.create_branch("b"), update('text: "same"  n: 1'))
    do(graph, 'update D set { text: "same" } where slug = "c"')
    chosen = Resolutions(rules={("D", "a", "text"): side})

    merge(graph.repository, "b", "main", replace(how, resolutions=chosen))

    assert texts(graph) == {"a": text, "c": "same" if side is Side.OURS else "other"}
    assert [
        row["n"] for row in graph.snapshot().table("node:D").scan().sort_by("id").to_pylist()
    ] == [1, None]
