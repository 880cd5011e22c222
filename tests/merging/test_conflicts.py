"""What two sides did that excludes each other is told whole, and changes nothing."""

import json
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.outcome import Merge
from omnigraph.schema.catalog import Catalog
from tests.changes.town import content, do, rows
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, SCHEMA, THEIRS, brief, conflicts, joined, of, part


def test_a_conflict_tells_the_three_values_and_who_is_on_each_side(graph: Graph) -> None:
    part(graph, [update("ada", age=31)], [update("ada", age=32)])

    (found,) = conflicts(graph)

    assert found == {
        "kind": "DivergentUpdate",
        "table_key": "node:Person",
        "type_name": "Person",
        "row_id": "ada",
        "property": "age",
        "message": "Person 'ada' was updated by both sides to different values",
        "base": 30,
        "ours": 31,
        "theirs": 32,
        "ours_commit": graph.snapshot(OURS).commit.id,
        "ours_actor": "eve",
        "theirs_commit": graph.snapshot(THEIRS).commit.id,
        "theirs_actor": "adam",
    }


def test_every_property_that_both_sides_set_is_a_conflict_of_its_own(graph: Graph) -> None:
    part(graph, [update("ada", age=31, name="A")], [update("ada", age=32, name="a")])

    found = {each["property"]: each for each in conflicts(graph)}

    assert {name: (c["base"], c["ours"], c["theirs"]) for name, c in found.items()} == {
        "age": (30, 31, 32),
        "name": ("Ada", "A", "a"),
    }


def test_one_row_inserted_by_both_sides_with_other_values_diverges(graph: Graph) -> None:
    part(graph, [person("dan", age=1, name="D")], [person("dan", age=2, name="D")])

    (found,) = conflicts(graph)

    assert brief([found]) == [("DivergentInsert", "Person", "dan", "age")]
    assert (found["base"], found["ours"], found["theirs"]) == (None, 1, 2)


@pytest.mark.parametrize("removed_by_us", [True, False])
def test_a_row_that_one_side_removed_and_the_other_set_is_a_conflict(
    graph: Graph, removed_by_us: bool
) -> None:
    sides = [remove("cy")], [update("cy", age=5)]
    part(graph, *(sides if removed_by_us else sides[::-1]))

    (found,) = conflicts(graph)

    assert brief([found]) == [("DeleteVsUpdate", "Person", "cy", None)]
    images = [found["ours"], found["theirs"]]
    removed, kept = images if removed_by_us else images[::-1]
    assert (removed, kept["age"], found["base"]["age"]) == (None, 5, None)
    assert ("removed by us" in found["message"]) is removed_by_us


@pytest.mark.parametrize("removed_by_us", [True, False])
@pytest.mark.parametrize("end", ["from", "to"])
@pytest.mark.parametrize("name", ["Knows", "Likes"])
def test_an_edge_to_a_node_that_the_other_side_removed_is_an_orphan(
    graph: Graph, removed_by_us: bool, end: str, name: str
) -> None:
    ends = ("cy", "bob") if end == "from" else ("bob", "cy")
    sides = [remove("cy")], [edge(name, *ends)]
    part(graph, *(sides if removed_by_us else sides[::-1]))

    (found,) = conflicts(graph)

    assert (found["kind"], found["type_name"], found["property"]) == ("OrphanEdge", name, end)
    there = rows(graph, name, THEIRS if removed_by_us else OURS)
    assert found["row_id"] in {row["id"] for row in there}
    assert "no Person 'cy'" in found["message"]


def test_a_unique_value_given_to_two_rows_by_two_sides_is_a_conflict(graph: Graph) -> None:
    part(graph, [person("dan", email="x@x")], [update("cy", email="x@x")])

    (found,) = conflicts(graph)

    assert brief([found]) == [("UniqueViolation", "Person", "cy", "email")]
    assert "'x@x' is that of 'dan' already" in found["message"]


def test_a_unique_value_may_move_from_row_to_row_on_one_side(graph: Graph) -> None:
    moves = [update("bob", email="b@x"), update("cy", email="bob@x")]
    part(graph, [update("ada", age=1)], moves)

    graph.merge(THEIRS)

    assert {row["id"]: row["email"] for row in rows(graph, "Person")} == {
        "ada": None,
        "bob": "b@x",
        "cy": "bob@x",
    }


def test_two_sides_together_may_give_a_node_too_many_edges(graph: Graph) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    part(graph, [edge("Joined", "ada", "chess")], [edge("Joined", "ada", "choir")])

    (found,) = conflicts(graph)

    assert (found["kind"], found["type_name"], found["row_id"]) == (
        "CardinalityViolation",
        "Joined",
        "ada",
    )
    assert "2 Joined leave the Person; there must be at most 1" in found["message"]


def test_two_sides_together_may_leave_a_node_too_few_edges(graph: Graph) -> None:
    sides = [part_ways("chess", "ada", "Hosts")], [part_ways("chess", "bob", "Hosts")]
    part(graph, *sides)

    (found,) = conflicts(graph)

    assert (found["kind"], found["row_id"]) == ("CardinalityViolation", "chess")
    assert "0 Hosts leave the Club; there must be at least 1" in found["message"]


STRICTER = SCHEMA.replace("  @range(age", '  @check(name, "^[A-Z]")\n  @range(age')


@pytest.mark.parametrize(("into", "fitting"), [(OURS, "ours"), (THEIRS, "theirs")])
def test_a_row_that_breaks_a_rule_of_the_other_schema_is_a_conflict(
    graph: Graph, into: str, fitting: str
) -> None:
    graph.create_branch(THEIRS)
    graph.apply_schema(STRICTER)
    do(graph.branch(THEIRS), update("cy", name="cyrus", age=7))
    do(graph, update("bob", age=3))
    source = THEIRS if into == OURS else OURS
    other = "theirs" if fitting == "ours" else "ours"

    for side in (None, other):
        assert brief(conflicts(graph, source, into, resolutions=side)) == [
            ("ValueConstraintViolation", "Person", "cy", "name")
        ]
    graph.merge(source, into, resolutions=fitting)
    cy = of(graph, "Person", "cy", into)
    assert cy is not None
    assert (cy["name"], cy["age"]) == (None, 7)  # the rule is about the name alone


def test_the_types_of_all_conflicts_are_asked_for_once(graph: Graph) -> None:
    part(graph, [update("ada", age=31, name="A")], [update("ada", age=32, name="a")])
    found = graph.preview_merge(THEIRS)
    asked: list[Catalog] = []

    def catalog() -> Catalog:
        asked.append(graph.catalog)
        return graph.catalog

    assert Merge.from_json(found.to_answer(), catalog).conflicts == found.conflicts
    assert len(asked) == 1


def test_all_conflicts_are_told_together(graph: Graph) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    ours = [
        update("ada", age=1),
        remove("cy"),
        person("dan", age=1, email="d@x"),
        person("eve", email="x@x"),
        weigh("ada", "bob", 5),
        edge("Joined", "bob", "chess"),
    ]
    theirs = [
        update("ada", age=2),
        update("bob", email="x@x"),
        update("cy", name="Cy"),
        edge("Likes", "bob", "cy"),
        person("dan", age=2),
        part_ways("ada", "bob"),
        edge("Joined", "bob", "choir"),
    ]
    part(graph, ours, theirs)

    found = conflicts(graph)

    like = rows(graph, "Likes", THEIRS)[0]["id"]
    assert [each for each in brief(found) if each[1] != "Joined"] == sorted(
        [
            ("DivergentUpdate", "Person", "ada", "age"),
            ("DivergentInsert", "Person", "dan", "age"),
            ("DivergentInsert", "Person", "dan", "email"),
            ("DeleteVsUpdate", "Person", "cy", None),
            ("DeleteVsUpdate", "Knows", joined("ada", "bob"), None),
            ("UniqueViolation", "Person", "bob", "email"),
            ("OrphanEdge", "Likes", like, "to"),
        ],
        key=str,
    )
    assert [each["kind"] for each in found if each["type_name"] == "Joined"] == [
        "CardinalityViolation"
    ]


def test_different_properties_of_one_row_become_one_row(graph: Graph) -> None:
    part(graph, [update("ada", age=31)], [update("ada", name="Lady Ada")])

    done = graph.merge(THEIRS)

    assert str(done.outcome) == "merged"
    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert (ada["age"], ada["name"]) == (31, "Lady Ada")


def test_a_strict_merge_takes_no_row_that_both_sides_changed(graph: Graph) -> None:
    part(graph, [update("ada", age=31)], [update("ada", name="Lady Ada")])

    found = conflicts(graph, strict=True)

    assert brief(found) == [
        ("DivergentUpdate", "Person", "ada", "age"),
        ("DivergentUpdate", "Person", "ada", "name"),
    ]


@pytest.mark.parametrize(("side", "left"), [("ours", (31, "Ada")), ("theirs", (30, "Lady Ada"))])
def test_a_strict_merge_takes_the_whole_row_of_the_side_that_is_chosen(
    graph: Graph, side: str, left: tuple[int, str]
) -> None:
    part(graph, [update("ada", age=31)], [update("ada", name="Lady Ada")])

    graph.merge(THEIRS, strict=True, resolutions=side)

    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert (ada["age"], ada["name"]) == left


def test_the_same_change_on_both_sides_is_no_conflict_even_for_a_strict_merge(
    graph: Graph,
) -> None:
    same = [update("ada", age=31, name="A"), remove("cy"), person("dan", age=1)]
    part(graph, same, same)

    done = graph.merge(THEIRS, strict=True)

    assert str(done.outcome) == "merged"
    assert content(graph) == content(graph, THEIRS)


def test_a_keyed_edge_made_by_both_sides_is_one_edge(graph: Graph) -> None:
    part(graph, [edge("Knows", "cy", "bob")], [edge("Knows", "cy", "bob")])

    graph.merge(THEIRS)

    assert [row["id"] for row in rows(graph, "Knows")] == [
        joined("ada", "bob"),
        joined("cy", "bob"),
    ]


def test_edges_without_a_key_that_both_sides_make_are_two(graph: Graph) -> None:
    part(graph, [edge("Likes", "cy", "bob", weight=1)], [edge("Likes", "cy", "bob", weight=2)])

    graph.merge(THEIRS)

    assert sorted(row["weight"] for row in rows(graph, "Likes")) == [1, 2]


def test_an_edge_without_a_key_that_both_sides_weigh_is_a_conflict(graph: Graph) -> None:
    do(graph, edge("Likes", "ada", "bob", weight=1))
    part(graph, [weigh("ada", "bob", 2, "Likes")], [weigh("ada", "bob", 3, "Likes")])

    (found,) = conflicts(graph)

    assert (found["kind"], found["base"], found["ours"], found["theirs"]) == (
        "DivergentUpdate",
        1,
        2,
        3,
    )


def test_the_ends_of_an_edge_are_named_as_the_language_names_them(graph: Graph) -> None:
    graph.create_branch(THEIRS)
    for branch, ends in ((OURS, ("ada", "bob")), (THEIRS, ("bob", "cy"))):
        line = {"edge": "Likes", "from": ends[0], "to": ends[1], "data": {"id": "e"}}
        graph.load(json.dumps(line), branch=branch, engine="inline")

    found = conflicts(graph)

    assert brief(found) == [
        ("DivergentInsert", "Likes", "e", "from"),
        ("DivergentInsert", "Likes", "e", "to"),
    ]
    chosen = Resolutions(Side.OURS, properties={("Likes", "e", "to"): Side.THEIRS})
    graph.merge(THEIRS, resolutions=chosen)
    assert [(row["src"], row["dst"]) for row in rows(graph, "Likes")] == [("ada", "cy")]


@pytest.mark.parametrize("removed_by_us", [True, False])
def test_the_images_of_an_edge_are_those_of_a_diff(graph: Graph, removed_by_us: bool) -> None:
    sides = [part_ways("ada", "bob")], [weigh("ada", "bob", 2)]
    part(graph, *(sides if removed_by_us else sides[::-1]))

    (found,) = conflicts(graph)

    image = {"id": joined("ada", "bob"), "from": "ada", "to": "bob", "weight": 1}
    assert found["base"] == image
    assert found["theirs" if removed_by_us else "ours"] == {**image, "weight": 2}


def test_a_preview_writes_nothing_at_all(graph: Graph) -> None:
    part(graph, [update("ada", age=31)], [update("ada", name="A"), person("dan")])
    files = sorted(Path(graph.uri).rglob("*"))

    found = graph.preview_merge(THEIRS)

    assert sorted(Path(graph.uri).rglob("*")) == files
    assert (str(found.outcome), found.commit, found.conflicts) == ("merged", None, ())
    assert {name: dict(each) for name, each in found.stats.items()} == {
        "Person": {"insert": 1, "update": 1, "delete": 0}
    }
