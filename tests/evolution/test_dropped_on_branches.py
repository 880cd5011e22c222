"""A drop on one branch is merged like every other change of the schema, and loses nothing."""

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import (
    InputError,
    MergeConflictsError,
    SchemaConflictError,
    ViolationsError,
)
from omnigraph.merge.conflict import ConflictKind
from omnigraph.merge.merge import merge as run_merge
from omnigraph.merge.options import MergeOptions
from tests.evolution.test_drops import NO_AGE, NO_CITY, NO_RULES, PERSON, change, dropped
from tests.evolution.town import PEOPLE, SCHEMA, edited, rows
from tests.merging.nursery import IN_PARTS

NO_MOOD = edited(("  mood: enum(glad, sad)?\n", ""))
AGES = list(range(PEOPLE))


def ages(graph: Graph, place: str = "main") -> list[object]:
    return [row["age"] for row in rows(graph, PERSON, place)]


@pytest.fixture
def draft(graph: Graph) -> Graph:
    """A town with a branch, which main has left behind."""
    graph.create_branch("draft")
    change(graph, 'insert City { name: "jena" }')
    return graph


@pytest.mark.parametrize("schema", [NO_AGE, NO_CITY, NO_RULES])
def test_a_branch_that_nobody_left_takes_a_drop_over(graph: Graph, schema: str) -> None:
    graph.create_branch("draft")
    dropped(graph, schema, "draft")

    graph.merge("draft")

    assert graph.schema == schema
    assert graph.snapshot().commit.tables == graph.snapshot("draft").commit.tables
    assert graph.apply_schema(SCHEMA).applied
    assert ages(graph) == AGES
    assert len(rows(graph, "node:City")) == 2


@pytest.mark.parametrize(("source", "target"), [("draft", "main"), ("main", "draft")])
def test_rows_on_one_side_and_a_dropped_property_on_the_other(
    draft: Graph, source: str, target: str
) -> None:
    dropped(draft, NO_AGE, source)
    change(draft, 'insert Person { name: "x", mood: "sad" }', target)
    change(draft, 'update Person set { mood: "sad" } where name = "p03"', target)

    draft.merge(source, into=target)

    assert "age" not in rows(draft, PERSON, target)[0]
    assert {row["id"] for row in rows(draft, PERSON, target) if row["mood"] == "sad"} == {
        "p03",
        "x",
    }
    draft.apply_schema(SCHEMA, target)
    assert ages(draft, target) == [*AGES, None]


@pytest.mark.parametrize(("source", "target"), [("draft", "main"), ("main", "draft")])
@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        (NO_AGE, 'update Person set { age: 99 } where name = "p03"', "Person.age was dropped"),
        (NO_AGE, 'insert Person { name: "x", age: 99 }', "Person.age was dropped"),
        (NO_CITY, 'insert Lives { from: "p11", to: "bonn" }', "Lives was dropped"),
        (NO_CITY, 'delete City where name = "ulm"', "City was dropped"),
    ],
)
def test_what_one_side_drops_and_the_other_writes_is_a_conflict(
    graph: Graph, source: str, target: str, schema: str, text: str, said: str
) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "y" }')
    dropped(graph, schema, source)
    change(graph, text, target)
    before = graph.snapshot(target).commit

    for merge in (graph.preview_merge, graph.merge):
        with pytest.raises(SchemaConflictError, match=f"{said} on their side and written in"):
            merge(source, target)
    assert graph.snapshot(target).commit == before
    with pytest.raises(SchemaConflictError, match=f"{said} on our side and written in"):
        graph.merge(target, source)
    dropped(graph, schema, target)
    graph.merge(source, target)
    assert graph.plan_schema(schema, target).steps == ()


def test_both_sides_drop_the_same_and_different_things(draft: Graph) -> None:
    both = NO_AGE.replace("  mood: enum(glad, sad)?\n", "")
    dropped(draft, NO_AGE)
    dropped(draft, both, "draft")

    draft.merge("draft")

    assert draft.plan_schema(both).steps == ()
    assert {"age", "mood"}.isdisjoint(rows(draft, PERSON)[0])
    draft.apply_schema(SCHEMA)
    assert ages(draft) == AGES
    assert {row["mood"] for row in rows(draft, PERSON)} == {"glad"}


def test_a_dropped_rule_is_gone_on_both_sides(draft: Graph) -> None:
    dropped(draft, NO_RULES, "draft")
    dropped(draft, NO_MOOD)

    draft.merge("draft")

    stored = draft.catalog.nodes["Person"]
    assert (stored.unique, stored.ranges, stored.checks) == ((), (), ())
    assert ("age",) not in stored.indexes
    assert "mood" not in stored.properties


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (
            NO_AGE,
            edited(("age: I32?", 'years: I32? @rename_from("age")')),
            "Person.age was dropped",
        ),
        (NO_CITY, edited(("node City {", "node City { size: I32?")), "City was dropped"),
        (NO_CITY, f"{SCHEMA}edge Likes: Person -> City", "Likes connects City"),
        (NO_MOOD, edited(("mood: enum(glad, sad)?", "mood: enum(glad, sad)? @index")), "'mood'"),
    ],
)
def test_a_drop_and_a_change_of_the_same_exclude_each_other(
    draft: Graph, ours: str, theirs: str, said: str
) -> None:
    dropped(draft, ours)
    draft.apply_schema(edited(("score: F64?", "score: F64?"), schema=theirs), "draft")

    with pytest.raises(SchemaConflictError, match=said):
        draft.merge("draft")


def test_what_one_side_restores_comes_back_with_its_changes(graph: Graph) -> None:
    dropped(graph, NO_AGE)
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "x" }')
    change(graph, 'update Person set { mood: "sad" } where name = "p03"')
    graph.apply_schema(SCHEMA, "draft")
    change(graph, 'update Person set { age: 99 } where name = "p05"', "draft")

    graph.merge("draft")

    found = {row["id"]: (row["age"], row["mood"]) for row in rows(graph, PERSON)}
    assert found["p03"] == (3, "sad")
    assert found["p05"] == (99, "glad")
    assert found["x"] == (None, None)


def test_types_that_one_side_restores_come_back_with_their_changes(graph: Graph) -> None:
    dropped(graph, NO_CITY)
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "x" }')
    graph.apply_schema(SCHEMA, "draft")
    change(graph, 'insert City { name: "jena" }', "draft")
    change(graph, 'insert Lives { from: "p11", to: "jena" }', "draft")

    graph.merge("draft")

    assert {row["id"] for row in rows(graph, "node:City")} == {"bonn", "jena", "ulm"}
    assert len(rows(graph, "edge:Lives")) == PEOPLE
    assert len(rows(graph, PERSON)) == PEOPLE + 1


@pytest.mark.parametrize("schema", [NO_AGE, NO_CITY, NO_RULES])
@pytest.mark.parametrize("is_later", [False, True])
def test_reverting_a_drop_restores_what_it_hid(graph: Graph, schema: str, is_later: bool) -> None:
    done = graph.apply_schema(schema, allow_data_loss=True)
    if is_later:
        change(graph, 'insert Person { name: "x" }')
    assert done.commit is not None

    graph.revert(done.commit.id)

    assert graph.plan_schema(SCHEMA).steps == ()
    assert ages(graph) == [*AGES, None] if is_later else AGES
    assert (len(rows(graph, "node:City")), len(rows(graph, "edge:Lives"))) == (2, PEOPLE - 1)


def test_a_commit_that_added_to_the_schema_is_not_reverted(graph: Graph) -> None:
    done = graph.apply_schema(edited(("score: F64?", "score: F64?  nick: String?")))
    assert done.commit is not None

    with pytest.raises(InputError, match=r"cannot be undone: drop property Person\.nick"):
        graph.revert(done.commit.id)


def test_a_required_property_does_not_come_back_over_rows_without_it(graph: Graph) -> None:
    needed = edited(("score: F64?", "score: F64?  rank: I32"))
    graph.apply_schema(needed.replace("rank: I32", "rank: I32 @default(1)"))
    dropped(graph, SCHEMA)
    graph.create_branch("draft")
    graph.apply_schema(needed, "draft")
    change(graph, 'insert Person { name: "x" }')

    with pytest.raises(SchemaConflictError, match="rank"):
        graph.merge("draft")


NEEDED = edited(("score: F64?", "score: F64?  rank: I32"))


@pytest.fixture
def lacking(graph: Graph) -> Graph:
    """A town whose branch restored a required property that x, which both deleted, had not."""
    graph.apply_schema(NEEDED.replace("rank: I32", "rank: I32 @default(1)"))
    dropped(graph, SCHEMA)
    change(graph, 'insert Person { name: "x" }')
    graph.create_branch("draft")
    for branch in ("main", "draft"):
        change(graph, 'delete Person where name = "x"', branch)
    graph.apply_schema(NEEDED, "draft")
    change(graph, 'update Person set { rank: 2 } where name = "p03"', "draft")
    change(graph, 'update Person set { mood: "sad" } where name = "p03"')
    return graph


@pytest.mark.parametrize("how", [MergeOptions(), MergeOptions(bulk=IN_PARTS)])
@pytest.mark.parametrize(("source", "target"), [("draft", "main"), ("main", "draft")])
def test_a_required_property_comes_back_although_only_the_base_has_rows_without_it(
    lacking: Graph, source: str, target: str, how: MergeOptions
) -> None:
    run_merge(lacking.repository, source, target, how)

    found = {row["id"]: (row["rank"], row["mood"]) for row in rows(lacking, PERSON, target)}
    assert found.pop("p03") == (2, "sad")
    assert set(found.values()) == {(1, "glad")}
    assert "x" not in found
    assert lacking.fsck().is_sound
    with pytest.raises(ViolationsError):
        lacking.load([{"name": "y"}], type="Person", branch=target, engine="inline")


@pytest.mark.parametrize("how", [MergeOptions(), MergeOptions(bulk=IN_PARTS)])
def test_a_row_that_only_the_base_lacks_a_value_for_still_conflicts(
    lacking: Graph, how: MergeOptions
) -> None:
    change(lacking, 'insert Person { name: "x", rank: 4 }', "draft")

    with pytest.raises(MergeConflictsError) as refused:
        run_merge(lacking.repository, "draft", "main", how)

    assert [(each.row_id, each.kind) for each in refused.value.conflicts] == [
        ("x", ConflictKind.DELETE_VS_UPDATE)
    ]


@pytest.mark.parametrize("is_in_both", [True, False])
def test_after_a_criss_cross_bases_may_have_rows_without_a_value(
    graph: Graph, is_in_both: bool
) -> None:
    graph.apply_schema(NEEDED.replace("rank: I32", "rank: I32 @default(1)"))
    dropped(graph, SCHEMA)
    if is_in_both:
        change(graph, 'insert Person { name: "x" }')
    graph.create_branch("draft")
    if not is_in_both:
        change(graph, 'insert Person { name: "x" }')
    change(graph, 'update Person set { bio: "ours" } where name = "p01"')
    change(graph, 'update Person set { bio: "theirs" } where name = "p02"', "draft")
    ours, theirs = (graph.snapshot(branch).commit.id for branch in ("main", "draft"))
    graph.merge(theirs)
    graph.merge(ours, "draft")
    for branch in ("main", "draft"):
        change(graph, 'delete Person where name = "x"', branch)
    graph.apply_schema(NEEDED, "draft")
    change(graph, 'update Person set { rank: 2 } where name = "p01"', "draft")
    change(graph, 'insert Person { name: "x", rank: 4 }', "draft")

    with pytest.raises(MergeConflictsError) as refused:
        graph.merge("draft")
    assert [each.row_id for each in refused.value.conflicts] == ["x"]
    change(graph, 'delete Person where name = "x"', "draft")
    graph.merge("draft")

    found = {row["id"]: (row["rank"], row["bio"]) for row in rows(graph, PERSON)}
    assert len(found) == PEOPLE
    assert (found["p01"], found["p02"]) == ((2, "ours"), (1, "theirs"))
