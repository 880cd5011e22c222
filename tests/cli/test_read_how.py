"""`read --explain` and `read --profile` show how a query is run, for people and for programs."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.cli.main import omnigraph
from tests.engine.asking import made
from tests.pipeline.loads import edge, node

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
QUERIES = """
query friends($name: String) {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name as name }
}
query all() { match { $p: Person } return { $p.name as name } }
"""
PLAN = """\
query friends($name: String)
  NodeScan    $p: Person  key = $name  ~1 row
  Expand      $p -Knows-> $f: Person  reads name  ~0 rows
  Order       ties by p, f  ~0 rows
  Project     $f.name as name  ~0 rows
  Road        adjacency: 3 rows to read first
"""
ANN = ("--params", '{"name": "ann"}')


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph in the folder where commands run, and queries beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.gq").write_text(QUERIES)
    lines = [node("Person", name="ann", age=30), node("Person", name="bob")]
    return made(tmp_path, SCHEMA, *lines, edge("Knows", "ann", "bob"))


@pytest.fixture
def read(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def invoke(*arguments: str) -> Result:
        given = ["read", graph.uri, "--query", "people.gq", *arguments]
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, given)

    return invoke


def answered(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_explain_shows_the_plan_and_the_road_and_needs_no_parameters(
    read: Callable[..., Result],
) -> None:
    done = read("--name", "friends", "--explain")

    assert (done.exit_code, done.stderr, done.stdout) == (0, "", PLAN)


def test_explain_gives_the_documented_machine_form(
    graph: Graph, read: Callable[..., Result]
) -> None:
    done = read("--name", "friends", "--explain", "--json")

    found = answered(done)
    assert done.exit_code == 0
    assert list(found) == ["query_name", "target", "plan", "expected_rows", "orders", "road"]
    assert found["query_name"] == "friends"
    assert found["target"] == {"branch": "main", "snapshot": None}
    assert found["plan"]["op"] == "ReadPlan"
    assert found["road"] == {"road": "adjacency", "lookups": 2, "rows_to_read": 3}
    assert answered(read("--name", "friends", "--explain", "--format", "json")) == found


def test_profile_shows_what_each_operator_took_instead_of_the_rows(
    read: Callable[..., Result],
) -> None:
    done = read("--name", "friends", *ANN, "--profile")

    lines = done.stdout.splitlines()
    assert (done.exit_code, done.stderr) == (0, "")
    assert lines[0].split() == ["rows", "expected", "ms", "bytes", "read", "operator"]
    assert [line.split()[4] for line in lines[1:-1]] == ["NodeScan", "Expand", "Order", "Project"]
    assert re.fullmatch(r" +1 +[\d.]+ +by adjacency", lines[-1])
    assert "bob" not in done.stdout


def test_profile_gives_the_documented_machine_form(
    graph: Graph, read: Callable[..., Result]
) -> None:
    commit = graph.snapshot().commit.id

    done = read("--name", "friends", *ANN, "--profile", "--json", "--snapshot", commit)

    found = answered(done)
    assert done.exit_code == 0
    assert list(found) == ["query_name", "target", "road", "row_count", "operators"]
    assert (found["query_name"], found["road"], found["row_count"]) == ("friends", "adjacency", 1)
    assert found["target"] == {"branch": None, "snapshot": commit}
    first = found["operators"][0]
    assert first["operators"] == ["NodeScan    $p: Person  key = $name"]
    assert (first["rows"], first["ms"] >= 0, first["bytes_read"] > 0) == (1, True, True)


def test_profile_needs_the_parameters_of_the_query(read: Callable[..., Result]) -> None:
    done = read("--name", "friends", "--profile")

    assert done.exit_code == 1
    assert "'$name' is missing" in str(done.exception) + done.stderr


def test_a_branch_can_be_explained_and_profiled(graph: Graph, read: Callable[..., Result]) -> None:
    graph.ingest(node("Person", name="cat"), branch="draft", engine="inline")
    asked = ("--name", "all", "--branch", "draft")

    assert "adjacency: 3 rows to read first" in read(*asked, "--explain").stdout
    assert answered(read(*asked, "--profile", "--json"))["row_count"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--explain", "--profile"], "--explain and --profile exclude each other"),
        (["--explain", "--format", "csv"], "--format csv is for rows"),
        (["--profile", "--format", "jsonl"], "--format jsonl is for rows"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    read: Callable[..., Result], options: list[str], message: str
) -> None:
    done = read("--name", "all", *options)

    assert done.exit_code == 2
    assert message in done.stderr


def test_neither_leaves_anything_beside_the_graph(
    graph: Graph, read: Callable[..., Result]
) -> None:
    before = sorted(path for path in Path(graph.uri).rglob("*"))

    for option in ("--explain", "--profile"):
        assert read("--name", "all", option).exit_code == 0

    assert sorted(path for path in Path(graph.uri).rglob("*")) == before
    assert len(list(open_graph(graph.uri).log())) == 2
