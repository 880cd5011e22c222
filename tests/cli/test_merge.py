"""`diff`, `branch merge` and `revert` answer as documented, for people and for programs."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.merge.outcome import Merge
from tests.cli.scene import Run
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person { name: String @key  age: I32?  city: String? }
edge Knows: Person -> Person { @key(src, dst) }
"""
ROWS = """
{"type": "Person", "data": {"name": "ann", "age": 30}}
{"type": "Person", "data": {"name": "bob"}}
{"edge": "Knows", "from": "ann", "to": "bob"}
"""


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA, ROWS)
    graph.create_branch("draft")
    return graph


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph in the folder where commands run, with a branch `draft`."""
    monkeypatch.chdir(tmp_path)
    return copied_graph(tmp_path / "g.omni", made)


def change(graph: Graph, branch: str, actor: str, *statements: str) -> None:
    for each in statements:
        graph.branch(branch, actor=actor).mutate(f"query q() {{ {each} }}")


def set_age(name: str, age: int) -> str:
    return f'update Person set {{ age: {age} }} where name = "{name}"'


def move(name: str, city: str) -> str:
    return f'update Person set {{ city: "{city}" }} where name = "{name}"'


def quarrel(graph: Graph) -> None:
    """Let both branches change ann's age, and each something else."""
    change(graph, "main", "eve", set_age("ann", 31), move("bob", "Ulm"))
    change(graph, "draft", "adam", set_age("ann", 32), 'insert Person { name: "cleo" }')


def people(graph: Graph, target: str = "main") -> dict[str, tuple[object, object]]:
    rows = open_graph(graph.uri).snapshot(target).table("node:Person").scan().to_pylist()
    return {row["id"]: (row["age"], row["city"]) for row in rows}


def answered(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_diff_shows_a_line_for_each_row_that_differs(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31), 'insert Person { name: "cleo" }')
    change(graph, "draft", "adam", 'delete Knows where from = "ann"')

    done = run("diff", "main", "draft", "g.omni")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "~ Person ann  age 30 → 31",
        "+ Person cleo",
        "- ann -Knows-> bob",
    ]
    assert run("diff", "main..draft", "g.omni").stdout == done.stdout
    back = run("diff", "draft", "main", "g.omni", "--type", "Person", "--op", "delete")
    assert back.stdout == "- Person cleo\n"
    edges = run("diff", "main", "draft", "g.omni", "--kind", "edge")
    assert edges.stdout == "- ann -Knows-> bob\n"


def test_an_insert_in_a_diff_shows_its_values(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", 'insert Person { name: "cleo", age: 3, city: "Ulm" }')

    assert run("diff", "main", "draft", "g.omni").stdout == "+ Person cleo  age 3, city Ulm\n"
    assert [str(each) for each in graph.diff("main", "draft")] == ["+ Person cleo  age 3, city Ulm"]


def test_three_dots_show_what_a_branch_did_and_nothing_that_happened_meanwhile(
    graph: Graph, run: Run
) -> None:
    quarrel(graph)

    done = run("diff", "main...draft", "g.omni")
    plain = run("diff", "main", "draft", "g.omni")

    assert done.stdout.splitlines() == ["~ Person ann  age 30 → 32", "+ Person cleo"]
    assert "~ Person bob  city Ulm → null" in plain.stdout.splitlines()
    assert [str(each) for each in graph.review("draft", into="main")] == done.stdout.splitlines()
    assert run("diff", "main...", "g.omni").exit_code == 2
    assert run("diff", "main").exit_code == 2


def test_diff_counts(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31), 'insert Person { name: "cleo" }')
    change(graph, "draft", "adam", 'delete Knows where from = "ann"')

    done = run("diff", "main", "draft", "g.omni", "--stat")
    as_json = run("diff", "main", "draft", "g.omni", "--stat", "--json")

    assert done.stdout == "Person: 1 insert, 1 update\nKnows: 1 delete\n3 rows\n"
    assert answered(as_json) == {
        "from_version": 1,
        "to_version": 4,
        "branch": "draft",
        "changes": [],
        "stats": {
            "Person": {"insert": 1, "update": 1, "delete": 0},
            "Knows": {"insert": 0, "update": 0, "delete": 1},
        },
        "schema_steps": [],
    }


def test_a_diff_shows_what_the_schemas_differ_in(graph: Graph, run: Run) -> None:
    graph.apply_schema(f"{graph.schema}\nnode City {{ name: String @key }}", "draft")

    done = run("diff", "main", "draft", "g.omni")
    as_json = run("diff", "main", "draft", "g.omni", "--json")

    assert done.stdout == "schema: add node City\n"
    (step,) = answered(as_json)["schema_steps"]
    assert (step["kind"], step["text"]) == ("add_type", "add node City")
    assert run("diff", "main", "main", "g.omni", "--stat").stdout == "0 rows\n"


def test_the_machine_form_of_a_diff(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31), 'delete Person where name = "bob"')

    found = answered(run("diff", "main", "draft", "g.omni", "--json"))

    assert found["changes"] == [
        {
            "table_key": "node:Person",
            "kind": "node",
            "type_name": "Person",
            "id": "bob",
            "op": "delete",
            "manifest_version": 3,
            "before": {"id": "bob", "name": "bob", "age": None, "city": None},
        },
        {
            "table_key": "node:Person",
            "kind": "node",
            "type_name": "Person",
            "id": "ann",
            "op": "update",
            "manifest_version": 3,
            "before": {"id": "ann", "name": "ann", "age": 30, "city": None},
            "after": {"id": "ann", "name": "ann", "age": 31, "city": None},
            "changed": ["age"],
        },
        {
            "table_key": "edge:Knows",
            "kind": "edge",
            "type_name": "Knows",
            "id": '["ann","bob"]',
            "op": "delete",
            "manifest_version": 3,
            "before": {"id": '["ann","bob"]', "from": "ann", "to": "bob"},
            "endpoints": {"src": "ann", "dst": "bob"},
        },
    ]


def test_diff_with_what_is_not_there_exits_with_five(run: Run) -> None:
    done = run("diff", "main", "nowhere", "g.omni")

    assert (done.exit_code, done.stdout) == (5, "")
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("given", ["g.omni", "s3://bucket/g.omni"])
def test_a_diff_says_where_a_graph_goes_that_stands_as_a_place(run: Run, given: str) -> None:
    done = run("diff", "main", given, "--uri", "g.omni")

    assert done.exit_code != 0
    assert f"two places come before the graph: FROM TO {given}" in done.stderr


def test_a_merge_tells_its_outcome_and_its_commit(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", move("ann", "Ulm"))
    change(graph, "draft", "adam", set_age("ann", 31), 'insert Person { name: "cleo" }')

    done = run("branch", "merge", "draft", "g.omni", "--as", "judge", "--message", "hello")

    head = open_graph(graph.uri).snapshot().commit
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        f"draft into main: merged\n  Person: 1 insert, 1 update\ncommit {head.id}\n"
    )
    assert (head.actor, head.message) == ("judge", "hello")
    assert people(graph)["ann"] == (31, "Ulm")
    again = run("branch", "merge", "draft", "g.omni")
    assert again.stdout == "draft into main: already up to date\n"


def test_the_machine_form_of_a_merge(graph: Graph, run: Run) -> None:
    graph.create_branch("next")
    change(graph, "draft", "adam", set_age("ann", 31))
    base = graph.snapshot("next").commit.id

    done = run("branch", "merge", "draft", "g.omni", "--into", "next", "--as", "judge", "--json")

    head = open_graph(graph.uri).snapshot("next").commit
    assert answered(done) == {
        "source": "draft",
        "target": "next",
        "outcome": "fast_forward",
        "actor_id": "judge",
        "commit": head.id,
        "base_commit": base,
        "stats": {"Person": {"insert": 0, "update": 1, "delete": 0}},
        "merge_conflicts": [],
    }
    again = answered(run("branch", "merge", "draft", "g.omni", "--into", "next", "--json"))
    assert (again["outcome"], again["commit"]) == ("already_up_to_date", None)


def test_a_conflict_exits_with_three_and_changes_nothing(graph: Graph, run: Run) -> None:
    quarrel(graph)
    before = people(graph)

    done, as_json = (run("branch", "merge", "draft", "g.omni", *more) for more in ((), ("--json",)))

    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("error[merge_conflicts]: Person 'ann' was updated by both sides")
    assert (as_json.exit_code, as_json.stderr) == (3, "")
    (conflict,) = answered(as_json)["merge_conflicts"]
    assert {name: conflict[name] for name in ("kind", "row_id", "property", "ours", "theirs")} == {
        "kind": "DivergentUpdate",
        "row_id": "ann",
        "property": "age",
        "ours": 31,
        "theirs": 32,
    }
    assert (conflict["ours_actor"], conflict["theirs_actor"]) == ("eve", "adam")
    assert people(graph) == before


def test_a_preview_without_conflicts_exits_with_zero(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31))

    done = run("branch", "merge", "draft", "g.omni", "--preview")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "draft into main: would be fast forward"


def test_a_preview_with_conflicts_shows_all_sides_and_exits_with_three(
    graph: Graph, run: Run
) -> None:
    quarrel(graph)
    before = people(graph)

    done = run("branch", "merge", "draft", "g.omni", "--preview")
    as_json = answered(run("branch", "merge", "draft", "g.omni", "--preview", "--json"))

    assert (done.exit_code, done.stderr) == (3, "")
    assert done.stdout.splitlines() == [
        "draft into main: 1 conflict",
        "  Person: 1 insert, 1 update",
        "   - DivergentUpdate: Person 'ann' was updated by both sides to different values (age)",
        "       base 30, ours 31, theirs 32",
    ]
    assert (as_json["commit"], len(as_json["merge_conflicts"])) == (None, 1)
    assert as_json["outcome"] == "conflicts"
    assert "outcome='conflicts', 1 conflict," in repr(graph.preview_merge("draft"))
    assert people(graph) == before


@pytest.mark.parametrize(("side", "age"), [("--ours", 31), ("--theirs", 32)])
def test_one_side_can_be_taken(graph: Graph, run: Run, side: str, age: int) -> None:
    quarrel(graph)

    done = run("branch", "merge", "draft", "g.omni", side)

    assert done.exit_code == 0
    assert people(graph) == {"ann": (age, None), "bob": (None, "Ulm"), "cleo": (None, None)}
    message = open_graph(graph.uri).snapshot().commit.message or ""
    assert message.endswith(f"resolved: all {side[2:]}")


def test_both_sides_cannot_be_taken(run: Run) -> None:
    done = run("branch", "merge", "draft", "g.omni", "--ours", "--theirs")

    assert done.exit_code == 2
    assert "exclude each other" in done.stderr


def test_conflicts_are_written_by_a_preview_alone(graph: Graph, run: Run) -> None:
    quarrel(graph)

    done = run("branch", "merge", "draft", "g.omni", "--write-resolutions", "choices.json")

    assert (done.exit_code, Path("choices.json").exists()) == (2, False)
    assert "--preview" in done.stderr


def test_a_preview_without_conflicts_writes_that_nothing_is_to_be_decided(
    graph: Graph, run: Run
) -> None:
    change(graph, "draft", "adam", set_age("ann", 31))

    done = run(
        "branch", "merge", "draft", "g.omni", "--preview", "--write-resolutions", "choices.json"
    )

    assert done.exit_code == 0
    assert done.stdout.endswith("wrote choices.json; there is nothing to decide in it\n")


def test_a_strict_merge_refuses_what_else_is_merged(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", move("ann", "Ulm"))
    change(graph, "draft", "adam", set_age("ann", 31))

    assert run("branch", "merge", "draft", "g.omni", "--strict").exit_code == 3
    assert run("branch", "merge", "draft", "g.omni").exit_code == 0


def test_a_preview_writes_the_conflicts_to_choose_from(graph: Graph, run: Run) -> None:
    quarrel(graph)

    written = run(
        "branch", "merge", "draft", "g.omni", "--preview", "--write-resolutions", "choices.json"
    )
    choices = json.loads(Path("choices.json").read_text())
    untouched = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")
    assert (written.exit_code, untouched.exit_code) == (3, 3)
    assert [each["take"] for each in choices["merge_conflicts"]] == [None]
    assert written.stdout.splitlines()[-1] == (
        "wrote choices.json; set `take` in it to ours or theirs, then: "
        "omnigraph branch merge draft g.omni --resolutions choices.json"
    )
    left = "choices.json decides 0 of 1 conflict; set `take` in each to ours or theirs"
    assert f"   = hint: {left}\n" in untouched.stderr
    again = run("branch", "merge", "draft", "g.omni", "--preview", "--resolutions", "choices.json")
    assert again.stdout.splitlines()[-1] == left

    choices["merge_conflicts"][0]["take"] = "theirs"
    Path("choices.json").write_text(json.dumps(choices))
    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert done.exit_code == 0
    assert people(graph)["ann"] == (32, None)
    message = open_graph(graph.uri).snapshot().commit.message or ""
    assert message.endswith("resolved: Person.ann.age theirs")


def next_words(written: Result) -> list[str]:
    """Return the command that a preview says to run next, without the name of the program."""
    _, found, command = written.stdout.splitlines()[-1].partition("then: omnigraph ")
    assert found
    return shlex.split(command)


def take(side: str, path: str = "choices.json") -> None:
    choices = json.loads(Path(path).read_text())
    for each in choices["merge_conflicts"]:
        each["take"] = side
    Path(path).write_text(json.dumps(choices))


PREVIEW = ("--preview", "--write-resolutions", "choices.json")


@pytest.mark.parametrize(
    "naming",
    [
        ("g.omni",),
        ("--uri", "g.omni"),
        ("--target", "staging"),
        ("--target", "staging", "--config", "conf/omnigraph.yaml"),
        ("-P", "mine"),
    ],
    ids=" ".join,
)
def test_the_next_step_works_on_the_same_graph(
    graph: Graph, run: Run, naming: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    quarrel(graph)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(Path("home").absolute()))
    Path("home").mkdir()
    Path("home/config.yaml").write_text(
        "clusters: {c: {uri: .}}\nprofiles: {mine: {cluster: c, graph: g}}\n"
    )
    Path("graphs").mkdir()
    Path("graphs/g.omni").symlink_to(graph.uri)
    config = "graphs: {prod: {uri: %s}, staging: {uri: %s}}\ncli: {graph: prod}\n"
    Path("conf").mkdir()
    Path("conf/omnigraph.yaml").write_text(config % ("../prod.omni", "../g.omni"))
    Path("omnigraph.yaml").write_text(config % ("prod.omni", "g.omni"))

    written = run("branch", "merge", "draft", *naming, *PREVIEW)
    assert written.exit_code == 3, written.output
    take("theirs")
    done = run(*next_words(written))

    assert done.exit_code == 0, done.output
    assert people(graph)["ann"] == (32, None)


def test_the_next_step_says_who_merges_and_how(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", move("ann", "Ulm"))
    change(graph, "draft", "adam", set_age("ann", 31))
    how = ("--into", "main", "--strict", "--as", "judge", "--message", "two in one")

    written = run("branch", "merge", "draft", "g.omni", *how, *PREVIEW)
    take("ours")
    done = run(*next_words(written))

    assert done.exit_code == 0, done.output
    assert people(graph)["ann"] == (30, "Ulm")
    commit = open_graph(graph.uri).snapshot().commit
    assert (commit.actor, commit.message) == ("judge", "two in one")


@pytest.mark.parametrize("value", ["1e400", "NaN", '1, "value": 2'])
def test_a_choice_that_is_no_json_is_refused(run: Run, graph: Graph, value: str) -> None:
    Path("choices.json").write_text(f'{{"merge_conflicts": [{{"value": {value}}}]}}')

    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert done.exit_code == 1
    assert "is not a resolutions file" in done.stderr


def test_a_choice_that_meets_no_conflict_is_refused(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", move("ann", "Ulm"))
    change(graph, "draft", "adam", set_age("ann", 31))
    run("branch", "merge", "draft", "g.omni", "--strict", *PREVIEW)
    take("ours")

    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert done.exit_code == 1
    assert "is not a conflict of this merge" in done.stderr
    assert people(graph)["ann"] == (30, "Ulm")


def test_choices_that_were_made_before_are_written_with_what_is_left(
    graph: Graph, run: Run
) -> None:
    quarrel(graph)
    change(graph, "main", "eve", set_age("bob", 1))
    change(graph, "draft", "adam", set_age("bob", 2))
    run("branch", "merge", "draft", "g.omni", *PREVIEW)
    choices = json.loads(Path("choices.json").read_text())
    choices["merge_conflicts"][0]["take"] = "theirs"
    Path("choices.json").write_text(json.dumps(choices))

    again = run("branch", "merge", "draft", "g.omni", *PREVIEW, "--resolutions", "choices.json")

    left = json.loads(Path("choices.json").read_text())["merge_conflicts"]
    assert [(each["row_id"], each["take"]) for each in left] == [("ann", "theirs"), ("bob", None)]
    take("theirs")
    assert run(*next_words(again)).exit_code == 0
    assert (people(graph)["ann"], people(graph)["bob"]) == ((32, None), (2, "Ulm"))


def test_a_conflict_is_settled_by_a_third_value_of_a_file(graph: Graph, run: Run) -> None:
    quarrel(graph)
    run("branch", "merge", "draft", "g.omni", "--preview", "--write-resolutions", "choices.json")
    choices = json.loads(Path("choices.json").read_text())
    del choices["merge_conflicts"][0]["take"]
    choices["merge_conflicts"][0]["value"] = 33
    Path("choices.json").write_text(json.dumps(choices))

    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert done.exit_code == 0
    assert people(graph) == {"ann": (33, None), "bob": (None, "Ulm"), "cleo": (None, None)}
    message = open_graph(graph.uri).snapshot().commit.message or ""
    assert message.endswith("resolved: Person.ann.age to another value")


def test_a_merged_branch_can_be_removed_at_once(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31))

    done = run("branch", "merge", "draft", "g.omni", "--delete-branch")

    assert done.stdout.splitlines()[-1] == "removed branch draft"
    assert open_graph(graph.uri).branches() == ["main"]


@pytest.mark.parametrize("fresh", [True, False], ids=["merged", "up to date"])
def test_a_merged_branch_that_moved_is_kept_and_the_merge_is_told(
    graph: Graph, run: Run, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    change(graph, "draft", "adam", set_age("ann", 31))
    if not fresh:
        graph.merge("draft", "main")
    merge = Branch.merge

    def merge_and_move(self: Branch, *given: Any, **named: Any) -> Merge:
        done = merge(self, *given, **named)
        change(graph, "draft", "adam", 'insert Person { name: "late" }')
        return done

    monkeypatch.setattr(Branch, "merge", merge_and_move)
    done = run("branch", "merge", "draft", "g.omni", "--delete-branch", "--json")

    assert done.exit_code == 3
    assert answered(done)["outcome"] == ("fast_forward" if fresh else "already_up_to_date")
    assert answered(done)["branch_deleted"] is False
    assert done.stderr.startswith("kept branch draft, which moved behind the merge: 'draft' stands")
    assert people(graph)["ann"] == (31, None)
    assert "late" in people(graph, "draft")


def test_a_branch_is_deleted_where_it_is_expected_to_stand(graph: Graph, run: Run) -> None:
    seen = graph.branch("draft").commit.id
    change(graph, "draft", "adam", set_age("ann", 31))
    assert run("branch", "delete", "draft", "g.omni", "--expect", seen).exit_code == 3
    now = open_graph(graph.uri).branch("draft").commit.id
    assert run("branch", "delete", "draft", "g.omni", "--expect", now).exit_code == 0


def test_a_merge_is_not_denied_when_its_branch_cannot_be_removed(graph: Graph, run: Run) -> None:
    change(graph, "draft", "adam", set_age("ann", 31))
    graph.begin_run("draft")

    done = run("branch", "merge", "draft", "g.omni", "--delete-branch")

    commit = open_graph(graph.uri).snapshot().commit
    assert people(graph)["ann"] == (31, None)
    assert done.exit_code != 0
    assert f"'draft' was merged by commit {commit.id}, but not removed" in done.stderr
    assert "is to be published to 'draft'" in done.stderr


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ('"x"', "a resolution is not an object"),
        ('{"take": "teirs", "type_name": "Person", "row_id": "ann"}', "invalid side 'teirs'"),
        ('{"take": "ours"}', "a resolution has no 'type_name'"),
    ],
)
def test_a_choice_that_cannot_be_read_is_told(
    graph: Graph, run: Run, choice: str, reason: str
) -> None:
    quarrel(graph)
    Path("choices.json").write_text(f'{{"merge_conflicts": [{choice}]}}')

    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[bad_input]: {reason}")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"merge_conflicts": 1}'])
def test_a_file_that_holds_no_resolutions_is_refused(graph: Graph, run: Run, text: str) -> None:
    quarrel(graph)
    Path("choices.json").write_text(text)

    done = run("branch", "merge", "draft", "g.omni", "--resolutions", "choices.json")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error[bad_input]: 'choices.json' is not a resolutions file")


def test_files_that_cannot_be_read_or_written_are_told(graph: Graph, run: Run) -> None:
    quarrel(graph)
    missing = run("branch", "merge", "draft", "g.omni", "--resolutions", "none.json")
    unwritable = run(
        "branch", "merge", "draft", "g.omni", "--preview", "--write-resolutions", "no/where.json"
    )

    assert (missing.exit_code, unwritable.exit_code) == (1, 1)
    assert "cannot read 'none.json'" in missing.stderr
    assert "cannot write 'no/where.json'" in unwritable.stderr


def test_a_merge_of_what_is_not_there_exits_with_five(run: Run) -> None:
    assert run("branch", "merge", "nowhere", "g.omni").exit_code == 5
    assert run("branch", "merge", "draft", "g.omni", "--into", "nowhere").exit_code == 5
    assert run("branch", "merge", "draft", "none.omni").exit_code == 5


def test_a_commit_is_undone(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", set_age("ann", 31), move("ann", "Ulm"))
    undone = graph.snapshot().commit.parent or ""

    done = run("revert", undone, "g.omni", "--as", "judge", "--json")

    head = open_graph(graph.uri).snapshot().commit
    assert answered(done) == {"branch": "main", "reverted": undone, "commit": head.id}
    assert people(graph)["ann"] == (30, "Ulm")
    again = run("revert", head.id, "g.omni")
    assert again.stdout.startswith(f"reverted {head.id} by commit ")
    assert people(graph)["ann"] == (31, "Ulm")


def test_a_preview_of_a_revert_changes_nothing(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", set_age("ann", 31), set_age("ann", 32))
    newest = graph.snapshot().commit

    shown = run("revert", newest.id, "g.omni", "--preview")

    assert shown.stdout == f"{newest.id} into main: would be fast forward\n  Person: 1 update\n"
    assert run("revert", newest.parent or "", "g.omni", "--preview").exit_code == 3
    assert answered(run("revert", newest.id, "g.omni", "--preview", "--json"))["commit"] is None
    assert people(graph)["ann"][0] == 32


def test_what_was_undone_before_is_said_to_be(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", set_age("ann", 31))
    undone = graph.snapshot().commit.id
    graph.revert(undone)

    again = run("revert", undone, "g.omni")

    assert (again.exit_code, again.stdout) == (0, f"nothing of {undone} is left to revert\n")
    assert answered(run("revert", undone, "g.omni", "--json"))["commit"] is None


def test_a_merge_is_told_which_engine_merges_large_changes(graph: Graph, run: Run) -> None:
    change(graph, "main", "eve", set_age("ann", 31))
    change(graph, "draft", "adam", move("ann", "Ulm"))

    assert run("branch", "merge", "draft", "g.omni", "--engine", "cluster").exit_code == 2
    done = run("branch", "merge", "draft", "g.omni", "--engine", "inline", "--json")

    assert answered(done)["outcome"] == "merged"


def test_a_commit_that_others_built_upon_is_not_undone_unless_a_side_is_taken(
    graph: Graph, run: Run
) -> None:
    change(graph, "main", "eve", set_age("ann", 31), set_age("ann", 32))
    undone = graph.snapshot().commit.parent or ""

    assert run("revert", undone, "g.omni").exit_code == 3
    assert people(graph)["ann"] == (32, None)
    assert run("revert", undone, "g.omni", "--theirs").exit_code == 0
    assert people(graph)["ann"] == (30, None)
    assert run("revert", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "g.omni").exit_code == 5
