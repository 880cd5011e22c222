"""`schema plan`, `apply` and `show` answer as documented, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.cli.scene import Run
from tests.evolution.town import ADDED_NICK
from tests.templates import copied_graph, fresh_graph

SCHEMA = "node Person { name: String @key  age: I32?  mood: enum(a, b)? }\n"
NEXT = """
node Human @rename_from("Person") {
  name: String @key
  years: I32? @rename_from("age") @index
  mood: enum(a, b, c)?
  grade: String @default("A")
  @range(years, 0..50)
}
"""


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    graph.load('{"type": "Person", "data": {"name": "ann", "age": 30}}', engine="inline")
    graph.load('{"type": "Person", "data": {"name": "bob"}}', engine="inline")
    return graph


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph of two people in the folder where commands run, and the next schema beside it."""
    monkeypatch.chdir(tmp_path)
    graph = copied_graph(Path("g.omni"), made)
    Path("next.pg").write_text(NEXT)
    Path("wrong.pg").write_text(SCHEMA.replace("age: I32?", "age: I64?  nick: String?"))
    return graph


def answered(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_plan_tells_each_step_with_what_it_means(graph: Graph, run: Run) -> None:
    head = graph.snapshot().commit.id

    done = run("schema", "plan", "--schema", "next.pg", "g.omni")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"main at {head}",
        "  ~ rename node Person to Human",
        "      no row is read or written; breaks queries and loads that use the old name",
        "  ~ rename property Human.age to years",
        "      no row is read or written; breaks queries and loads that use the old name",
        "  ~ add c to the values of Human.mood",
        "      no row is read or written",
        "  + add property Human.grade: String",
        "      writes one column of 2 rows",
        "  + add @index(years) to Human",
        "      indexes 2 rows",
        "  + add @range(years, 0..50) to Human",
        "      checks 2 rows; breaks loads and changes of rows that do not pass it",
        "Plan: 6 steps, 3 may break queries or loads; nothing is written",
    ]
    assert graph.snapshot().commit.id == head


def test_the_machine_form_of_a_plan(graph: Graph, run: Run) -> None:
    Path("nick.pg").write_text(SCHEMA.replace("age: I32?", "age: I32?  nick: String?"))

    done = run("schema", "plan", "--schema", "nick.pg", "g.omni", "--json")

    assert answered(done) == {
        "uri": graph.uri,
        "branch": "main",
        "head": graph.snapshot().commit.id,
        "supported": True,
        "drops_data": False,
        "step_count": 1,
        "steps": [ADDED_NICK],
        "violation_count": 0,
        "violations": [],
        "schema_source": Path("nick.pg").read_text(),
    }


def test_a_plan_that_is_not_supported_exits_with_one_and_is_not_kept(
    graph: Graph, run: Run
) -> None:
    done = run("schema", "plan", "--schema", "wrong.pg", "g.omni", "--out", "plan.json")
    as_json = run("schema", "plan", "--schema", "wrong.pg", "g.omni", "--json")

    assert (done.exit_code, as_json.exit_code) == (1, 1)
    assert done.stdout.splitlines()[1:] == [
        "  ! cannot change Person.age: its type cannot change from I32 to I64",
        "      not supported",
        "  + add property Person.nick: String?",
        "      no row is read or written",
        "Plan: 2 steps; 1 not supported, so it cannot be applied",
    ]
    found = answered(as_json)
    assert (found["supported"], found["steps"][0]["kind"]) == (False, "unsupported_change")
    assert not Path("plan.json").exists()


def test_rows_in_the_way_are_listed_and_exit_with_one(graph: Graph, run: Run) -> None:
    Path("next.pg").write_text(NEXT.replace("0..50", "0..29"))

    done = run("schema", "plan", "--schema", "next.pg", "g.omni")
    applied = run("schema", "apply", "--schema", "next.pg", "g.omni")
    as_json = run("schema", "apply", "--schema", "next.pg", "g.omni", "--json")

    assert (done.exit_code, applied.exit_code, as_json.exit_code) == (1, 1, 1)
    assert done.stdout.splitlines()[-3:] == [
        "Rows in the way: 1",
        "  error[V9]: Human.years of 'ann': 30 is outside 0..29",
        "Plan: 6 steps, 3 may break queries or loads; rows are in the way, so it cannot be applied",
    ]
    assert applied.stdout == ""
    assert applied.stderr.splitlines() == [
        "error[V9]: Human.years of 'ann': 30 is outside 0..29",
        "1 violation; nothing was written",
    ]
    assert [each["id"] for each in answered(as_json)["violations"]] == ["ann"]
    assert open_graph(graph.uri).schema == SCHEMA


def test_applying_tells_the_commit(graph: Graph, run: Run) -> None:
    done = run("schema", "apply", "--schema", "next.pg", "g.omni", "--as", "ann", "--message", "m")

    head = open_graph(graph.uri).snapshot().commit
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "  ~ rename node Person to Human"
    assert done.stdout.splitlines()[-1] == (
        f"Applied: 6 steps, 3 may break queries or loads; commit {head.id}"
    )
    assert (head.kind, head.actor, head.message) == ("schema", "ann", "m")
    again = run("schema", "apply", "--schema", "next.pg", "g.omni")
    assert again.stdout == "main has this schema already; nothing was written\n"
    as_json = answered(run("schema", "apply", "--schema", "next.pg", "g.omni", "--json"))
    assert as_json == {
        "uri": graph.uri,
        "branch": "main",
        "supported": True,
        "applied": False,
        "step_count": 0,
        "manifest_version": None,
        "commit": None,
        "steps": [],
    }


def test_what_is_not_supported_is_told_in_full_and_nothing_is_changed(
    graph: Graph, run: Run
) -> None:
    done = run("schema", "apply", "--schema", "wrong.pg", "g.omni")
    as_json = run("schema", "apply", "--schema", "wrong.pg", "g.omni", "--json")

    told = "cannot change Person.age: its type cannot change from I32 to I64"
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[unsupported_migration]: {told}")
    assert "   = hint: nothing was changed; add a property or type beside it" in done.stderr
    assert answered(as_json)["unsupported_changes"] == [told]
    assert open_graph(graph.uri).schema == SCHEMA


def test_a_plan_that_was_kept_is_applied_where_it_was_made(graph: Graph, run: Run) -> None:
    graph.create_branch("draft")
    kept = run(
        "schema", "plan", "--schema", "next.pg", "--branch", "draft", "--out", "plan.json", "g.omni"
    )
    wrong = run("schema", "apply", "--plan", "plan.json", "--branch", "main", "g.omni")
    done = run("schema", "apply", "--plan", "plan.json", "g.omni", "--json")

    assert (kept.exit_code, wrong.exit_code, done.exit_code) == (0, 1, 0)
    assert "the plan was made for 'draft', not for 'main'" in wrong.stderr
    found = answered(done)
    assert (found["branch"], found["applied"], found["step_count"]) == ("draft", True, 6)
    changed = open_graph(graph.uri)
    assert found["manifest_version"] == changed.snapshot("draft").commit.version
    assert (changed.schema, changed.branch("draft").schema) == (SCHEMA, NEXT)


def test_a_plan_that_was_kept_is_refused_with_three_after_another_commit(
    graph: Graph, run: Run
) -> None:
    run("schema", "plan", "--schema", "next.pg", "--out", "plan.json", "g.omni")
    graph.mutate('query q() { insert Person { name: "cleo" } }')

    done = run("schema", "apply", "--plan", "plan.json", "g.omni")

    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("error[head_moved]: 'main' stands at ")
    assert open_graph(graph.uri).schema == SCHEMA


@pytest.mark.parametrize("given", [(), ("--schema", "next.pg", "--plan", "plan.json")])
def test_apply_takes_a_schema_or_a_plan(run: Run, given: tuple[str, ...]) -> None:
    done = run("schema", "apply", *given, "g.omni")

    assert done.exit_code == 2
    assert "give either --schema or --plan" in done.stderr


def test_files_that_cannot_be_read_or_written_are_told(run: Run) -> None:
    Path("odd.json").write_text("{}")

    missing = run("schema", "plan", "--schema", "none.pg", "g.omni")
    odd = run("schema", "apply", "--plan", "odd.json", "g.omni")
    unwritable = run("schema", "plan", "--schema", "next.pg", "--out", "no/where.json", "g.omni")

    assert (missing.exit_code, odd.exit_code, unwritable.exit_code) == (1, 1, 1)
    assert "cannot read 'none.pg'" in missing.stderr
    assert "this is not a saved schema plan" in odd.stderr
    assert "cannot write 'no/where.json'" in unwritable.stderr


def test_what_does_not_compile_shows_its_line(run: Run) -> None:
    Path("next.pg").write_text("node Person { name: Strin @key }")

    done = run("schema", "plan", "--schema", "next.pg", "g.omni")

    assert done.exit_code == 1
    assert "next.pg:1:21" in done.stderr


def test_show_prints_the_text_as_it_was_given(graph: Graph, run: Run) -> None:
    old = graph.snapshot().commit.id
    graph.create_branch("draft")
    graph.apply_schema(NEXT)

    assert run("schema", "show", "g.omni").stdout == NEXT
    assert run("schema", "show", "--branch", "draft", "g.omni").stdout == SCHEMA
    assert run("schema", "show", "--snapshot", old, "g.omni").stdout == SCHEMA
    assert answered(run("schema", "show", "g.omni", "--json")) == {
        "uri": graph.uri,
        "branch": "main",
        "schema_hash": graph.schema_hash,
        "schema_source": NEXT,
    }
    assert run("schema", "show", "--branch", "none", "g.omni").exit_code == 5


def test_a_drop_is_shown_and_applied_only_when_it_is_allowed(graph: Graph, run: Run) -> None:
    Path("less.pg").write_text(SCHEMA.replace("  age: I32?", ""))
    head = graph.snapshot().commit.id

    planned = run("schema", "plan", "--schema", "less.pg", "g.omni")
    refused = run("schema", "apply", "--schema", "less.pg", "g.omni")

    assert planned.exit_code == 0
    assert planned.stdout.splitlines()[1:] == [
        "  - drop property Person.age",
        "      hides 1 value until a cleanup removes them; breaks queries and loads that use it",
        "Plan: 1 step, 1 may break queries or loads; "
        "1 to allow with --allow-data-loss; nothing is written",
    ]
    assert refused.exit_code == 1
    assert "error[data_loss]: drop property Person.age: hides 1 value" in refused.stderr
    assert graph.snapshot().commit.id == head
    done = run("schema", "apply", "--schema", "less.pg", "--allow-data-loss", "g.omni")
    assert done.exit_code == 0
    assert graph.schema == SCHEMA.replace("  age: I32?", "")
