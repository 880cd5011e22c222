"""`changes`, `blame`, `tag` and `run` answer as documented, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.cli.scene import Run
from tests.templates import copied_graph, fresh_graph

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    change(graph, "eve", 'insert Person { name: "ann", age: 30 }')
    return graph


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph in the folder where commands run, with ann in it, whom eve added."""
    monkeypatch.chdir(tmp_path)
    return copied_graph(tmp_path / "g.omni", made)


def change(graph: Graph, actor: str, statement: str, branch: str = "main") -> str:
    graph.branch(branch, actor=actor).mutate(f"query q() {{ {statement} }}")
    return graph.snapshot(branch).commit.id


def set_age(age: int) -> str:
    return f'update Person set {{ age: {age} }} where name = "ann"'


def age(graph: Graph) -> object:
    return open_graph(graph.uri).snapshot().table("node:Person").scan(["age"])["age"][0].as_py()


def answered(result: Result) -> dict[str, Any]:
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def lines(result: Result) -> list[dict[str, Any]]:
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_changes_are_lines_of_json_with_their_commit(graph: Graph, run: Run) -> None:
    first = graph.snapshot().commit.id
    second = change(graph, "adam", set_age(31))

    found = lines(run("changes", "g.omni"))

    assert [(each["commit"], each["actor_id"], each["op"]) for each in found] == [
        (first, "eve", "insert"),
        (second, "adam", "update"),
    ]
    assert found[1] == {
        "commit": second,
        "actor_id": "adam",
        "table_key": "node:Person",
        "kind": "node",
        "type_name": "Person",
        "id": "ann",
        "op": "update",
        "before": {"id": "ann", "name": "ann", "age": 30},
        "after": {"id": "ann", "name": "ann", "age": 31},
        "changed": ["age"],
        "manifest_version": graph.snapshot().commit.version,
    }
    assert lines(run("changes", "g.omni", "--since", first)) == found[1:]
    assert lines(run("changes", "g.omni", "--since", second)) == []
    assert lines(run("changes", "g.omni", "--type", "Knows")) == []


def test_changes_since_an_unknown_commit_exit_with_five(run: Run) -> None:
    done = run("changes", "g.omni", "--since", "01ARZ3NDEKTSV4RRFFQ69G5FAV")

    assert (done.exit_code, done.stdout) == (5, "")
    assert "no commit" in done.stderr


def test_blame_tells_who_set_each_property(graph: Graph, run: Run) -> None:
    first = graph.snapshot().commit.id
    second = change(graph, "adam", set_age(31))

    done = run("blame", "Person", "ann", "g.omni")
    as_json = answered(run("blame", "Person", "ann", "g.omni", "--json"))

    assert done.stdout.splitlines() == [
        f"{first}  eve   name  ann",
        f"{second}  adam  age   31",
    ]
    assert (as_json["type_name"], as_json["id"]) == ("Person", "ann")
    assert [(each["property"], each["commit"]) for each in as_json["blame"]] == [
        ("name", first),
        ("age", second),
    ]
    assert set(as_json["blame"][0]) == {
        "property",
        "value",
        "commit",
        "actor_id",
        "created_at",
        "message",
        "or_earlier",
    }
    older = answered(run("blame", "Person", "ann", "g.omni", "--branch", first, "--json"))
    assert older["blame"][1]["value"] == 30


def test_blame_tells_that_an_older_commit_may_have_set_a_property(graph: Graph, run: Run) -> None:
    change(graph, "adam", set_age(31))
    second = change(graph, "adam", set_age(32))
    third = change(graph, "adam", set_age(33))
    graph.cleanup(keep=2, grace="0s", confirm=True)

    done = run("blame", "Person", "ann", "g.omni")

    assert done.stdout.splitlines() == [
        f"{second}  adam  name  ann  (or earlier)",
        f"{third}  adam  age   33",
    ]


def test_blame_of_what_is_not_there_exits_with_five(run: Run) -> None:
    assert run("blame", "Person", "bob", "g.omni").exit_code == 5
    assert run("blame", "Persn", "ann", "g.omni").exit_code == 5


def test_tags_are_made_listed_and_deleted(graph: Graph, run: Run) -> None:
    first = graph.snapshot().commit.id
    second = change(graph, "eve", set_age(31))

    assert run("tag", "create", "v1", "g.omni", "--at", first).stdout == f"v1 is commit {first}\n"
    made = answered(run("tag", "create", "v2", "g.omni", "--json"))
    assert made == {"name": "v2", "commit": second}
    assert run("tag", "list", "g.omni").stdout == f"{first}  v1\n{second}  v2\n"
    assert answered(run("tag", "list", "g.omni", "--json")) == {
        "tags": [{"name": "v1", "commit": first}, {"name": "v2", "commit": second}]
    }
    assert run("diff", "v1", "v2", "g.omni").stdout == "~ Person ann  age 30 → 31\n"
    assert run("tag", "delete", "v1", "g.omni").stdout == "deleted tag v1\n"
    assert answered(run("tag", "delete", "v2", "g.omni", "--json")) == {"name": "v2"}
    assert answered(run("tag", "list", "g.omni", "--json")) == {"tags": []}


def test_a_tag_that_is_there_and_one_that_is_not_are_told(run: Run) -> None:
    run("tag", "create", "v1", "g.omni")

    twice = run("tag", "create", "v1", "g.omni")
    missing = run("tag", "delete", "v11", "g.omni")

    assert (twice.exit_code, missing.exit_code) == (1, 5)
    assert "did you mean 'v1'?" in missing.stderr


def test_a_run_is_begun_written_and_published(graph: Graph, run: Run) -> None:
    base = graph.snapshot().commit

    begun = answered(run("run", "begin", "g.omni", "--as", "eve", "--json"))
    assert begun == {
        "run_id": begun["run_id"],
        "target_branch": "main",
        "run_branch": f"__run__{begun['run_id']}",
        "base_snapshot_id": base.id,
        "base_manifest_version": base.version,
        "operation_hash": None,
        "actor_id": "eve",
        "status": "running",
        "published_snapshot_id": None,
        "created_at": begun["created_at"],
        "updated_at": begun["created_at"],
    }
    text = f"query q() {{ {set_age(31)} }}"
    wrote = run("change", "g.omni", "-e", text, "--branch", begun["run_branch"])
    assert (wrote.exit_code, age(graph)) == (0, 30)

    done = answered(run("run", "publish", begun["run_id"], "g.omni", "--as", "adam", "--json"))

    head = open_graph(graph.uri).snapshot().commit
    assert (done["status"], done["published_snapshot_id"]) == ("published", head.id)
    assert (age(graph), head.actor) == (31, "adam")
    assert answered(run("run", "show", begun["run_id"], "g.omni", "--json")) == done


def test_runs_are_listed_and_given_up(run: Run) -> None:
    first, second = (answered(run("run", "begin", "g.omni", "--json"))["run_id"] for _ in range(2))

    aborted = answered(run("run", "abort", first, "g.omni", "--json"))
    failed = run("run", "fail", second, "g.omni")

    assert aborted["status"] == "aborted"
    assert "status: failed" in failed.stdout.splitlines()
    lines = [line.split() for line in run("run", "list", "g.omni").stdout.splitlines()]
    assert [(words[0], words[-3]) for words in lines] == [(second, "failed"), (first, "aborted")]
    listed = answered(run("run", "list", "g.omni", "--json"))["runs"]
    assert [each["run_id"] for each in listed] == [second, first]
    assert answered(run("run", "abort", first, "g.omni", "--json")) == aborted
    late = run("run", "publish", first, "g.omni")
    assert (late.exit_code, "aborted" in late.stderr) == (1, True)


def test_an_operation_that_is_begun_again_gets_its_run(run: Run) -> None:
    hashed = ("run", "begin", "g.omni", "--operation-hash", "op", "--json")

    assert answered(run(*hashed)) == answered(run(*hashed))


def test_a_run_that_clashes_exits_with_three_and_an_unknown_one_with_five(
    graph: Graph, run: Run
) -> None:
    begun = answered(run("run", "begin", "g.omni", "--json"))
    change(open_graph(graph.uri), "eve", set_age(31), begun["run_branch"])
    change(graph, "eve", set_age(32))

    assert run("run", "publish", begun["run_id"], "g.omni").exit_code == 3
    assert answered(run("run", "show", begun["run_id"], "g.omni", "--json"))["status"] == "running"
    for command in ("show", "publish", "abort", "fail"):
        assert run("run", command, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "g.omni").exit_code == 5


def test_a_list_of_commits_has_the_first_line_of_a_message_and_one_commit_all(
    graph: Graph, run: Run
) -> None:
    graph.load('{"type": "Person", "data": {"name": "bob"}}', message="from the shop\n\nat noon")

    listed = run("commit", "list", "g.omni").stdout.splitlines()
    shown = run("commit", "show", next(graph.log()).id, "g.omni").stdout

    assert len(listed) == 3
    assert listed[0].endswith("write     from the shop")
    assert "from the shop\n\nat noon" in shown
