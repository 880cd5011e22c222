"""Schemas of two branches that merged each other before, so that they have several merge bases."""

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import SchemaConflictError
from tests.changes.town import do
from tests.evolution.town import rows
from tests.templates import fresh_graph

FIRST = "node P { slug: String @key  a: String? }"
WIDER = "node P { slug: String @key  a: String?  n: I32? }"
RENAMED = 'node P { slug: String @key  b: String? @rename_from("a") }'
RENAMED_BACK = 'node P { slug: String @key  a: String? @rename_from("b") }'
UNIQUE = "node P { slug: String @key  a: String? @unique }"
TYPED = FIRST + " node T { slug: String @key }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph of one node, with a branch `other` at the same commit."""
    made = fresh_graph(tmp_path / "graph", FIRST)
    do(made, 'insert P { slug: "x", a: "1" }')
    made.create_branch("other")
    return made


def apply(graph: Graph, schema: str, branch: str = "main") -> None:
    graph.apply_schema(schema, branch, allow_data_loss=True)


def has(graph: Graph, schema: str, branch: str) -> bool:
    return graph.plan_schema(schema, branch).steps == ()


def cross(graph: Graph, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """Change both branches, in this order, and merge each into the other as it stood."""
    ours()
    theirs()
    heads = [graph.snapshot(branch).commit.id for branch in ("main", "other")]
    graph.merge(heads[1])
    graph.merge(heads[0], "other")


def cross_with(graph: Graph, schema: str, *, is_newer: bool) -> None:
    """Merge both branches into each other; main has another schema, in the newer base or not."""

    def change() -> None:
        apply(graph, schema)

    def insert() -> None:
        do(graph.branch("other"), 'insert P { slug: "y" }')

    cross(graph, *((insert, change) if is_newer else (change, insert)))


@pytest.mark.parametrize("is_newer", [True, False])
@pytest.mark.parametrize(("source", "target"), [("other", "main"), ("main", "other")])
@pytest.mark.parametrize(
    ("schema", "undone"),
    [
        pytest.param(WIDER, FIRST, id="a property that is dropped again"),
        pytest.param(RENAMED, RENAMED_BACK, id="a property that is named back"),
        pytest.param(UNIQUE, FIRST, id="a rule that is dropped again"),
        pytest.param(TYPED, FIRST, id="a type that is dropped again"),
    ],
)
def test_a_change_is_undone_on_one_branch_after_both_merged_it(
    graph: Graph, schema: str, undone: str, source: str, target: str, is_newer: bool
) -> None:
    cross_with(graph, schema, is_newer=is_newer)
    apply(graph, undone, source)
    do(graph.branch(target), 'insert P { slug: "z" }')

    graph.merge(source, target)
    graph.merge(target, source)

    assert [has(graph, undone, branch) for branch in (source, target)] == [True, True]
    assert {row["id"]: row["a"] for row in rows(graph, "node:P", target)} == {
        "x": "1",
        "y": None,
        "z": None,
    }


def test_bases_that_changed_the_schema_in_different_ways_are_merged_with_each_other(
    graph: Graph,
) -> None:
    both = WIDER + " node T { slug: String @key }"
    cross(graph, lambda: apply(graph, WIDER), lambda: apply(graph, TYPED, "other"))
    assert has(graph, both, "main")
    apply(graph, TYPED, "other")
    apply(graph, WIDER)

    graph.merge("other")

    assert has(graph, FIRST, "main")


def cross_twice(graph: Graph) -> None:
    """Merge both branches into each other twice, so that their bases have several bases too."""
    cross(
        graph,
        lambda: do(graph, 'insert P { slug: "v" }'),
        lambda: do(graph.branch("other"), 'insert P { slug: "w" }'),
    )
    cross_with(graph, WIDER, is_newer=True)


def test_a_change_that_all_bases_lead_to_is_merged_where_they_cannot_be_merged_with_each_other(
    graph: Graph,
) -> None:
    cross_twice(graph)
    apply(graph, WIDER + " node T { slug: String @key }", "other")

    graph.merge("other")

    assert has(graph, WIDER + " node T { slug: String @key }", "main")


def test_a_change_that_only_one_base_leads_to_is_refused_until_both_sides_agree(
    graph: Graph,
) -> None:
    cross_twice(graph)
    apply(graph, FIRST, "other")
    told = r"'drop property P\.n' follows from one merge base and not from another"

    for merge in (graph.preview_merge, graph.merge):
        with pytest.raises(SchemaConflictError, match=told):
            merge("other")
    assert has(graph, WIDER, "main")

    apply(graph, FIRST)
    graph.merge("other")
    assert has(graph, FIRST, "main")


def test_bases_that_exclude_each_other_do_not_matter_where_both_sides_agree(graph: Graph) -> None:
    named = 'node P { slug: String @key  c: String? @rename_from("a") }'
    apply(graph, RENAMED)
    apply(graph, named, "other")
    heads = [graph.snapshot(branch).commit.id for branch in ("main", "other")]
    apply(graph, 'node P { slug: String @key  c: String? @rename_from("b") }')
    graph.merge(heads[1])
    apply(graph, 'node P { slug: String @key  b: String? @rename_from("c") }', "other")
    graph.merge(heads[0], "other")
    with pytest.raises(SchemaConflictError, match=r"rename property P\.c to b"):
        graph.merge("other")

    agreed = 'node P { slug: String @key  c: String? @rename_from("b")  n: I32? }'
    apply(graph, agreed, "other")
    graph.merge("other")

    assert has(graph, agreed, "main")


@pytest.mark.parametrize(("source", "target"), [("other", "main"), ("main", "other")])
def test_what_is_in_one_base_already_was_not_written_since(
    graph: Graph, source: str, target: str
) -> None:
    cross(
        graph,
        lambda: do(graph, 'update P set { a: "2" } where slug = "x"'),
        lambda: do(graph.branch("other"), 'insert P { slug: "y", a: "3" }'),
    )
    apply(graph, "node P { slug: String @key }", source)
    do(graph.branch(target), 'insert P { slug: "z" }')

    graph.merge(source, target)

    assert [row["id"] for row in rows(graph, "node:P", target)] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("node P { slug: String @key }", r"P\.a was dropped on their side and written in 2 rows"),
        ("node R { slug: String @key }", "P was dropped on their side and written in 3 rows"),
    ],
)
def test_what_one_side_writes_after_a_criss_cross_and_the_other_drops_is_a_conflict(
    graph: Graph, schema: str, told: str
) -> None:
    cross(
        graph,
        lambda: do(graph, 'update P set { a: "2" } where slug = "x"'),
        lambda: do(graph.branch("other"), 'insert P { slug: "y" }'),
    )
    apply(graph, schema, "other")
    do(graph, 'update P set { a: "3" } where slug = "y"')
    do(graph, 'update P set { a: "4" } where slug = "x"')
    do(graph, 'insert P { slug: "z" }')

    with pytest.raises(SchemaConflictError, match=told):
        graph.merge("other")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("node P { slug: String @key }", r"P\.a was dropped on their side and written in 1 row on"),
        ("node R { slug: String @key }", "P was dropped on their side and written in 1 row on"),
    ],
)
@pytest.mark.parametrize("is_newer", [True, False])
def test_a_value_that_is_reset_after_a_criss_cross_was_written(
    graph: Graph, schema: str, told: str, is_newer: bool
) -> None:
    changes = [
        lambda: do(graph, 'update P set { a: "2" } where slug = "x"'),
        lambda: do(graph.branch("other"), 'insert P { slug: "y" }'),
    ]
    cross(graph, *(changes[::-1] if is_newer else changes))
    apply(graph, schema, "other")
    do(graph, 'update P set { a: "1" } where slug = "x"')

    with pytest.raises(SchemaConflictError, match=told):
        graph.merge("other")
