"""A rule that only their schema has is checked on all rows that a merge leaves, ours included."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import MergeConflictsError
from omnigraph.merge.conflict import Conflict, Resolutions
from omnigraph.merge.merge import preview
from omnigraph.merge.options import MergeOptions
from tests.changes.town import do
from tests.merging.nursery import IN_PARTS
from tests.templates import fresh_graph

PLAIN = "node P { slug: String @key  email: String?  age: I32? }\n"
UNIQUE = PLAIN.replace("email: String?", "email: String? @unique")
HELD = PLAIN + "edge H: P -> P @card(1..)\n"
SIDES = [None, "ours", "theirs"]


def node(slug: str, email: str) -> str:
    return f'insert P {{ slug: "{slug}" email: "{email}" }}'


def update(slug: str, what: str) -> str:
    return f'update P set {{ {what} }} where slug = "{slug}"'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph whose branch `b` gets a unique rule, and changes a row that main changes too."""
    found = fresh_graph(tmp_path / "g", PLAIN)
    do(found, node("m", "M"), 'insert P { slug: "n" }')
    draft = found.create_branch("b")
    draft.apply_schema(UNIQUE)
    return found


def conflicts(graph: Graph, source: str, target: str, chosen: object = None) -> list[Conflict]:
    found = graph.branch(target).preview_merge(source, resolutions=chosen)  # type: ignore[arg-type]
    return [*found.conflicts]


def shown(found: list[Conflict]) -> list[tuple[str, str, str | None]]:
    return [(str(each.kind), each.type, each.row_id) for each in found]


TWICE = [("UniqueViolation", "P", "n")]


@pytest.mark.parametrize(("source", "target"), [("b", "main"), ("main", "b")])
def test_a_value_that_we_gave_twice_is_a_conflict_although_they_changed_the_row(
    graph: Graph, source: str, target: str
) -> None:
    do(graph.branch("b"), update("n", "age: 5"))
    do(graph, update("n", 'email: "M"'))

    (conflict,) = conflicts(graph, source, target)

    assert shown([conflict]) == TWICE
    assert conflict.message == "P.email of 'n': 'M' is that of 'm' already"
    with pytest.raises(MergeConflictsError):
        graph.merge(source, into=target)


def test_a_merge_in_parts_finds_it_as_well(graph: Graph) -> None:
    do(graph.branch("b"), update("n", "age: 5"))
    do(graph, update("n", 'email: "M"'))

    found = preview(graph.repository, "b", "main", MergeOptions(bulk=IN_PARTS))

    assert shown([*found.conflicts]) == TWICE


def test_a_value_that_a_row_gives_up_for_another_one_is_no_conflict(graph: Graph) -> None:
    do(graph.branch("b"), update("m", 'email: "L"'))
    do(graph, node("o", "M"))

    for side in SIDES:
        assert conflicts(graph, "b", "main", side) == []
        assert conflicts(graph, "main", "b", side) == []
    graph.merge("b")
    assert graph.schema == UNIQUE


def test_rows_that_only_we_have_are_taken_from_the_chosen_side(graph: Graph) -> None:
    do(graph, node("x", "X"), node("y", "X"))

    found = {
        (target, side): shown(conflicts(graph, source, target, side))
        for source, target in (("b", "main"), ("main", "b"))
        for side in SIDES
    }

    twice = [("UniqueViolation", "P", "y")]
    assert found == {
        ("main", None): twice,
        ("main", "ours"): twice,  # there both are
        ("main", "theirs"): [],
        ("b", None): twice,
        ("b", "ours"): [],
        ("b", "theirs"): twice,
    }


def test_a_conflict_is_settled_by_another_value_and_not_by_the_same(graph: Graph) -> None:
    do(graph, update("n", 'email: "M"'))

    same, other = (Resolutions(values={("P", "n", "email"): each}) for each in ("M", "N"))

    assert shown(conflicts(graph, "b", "main", same)) == TWICE
    assert conflicts(graph, "b", "main", other) == []


@pytest.fixture
def dropped(tmp_path: Path) -> Graph:
    """A graph that dropped the edges which each node needs, on main and on `b`."""
    graph = fresh_graph(tmp_path / "g", HELD)
    do(
        graph,
        'insert P { slug: "p" } insert P { slug: "q" } '
        'insert H { from: "p" to: "q" } insert H { from: "q" to: "q" }',
    )
    graph.apply_schema(PLAIN, allow_data_loss=True)
    graph.create_branch("b")
    return graph


LACKING = [("CardinalityViolation", "H", "p")]


@pytest.mark.parametrize(("source", "target"), [("b", "main"), ("main", "b")])
def test_edges_that_come_back_without_their_end_do_not_count(
    dropped: Graph, source: str, target: str
) -> None:
    dropped.branch("b").apply_schema(HELD)
    do(dropped, 'delete P where slug = "q"')

    assert shown(conflicts(dropped, source, target)) == LACKING


def test_a_revert_that_brings_edges_back_finds_the_nodes_that_lack_them(dropped: Graph) -> None:
    do(dropped, 'delete P where slug = "q"')
    drop = dropped.branch().commit.parent
    assert drop is not None

    with pytest.raises(MergeConflictsError) as refused:
        dropped.revert(drop)

    assert shown([*refused.value.conflicts]) == LACKING


def test_a_node_that_we_keep_and_they_removed_needs_their_edges(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", PLAIN)
    do(graph, 'insert P { slug: "n" }')
    draft = graph.create_branch("b")
    do(draft, 'delete P where slug = "n"')
    draft.apply_schema(HELD)
    do(draft, 'insert P { slug: "x" } insert H { from: "x" to: "x" }')
    do(graph, update("n", "age: 1"))

    kept = [("CardinalityViolation", "H", "n")]

    assert shown(conflicts(graph, "b", "main", "ours")) == kept
    assert conflicts(graph, "b", "main", "theirs") == []
    assert shown(conflicts(graph, "main", "b", "theirs")) == kept
    assert conflicts(graph, "main", "b", "ours") == []


def test_a_node_of_ours_whose_edge_they_bring_is_no_conflict(dropped: Graph) -> None:
    dropped.branch("b").apply_schema(HELD)
    do(dropped.branch("b"), 'insert H { from: "p" to: "p" }')
    do(dropped, 'delete P where slug = "q"')

    assert shown(conflicts(dropped, "b", "main")) == []
    assert (
        shown([*preview(dropped.repository, "b", "main", MergeOptions(bulk=IN_PARTS)).conflicts])
        == []
    )
