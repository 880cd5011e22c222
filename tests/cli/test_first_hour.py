"""Small things that a newcomer tries first work: short ids, single parameters, times, colours."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from omnigraph.errors import BranchNotFoundError, InputError, NotFoundError
from tests.templates import fresh_graph

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person @card(0..*)
"""
QUERY = """query one($name: String, $age: I32?) {
  match { $p: Person { name: $name } } return { $p.name as name, $p.age as age } }"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.chdir(tmp_path)
    graph = fresh_graph(tmp_path / "g.omni", SCHEMA)
    graph.branch(actor="ida", message="first").load([{"name": "007", "age": 3}], type="Person")
    Path("q.gq").write_text(QUERY)
    return graph


@pytest.fixture
def run() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(omnigraph, list(words), catch_exceptions=False)


def test_the_end_or_the_beginning_of_an_id_is_an_id(
    graph: Graph, run: Callable[..., Result]
) -> None:
    graph.mutate('query q() { insert Person { name: "x" } }')
    commit = next(graph.log(after=graph.branch().commit.id))

    for short in (commit.id[-8:], commit.id[:24], commit.id[-8:].lower()):
        assert graph.commit(short).id == commit.id
        assert graph.at(short).commit.id == commit.id
        assert run("commit", "show", short, "g.omni").exit_code == 0
    assert len(list(graph.diff(commit.id[-8:], "main"))) == 1
    graph.create_tag("first", commit.id[-8:])
    assert graph.tags() == {"first": commit.id}
    graph.create_branch("older", commit.id[-8:])
    assert graph.branch("older").commit.id == commit.id
    assert graph.revert(graph.branch().commit.id[-8:]).commit is not None


def test_history_goes_on_from_a_short_id_also_after_a_cleanup(graph: Graph) -> None:
    for name in "ab":
        graph.mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}')
    newest, middle, oldest, *_ = [commit.id for commit in graph.log()]

    assert [each.cursor for each in graph.changes(since=middle[-8:])] == [newest]
    assert next(graph.log(after=middle[-8:])).id == oldest
    graph.cleanup(keep=2, grace="0s", confirm=True)
    assert [each.cursor for each in graph.changes(since=middle[-8:])] == [newest]


def test_a_short_id_of_several_commits_is_refused_with_them(graph: Graph) -> None:
    for name in "abc":
        graph.mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}')
    ids = [commit.id for commit in graph.log()]
    shared = next(n for n in range(8, 26) if len({each[:n] for each in ids[:2]}) == 2) - 1
    if shared < 8:
        pytest.fail("ids of one second begin alike")

    with pytest.raises(InputError, match="is the short id of"):
        graph.commit(ids[0][:8])


def test_a_branch_comes_before_a_short_id(graph: Graph) -> None:
    short = graph.branch().commit.id[-8:]
    graph.create_branch(short)
    graph.branch(short).mutate('query q() { insert Person { name: "x" } }')

    assert graph.at(short).commit.id == graph.branch(short).commit.id


def test_single_parameters_have_the_types_that_the_query_declares(
    graph: Graph, run: Callable[..., Result]
) -> None:
    words = ("read", "g.omni", "--query", "q.gq", "--json", "--param", "name=007")

    done = run(*words, "--param", "age=3")

    assert json.loads(done.stdout)["rows"] == [{"name": "007", "age": 3}]
    assert run(*words, "--params", '{"name": "x"}').exit_code == 2
    assert run("read", "g.omni", "--query", "q.gq", "--param", "name").exit_code == 2


def test_a_log_shows_actors_and_times_are_times(graph: Graph, run: Callable[..., Result]) -> None:
    commit = graph.branch().commit

    shown = run("commit", "show", commit.id, "g.omni").stdout
    listed = run("commit", "list", "g.omni").stdout

    year = str(commit.time.year)
    assert f"created_at: {year}-" in shown
    assert "ida" in listed.splitlines()[0]
    assert "actor='ida'" in repr(commit)
    assert year in repr(graph.begin_run(actor="ida"))
    assert "ida" in graph.log()._repr_html_()
    assert repr(graph.log()) == "Log('main')"


@pytest.mark.parametrize("how", [("--format", "table"), ("--explain",), ("--profile",)], ids=str)
def test_tables_and_plans_have_colours_on_terminals_alone(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    words = ["read", "g.omni", "--query", "q.gq", "--param", "name=007", *how]
    plain = CliRunner().invoke(omnigraph, words)
    coloured = CliRunner().invoke(omnigraph, words, color=True)
    assert plain.exit_code == coloured.exit_code == 0
    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in coloured.stdout
    if how != ("--profile",):
        assert click.unstyle(coloured.stdout) == plain.stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(omnigraph, words, color=True).stdout


def test_colours_are_for_terminals(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["commit", "list", "g.omni"]

    plain = CliRunner().invoke(omnigraph, words)
    coloured = CliRunner().invoke(omnigraph, words, color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    asked = CliRunner().invoke(omnigraph, words, color=True)

    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in asked.stdout
    assert graph.schema == SCHEMA


def test_schema_get_is_schema_show(graph: Graph, run: Callable[..., Result]) -> None:
    assert run("schema", "get", "g.omni").stdout == run("schema", "show", "g.omni").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("read", "g.omni", "--query", "one.gq", "--param", "name=007"),
        ("query", "lint", "g.omni", "--query", "one.gq"),
        ("query", "explain", "g.omni", "--query", "one.gq"),
        ("query", "fmt", "one.gq"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_file_of_queries_is_found_below_a_query_root(
    graph: Graph, run: Callable[..., Result], words: tuple[str, ...]
) -> None:
    Path("omnigraph.yaml").write_text("query:\n  roots: [stored]\n")
    Path("stored").mkdir()
    Path("stored", "one.gq").write_text(QUERY)
    assert run(*words).exit_code == 0
    missing = run(*(word.replace("one.gq", "two.gq") for word in words))
    assert missing.exit_code == 1
    assert "two.gq" in missing.output


def test_what_a_query_says_about_itself_is_in_lint_and_explain(
    graph: Graph, run: Callable[..., Result]
) -> None:
    notes = '@description("One person") @instruction("Give a name")'
    Path("q.gq").write_text(QUERY.replace(") {", f") {notes} {{", 1))
    linted = json.loads(run("query", "lint", "g.omni", "--query", "q.gq", "--json").output)
    explained = json.loads(run("query", "explain", "g.omni", "--query", "q.gq", "--json").output)
    for found in (linted["results"][0], explained["plans"][0]):
        assert found["description"] == "One person"
        assert found["instruction"] == "Give a name"
    shown = run("query", "explain", "g.omni", "--query", "q.gq").output
    assert "  description: One person\n  instruction: Give a name\n" in shown
    assert "description: One person" in str(graph.branch().explain(Path("q.gq")))


def test_a_place_that_is_not_there_names_all_that_it_may_be(
    graph: Graph, run: Callable[..., Result]
) -> None:
    missing = "no branch, tag or commit 'v9'"
    for road in (
        lambda: graph.at("v9"),
        lambda: graph.diff("main", "v9"),
        lambda: graph.create_branch("new", "v9"),
    ):
        with pytest.raises(BranchNotFoundError, match=missing):
            road()
    assert missing in run("diff", "main", "v9", "g.omni").stderr
    with pytest.raises(BranchNotFoundError, match="no branch 'v9'"):
        graph.branch("v9").mutate('query q() { insert Person { name: "a" } }')


def test_a_beginning_of_an_id_that_is_too_short_is_told(graph: Graph) -> None:
    short = graph.branch().commit.id[:6]
    for road, what in ((graph.commit, "commit"), (graph.at, "branch, tag or commit")):
        with pytest.raises(NotFoundError) as caught:
            road(short)
        assert caught.value.message == f"no {what} '{short}': give at least 8 characters of an id"
