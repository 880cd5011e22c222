"""Every branch and every commit has a schema of its own, and is read and changed under it."""

import json
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    HeadMovedError,
    InputError,
    OutcomeUnknownError,
    QueryError,
    SchemaEditedError,
    UnsupportedMigrationError,
    ViolationsError,
)
from omnigraph.evolve.plan import SavedPlan
from tests.evolution.town import PEOPLE, SCHEMA, edited, renamed_type, rows

SCORE = "score: F64?"
HUMANS = renamed_type(
    "Person",
    "Human",
    edited(
        ("age: I32?", 'years: I32? @rename_from("age")'),
        (SCORE, f"{SCORE}\n  rank: I32 @default(3)\n  @range(years, 0..200)"),
    ),
)
NICK = edited((SCORE, f"{SCORE}\n  nick: String?"))
OLD = "query q() { match { $p: Person } return { $p.name as n, $p.age as a } order { $p.name } }"
NEW = "query q() { match { $p: Human } return { $p.name as n, $p.years as a } order { $p.name } }"
PERSON = "node:Person"


def told(graph: Graph, place: str, query: str) -> list[dict[str, object]]:
    return graph.at(place).query(query).to_dicts()


def test_another_branch_keeps_its_schema_and_is_read_and_changed_under_it(graph: Graph) -> None:
    graph.create_branch("draft")
    before = told(graph, "main", OLD)

    graph.apply_schema(HUMANS)

    assert told(graph, "draft", OLD) == before
    assert told(graph, "main", NEW) == before
    with pytest.raises(QueryError, match="Person"):
        told(graph, "main", OLD)
    with pytest.raises(QueryError, match="Human"):
        told(graph, "draft", NEW)
    graph.branch("draft").mutate('query q() { insert Person { name: "old", age: -5 } }')
    graph.mutate('query q() { insert Human { name: "new", years: 5 } }')
    line = '{"type": "Person", "data": {"name": "older", "age": -6}}'
    graph.load(line, branch="draft", engine="inline")
    with pytest.raises(ViolationsError):
        graph.mutate('query q() { insert Human { name: "newer", years: -5 } }')
    names = {
        branch: {row["id"] for row in rows(graph, PERSON, branch)} for branch in ("main", "draft")
    }
    assert names["main"] - names["draft"] == {"new"}
    assert names["draft"] - names["main"] == {"old", "older"}
    assert (graph.branch("draft").schema, graph.schema) == (SCHEMA, HUMANS)


def test_a_branch_can_get_a_schema_that_main_has_not(graph: Graph) -> None:
    graph.create_branch("draft")

    graph.apply_schema(NICK, "draft")
    graph.branch("draft").mutate('query q() { update Person set { nick: "x" } where name = "p01" }')

    assert (graph.schema, graph.branch("draft").schema) == (SCHEMA, NICK)
    assert "nick" not in rows(graph, PERSON)[0]
    assert {row["nick"] for row in rows(graph, PERSON, "draft")} == {None, "x"}


def test_a_branch_of_an_old_commit_has_the_schema_of_that_commit(graph: Graph) -> None:
    old = graph.snapshot().commit.id
    graph.apply_schema(HUMANS)

    branch = graph.create_branch("again", old)
    assert branch.schema == SCHEMA
    graph.apply_schema(NICK, "again")

    assert len(rows(graph, PERSON, "again")) == PEOPLE
    assert graph.schema == HUMANS


def test_old_commits_and_tags_are_read_under_their_own_schema(graph: Graph) -> None:
    first = graph.snapshot().commit.id
    graph.create_tag("before", first)
    expected = told(graph, "main", OLD)
    for schema in (NICK, HUMANS.replace(SCORE, f"{SCORE}\n  nick: String?")):
        graph.apply_schema(schema)
    graph.mutate('query q() { update Human set { years: 99 } where name = "p01" }')

    for reader in (graph, open_graph(graph.uri, read_only=True)):
        assert told(reader, first, OLD) == expected
        assert told(reader, "before", OLD) == expected
        assert reader.at(first).schema == SCHEMA
        assert told(reader, "main", NEW)[1] == {"n": "p01", "a": 99}


def test_a_saved_plan_is_applied_where_it_was_made(graph: Graph) -> None:
    plan = graph.plan_schema(NICK)
    saved = SavedPlan.read(json.dumps(plan.to_json()))

    done = graph.apply_schema(saved)

    assert done.commit is not None
    assert (done.commit.parent, graph.schema) == (plan.head, NICK)


def test_a_saved_plan_is_not_applied_after_any_other_commit(graph: Graph) -> None:
    saved = SavedPlan.read(json.dumps(graph.plan_schema(NICK).to_json()))
    graph.mutate('query q() { insert City { name: "jena" } }')
    head = graph.snapshot().commit

    with pytest.raises(HeadMovedError, match=f"stands at {head.id}, not at {saved.head}"):
        graph.apply_schema(saved)

    assert (graph.snapshot().commit, graph.schema) == (head, SCHEMA)


def test_a_saved_plan_is_for_its_branch_alone(graph: Graph) -> None:
    graph.create_branch("draft")
    saved = SavedPlan.read(json.dumps(graph.plan_schema(NICK, "draft").to_json()))

    with pytest.raises(InputError, match="the plan was made for 'draft', not for 'main'"):
        graph.apply_schema(saved)

    assert graph.apply_schema(saved, "draft").applied


def test_a_change_that_is_sent_again_gives_what_it_did_the_first_time(graph: Graph) -> None:
    head = graph.snapshot().commit.id
    sent = graph.branch(expect=head, operation_id="once")

    first = sent.apply_schema(NICK)
    graph.mutate('query q() { insert City { name: "jena" } }')
    again = sent.apply_schema(NICK)

    assert again == first
    assert [commit.kind for commit in graph.log(limit=3)] == ["write", "schema", "write"]


def test_a_change_that_is_repeated_is_not_denied_when_what_was_before_is_cleaned_up(
    graph: Graph,
) -> None:
    done = graph.branch(operation_id="once").apply_schema(NICK)
    assert done.commit is not None
    graph.cleanup(keep=1, grace="0s", confirm=True)

    with pytest.raises(OutcomeUnknownError, match=f"applied before by commit {done.commit.id}"):
        graph.branch(operation_id="once").apply_schema(NICK)

    assert next(graph.log()).id == done.commit.id


def test_an_operation_id_is_for_one_change_alone(graph: Graph) -> None:
    graph.branch(operation_id="once").mutate('query q() { insert City { name: "jena" } }')
    graph.branch(operation_id="twice").apply_schema(NICK)

    with pytest.raises(InputError, match="'once' was used for another change"):
        graph.branch(operation_id="once").apply_schema(HUMANS)
    with pytest.raises(InputError, match="'twice' was used for another change"):
        graph.branch(operation_id="twice").apply_schema(HUMANS)

    assert graph.schema == NICK


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"branch": "main", "head": 3}', "\xff"])
def test_what_is_no_saved_plan_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a saved schema plan"):
        SavedPlan.read(text)


def test_a_plan_writes_nothing(graph: Graph) -> None:
    def everything() -> dict[str, bytes]:
        root = Path(graph.uri)
        return {str(each): each.read_bytes() for each in root.rglob("*") if each.is_file()}

    before = everything()

    graph.plan_schema(HUMANS)
    graph.plan_schema(edited(("age: I32?", "age: I64?")))
    reader = open_graph(graph.uri, read_only=True)
    assert reader.plan_schema(HUMANS).supported

    assert everything() == before


def test_a_schema_that_was_edited_by_hand_is_told(graph: Graph) -> None:
    path = Path(graph.uri, "_schema.pg")
    path.write_text(NICK)

    with pytest.raises(
        SchemaEditedError, match=r"_schema\.pg differs from the schema of the graph"
    ):
        open_graph(graph.uri)

    assert path.read_text() == NICK
    assert open_graph(graph.uri, read_only=True).schema == SCHEMA
    graph.apply_schema(NICK)
    assert open_graph(graph.uri).schema == NICK


def test_a_text_that_the_graph_had_before_is_replaced(graph: Graph) -> None:
    path = Path(graph.uri, "_schema.pg")
    graph.apply_schema(NICK)
    path.write_text(SCHEMA)

    assert open_graph(graph.uri).schema == NICK
    assert path.read_text() == NICK


@pytest.mark.parametrize("name", ["_schema.pg", "_schema.ir.json"])
def test_a_copy_of_the_schema_that_is_gone_is_written_again(graph: Graph, name: str) -> None:
    path = Path(graph.uri, name)
    before = path.read_bytes()
    path.unlink()

    open_graph(graph.uri)

    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["_schema.pg", "_schema.ir.json"])
def test_a_copy_of_the_schema_that_a_power_loss_left_empty_is_written_again(
    graph: Graph, name: str
) -> None:
    path = Path(graph.uri, name)
    before = path.read_bytes()
    path.write_bytes(b"")

    open_graph(graph.uri)

    assert path.read_bytes() == before


def test_all_that_cannot_be_done_is_told_at_once(graph: Graph) -> None:
    with pytest.raises(UnsupportedMigrationError) as caught:
        graph.apply_schema(edited(("age: I32?", "age: I64?"), ("@card(0..1)", "@card(0..2)")))

    assert len(caught.value.changes) == 2
    assert caught.value.message.endswith("(and 1 more)")
