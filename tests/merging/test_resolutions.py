"""Where both sides changed the same, somebody says whose version is taken, and it is recorded."""

import json
from pathlib import Path

import pytest

from omnigraph.engine.threeway import Resolutions, Side
from omnigraph.graph import Graph
from tests.changes.town import Row, content, do, rows
from tests.merging.village import (
    THEIRS,
    brief,
    conflicts,
    edge,
    joined,
    of,
    part,
    part_ways,
    person,
    remove,
    update,
    weigh,
)


def seen(graph: Graph, type_name: str, row_id: str) -> Row:
    found = of(graph, type_name, row_id)
    assert found is not None
    return found


def quarrel(graph: Graph) -> None:
    """Let both sides set two properties of ada and one of bob, and weigh how ada knows bob."""
    ours = [update("ada", age=1, name="one"), update("bob", age=1), weigh("ada", "bob", 10)]
    theirs = [update("ada", age=2, name="two"), update("bob", age=2), weigh("ada", "bob", 20)]
    part(graph, ours, theirs)


def ages_names_weight(graph: Graph) -> tuple[object, ...]:
    ada, bob = seen(graph, "Person", "ada"), seen(graph, "Person", "bob")
    weight = seen(graph, "Knows", joined("ada", "bob"))["weight"]
    return ada["age"], ada["name"], bob["age"], weight


@pytest.mark.parametrize(
    ("side", "left"), [("ours", (1, "one", 1, 10)), ("theirs", (2, "two", 2, 20))]
)
def test_one_side_can_be_taken_everywhere(
    graph: Graph, side: str, left: tuple[object, ...]
) -> None:
    quarrel(graph)

    done = graph.merge(THEIRS, resolutions=side, actor="judge")

    assert ages_names_weight(graph) == left
    assert done.commit is not None
    assert done.commit.message == f"merge 'draft' into 'main'; resolved: all {side}"
    assert (done.commit.actor, str(done.commit.kind)) == ("judge", "merge")


def test_sides_are_taken_by_type_by_row_and_by_property(graph: Graph) -> None:
    quarrel(graph)
    chosen = Resolutions(
        Side.OURS,
        types={"Knows": Side.THEIRS},
        rows={("Person", "ada"): Side.THEIRS},
        properties={("Person", "ada", "name"): Side.OURS},
    )

    done = graph.merge(THEIRS, resolutions=chosen)

    assert ages_names_weight(graph) == (2, "one", 1, 20)
    assert done.commit is not None
    assert done.commit.message == (
        "merge 'draft' into 'main'; resolved: "
        "all ours, Knows theirs, Person.ada theirs, Person.ada.name ours"
    )


def test_what_is_not_settled_stays_a_conflict(graph: Graph) -> None:
    quarrel(graph)
    chosen = Resolutions(rows={("Person", "ada"): Side.THEIRS}, types={"Knows": Side.OURS})

    assert brief(conflicts(graph, resolutions=chosen)) == [
        ("DivergentUpdate", "Person", "bob", "age")
    ]


def test_the_conflicts_of_a_preview_can_be_filled_in_and_given_back(
    graph: Graph, tmp_path: Path
) -> None:
    do(graph, edge("Knows", "bob", "cy", weight=1))
    ours = [update("ada", age=1, name="one"), remove("cy"), person("dan", age=1)]
    theirs = [update("ada", age=2, name="two"), update("cy", age=2), person("dan", age=2)]
    part(graph, ours, theirs)
    path = tmp_path / "choices.json"
    path.write_text(json.dumps(graph.preview_merge(THEIRS).conflicts_json()))

    choices = json.loads(path.read_text())
    for choice in choices:
        choice["take"] = "ours" if choice["property"] == "name" else "theirs"
    done = graph.merge(THEIRS, resolutions=Resolutions.chosen(choices))

    assert {row["id"]: (row["age"], row["name"]) for row in rows(graph, "Person")} == {
        "ada": (2, "one"),
        "bob": (20, None),
        "cy": (2, None),
        "dan": (2, None),
    }
    assert done.commit is not None
    assert done.commit.message is not None
    assert "Person.cy theirs" in done.commit.message
    assert "Person.ada.name ours" in done.commit.message


def test_a_choice_that_is_left_open_is_no_choice(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", age=2)])
    open_ones = [{**each, "take": None} for each in graph.preview_merge(THEIRS).conflicts_json()]

    assert len(conflicts(graph, resolutions=Resolutions.chosen(open_ones))) == 1


@pytest.mark.parametrize(("side", "stays"), [("ours", False), ("theirs", True)])
def test_a_row_that_we_removed_and_they_set_stays_as_is_chosen(
    graph: Graph, side: str, stays: bool
) -> None:
    part(graph, [remove("cy")], [update("cy", age=5)])

    graph.merge(THEIRS, resolutions=side)

    found = of(graph, "Person", "cy")
    assert (found is not None and found["age"] == 5) is stays


@pytest.mark.parametrize(("side", "stays"), [("ours", True), ("theirs", False)])
def test_a_row_that_they_removed_and_we_set_stays_as_is_chosen(
    graph: Graph, side: str, stays: bool
) -> None:
    part(graph, [update("cy", age=5)], [remove("cy")])

    graph.merge(THEIRS, resolutions=side)

    found = of(graph, "Person", "cy")
    assert (found is not None and found["age"] == 5) is stays


def test_with_ours_their_edges_to_nodes_that_we_removed_stay_out(graph: Graph) -> None:
    part(graph, [remove("cy")], [edge("Knows", "bob", "cy"), edge("Knows", "bob", "ada")])

    graph.merge(THEIRS, resolutions="ours")

    assert {(row["src"], row["dst"]) for row in rows(graph, "Knows")} == {
        ("ada", "bob"),
        ("bob", "ada"),
    }


@pytest.mark.parametrize("ends", [("cy", "cy"), ("cy", "bob")])
def test_with_ours_an_edge_that_lost_both_ends_stays_out(
    graph: Graph, ends: tuple[str, str]
) -> None:
    graph.create_branch(THEIRS)
    do(graph, remove("cy"), remove("bob"))
    do(graph.on(THEIRS), edge("Knows", *ends))

    graph.merge(THEIRS, resolutions="ours")

    assert rows(graph, "Knows") == []


def test_with_ours_their_row_with_our_unique_value_stays_out_and_its_edges_too(
    graph: Graph,
) -> None:
    theirs = [person("eve", email="x@x"), edge("Knows", "eve", "ada"), edge("Likes", "ada", "eve")]
    part(graph, [person("dan", email="x@x")], theirs)

    graph.merge(THEIRS, resolutions="ours")

    assert of(graph, "Person", "eve") is None
    assert len(rows(graph, "Knows")) == 1
    assert rows(graph, "Likes") == []


def test_a_row_brought_back_whose_edge_lost_its_end_is_still_a_conflict(graph: Graph) -> None:
    part(graph, [remove("ada")], [weigh("ada", "bob", 9)])

    assert brief(conflicts(graph, resolutions="theirs")) == [
        ("OrphanEdge", "Knows", joined("ada", "bob"), "from")
    ]


BROKEN_TOGETHER = {
    "they removed the end of our edge": ([edge("Knows", "bob", "cy")], [remove("cy")]),
    "they gave our unique value away": ([person("dan", email="x")], [update("cy", email="x")]),
    "both joined one club too many": (
        [edge("Joined", "ada", "chess")],
        [edge("Joined", "ada", "choir")],
    ),
}


@pytest.mark.parametrize("broken", BROKEN_TOGETHER)
def test_what_of_ours_breaks_a_rule_with_theirs_is_never_removed_by_a_choice(
    graph: Graph, broken: str
) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    part(graph, *BROKEN_TOGETHER[broken])

    assert len(conflicts(graph, resolutions="theirs")) == 1


def test_an_own_message_is_kept(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])

    done = graph.merge(THEIRS, message="two in one")

    assert done.commit is not None
    assert done.commit.message == "two in one"


def test_resolutions_that_nothing_needs_change_nothing(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", name="A"), part_ways("ada", "bob")])
    graph.create_branch("plain")
    graph.merge(THEIRS, "plain")

    graph.merge(THEIRS, resolutions="theirs")

    assert content(graph) == content(graph, "plain")
