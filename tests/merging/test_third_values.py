"""A conflict can be settled by a value that neither side has."""

import math
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import InputError, MergeConflictsError
from omnigraph.merge.conflict import Resolutions
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person { slug: String @key  age: I32?  badge: I32? @unique  born: Date? }
node Doc { slug: String @key  body: String  v: Vector(4) @embed("body") }
"""


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    run(graph, "main", 'insert Person { slug: "a", age: 1 } insert Person { slug: "b" }')
    run(graph, "main", 'insert Doc { slug: "d", body: "one" }')
    graph.create_branch("draft")
    return graph


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    return copied_graph(tmp_path / "g", made)


def run(graph: Graph, branch: str, statement: str) -> None:
    graph.branch(branch).mutate(f"query q() {{ {statement} }}")


def values(graph: Graph, key: str) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in graph.snapshot().table(key).scan().to_pylist()}


def quarrel(graph: Graph) -> None:
    run(graph, "main", 'update Person set { age: 2 } where slug = "a"')
    run(graph, "draft", 'update Person set { age: 3 } where slug = "a"')


@pytest.mark.parametrize("age", [4, None])
def test_a_value_settles_a_conflict_of_two_updates(graph: Graph, age: int | None) -> None:
    quarrel(graph)
    run(graph, "draft", 'insert Person { slug: "c" }')

    chosen = Resolutions(values={("Person", "a", "age"): age})
    merged = graph.merge("draft", resolutions=chosen)

    assert str(merged.outcome) == "merged"
    found = values(graph, "node:Person")
    assert (found["a"]["age"], sorted(found)) == (age, ["a", "b", "c"])


def test_a_preview_with_values_has_no_conflict_and_writes_nothing(graph: Graph) -> None:
    quarrel(graph)
    head = graph.snapshot().commit.id

    chosen = Resolutions(values={("Person", "a", "age"): 4})

    assert str(graph.preview_merge("draft", resolutions=chosen).outcome) == "merged"
    assert str(graph.preview_merge("draft").outcome) == "conflicts"
    assert graph.snapshot().commit.id == head


@pytest.mark.parametrize("value", [math.nan, math.inf, b"\xff", object()])
def test_a_value_that_json_does_not_hold_is_refused_and_not_taken_for_null(
    graph: Graph, value: object
) -> None:
    quarrel(graph)
    chosen = Resolutions(values={("Person", "a", "age"): value})

    with pytest.raises(InputError, match=r"Person 'a': age: .* cannot be given as JSON"):
        graph.merge("draft", resolutions=chosen)

    assert values(graph, "node:Person")["a"]["age"] == 2


def test_a_value_settles_two_rows_with_one_unique_value(graph: Graph) -> None:
    run(graph, "main", 'update Person set { badge: 7 } where slug = "a"')
    run(graph, "draft", 'update Person set { badge: 7 } where slug = "b"')
    (conflict,) = graph.preview_merge("draft").conflicts
    assert conflict.row_id is not None

    chosen = Resolutions(values={("Person", conflict.row_id, "badge"): 8})
    graph.merge("draft", resolutions=chosen)

    found = values(graph, "node:Person")
    assert {found["a"]["badge"], found["b"]["badge"]} == {7, 8}


def test_a_text_that_is_set_gets_its_vector(graph: Graph) -> None:
    for branch in ("main", "draft"):
        run(graph, branch, f'update Doc set {{ body: "of {branch}" }} where slug = "d"')

    graph.merge("draft", resolutions=Resolutions(values={("Doc", "d", "body"): "of both"}))

    doc = values(graph, "node:Doc")["d"]
    (wanted,) = embedder_for("mock", {}).embed(["of both"], 4, EmbeddingTask.DOCUMENT)
    assert (doc["body"], doc["v"]) == ("of both", [float(each) for each in wanted])


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("age", "many", "age: "),
        ("born", "2024-01-01", "born is not a conflict of this merge"),
        ("nothing", 1, "nothing is not a conflict of this merge"),
    ],
)
def test_a_value_that_does_not_fit_or_settles_nothing_is_refused(
    graph: Graph, name: str, value: object, reason: str
) -> None:
    quarrel(graph)
    chosen = Resolutions(values={("Person", "a", "age"): 4} | {("Person", "a", name): value})

    with pytest.raises(InputError, match=reason):
        graph.merge("draft", resolutions=chosen)


def test_a_value_for_a_merge_in_which_nothing_conflicts_is_refused(graph: Graph) -> None:
    run(graph, "draft", 'update Person set { age: 3 } where slug = "a"')
    chosen = Resolutions(values={("Person", "a", "age"): 4})

    for merge in (graph.preview_merge, graph.merge):
        with pytest.raises(InputError, match="age is not a conflict of this merge"):
            merge("draft", resolutions=chosen)

    assert values(graph, "node:Person")["a"]["age"] == 1


def test_choices_as_a_preview_writes_them_may_hold_a_value(graph: Graph) -> None:
    quarrel(graph)
    (written,) = graph.preview_merge("draft").conflicts_json()

    graph.merge("draft", resolutions=Resolutions.chosen([{**written, "value": 9}]))

    assert values(graph, "node:Person")["a"]["age"] == 9
    with pytest.raises(InputError, match="both `take` and `value`"):
        Resolutions.chosen([{**written, "take": "ours", "value": 9}])
    with pytest.raises(InputError, match="invalid side 'teirs'"):
        Resolutions.chosen([{**written, "take": "teirs"}])


def test_an_error_has_the_conflicts_of_the_preview_and_names_all_of_them(graph: Graph) -> None:
    quarrel(graph)
    for branch, age in (("main", 5), ("draft", 6)):
        run(graph, branch, f'update Person set {{ age: {age} }} where slug = "b"')

    with pytest.raises(MergeConflictsError) as caught:
        graph.merge("draft")

    assert caught.value.conflicts == graph.preview_merge("draft").conflicts
    shown = caught.value.render()
    assert "Person 'a' was updated" in shown
    assert "Person 'b' was updated" in shown
    assert "base 1, ours 2, theirs 3" in shown
