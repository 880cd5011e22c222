"""`query list`, `show` and `run`: the stored queries of omnigraph.yaml under their names."""

import json
from inspect import signature
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.data.result import Result
from tests.cli.scene import Run
from tests.templates import fresh_graph

SCHEMA = "node Person { name: String @key  age: I32?  role: enum(dev, ops)? }"
QUERIES = """
query older($age: I32, $start: String?) @description("People above an age.") {
  match { $p: Person  $p.age > $age  $p.name starts_with $start }
  return { $p.name as name }
}
query add($name: String, $age: I32?, $role: enum(dev, ops)?) {
  insert Person { name: $name, age: $age, role: $role }
}
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "omnigraph.yaml").write_text(
        "graphs: {people: {uri: g.omni}}\ncli: {graph: people}\nqueries: queries/\n"
    )
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries/people.gq").write_text(QUERIES)
    return fresh_graph(tmp_path / "g.omni", SCHEMA)


def test_list_shows_every_query_with_its_parameters(run: Run) -> None:
    found = run("query", "list")

    assert found.exit_code == 0, found.output
    assert found.output.splitlines() == [
        "add(name, age?, role?)  [change]",
        "older(age, start?)  People above an age.",
    ]


def test_show_tells_types_as_json_schema(run: Run) -> None:
    about = json.loads(run("query", "show", "add", "--json").output)

    assert about["params"]["properties"]["role"] == {
        "type": ["string", "null"],
        "enum": ["dev", "ops", None],
    }
    assert about["params"]["properties"]["age"]["type"] == ["integer", "null"]
    assert about["params"]["required"] == ["name"]


def test_run_changes_and_reads(run: Run) -> None:
    for name, age in (("ann", "30"), ("bob", "40")):
        done = run("query", "run", "add", "--param", f"name={name}", "--param", f"age={age}")
        assert done.exit_code == 0, done.output

    rows = run("query", "run", "older", "--params", '{"age": 35, "start": "b"}', "--format", "csv")

    assert rows.output.splitlines() == ["name", "bob"]


def test_a_parameter_is_json_where_that_fits_its_type_and_else_text(run: Run) -> None:
    for name, role in (("7", "dev"), ('"ann"', "null")):
        done = run("query", "run", "add", "--param", f"name={name}", "--param", f"role={role}")
        assert done.exit_code == 0, done.output

    rows = run("read", "-e", "match { $p: Person } return { $p.name, $p.role }", "--format", "csv")

    assert rows.output.splitlines() == ["p.name,p.role", "7,dev", "ann,"]


@pytest.mark.parametrize("option", ["--message", "--expect", "--operation-id"])
def test_a_read_takes_nothing_that_is_about_a_commit(run: Run, option: str) -> None:
    found = run("query", "run", "older", "--param", "age=3", option, "x")

    assert found.exit_code == 2
    assert "'older' is a read; --message, --expect and --operation-id are for" in found.output


@pytest.mark.parametrize("text", ["1e400", "NaN", "-Infinity"])
def test_what_is_no_finite_number_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    query = "query above($least: F64) { match { $p: Person  $p.age > $least } return { $p.name } }"
    (tmp_path / "queries/above.gq").write_text(query)

    found = run("query", "run", "above", "--param", f"least={text}")

    assert found.exit_code == 1
    assert f'expected F64, got "{text}"' in found.output


@pytest.mark.parametrize("other", [("--param", "$name=b"), ("--params", '{"name": "b"}')])
def test_a_parameter_cannot_be_given_twice(run: Run, other: tuple[str, str]) -> None:
    done = run("query", "run", "add", "--param", "name=a", *other)

    assert done.exit_code == 2
    assert "the parameter 'name' is given twice" in done.output


def test_an_unknown_query_is_not_found(run: Run) -> None:
    found = run("query", "run", "oldr")

    assert found.exit_code == 5
    assert "omnigraph query list" in found.output


def test_all_problems_of_all_files_are_told_with_file_and_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "queries/twin.gq").write_text('\nquery add() { delete Person where name = "x" }')
    (tmp_path / "queries/wrong.gq").write_text("query broken( {}\n")

    found = run("query", "list")

    assert found.exit_code == 1
    assert "twin.gq:2: query 'add' is also in" in found.output
    assert "wrong.gq:1: Q000" in found.output
    assert run("load", "--data", "nothing.jsonl").exit_code == 1  # other commands do not read them


def test_a_query_that_does_not_fit_the_schema_is_listed_with_its_problem(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "queries/old.gq").write_text("query old() { match { $c: City } return { $c } }")

    listed = json.loads(run("query", "list", "--json").output)["queries"]

    assert [each["name"] for each in listed if each["problem"]] == ["old"]
    assert run("query", "run", "old").exit_code == 1


def test_without_stored_queries_it_says_where_to_name_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "omnigraph.yaml").write_text("graphs: {people: {uri: g.omni}}\n")

    found = run("query", "list", "--target", "people")
    document = run("query", "list", "--target", "people", "--json")

    assert (found.exit_code, found.stdout) == (0, "no stored queries\n")
    assert "queries:" in found.stderr
    assert json.loads(document.stdout) == {"queries": []}
    refused = run("query", "run", "older", "--target", "people")
    assert refused.exit_code == 1
    assert "queries:" in refused.stderr


def test_queries_by_name_are_those_alone_and_may_be_hidden(run: Run, tmp_path: Path) -> None:
    (tmp_path / "omnigraph.yaml").write_text(
        "graphs: {people: {uri: g.omni}}\ncli: {graph: people}\n"
        "queries:\n  add: {file: queries/people.gq, expose: false}\n"
    )

    assert run("query", "list").output == "no stored queries\n"
    assert run("query", "run", "add", "--param", "name=zoe").exit_code == 0
    assert run("query", "run", "older", "--param", "age=1").exit_code == 5


def test_a_function_has_a_signature_that_help_shows(graph: Graph, tmp_path: Path) -> None:
    with open_graph(graph.uri, queries=tmp_path / "queries") as opened:
        older = opened.queries["older"]
        assert list(opened.queries) == ["add", "older"]
        assert str(signature(older)) == "(*, age: 'int', start: 'str | None' = None) -> 'Result'"
        assert older.__doc__ is not None
        assert older.__doc__.startswith("People above an age.")


def test_a_parameter_may_be_a_word_of_python(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "words.gq"
    path.write_text("""query named($from: String, $to: String?) {
      match { $p: Person { name: $from } } return { $p.name as name }
    }""")
    with open_graph(graph.uri, queries=path) as opened:
        named = opened.queries["named"]
        assert str(signature(named)) == "(*, to: 'str | None' = None, **others) -> 'Result'"
        found = named(**{"from": "nobody"})
        assert isinstance(found, Result)
        assert len(found) == 0
