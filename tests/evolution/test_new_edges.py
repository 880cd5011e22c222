"""A new type of edges of which every node has to have some is checked like every other rule."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import Code, MergeConflictsError, ViolationsError
from tests.templates import fresh_graph

BEFORE = "node Person { slug: String @key }\nnode City { name: String @key }\n"
AFTER = BEFORE + "edge LivesIn: Person -> City @card(1..)\n"
ADD = "query add($slug: String) { insert Person { slug: $slug } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", BEFORE)


def test_nodes_that_are_there_are_in_the_way_and_named(graph: Graph) -> None:
    graph.mutate(ADD, slug="ann")
    graph.mutate(ADD, slug="bob")
    before = graph.snapshot().commit

    plan = graph.plan_schema(AFTER)

    (step,) = plan.steps
    assert (step.rows_checked, step.breaking, plan.violation_count) == (2, True, 2)
    with pytest.raises(ViolationsError) as refused:
        graph.apply_schema(AFTER)
    assert sorted(str(each.id) for each in refused.value.violations) == ["ann", "bob"]
    first = refused.value.violations[0]
    assert (first.code, first.type) == (Code.CARDINALITY, "LivesIn")
    assert first.reason == "0 LivesIn leave the Person; there must be at least 1"
    assert graph.snapshot().commit == before


def test_without_such_nodes_and_without_a_least_number_it_is_applied(graph: Graph) -> None:
    graph.mutate('query q() { insert City { name: "oslo" } }')
    applied = graph.apply_schema(AFTER)
    assert [(each.rows_checked, each.breaking) for each in applied.plan.steps] == [(0, False)]
    with pytest.raises(ViolationsError):
        graph.mutate(ADD, slug="ann")


def test_a_type_of_nodes_that_is_new_as_well_has_no_nodes(graph: Graph) -> None:
    graph.mutate(ADD, slug="ann")
    graph.apply_schema(
        BEFORE + "node Pet { name: String @key }\nedge OwnedBy: Pet -> Person @card(1..)\n"
    )
    assert "OwnedBy" in graph.catalog.edges


def test_a_merge_that_brings_the_rule_finds_the_nodes_that_lack_edges(graph: Graph) -> None:
    graph.create_branch("draft")
    draft = graph.branch("draft")
    draft.apply_schema(AFTER)
    graph.mutate(ADD, slug="ann")

    with pytest.raises(MergeConflictsError) as refused:
        graph.merge("draft")

    (conflict,) = refused.value.conflicts
    assert (conflict.type, conflict.row_id) == ("LivesIn", "ann")


def test_a_merge_that_brings_the_rule_and_the_edges_is_made(graph: Graph) -> None:
    graph.create_branch("draft")
    draft = graph.branch("draft")
    draft.apply_schema(AFTER)
    draft.load(
        '{"type": "City", "data": {"name": "oslo"}}\n'
        '{"type": "Person", "data": {"slug": "ann"}}\n'
        '{"edge": "LivesIn", "from": "ann", "to": "oslo"}\n'
    )
    graph.mutate('query q() { insert City { name: "rome" } }')
    assert graph.merge("draft").commit is not None
