"""An alias of omnigraph.yaml is a query under a short name, for `read` and for `change`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from omnigraph.query.compile import compile_query
from omnigraph.query.params import params_of_texts
from omnigraph.schema.compile import compile_schema
from tests.templates import copied_graph, fresh_graph

SCHEMA = "node Person { name: String @key  age: I32? }"
QUERIES = """
query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }
query older($age: I32, $start: String?) {
  match { $p: Person  $p.age > $age  $p.name starts_with $start }
  return { $p.name as name }
}
"""
CONFIG = """
graphs:
  people: {uri: g.omni}
  others: {uri: h.omni}
cli: {graph: people}
query: {roots: [queries]}
aliases:
  older: {command: read, query: people.gq, name: older, args: [age, start], format: csv}
  add: {command: change, query: people.gq, name: add, args: [name, age]}
  draft: {command: change, query: people.gq, name: add, args: [name], graph: others, branch: draft}
  told: {command: change, query: people.gq, name: add, args: [name], format: json}
"""


def with_people(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    for name, age in (("ann", 30), ("bob", 40)):
        graph.mutate(QUERIES, "add", name=name, age=age)
    return graph


def with_draft(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    graph.create_branch("draft")
    return graph


@pytest.fixture
def graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Graph]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "omnigraph.yaml").write_text(CONFIG)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries/people.gq").write_text(QUERIES)
    return {
        "g": copied_graph(tmp_path / "g.omni", with_people),
        "h": copied_graph(tmp_path / "h.omni", with_draft),
    }


@pytest.fixture
def run(graphs: dict[str, Graph], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def invoke(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["omnigraph", *arguments])
        return CliRunner().invoke(omnigraph, arguments)

    return invoke


def names(graph: Graph, branch: str = "main") -> list[str]:
    found = graph.at(branch).query("query q() { match { $p: Person } return { $p.name as name } }")
    return [str(row["name"]) for row in found]


def test_an_alias_names_the_graph_the_query_its_parameters_and_the_format(
    run: Callable[..., Result],
) -> None:
    done = run("read", "--alias", "older", "29", "b")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "name\nbob\n"


def test_an_alias_of_a_change_says_where_it_goes(
    graphs: dict[str, Graph], run: Callable[..., Result]
) -> None:
    assert run("change", "--alias", "add", "cleo", "7").exit_code == 0
    assert run("change", "--alias", "draft", "dan").exit_code == 0
    told = run("change", "--alias", "told", "eve")

    assert json.loads(told.stdout)["affected_nodes"] == 1
    assert names(graphs["g"]) == ["ann", "bob", "cleo", "eve"]
    assert (names(graphs["h"]), names(graphs["h"], "draft")) == ([], ["dan"])


def test_options_come_before_the_alias(
    graphs: dict[str, Graph], run: Callable[..., Result]
) -> None:
    older = run("read", "--alias", "older", "50", "--params", '{"age": 35, "start": ""}', "--json")
    run("change", "--alias", "draft", "fay", "--branch", "main")
    run("change", "--alias", "draft", "gus", "--target", "people", "--branch", "main")
    run("change", "--alias", "draft", "hal", "--uri", "g.omni", "--branch", "main")

    assert json.loads(older.stdout)["rows"] == [{"name": "bob"}]
    assert (names(graphs["h"]), names(graphs["h"], "draft")) == (["fay"], [])
    assert names(graphs["g"]) == ["ann", "bob", "gus", "hal"]


def test_where_no_graph_is_configured_the_first_word_names_it(
    graphs: dict[str, Graph], run: Callable[..., Result]
) -> None:
    alone = CONFIG.replace("cli: {graph: people}", "")
    Path("other.yaml").write_text(alone)

    done = run("change", "--config", "other.yaml", "--alias", "add", "h.omni", "ann")
    missing = run("change", "--config", "other.yaml", "--alias", "add")

    assert (done.exit_code, names(graphs["h"])) == (0, ["ann"])
    assert missing.exit_code == 2
    assert "name a graph, by its URI or with --target" in missing.stderr


def test_what_is_configured_for_all_commands_holds_without_an_alias(
    graphs: dict[str, Graph], run: Callable[..., Result]
) -> None:
    cli = "cli: {graph: others, branch: draft, output_format: kv}"
    Path("omnigraph.yaml").write_text(CONFIG.replace("cli: {graph: people}", cli))
    add = ("--query", "queries/people.gq", "--name", "add", "--params", '{"name": "x", "age": 9}')

    assert run("change", *add).exit_code == 0
    text = "query q() { match { $p: Person } return { $p.name as name } }"
    assert run("read", "-e", text).stdout == "-- row 1\nname  x\n"
    assert run("read", "-e", text, "--branch", "main").stdout == ""
    assert "ann" in run("read", "g.omni", "-e", text, "--branch", "main").stdout
    assert "ann" in run("read", "--target", "people", "-e", text, "--branch", "main").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--alias", "oldr"), 1, "no alias 'oldr'\n   = hint: did you mean 'older'?"),
        (("--alias", "zzzzzz"), 1, "no alias 'zzzzzz'\n   = hint: the aliases are: older, add,"),
        (
            ("--alias", "add", "x"),
            1,
            "error[bad_input]: the alias 'add' is for change\n   = ",
        ),
        (("--alias", "older"), 1, "error[P1]: '$age' is missing"),
        (("--alias", "older", "x"), 1, "error[P4]: '$age' is I32: expected I32, got \"x\""),
        (("--alias", "older", "1", "2", "3"), 2, "unexpected argument '3'; 'older' takes: age"),
        (("--alias", "older", "--name", "add"), 2, "--alias and --name exclude each other"),
        (("--alias", "older", "--query", "x"), 2, "give one of --query, -e and --alias"),
        (("--alias", "older", "--uri", "x", "--target", "y"), 2, "the graph is named twice"),
        (("--alias", "older", "--target", "peopl"), 1, "no graph 'peopl'\n   = hint: did you mean"),
    ],
)
def test_what_is_wrong_with_an_alias_is_told(
    run: Callable[..., Result], arguments: tuple[str, ...], code: int, told: str
) -> None:
    done = run("read", *arguments)

    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr


def test_without_a_configuration_there_is_no_alias_and_no_target(
    tmp_path: Path, run: Callable[..., Result]
) -> None:
    (tmp_path / "omnigraph.yaml").unlink()

    alias = run("read", "--alias", "older", "1")
    target = run("read", "--target", "people", "-e", "query")

    assert (alias.exit_code, target.exit_code) == (1, 1)
    assert "there is no omnigraph.yaml, and so no alias 'older'" in alias.stderr
    assert "there is no omnigraph.yaml, and so no graph 'people'" in target.stderr


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("String", "ana", "ana"),
        ("String", "7", "7"),
        ("String", '"ana"', "ana"),
        ("String", "null", "null"),
        ("String?", "null", None),
        ("I32", "7", 7),
        ("I32", "seven", "seven"),
        ("I32", "3000000000", "3000000000"),
        ("I64", "9007199254740993", 9007199254740993),
        ("F64", "1", 1),
        ("F64", "1e400", "1e400"),
        ("F64", "NaN", "NaN"),
        ("F64", "-Infinity", "-Infinity"),
        ("[F64]", "[1e400]", "[1e400]"),
        ("Bool", "true", True),
        ("Bool", "yes", "yes"),
        ("Date", "2024-01-31", "2024-01-31"),
        ("[String]", '["a", "b"]', ["a", "b"]),
        ("[I64]", "[1, null]", "[1, null]"),
        ("Vector(2)", "[1, 2.5]", [1, 2.5]),
        ("Blob", "base64:AAEC", "base64:AAEC"),
        ("String", "[" * 100_000, "[" * 100_000),
    ],
)
def test_an_argument_is_json_where_that_fits_its_parameter(
    kind: str, text: str, value: object
) -> None:
    query = f"query q($x: {kind}) {{ match {{ $p: Person }} return {{ $p.name }} }}"
    plan = compile_query(query, compile_schema(SCHEMA))

    assert params_of_texts(plan, {"x": text}) == {"x": value}


def test_an_argument_of_no_parameter_is_left_for_binding_to_refuse(
    run: Callable[..., Result],
) -> None:
    Path("omnigraph.yaml").write_text(CONFIG.replace("[age, start]", "[aeg]"))

    done = run("read", "--alias", "older", "7")

    assert done.exit_code == 1
    assert done.stderr.startswith("error[P2]: query 'older' has no parameter '$aeg'")
