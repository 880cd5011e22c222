"""Applying a schema gives it to the branch, keeps every row, and writes no more than it must."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import UnsupportedMigrationError, ViolationsError
from tests.evolution.test_plans import NOT_NULLABLE, SUPPORTED, UNSUPPORTED, Case
from tests.evolution.town import ADDED_NICK, PEOPLE, SCHEMA, edited, files, renamed_type, rows, town

PERSON = "node:Person"
SCORE = "score: F64?"
NEW_NAMES = {
    "renamed property": ("age", "years"),
    "renamed property of a constraint": ("mail", "post"),
    "renamed key": ("name", "slug"),
    "renamed property of an edge": ("since", "begun"),
    "renamed property of an interface": ("title", "rank"),
    "all at once": ("age", "years"),
}


def everything(graph: Graph) -> dict[str, list[dict[str, object]]]:
    return {key: rows(graph, key) for key in graph.snapshot().commit.tables}


@pytest.mark.parametrize("each", SUPPORTED, ids=str)
def test_a_supported_change_keeps_every_value_and_writes_only_what_it_must(
    each: Case, graph: Graph
) -> None:
    before, old_files = everything(graph), files(graph)
    has_other_text = each.desired != SCHEMA

    done = graph.apply_schema(each.desired)

    assert done.applied is has_other_text
    assert [str(step.step) for step in done.plan.steps] == list(each.steps)
    assert graph.schema == each.desired
    assert graph.plan_schema(each.desired).steps == ()
    assert graph.apply_schema(each.desired).applied is False
    old, new = NEW_NAMES.get(each.name, ("", ""))
    after = everything(graph)
    for key, found in before.items():
        kept = [
            {new if name == old else name: value for name, value in row.items()} for row in found
        ]
        # `name` is also a property of City, which keeps it.
        kept = found if key == "node:City" else kept
        assert [{name: row[name] for name in kept[0]} for row in after[key]] == kept
    if not any(step.rows_written or step.rows_checked for step in done.plan.steps):
        added = {each for each in files(graph) - old_files if not _is_of_new_table(graph, each)}
        assert (added, old_files - files(graph)) == (set(), set())


def _is_of_new_table(graph: Graph, path: str) -> bool:
    """Tell whether a file is of a table without rows, which is that of a new type."""
    tables = graph.snapshot().commit.tables.values()
    return any(path.startswith(each.path) and not each.row_count for each in tables)


@pytest.mark.parametrize("each", UNSUPPORTED, ids=str)
def test_an_unsupported_change_changes_nothing(each: Case, graph: Graph, tmp_path: Path) -> None:
    graph = town(tmp_path / "g", NOT_NULLABLE) if each.name == "nullable" else graph
    head, before, old_files = graph.snapshot().commit, everything(graph), files(graph)

    with pytest.raises(UnsupportedMigrationError) as caught:
        graph.apply_schema(each.desired)

    told = tuple(step for step in each.steps if step.startswith("cannot change"))
    assert caught.value.changes == told
    assert caught.value.to_json()["unsupported_changes"] == list(told)
    assert graph.snapshot().commit == head
    assert (everything(graph), files(graph)) == (before, old_files)
    assert graph.branches() == ["main"]
    assert open_graph(graph.uri).schema != each.desired


def test_the_commit_of_a_schema_tells_what_was_done(graph: Graph) -> None:
    desired = edited((SCORE, f"{SCORE}\n  nick: String?"))

    done = graph.apply_schema(desired, actor="ann", message="nicks")
    again = graph.apply_schema(renamed_type("City", "Town", desired))

    commit = done.commit
    assert commit is not None
    assert again.commit is not None
    assert (commit.kind, commit.actor, commit.message) == ("schema", "ann", "nicks")
    assert again.commit.message == "rename node City to Town"
    assert again.commit.parent == commit.id
    assert done.to_json() == {
        "branch": "main",
        "supported": True,
        "applied": True,
        "step_count": 1,
        "manifest_version": commit.version,
        "commit": commit.id,
        "steps": [ADDED_NICK],
    }


def test_a_plan_tells_the_rows_that_each_step_writes_and_checks(graph: Graph) -> None:
    found = graph.plan_schema(
        edited(
            (SCORE, f"{SCORE} @index\n  rank: I32 @default(1)\n  @range(age, 0..)"),
            ("{ since: I32? }", "{ since: I32?  note: I32 @default(1) }"),
        )
    )

    assert [(step.effect, step.breaking) for step in found.steps] == [
        (f"writes one column of {PEOPLE} rows", False),
        (f"indexes {PEOPLE} rows", False),
        (f"checks {PEOPLE} rows", True),
        (f"writes one column of {PEOPLE - 1} rows", False),
    ]


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("@unique(mood)", {f"p{number:02}" for number in range(1, PEOPLE)}),
        ("@range(age, 2..10)", {"p00", "p01", "p11"}),
        ('@check(bio, "^likes word[0-9]$")', {"p10", "p11"}),
        ("@unique(age, mood)", set()),
        ("@range(age, 0..11)", set()),
    ],
)
def test_rows_that_break_a_new_rule_are_listed_and_nothing_is_changed(
    graph: Graph, rule: str, broken: set[str]
) -> None:
    desired = edited((SCORE, f"{SCORE}\n  {rule}"))
    head = graph.snapshot().commit

    found = graph.plan_schema(desired)

    assert {each.id for each in found.violations} == broken
    assert found.violation_count == len(broken)
    if not broken:
        assert graph.apply_schema(desired).applied
        return
    with pytest.raises(ViolationsError) as caught:
        graph.apply_schema(desired)
    assert caught.value.violations == found.violations
    assert graph.snapshot().commit == head


def test_of_many_violations_the_first_are_shown_and_all_are_counted(graph: Graph) -> None:
    lines = (f'{{"type": "Person", "data": {{"name": "q{n}", "age": -1}}}}' for n in range(200))
    graph.load("\n".join(lines), engine="inline")

    found = graph.plan_schema(edited((SCORE, f"{SCORE}\n  @range(age, 0..)")))

    assert (len(found.violations), found.violation_count) == (100, 200)


@pytest.mark.parametrize("rule", ["@range(years, 0..3)", "@unique(years)"])
def test_a_rule_on_what_is_renamed_at_once_is_checked_on_the_rows_that_are_there(
    graph: Graph, rule: str
) -> None:
    graph.mutate('query q() { insert Person { name: "twin", age: 4 } }')
    desired = edited(
        ("age: I32?", 'years: I32? @rename_from("age")'), (SCORE, f"{SCORE}\n  {rule}")
    )

    with pytest.raises(ViolationsError) as caught:
        graph.apply_schema(desired)

    assert {each.field for each in caught.value.violations} == {"years"}


def test_a_new_required_property_cannot_be_unique_when_there_are_two_rows(graph: Graph) -> None:
    with pytest.raises(ViolationsError, match="is that of another Person already"):
        graph.apply_schema(edited((SCORE, f"{SCORE}\n  rank: I32 @default(1) @unique")))


def test_a_time_that_two_rows_have_is_told_to_the_second(tmp_path: Path) -> None:
    schema = "node Visit { name: String @key  at: DateTime? }"
    graph = init(tmp_path / "g", schema, durable=False)
    at = "2024-01-31T12:00:01Z"
    graph.load([{"name": "one", "at": at}, {"name": "two", "at": at}], type="Visit")

    with pytest.raises(ViolationsError, match=r"'2024-01-31 12:00:01\+00:00' is that of another"):
        graph.apply_schema(schema.replace("DateTime?", "DateTime? @unique"))


@pytest.mark.parametrize(
    ("rule", "bad"),
    [
        ("@unique(age)", "age: 3"),
        ("@range(age, 0..50)", "age: 51"),
        ('@check(bio, "likes .*")', 'bio: "hates"'),
    ],
)
def test_a_new_rule_holds_from_then_on(graph: Graph, rule: str, bad: str) -> None:
    graph.apply_schema(edited((SCORE, f"{SCORE}\n  {rule}")))

    with pytest.raises(ViolationsError):
        graph.mutate(f'query q() {{ insert Person {{ name: "new", {bad} }} }}')
    line = bad.replace("age:", '"age":').replace("bio:", '"bio":')
    with pytest.raises(ViolationsError):
        graph.load(f'{{"type": "Person", "data": {{"name": "new", {line}}}}}', engine="inline")


def test_values_that_an_enum_got_can_be_written(graph: Graph) -> None:
    insert = 'query q() { insert Person { name: "new", mood: "calm" } }'
    with pytest.raises(Exception, match="calm"):
        graph.mutate(insert)

    graph.apply_schema(edited(("enum(glad, sad)", "enum(glad, sad, calm)")))
    graph.mutate(insert)

    assert {row["mood"] for row in rows(graph, PERSON)} == {"glad", "calm"}


def test_a_type_that_was_added_is_used_at_once(graph: Graph) -> None:
    graph.apply_schema(f"{SCHEMA}node Dog {{ name: String @key }}\nedge Owns: Person -> Dog\n")

    graph.mutate('query q() { insert Dog { name: "rex" } insert Owns { from: "p01", to: "rex" } }')

    found = graph.query("query q() { match { $p: Person $p owns $d } return { $p.age, $d.name } }")
    assert list(found) == [{"p.age": 1, "d.name": "rex"}]


def test_a_name_that_was_given_up_can_be_used_for_another_type(graph: Graph) -> None:
    first = renamed_type("City", "Town")
    graph.apply_schema(first)
    second = first.replace(' @rename_from("City")', "") + "node City { size: I32 @key }\n"

    graph.apply_schema(second)
    graph.mutate("query q() { insert City { size: 7 } }")

    assert [row["id"] for row in rows(graph, "node:City")] == ["bonn", "ulm"]
    assert [row["id"] for row in rows(graph, "node:City#2")] == ["7"]
    cities = graph.query("query q() { match { $c: City } return { $c.size } }")
    towns = graph.query("query q() { match { $p lives $t  $t: Town } return { $t.name } }")
    assert list(cities) == [{"c.size": 7}]
    assert len(list(towns)) == PEOPLE - 1


def test_the_text_beside_the_tables_is_that_of_main(graph: Graph) -> None:
    desired = edited((SCORE, f"{SCORE}\n  nick: String?"))
    graph.create_branch("draft")

    graph.apply_schema(renamed_type("City", "Town"), "draft")
    assert Path(graph.uri, "_schema.pg").read_text() == SCHEMA
    graph.apply_schema(desired)

    assert Path(graph.uri, "_schema.pg").read_text() == desired
    assert open_graph(graph.uri).schema == desired


def test_a_process_keeps_few_of_many_schemas_and_reads_commits_of_all(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.versioning.repository._MOST_CATALOGS", 2)
    commits = [graph.branch().commit.id]
    for number in range(3):
        graph.apply_schema(f"{graph.schema}\nnode More{number} {{ slug: String @key }}")
        commits.append(graph.branch().commit.id)

    known = [len(graph.snapshot(each).catalog.nodes) for each in commits]

    assert [each - known[0] for each in known] == [0, 1, 2, 3]
    assert len(graph.repository._catalogs) == 2
