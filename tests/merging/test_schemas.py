"""Diff, merge, revert and blame between branches whose schemas are not the same."""

import json
from pathlib import Path
from threading import Event

import pytest

from omnigraph.api.graph import Graph, open  # noqa: A004 - read as omnigraph.open
from omnigraph.errors import (
    CancelledError,
    InputError,
    MergeConflictsError,
    SchemaConflictError,
)
from omnigraph.merge.conflict import ConflictKind
from omnigraph.merge.outcome import Outcome
from omnigraph.schema.steps import AddProperty, RenameType
from tests.changes.town import do
from tests.templates import copied_graph, fresh_graph

BASE = """
node Person { name: String @key  age: I32?  mood: enum(calm, glad)? }
edge Knows: Person -> Person { weight: I32? }
"""
RENAMED = """
node Human @rename_from("Person") {
  name: String @key
  years: I32? @rename_from("age") @index
  mood: enum(calm, glad)?
}
edge Knows: Human -> Human { weight: I32? }
"""
GRADED = """
node Person { name: String @key  age: I32?  mood: enum(calm, glad)?  grade: String @default("C") }
edge Knows: Person -> Person { weight: I32? }
"""
NICKED = """
node Person { name: String @key  age: I32?  mood: enum(calm, glad)?  nick: String? }
edge Knows: Person -> Person { weight: I32? }
node Firm { name: String @key }
"""
RULED = BASE.replace("mood: enum(calm, glad)?", "mood: enum(calm, glad)?  @range(age, 0..50)")
UNIQUE = BASE.replace("age: I32?", "age: I32? @unique")


def four_people(root: Path) -> Graph:
    made = fresh_graph(root, BASE)
    lines = [{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(4)]
    edge = {"edge": "Knows", "from": "p1", "to": "p2"}
    made.load("\n".join(map(json.dumps, [*lines, edge])))
    made.create_branch("other")
    return made


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph of four people, with a branch `other` at the same commit."""
    return copied_graph(tmp_path / "graph", four_people)


def people(graph: Graph, branch: str = "main") -> dict[str, dict[str, object]]:
    """Return all people of a branch by name."""
    lines = b"".join(graph.export(branch)).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        row["data"].pop("name"): row["data"]
        for row in rows
        if row.get("type") in ("Person", "Human")
    }


def test_a_schema_alone_comes_over_with_a_fast_forward(graph: Graph) -> None:
    graph.branch("other").apply_schema(RENAMED)

    assert graph.merge("other").outcome is Outcome.FAST_FORWARD

    assert graph.schema == RENAMED
    assert people(graph)["p3"] == {"years": 3, "mood": None}
    assert Path(graph.uri, "_schema.pg").read_text() == RENAMED


def test_rows_of_both_sides_meet_under_the_schema_of_the_side_that_changed_it(
    graph: Graph,
) -> None:
    graph.branch("other").apply_schema(RENAMED)
    do(graph.branch("other"), 'insert Human { name: "new", years: 9 }')
    do(graph.branch("other"), 'update Human set { years: 50 } where name = "p2"')
    do(graph, 'update Person set { mood: "glad" } where name = "p2"')
    do(graph, 'delete Person where name = "p3"')

    merge = graph.merge("other")

    assert merge.outcome is Outcome.MERGED
    assert graph.schema == RENAMED
    assert people(graph) == {
        "new": {"years": 9, "mood": None},
        "p0": {"years": 0, "mood": None},
        "p1": {"years": 1, "mood": None},
        "p2": {"years": 50, "mood": "glad"},
    }
    assert graph.merge("other").outcome is Outcome.ALREADY_UP_TO_DATE


def test_a_branch_with_the_old_schema_merges_into_one_with_the_new(graph: Graph) -> None:
    graph.apply_schema(GRADED)
    do(graph, 'update Person set { grade: "A" } where name = "p1"')
    do(graph.branch("other"), 'update Person set { age: 11 } where name = "p1"')
    do(graph.branch("other"), 'insert Person { name: "late" }')

    graph.merge("other")

    assert people(graph)["p1"] == {"age": 11, "mood": None, "grade": "A"}
    assert people(graph)["late"] == {"age": None, "mood": None, "grade": "C"}
    assert graph.snapshot("other").catalog.nodes["Person"].properties.keys() == {
        "name",
        "age",
        "mood",
    }


def test_the_same_change_on_both_sides_is_no_conflict(graph: Graph) -> None:
    for branch in ("main", "other"):
        graph.branch(branch).apply_schema(GRADED)
    do(graph, 'update Person set { grade: "A" } where name = "p1"')
    do(graph.branch("other"), 'update Person set { grade: "B" } where name = "p2"')

    graph.merge("other")

    grades = {name: row["grade"] for name, row in people(graph).items()}
    assert grades == {"p0": "C", "p1": "A", "p2": "B", "p3": "C"}


def test_what_each_side_added_is_there_after_the_merge(graph: Graph) -> None:
    graph.apply_schema(GRADED)
    graph.branch("other").apply_schema(NICKED)
    do(graph, 'update Person set { grade: "A" } where name = "p1"')
    do(graph.branch("other"), 'update Person set { nick: "Pi" } where name = "p1"')
    do(graph.branch("other"), 'insert Firm { name: "f" }')

    graph.merge("other")

    assert people(graph)["p1"] == {"age": 1, "mood": None, "grade": "A", "nick": "Pi"}
    assert people(graph)["p0"] == {"age": 0, "mood": None, "grade": "C", "nick": None}
    assert graph.snapshot().state("node:Firm").row_count == 1
    do(graph, 'insert Person { name: "z", nick: "Z", grade: "D" }')
    assert people(graph)["z"] == {"age": None, "mood": None, "grade": "D", "nick": "Z"}


def test_merging_back_gives_both_branches_the_same_schema_and_rows(graph: Graph) -> None:
    graph.apply_schema(GRADED)
    graph.branch("other").apply_schema(NICKED)
    do(graph.branch("other"), 'update Person set { nick: "Pi" } where name = "p1"')

    graph.merge("other")
    graph.merge("main", "other")

    assert people(graph) == people(graph, "other")
    assert list(graph.diff("main", "other")) == []


@pytest.mark.parametrize(("ours", "theirs"), [("main", "other"), ("other", "main")])
def test_a_name_that_one_side_uses_again_is_no_conflict(
    graph: Graph, ours: str, theirs: str
) -> None:
    graph.apply_schema(RENAMED)
    graph.merge("main", "other")
    graph.apply_schema(RENAMED.replace("mood:", "nick: String?  mood:"))
    again = RENAMED.replace('@rename_from("age")', "").replace("mood:", "age: String?  mood:")
    again = again.replace('@rename_from("Person")', "") + "node Person {}"
    graph.branch("other").apply_schema(again)
    do(graph.branch("other"), 'update Human set { age: "old" } where name = "p1"')

    graph.merge(theirs, ours)

    assert people(graph, ours)["p1"] == {"years": 1, "mood": None, "nick": None, "age": "old"}
    assert graph.snapshot(ours).catalog.nodes.keys() == {"Human", "Person"}


def test_enums_that_grew_on_both_sides_have_all_values(graph: Graph) -> None:
    graph.apply_schema(BASE.replace("glad", "glad, sad"))
    graph.branch("other").apply_schema(BASE.replace("glad", "glad, mad"))
    do(graph.branch("other"), 'update Person set { mood: "mad" } where name = "p1"')

    graph.merge("other")

    do(graph, 'update Person set { mood: "sad" } where name = "p2"')
    assert [people(graph)[name]["mood"] for name in ("p1", "p2")] == ["mad", "sad"]


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        pytest.param(
            BASE.replace("age: I32?", "age: I32?  nick: String?"),
            BASE.replace("age: I32?", "age: I32?  nick: I32?"),
            "Person.nick: its type is",
            id="a property of two types",
        ),
        pytest.param(
            RENAMED,
            RENAMED.replace("Human", "Soul"),
            'Human: its name is "Human" on our side and "Soul" on theirs',
            id="a type with two new names",
        ),
        pytest.param(
            BASE + "node Firm { name: String @key }",
            BASE + "node Firm { name: String @key  size: I32? }",
            "both sides added Firm differently",
            id="two types of one name",
        ),
        pytest.param(
            RENAMED.replace("years", "level"),
            BASE.replace("age: I32?", "age: I32?  level: I32?"),
            "two different things are called Human.level",
            id="a new name that is taken",
        ),
        pytest.param(
            RULED,
            RULED.replace("50", "60"),
            "'age' already has a range",
            id="two ranges of one property",
        ),
    ],
)
def test_schemas_that_exclude_each_other_are_told_and_nothing_is_changed(
    graph: Graph, ours: str, theirs: str, told: str
) -> None:
    graph.apply_schema(ours)
    graph.branch("other").apply_schema(theirs)
    head = graph.snapshot().commit.id

    with pytest.raises(SchemaConflictError) as caught:
        graph.merge("other")

    assert any(told in each for each in caught.value.conflicts), caught.value.conflicts
    assert graph.snapshot().commit.id == head
    assert graph.schema == ours


def test_a_cancelled_merge_does_not_read_what_a_drop_would_lose(graph: Graph) -> None:
    ageless = BASE.replace("  age: I32?", "")
    graph.branch("other").apply_schema(ageless, allow_data_loss=True)
    do(graph, 'update Person set { age: 50 } where name = "p1"')
    cancelled = Event()
    cancelled.set()

    with pytest.raises(CancelledError):
        graph.merge("other", cancelled=cancelled)
    with pytest.raises(SchemaConflictError, match=r"Person\.age was dropped on their side"):
        graph.merge("other")


def test_rows_of_ours_that_break_a_rule_of_theirs_are_conflicts(graph: Graph) -> None:
    graph.branch("other").apply_schema(RULED)
    do(graph, 'insert Person { name: "old", age: 99 }')

    with pytest.raises(MergeConflictsError) as caught:
        graph.merge("other")

    (conflict,) = caught.value.conflicts
    assert (conflict.kind, conflict.row_id) == ("ValueConstraintViolation", "old")
    assert graph.schema == BASE


def test_rows_of_theirs_that_break_a_rule_of_ours_are_conflicts(graph: Graph) -> None:
    graph.apply_schema(UNIQUE)
    do(graph.branch("other"), 'insert Person { name: "twin", age: 1 }')

    found = graph.preview_merge("other").conflicts

    assert [each.kind for each in found] == [ConflictKind.UNIQUE]


def test_a_row_of_ours_that_they_removed_breaks_no_rule(graph: Graph) -> None:
    do(graph, 'insert Person { name: "old", age: 99 }')
    graph.merge("main", "other")
    do(graph.branch("other"), 'delete Person where name = "old"')
    graph.branch("other").apply_schema(RULED)
    do(graph, 'update Person set { mood: "glad" } where name = "p1"')

    assert graph.merge("other").outcome is Outcome.MERGED
    assert "old" not in people(graph)


def test_a_merge_that_brings_a_schema_cannot_be_tried_on_a_graph_opened_for_reading(
    graph: Graph,
) -> None:
    graph.branch("other").apply_schema(RENAMED)
    do(graph, 'insert Person { name: "x" }')

    with pytest.raises(InputError, match="for reading only"):
        open(graph.uri, read_only=True).preview_merge("other")


def test_a_merge_into_a_newer_schema_cannot_be_tried_on_a_graph_opened_for_reading(
    graph: Graph,
) -> None:
    graph.apply_schema(RENAMED)
    do(graph.branch("other"), 'insert Person { name: "x" }')
    before = sorted(Path(graph.uri).rglob("*"))

    with pytest.raises(InputError, match="for reading only"):
        open(graph.uri, read_only=True).preview_merge("other")

    assert sorted(Path(graph.uri).rglob("*")) == before


def test_a_diff_shows_rows_under_the_schema_of_the_newer_side(graph: Graph) -> None:
    graph.branch("other").apply_schema(RENAMED)
    do(graph.branch("other"), 'update Human set { years: 30 } where name = "p3"')

    there = graph.diff("main", "other")
    back = graph.diff("other", "main")

    assert [str(each) for each in there] == ["~ Human p3  years 3 → 30"]
    assert [str(each) for each in back] == ["~ Person p3  age 30 → 3"]
    assert isinstance(there.schema_steps[0], RenameType)


def test_a_schema_alone_is_no_change_of_rows(graph: Graph) -> None:
    graph.apply_schema(GRADED)

    found = graph.diff("other", "main")

    assert list(found) == []
    assert [type(step) for step in found.schema_steps] == [AddProperty]


def test_rows_of_a_type_that_one_side_lacks_came_or_went(graph: Graph) -> None:
    graph.branch("other").apply_schema(NICKED)
    do(graph.branch("other"), 'insert Firm { name: "f" }')

    assert [str(each) for each in graph.diff("main", "other")] == ["+ Firm f"]
    assert [str(each) for each in graph.diff("other", "main")] == ["- Firm f"]


def test_the_feed_goes_on_over_a_change_of_the_schema(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    graph.apply_schema(RENAMED)
    do(graph, 'update Human set { years: 8 } where name = "p1"')

    told = [[str(each) for each in found.changes] for found in graph.changes(since=start)]

    assert told == [[], ["~ Human p1  years 1 → 8"]]


def test_a_commit_from_before_a_rename_can_be_reverted(graph: Graph) -> None:
    wrong = do(graph, 'update Person set { age: 77 } where name = "p2"').commit
    assert wrong is not None
    graph.apply_schema(RENAMED)

    graph.revert(wrong.id)

    assert people(graph)["p2"] == {"years": 2, "mood": None}


def test_a_change_of_the_schema_cannot_be_reverted(graph: Graph) -> None:
    applied = graph.apply_schema(RENAMED).commit
    assert applied is not None

    with pytest.raises(InputError, match="changed the schema"):
        graph.revert(applied.id)


def test_blame_goes_on_over_a_rename_and_names_the_commit_that_filled_a_property(
    graph: Graph,
) -> None:
    loaded = graph.snapshot().commit
    graph.apply_schema(GRADED)
    filled = graph.snapshot().commit
    graph.apply_schema(
        RENAMED.replace("enum(calm, glad)?", 'enum(calm, glad)?  grade: String @default("C")')
    )

    found = {each.property: each.commit.id for each in graph.blame("Human", "p2")}

    assert found == {
        "name": loaded.id,
        "years": loaded.id,
        "mood": loaded.id,
        "grade": filled.id,
    }


def test_a_run_carries_its_schema_to_its_target(graph: Graph) -> None:
    run = graph.begin_run()
    graph.branch(run.run_branch).apply_schema(GRADED)
    do(graph, 'insert Person { name: "meanwhile" }')

    graph.publish_run(run.run_id)

    assert people(graph)["meanwhile"]["grade"] == "C"


def test_a_criss_cross_of_branches_merges_after_a_change_of_the_schema(graph: Graph) -> None:
    do(graph, 'update Person set { age: 10 } where name = "p0"')
    do(graph.branch("other"), 'update Person set { age: 11 } where name = "p1"')
    ours, theirs = graph.snapshot().commit.id, graph.snapshot("other").commit.id
    graph.merge(theirs)
    graph.merge(ours, "other")
    graph.branch("other").apply_schema(RENAMED)
    do(graph.branch("other"), 'update Human set { years: 12 } where name = "p2"')
    do(graph, 'update Person set { age: 13 } where name = "p3"')

    graph.merge("other")

    ages = [people(graph)[f"p{n}"]["years"] for n in range(4)]
    assert ages == [10, 11, 12, 13]


@pytest.mark.parametrize("schema", [None, BASE + "node Firm { name: String @key }", RENAMED])
def test_what_was_set_back_after_a_criss_cross_stays_so_across_a_change_of_the_schema(
    graph: Graph, schema: str | None
) -> None:
    do(graph, 'update Person set { mood: "glad" } where name = "p0"')
    graph.merge("main", into="other")
    do(graph, 'update Person set { age: 10 } where name = "p0"')
    do(graph.branch("other"), 'update Person set { mood: "calm" } where name = "p0"')
    ours, theirs = graph.snapshot().commit.id, graph.snapshot("other").commit.id
    graph.merge(theirs)
    graph.merge(ours, "other")
    do(graph.branch("other"), 'update Person set { age: 0, mood: "glad" } where name = "p0"')
    do(graph, 'insert Person { name: "late" }')
    if schema is not None:
        graph.apply_schema(schema)

    assert graph.preview_merge("other").conflicts == ()
    graph.merge("main", into="other")

    age = "years" if schema == RENAMED else "age"
    assert people(graph, "other")["p0"] == {age: 0, "mood": "glad"}
