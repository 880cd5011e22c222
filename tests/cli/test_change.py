"""`change` runs a mutation, and answers as documented, for people and for programs."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.cli.main import omnigraph
from omnigraph.storage import steps
from tests.templates import fresh_graph

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique  @range(age, 0..150) }
edge Knows: Person -> Person { @key(src, dst) }
"""
QUERIES = """
query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }
query meet($one: String, $other: String) { insert Knows { from: $one, to: $other } }
query birthday($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query remove($name: String) { delete Person where name = $name }
query everyone() { match { $p: Person } return { $p.name as name, $p.age as age } }
"""
ROWS = """
{"type": "Person", "data": {"name": "ann", "age": 30, "email": "a@x"}}
{"type": "Person", "data": {"name": "bob"}}
{"edge": "Knows", "from": "ann", "to": "bob"}
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.gq").write_text(QUERIES)
    return fresh_graph(tmp_path / "g.omni", SCHEMA, ROWS)


@pytest.fixture
def run(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def invoke(command: str, *arguments: str, stdin: str | None = None) -> Result:
        given = [command, "g.omni", *arguments]
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, given, input=stdin)

    return invoke


@pytest.fixture
def change(run: Callable[..., Result]) -> Callable[..., Result]:
    """Run one of the queries with its parameters."""

    def invoke(name: str, params: dict[str, object], *more: str) -> Result:
        query = ("--query", "q.gq", "--name", name, "--params", json.dumps(params))
        return run("change", *query, *more)

    return invoke


def ages(graph: Graph, branch: str = "main") -> dict[str, object]:
    found = open_graph(graph.uri).at(branch).query(QUERIES, "everyone")
    return {str(row["name"]): row["age"] for row in found}


def answered(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_resolve_takes_values_by_side_and_by_property(graph: Graph) -> None:
    asked = ["resolve", "Person", "g.omni", "--into", "bob", "--from", "ann", "--json"]
    for wrong in ("theirs", "age=theirs", "=from"):
        refused = CliRunner().invoke(omnigraph, [*asked, "--take", wrong])
        assert refused.exit_code == 2
        assert "--take is into or from" in refused.output
    done = CliRunner().invoke(omnigraph, [*asked, "--take", "from", "--take", "age=into"])
    assert json.loads(done.stdout)["properties"] == ["age", "email"]
    assert graph.query(QUERIES, "everyone").to_dicts() == [{"name": "bob", "age": 30}]


def test_an_algorithm_writes_a_property_as_one_commit_of_a_branch(graph: Graph) -> None:
    graph.create_branch("draft")
    asked = ["algo", "k_core", "g.omni", "--edge", "Knows", "--branch", "draft"]

    done = CliRunner().invoke(omnigraph, [*asked, "--write-to", "age", "--message", "cores"])

    commit = graph.snapshot("draft").commit
    assert done.output == f"changed 2 nodes and 0 edges on draft, commit {commit.id}\n"
    assert commit.message == "cores"
    assert set(ages(graph, "draft").values()) == {1}
    again = CliRunner().invoke(omnigraph, [*asked, "--write-to", "age"])
    assert again.output == "nothing to change on draft; no commit was made\n"
    refused = CliRunner().invoke(omnigraph, [*asked, "--message", "cores"])
    assert "--message and --expect are for --write-to" in refused.output
    shown = CliRunner().invoke(omnigraph, [*asked, "--write-to", "age", "--format", "csv"])
    assert shown.exit_code == 2
    assert "--format is for rows" in shown.output


def test_the_rows_of_an_algorithm_have_the_usual_format(graph: Graph, tmp_path: Path) -> None:
    config = tmp_path / "omnigraph.yaml"
    config.write_text("cli: {output_format: csv}\n")
    asked = ["algo", "k_core", graph.uri, "--edge", "Knows", "--config", str(config)]

    usual = CliRunner().invoke(omnigraph, asked)
    named = CliRunner().invoke(omnigraph, [*asked, "--format", "kv"])

    assert usual.output.splitlines()[0] == "type,id,core"
    assert not named.output.startswith("type,")


def test_a_change_tells_how_much_it_changed_and_its_commit(
    graph: Graph, change: Callable[..., Result]
) -> None:
    done = change("remove", {"name": "bob"})

    commit = graph.snapshot().commit.id
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"changed 1 node and 1 edge on main, commit {commit}\n"
    assert ages(graph) == {"ann": 30}


def test_the_machine_form_is_the_receipt(graph: Graph, change: Callable[..., Result]) -> None:
    graph.create_branch("draft")
    where = ("--branch", "draft", "--as", "eve", "--message", "hello", "--operation-id", "op-1")
    done = change("add", {"name": "cleo"}, *where, "--json")

    commit = graph.snapshot("draft").commit
    assert (done.exit_code, done.stderr) == (0, "")
    assert answered(done) == {
        "branch": "draft",
        "query_name": "add",
        "affected_nodes": 1,
        "affected_edges": 0,
        "inserted": 1,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "actor_id": "eve",
        "commit": commit.id,
        "operation_id": "op-1",
    }
    assert (commit.actor, commit.message) == ("eve", "hello")
    assert (ages(graph, "draft")["cleo"], "cleo" in ages(graph)) == (None, False)


def test_a_change_that_finds_nothing_to_do_makes_no_commit(
    graph: Graph, change: Callable[..., Result]
) -> None:
    before = graph.snapshot().commit.id

    done = change("birthday", {"name": "ann", "age": 30})
    as_json = change("remove", {"name": "nobody"}, "--json")

    assert (done.exit_code, as_json.exit_code) == (0, 0)
    assert done.stdout == "nothing to change on main; no commit was made\n"
    assert (answered(as_json)["commit"], answered(as_json)["affected_nodes"]) == (None, 0)
    assert graph.snapshot().commit.id == before


def test_the_text_of_a_mutation_can_be_given_itself_or_on_standard_input(
    graph: Graph, run: Callable[..., Result]
) -> None:
    text = 'query q() { insert Person { name: "cleo" } }'
    Path("p.json").write_text('{"name": "dan", "age": 4}')

    assert run("change", "-e", text).exit_code == 0
    from_file = ("--query", "-", "--name", "add", "--params-file", "p.json")
    assert run("change", *from_file, stdin=QUERIES).exit_code == 0
    params = ("--query", "q.gq", "--name", "add", "--params-file", "-")
    assert run("change", *params, stdin='{"name": "eve"}').exit_code == 0
    assert ages(graph) == {"ann": 30, "bob": None, "cleo": None, "dan": 4, "eve": None}


def test_violations_are_told_together_and_exit_with_one(
    graph: Graph, run: Callable[..., Result]
) -> None:
    text = """query q() {
      insert Person { name: "cleo", age: 151, email: "a@x" }
      insert Knows { from: "cleo", to: "nobody" }
    }"""
    done, as_json = run("change", "-e", text), run("change", "-e", text, "--json")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error[V9]: Person.age of 'cleo': 151 is outside 0..150",
        "error[V13]: Person.email of 'cleo': 'a@x' is that of 'ann' already",
        """error[V14]: Knows.to of '["cleo","nobody"]': there is no Person 'nobody'""",
        "3 violations; nothing was written",
    ]
    assert (as_json.exit_code, as_json.stderr) == (1, "")
    assert answered(as_json)["violation_count"] == 3
    assert answered(as_json)["violations"][0] == {
        "code": "V9",
        "file": None,
        "line": None,
        "type": "Person",
        "id": "cleo",
        "field": "age",
        "reason": "151 is outside 0..150",
        "other": None,
    }
    assert ages(graph) == {"ann": 30, "bob": None}


def test_an_operation_id_given_twice_is_carried_out_once(
    graph: Graph, change: Callable[..., Result]
) -> None:
    first = change("birthday", {"name": "ann", "age": 31}, "--operation-id", "a", "--json")
    change("birthday", {"name": "ann", "age": 32})
    again = change("birthday", {"name": "ann", "age": 31}, "--operation-id", "a", "--json")

    assert answered(again) == answered(first)
    assert ages(graph)["ann"] == 32


def test_an_empty_operation_id_is_refused(graph: Graph, change: Callable[..., Result]) -> None:
    before = graph.snapshot().commit.id

    done = change("remove", {"name": "bob"}, "--operation-id", "")

    assert done.exit_code == 1
    assert done.stderr.startswith("error[bad_input]: an operation id cannot be empty\n")
    assert graph.snapshot().commit.id == before


def test_a_branch_that_stands_elsewhere_than_expected_exits_with_three(
    graph: Graph, change: Callable[..., Result]
) -> None:
    here = graph.snapshot().commit.id

    done = change("birthday", {"name": "ann", "age": 31}, "--expect", here)
    moved = change("birthday", {"name": "ann", "age": 32}, "--expect", here)

    now = open_graph(graph.uri).snapshot().commit.id
    assert (done.exit_code, moved.exit_code) == (0, 3)
    told = f"error[head_moved]: 'main' stands at {now}, not at {here}\n"
    assert moved.stderr.startswith(told)
    assert ages(graph)["ann"] == 31


def test_a_lost_race_is_run_again_unless_the_head_was_expected(
    graph: Graph, change: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(step: str) -> None:
        monkeypatch.setattr(steps, "observer", None)
        open_graph(graph.uri).mutate(QUERIES, "birthday", name="bob", age=50)

    here = graph.snapshot().commit.id
    monkeypatch.setattr(steps, "observer", meanwhile)
    done = change("birthday", {"name": "ann", "age": 31})
    monkeypatch.setattr(steps, "observer", meanwhile)
    strict = change("birthday", {"name": "ann", "age": 32}, "--expect", here)

    assert (done.exit_code, strict.exit_code) == (0, 3)
    assert ages(graph) == {"ann": 31, "bob": 50}


def test_each_command_names_the_other_for_what_is_not_its_own(run: Callable[..., Result]) -> None:
    read = run("change", "--query", "q.gq", "--name", "everyone")
    mutation = run("read", "--query", "q.gq", "--name", "add")

    assert (read.exit_code, mutation.exit_code) == (1, 1)
    assert read.stderr == (
        "error[bad_input]: 'everyone' is a read\n"
        "   = hint: run it with Branch.query, or with omnigraph read\n"
    )
    assert mutation.stderr == (
        "error[bad_input]: 'add' is a mutation\n"
        "   = hint: run it with Branch.mutate, or with omnigraph change\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give one of --query, -e and --alias"),
        (("--query", "q.gq", "-e", "x"), "give one of --query, -e and --alias"),
        (("--query", "q.gq", "--params", "{}", "--params-file", "p"), "--params and --params-file"),
        (("--query", "-", "--params-file", "-"), "only one of --query and --params-file"),
        (("--query", "q.gq", "more"), "unexpected argument 'more'; only --alias takes any"),
        (("--query", "q.gq", "--uri", "h.omni"), "the graph is named twice"),
        (("--query", "q.gq", "--format", "csv"), "No such option"),
        (("--query", "q.gq", "--snapshot", "x"), "No such option"),
    ],
)
def test_wrong_usage_exits_with_two(
    run: Callable[..., Result], arguments: tuple[str, ...], told: str
) -> None:
    done = run("change", *arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--query", "no.gq"), "error[unreadable]: cannot read 'no.gq'"),
        (("-e", "query q() {"), "error[Q000]"),
        (("-e", 'query q() { delete Persn where name = "x" }'), "error[T1]: unknown type 'Persn'"),
        (("--query", "q.gq", "--name", "add"), "error[P1]: '$name' is missing"),
        (
            ("--query", "q.gq", "--name", "add", "--params", "{"),
            "error[P4]: the parameters are not",
        ),
        (("--query", "q.gq", "--params", "[" * 100_000), "error[P4]: the parameters are not"),
        (("--query", "q.gq", "--params", "[]"), "error[P4]: the parameters are not a JSON object"),
        (("--query", "q.gq", "--params-file", "no.json"), "error[unreadable]: cannot read 'no"),
        (("--query", "q.gq", "--config", "no.yaml"), "error[unreadable]: cannot read"),
        (("--query", "q.gq", "--name", "remove", "--branch", ""), "error[branch_name_invalid]"),
    ],
)
def test_other_errors_exit_with_one(
    run: Callable[..., Result], arguments: tuple[str, ...], told: str
) -> None:
    done = run("change", *arguments)

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(told)


def test_what_is_not_there_exits_with_five(change: Callable[..., Result]) -> None:
    branch = change("remove", {"name": "bob"}, "--branch", "nowhere")
    query = change("remov", {"name": "bob"})
    nothing = ["change", "nothing.omni", "--query", "q.gq", "--name", "remove"]
    no_graph = CliRunner().invoke(omnigraph, nothing)

    assert [each.exit_code for each in (branch, query, no_graph)] == [5, 5, 5]
    assert query.stderr.endswith("= hint: did you mean 'remove'?\n")
