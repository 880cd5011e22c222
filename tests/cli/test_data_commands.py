"""`load` and `ingest` answer as documented, for people and for programs."""

import json
import shlex
import subprocess
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
from tests.pipeline.loads import couple_ingested
from tests.templates import fresh_graph

SCHEMA = """
node Person { name: String @key  age: I32?  @range(age, 0..150) }
edge Knows: Person -> Person
"""
ANN = '{"type": "Person", "data": {"name": "ann", "age": 30}}\n'
BOB = '{"type": "Person", "data": {"name": "bob"}}\n'
KNOWS = '{"edge": "Knows", "from": "ann", "to": "bob"}\n'
BAD = '[]\n{"type": "Persn"}\n{"type": "Person", "data": {"name": "old", "age": 151}}\n'


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph in the folder where commands run, and files to load into it."""
    monkeypatch.chdir(tmp_path)
    for name, content in (("a.jsonl", ANN + BOB), ("b.jsonl", KNOWS), ("bad.jsonl", BAD)):
        (tmp_path / name).write_text(content)
    return fresh_graph(tmp_path / "g.omni", SCHEMA)


@pytest.fixture
def run(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        command, *rest = arguments
        given = [command, "g.omni", "--engine", "inline", *rest]
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, given, input=stdin)

    return invoke


def names(graph: Graph, branch: str = "main") -> list[str]:
    found = open_graph(graph.uri).snapshot(branch).table("node:Person").scan(["id"])["id"]
    return sorted(map(str, found))


def answered(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_load_tells_what_it_loaded_and_where(graph: Graph, run: Callable[..., Result]) -> None:
    done = run("load", "--data", "a.jsonl", "--data", "b.jsonl")

    commit = graph.snapshot().commit.id
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"loaded 2 nodes and 1 edge into main (inline), commit {commit}\n"
    assert names(graph) == ["ann", "bob"]


def test_load_gives_the_documented_machine_form(graph: Graph, run: Callable[..., Result]) -> None:
    done = run("load", "--data", "a.jsonl", "--json")

    assert (done.exit_code, done.stderr) == (0, "")
    assert answered(done) == {
        "uri": graph.uri,
        "branch": "main",
        "mode": "append",
        "engine": "inline",
        "nodes_loaded": 2,
        "edges_loaded": 0,
        "node_types_loaded": 1,
        "edge_types_loaded": 0,
        "inserted": 2,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "commit": graph.snapshot().commit.id,
    }


def test_ingest_gives_the_documented_machine_form(graph: Graph, run: Callable[..., Result]) -> None:
    data = ("--data", "a.jsonl", "--data", "b.jsonl")
    done = run("ingest", *data, "--branch", "draft", "--as", "eve", "--json")

    assert (done.exit_code, done.stderr) == (0, "")
    assert answered(done) == couple_ingested(graph, "eve")
    assert names(graph) == []


def test_ingest_says_that_it_made_the_branch_and_from_where(
    graph: Graph, run: Callable[..., Result]
) -> None:
    first = run("ingest", "--data", "a.jsonl", "--branch", "draft")
    second = run("ingest", "--data", "a.jsonl", "--branch", "draft")
    third = run("ingest", "--data", "b.jsonl", "--branch", "more", "--from", "draft")

    assert [each.exit_code for each in (first, second, third)] == [0, 0, 0]
    assert first.stdout.startswith(
        "made branch draft from main\nloaded 2 nodes and 0 edges into draft"
    )
    assert second.stdout == (
        "checked 2 nodes and 0 edges (inline): 2 unchanged; nothing was committed\n"
    )
    assert third.stdout.startswith(
        "made branch more from draft\nloaded 0 nodes and 1 edge into more"
    )
    assert names(graph, "more") == ["ann", "bob"]


def test_the_modes_the_branch_the_message_and_the_actor_are_passed_on(
    graph: Graph, run: Callable[..., Result]
) -> None:
    graph.create_branch("draft")
    assert run("load", "--data", "a.jsonl", "--branch", "draft").exit_code == 0
    Path("c.jsonl").write_text('{"type": "Person", "data": {"name": "ann"}}\n')

    where = ("--branch", "draft", "--data", "c.jsonl")
    assert run("load", *where, "--mode", "append").exit_code == 1
    assert run("load", *where, "--mode", "merge").exit_code == 0
    assert names(graph, "draft") == ["ann", "bob"]
    last = run("load", *where, "--mode", "overwrite", "--message", "all new", "--as", "eve")

    commit = open_graph(graph.uri).snapshot("draft").commit
    assert last.exit_code == 0
    assert (commit.message, commit.actor) == ("all new", "eve")
    assert (names(graph, "draft"), names(graph)) == (["ann"], [])


def test_violations_are_told_on_stderr_and_exit_with_one(
    graph: Graph, run: Callable[..., Result]
) -> None:
    done = run("load", "--data", "bad.jsonl", "--show", "2")

    assert (done.exit_code, done.stdout) == (1, "")
    shape = 'write {"type": …, "data": {…}} or {"edge": …, "from": …, "to": …}'
    assert done.stderr.splitlines() == [
        f"error[V2]: bad.jsonl:1: is not a record; {shape}",
        "error[V3]: bad.jsonl:2: no type 'Persn'; did you mean 'Person'?",
        "… and 1 more",
        "3 violations; nothing was written",
    ]
    assert names(graph) == []


def test_violations_for_programs_are_one_document_on_stdout(
    graph: Graph, run: Callable[..., Result]
) -> None:
    done = run("ingest", "--data", "bad.jsonl", "--branch", "draft", "--json")

    assert (done.exit_code, done.stderr) == (1, "")
    document = answered(done)
    *_, last = document.pop("violations")
    assert last == {
        "code": "V9",
        "file": "bad.jsonl",
        "line": 3,
        "type": "Person",
        "id": None,
        "field": "age",
        "reason": "151 is outside 0..150",
        "other": None,
    }
    assert document.pop("error").endswith(" (and 2 more)")
    assert document == {
        "code": "V2",
        "hint": None,
        "violation_count": 3,
    }
    assert graph.branches() == ["main"]


def test_the_report_holds_every_violation(graph: Graph, run: Callable[..., Result]) -> None:
    done = run("load", "--data", "bad.jsonl", "--show", "1", "--report", "report.jsonl")

    assert done.exit_code == 1
    lines = Path("report.jsonl").read_text().splitlines()
    assert [(each["code"], each["line"]) for each in map(json.loads, lines)] == [
        ("V2", 1),
        ("V3", 2),
        ("V9", 3),
    ]


def test_a_dry_run_commits_nothing(graph: Graph, run: Callable[..., Result]) -> None:
    before = graph.snapshot().commit.id

    for_people = run("load", "--data", "a.jsonl", "--dry-run")
    for_programs = run("ingest", "--data", "a.jsonl", "--branch", "draft", "--dry-run", "--json")

    assert for_people.stdout == "checked 2 nodes and 0 edges (inline); nothing was committed\n"
    assert answered(for_programs)["commit"] is None
    assert answered(for_programs)["branch_created"] is False
    assert graph.snapshot().commit.id == before
    assert graph.branches() == ["main"]


def test_records_come_from_standard_input(graph: Graph, run: Callable[..., Result]) -> None:
    assert run("load", "--data", "-", stdin=ANN + BOB).exit_code == 0
    bad = run("load", "--data", "-", stdin="[]\n")

    assert names(graph) == ["ann", "bob"]
    assert bad.stderr.startswith("error[V2]: <stdin>:1: ")


def test_a_pattern_and_the_type_of_a_table_are_passed_on(
    graph: Graph, run: Callable[..., Result]
) -> None:
    Path("x-1.csv").write_text("name,age\ncleo,\n")
    Path("x-2.csv").write_text("name,age\ndan,4\n")

    assert run("load", "--data", "x-*.csv", "--type", "Person").exit_code == 0
    untyped = run("load", "--data", "x-*.csv")

    assert names(graph) == ["cleo", "dan"]
    assert untyped.exit_code == 1
    assert untyped.stderr.startswith(
        "error[bad_input]: 'x-1.csv' does not name the type of its rows"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("load",), "Missing option '--data'"),
        (("ingest", "--data", "a.jsonl"), "name a branch with --branch"),
        (("load", "--data", "a.jsonl", "--mode", "upsert"), "'upsert' is not one of"),
        (("load", "--data", "a.jsonl", "--engine", "flink"), "'flink' is not one of"),
        (("load", "--data", "a.jsonl", "--show", "0"), "0 is not in the range x>=1"),
        (("load", "--data", "-", "--data", "a.jsonl"), "standard input cannot be loaded together"),
        (("load", "--data", "a.jsonl", "--format", "x"), "No such option"),
    ],
)
def test_wrong_usage_exits_with_two(
    run: Callable[..., Result], arguments: tuple[str, ...], told: str
) -> None:
    done = run(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("load", "--data", "missing.jsonl"), "error[unreadable]: cannot read 'missing.jsonl'"),
        (
            ("load", "--data", "a.jsonl", "--spark-conf", "x"),
            "error[config_invalid]: expected a Spark setting key=value, found 'x'",
        ),
        (("ingest", "--data", "a.jsonl", "--branch", "a b"), "error[branch_name_invalid]:"),
    ],
)
def test_other_errors_exit_with_one(
    run: Callable[..., Result], arguments: tuple[str, ...], told: str
) -> None:
    done = run(*arguments)

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(told)


def test_an_unknown_branch_or_graph_exits_with_five(run: Callable[..., Result]) -> None:
    unknown = run("load", "--data", "a.jsonl", "--branch", "nowhere")
    from_nowhere = run(
        "ingest", "--data", "a.jsonl", "--branch", "b", "--from", "nowhere", "--json"
    )
    no_graph = CliRunner().invoke(omnigraph, ["load", "nothing.omni", "--data", "a.jsonl"])

    assert [each.exit_code for each in (unknown, from_nowhere, no_graph)] == [5, 5, 5]
    assert unknown.stderr.startswith("error[branch_not_found]: no branch 'nowhere'")
    assert answered(from_nowhere)["code"] == "branch_not_found"


def test_a_load_that_another_one_overtook_is_made_again(
    graph: Graph, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(step: str) -> None:
        monkeypatch.setattr(steps, "observer", None)
        graph.load('{"type": "Person", "data": {"name": "first"}}', engine="inline")

    monkeypatch.setattr(steps, "observer", meanwhile)
    done = run("load", "--data", "a.jsonl")

    assert done.exit_code == 0
    assert names(graph) == ["ann", "bob", "first"]


def test_the_program_itself_loads_a_small_file_without_spark(graph: Graph) -> None:
    program = str(Path(sys.executable).with_name("omnigraph"))
    command = [program, "load", "g.omni", "--data", "-", "--json"]

    done = subprocess.run(command, input=(ANN + BOB).encode(), capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["engine"] == "inline"
    assert names(graph) == ["ann", "bob"]


def test_what_shows_the_rest_of_the_edges_can_be_copied(graph: Graph) -> None:
    people = [{"name": name} for name in ("ann", "bob", "cy")]
    edges = [{"id": f"e {n}; x", "from": "ann", "to": to} for n, to in enumerate(("bob", "cy"))]
    graph.load({"Person": people, "Knows": edges})
    words = ["neighbors", "Person", "ann", "g.omni", "--edge", "Knows", "--limit", "1"]

    first = CliRunner().invoke(omnigraph, words).output.splitlines()
    (more,) = (each.removeprefix("more: ") for each in first if each.startswith("more: "))
    rest = CliRunner().invoke(omnigraph, [*words, *shlex.split(more)])

    assert rest.exit_code == 0, rest.output
    assert len({first[0], *rest.output.splitlines()}) == 2
