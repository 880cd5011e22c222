"""Every row that breaks a rule is reported with its file and line, by either engine alike."""

import json
import pickle
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import Code, UnreadableError, Violation, ViolationsError
from omnigraph.graph import Graph, init
from omnigraph.graph import open as open_graph
from omnigraph.pipeline import checks, keys, lookups
from tests.pipeline.loads import (
    broken,
    edge,
    engine,
    history,
    node,
    refused,
    rows,
    text,
    told,
    written,
)

__all__ = ["engine"]

SCHEMA = """
node Person {
  slug: String @key
  name: String
  status: enum(active, idle)
  age: I32?
  born: Date?
  email: String? @unique
  spot: Vector(2)?
  @range(age, 0..150)
  @check(email, "@")
}
node Note { text: String }
edge Knows: Person -> Person { since: Date? }
"""
# Every bad line holds #bad, so that grep finds it; each is told once, with this code and field.
KINDS: tuple[tuple[bytes, Code, str | None], ...] = (
    (b'{"type":"Person","data":{"slug":"#bad"', Code.RECORD_SYNTAX, None),
    (b'{"type":"Person","data":{"slug":"#bad\xff"}}', Code.RECORD_SYNTAX, None),
    (b'{"type":"Person","data":{"slug":"#bad"}} {}', Code.RECORD_SYNTAX, None),
    (b'{"type":"Person","data":{"slug":"#bad","age":NaN}}', Code.RECORD_SYNTAX, None),
    (b"#bad", Code.RECORD_SYNTAX, None),
    (b'["#bad"]', Code.RECORD_SHAPE, None),
    (b'{"slug":"#bad"}', Code.RECORD_SHAPE, None),
    (b'{"type":"Person","data":"#bad"}', Code.RECORD_SHAPE, None),
    (b'{"type":"Knows","data":{"slug":"#bad"}}', Code.RECORD_SHAPE, None),
    (b'{"type":"Persn","data":{"slug":"#bad"}}', Code.RECORD_TYPE, None),
    (b'{"edge":"Likes","from":"#bad","to":"b"}', Code.RECORD_TYPE, None),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","aeg":1}}',
        Code.RECORD_FIELD,
        "aeg",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","id":"x"}}',
        Code.RECORD_FIELD,
        "id",
    ),
    (b'{"edge":"Knows","from":"#bad","to":"b","weight":1}', Code.RECORD_FIELD, "weight"),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","name":"m"}}',
        Code.REPEATED_FIELD,
        "name",
    ),
    (b'{"type":"Person","data":{"slug":"#bad","status":"idle"}}', Code.REQUIRED_VALUE, "name"),
    (
        b'{"type":"Person","data":{"slug":null,"name":"#bad","status":"idle"}}',
        Code.REQUIRED_VALUE,
        "slug",
    ),
    (b'{"edge":"Knows","from":"#bad"}', Code.REQUIRED_VALUE, "to"),
    (b'{"type":"Person","data":{"slug":"#bad","name":7,"status":"idle"}}', Code.VALUE_TYPE, "name"),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","age":2147483648}}',
        Code.VALUE_TYPE,
        "age",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","born":"May"}}',
        Code.VALUE_TYPE,
        "born",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","spot":[1]}}',
        Code.VALUE_TYPE,
        "spot",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"\\ud800","status":"idle"}}',
        Code.VALUE_TYPE,
        "name",
    ),
    (b'{"edge":"Knows","from":"#bad","to":5}', Code.VALUE_TYPE, "to"),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"dead"}}',
        Code.VALUE_ENUM,
        "status",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","age":151}}',
        Code.VALUE_RANGE,
        "age",
    ),
    (
        b'{"type":"Person","data":{"slug":"#bad","name":"n","status":"idle","email":"x"}}',
        Code.VALUE_CHECK,
        "email",
    ),
)
BAD_LINES = 137
LINES = 380_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return init(tmp_path / "graph", SCHEMA, durable=False)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file of several splits with bad lines planted in it."""
    path = tmp_path_factory.mktemp("planted") / "people.jsonl"
    good = b'{"type":"Person","data":{"slug":"p%06d","name":"n","status":"idle"}}\n'
    lines = [good % number for number in range(LINES)]
    for number in range(0, LINES, 100):
        lines[number] = b'{"edge":"Knows","from":"p%06d","to":"p000000"}\n' % number
    places = random.Random(7).sample(range(1, LINES - 1), BAD_LINES - 2)
    for at, place in enumerate([0, *places, LINES - 1]):
        lines[place] = KINDS[at % len(KINDS)][0] + b"\n"
    path.write_bytes(b"".join(lines))
    assert path.stat().st_size > 24 << 20
    return path


@pytest.fixture(scope="module")
def found() -> dict[str, list[Violation]]:
    """Keep what each engine found, to compare."""
    return {}


def grep(path: Path) -> list[int]:
    """Give the numbers of the bad lines."""
    command = ["grep", "--text", "--line-number", "#bad", str(path)]
    done = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C"})
    return [int(line.partition(b":")[0]) for line in done.stdout.splitlines()]


def person(slug: str, **more: object) -> str:
    return node("Person", slug=slug, name="n", status="idle", **more)


def test_bad_lines_of_many_kinds_in_many_splits_are_all_reported_where_grep_finds_them(
    graph: Graph, planted: Path, tmp_path: Path, engine: str, found: dict[str, list[Violation]]
) -> None:
    report = tmp_path / "report.jsonl"

    error = refused(graph, planted, engine=engine, shown=1000, report=report)

    assert error.total == len(error.violations) == BAD_LINES
    assert [each.line for each in error.violations] == grep(planted)
    assert {each.file for each in error.violations} == {str(planted)}
    expected = Counter(KINDS[at % len(KINDS)][1:] for at in range(BAD_LINES))
    assert Counter((each.code, each.field) for each in error.violations) == expected
    lines = planted.read_bytes().splitlines()
    kinds = {line: kind for line, *kind in KINDS}
    for each in error.violations:
        assert each.line is not None
        assert [each.code, each.field] == kinds[lines[each.line - 1]]
    reported = [json.loads(line) for line in report.read_text().splitlines()]
    assert reported == [each.to_json() for each in error.violations]
    assert found.setdefault("all", list(error.violations)) == list(error.violations)


def test_all_are_counted_and_the_first_are_shown(graph: Graph, planted: Path, engine: str) -> None:
    error = refused(graph, planted, engine=engine, shown=20)

    assert error.total == BAD_LINES
    assert len(error.violations) == 20
    assert {each.line for each in error.violations} <= set(grep(planted))
    *_, more, last = error.render().splitlines()
    assert (more, last) == ("… and 117 more", "137 violations; nothing was written")


def test_twenty_are_shown_unless_another_number_is_given(graph: Graph) -> None:
    error = refused(graph, "[]\n" * 30, engine="inline")

    assert (len(error.violations), error.total) == (20, 30)
    assert len(refused(graph, "[]\n" * 30, engine="inline", shown=0).violations) == 1


def test_a_report_that_cannot_be_written_is_told(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"cannot write '.*report\.jsonl': No such file"):
        graph.load("[]\n", engine="inline", report=tmp_path / "missing" / "report.jsonl")


def test_violations_are_told_in_these_words(graph: Graph, tmp_path: Path) -> None:
    path = written(
        tmp_path / "people.jsonl",
        '{"type": "Person", "data": {"slug": "a", "nmae": "A", "status": "idle"}}',
        '{"type": "Person", "data": {"slug": "b", "name": "B", "status": "idel", "age": -1}}',
        '{"type": "Persn", "data": {}}',
        '{"edge": "Person", "from": "a", "to": "b"}',
        '{"edge": "Knows", "from": "a", "data": {"since": "May"}}',
        '{"type": "Person"}',
        '{"type": "Person", "data": []}',
        '{"type": "Person", "data": {"slug": "c", "name": "C", "status": "idle", "email": "c"}}',
        "{",
        "7",
        '{"type": "Person", "edge": "Knows", "data": {}}',
    )

    shape = 'write {"type": …, "data": {…}} or {"edge": …, "from": …, "to": …}'
    assert broken(graph, path, engine="inline") == [
        "error[V4]: people.jsonl:1: Person.nmae: no such field; did you mean 'name'?",
        "error[V6]: people.jsonl:1: Person.name: is required",
        'error[V8]: people.jsonl:2: Person.status: "idel" is not one of active, idle;'
        " did you mean 'idle'?",
        "error[V9]: people.jsonl:2: Person.age: -1 is outside 0..150",
        "error[V3]: people.jsonl:3: no type 'Persn'; did you mean 'Person'?",
        'error[V2]: people.jsonl:4: Person: is a node type; write {"type": "Person", …}',
        'error[V7]: people.jsonl:5: Knows.since: "May" is not a date; write YYYY-MM-DD',
        "error[V6]: people.jsonl:5: Knows.to: is required",
        'error[V2]: people.jsonl:6: Person: has no "data"',
        'error[V2]: people.jsonl:7: Person: "data" is not an object',
        "error[V10]: people.jsonl:8: Person.email: 'c' does not match @",
        "error[V1]: people.jsonl:9: is not JSON: Expecting property name enclosed in double"
        " quotes at column 2",
        f"error[V2]: people.jsonl:10: is not a record; {shape}",
        "error[V4]: people.jsonl:11: Person.edge: no such field",
        "error[V6]: people.jsonl:11: Person.slug: is required",
        "error[V6]: people.jsonl:11: Person.name: is required",
        "error[V6]: people.jsonl:11: Person.status: is required",
    ]


def test_the_error_holds_them_for_programs_and_survives_a_pickle(graph: Graph) -> None:
    error = refused(graph, text("[]", person("a", age=151)), engine="inline", shown=1)

    document = error.to_json()
    assert document["code"] == error.code == "V2"
    assert document["violation_count"] == error.total == 2
    assert document["violations"] == [error.violations[0].to_json()]
    assert error.message.endswith("(and 1 more)")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ViolationsError)
    assert (again.violations, again.total, again.render()) == (
        error.violations,
        error.total,
        error.render(),
    )


def test_a_line_may_break_several_rules_and_each_is_told(graph: Graph) -> None:
    line = (
        '{"type":"Person","data":{"slug":7,"status":"x","age":"old","age":1,"hat":1,"email":"e"}}'
    )

    assert [each.code for each in refused(graph, line, engine="inline").violations] == [
        Code.REPEATED_FIELD,
        Code.RECORD_FIELD,
        Code.VALUE_TYPE,
        Code.REQUIRED_VALUE,
        Code.VALUE_ENUM,
        Code.VALUE_CHECK,
    ]


def test_rows_are_compared_with_others_only_when_each_is_sound(graph: Graph) -> None:
    twice = [person("a"), person("a")]

    assert [each[:9] for each in broken(graph, text(*twice, "[]"), engine="inline")] == [
        "error[V2]"
    ]
    assert [each[:10] for each in broken(graph, text(*twice), engine="inline")] == ["error[V11]"]


@pytest.fixture(params=["whole tables", "lookups by index", "many buckets", "colliding buckets"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Check rules between rows on each of the roads that a load can take to them."""
    if request.param == "lookups by index":
        monkeypatch.setattr(lookups, "_LEAST_ROWS", 0)
    elif request.param != "whole tables":
        monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", 1)
    if request.param == "colliding buckets":
        monkeypatch.setattr(keys, "_hashes", lambda batch: np.zeros(len(batch), np.uint64))
    return str(request.param)


RULES = """
node Person {
  slug: String @key
  email: String? @unique
  country: String?
  badge: I64?
  @unique(country, badge)
}
node City { name: String @key }
node Note { text: String }
edge Knows: Person -> Person { since: Date?  @key(src, dst) }
edge Lives: Person -> City @card(0..1)
edge Speaks: Person -> City @card(1..2)
edge Owns: Person -> City { @unique(dst) }
edge About: Note -> Person
"""


def some(slug: str, **more: object) -> list[str]:
    """Give the lines of a person with the edge that each needs."""
    return [node("Person", slug=slug, **more), edge("Speaks", slug, "oslo", id=f"{slug} speaks")]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a graph of people and cities once, to be copied."""
    made = init(tmp_path_factory.mktemp("template") / "towns", RULES, durable=False)
    cities = [node("City", name=name) for name in ("oslo", "rome", "bern")]
    people = [
        *some("ann", email="ann@x", country="no", badge=1),
        *some("bob", email=None, country="no", badge=None),
    ]
    others = [
        edge("Knows", "ann", "bob"),
        edge("Lives", "ann", "oslo"),
        edge("Owns", "ann", "oslo"),
        node("Note", id="n1", text="x"),
    ]
    made.load(text(*cities, *people, *others), engine="inline")
    return Path(made.uri)


@pytest.fixture
def towns(template: Path, tmp_path: Path) -> Graph:
    return open_graph(shutil.copytree(template, tmp_path / "towns"), durable=False)


@pytest.mark.usefixtures("road")
class TestRulesBetweenRows:
    def test_a_key_twice_in_one_file(self, towns: Graph, tmp_path: Path) -> None:
        path = written(tmp_path / "a.jsonl", *some("eve"), "", node("Person", slug="eve"))

        assert broken(towns, path, engine="inline") == [
            "error[V11]: a.jsonl:4: Person.id: 'eve' is given already in a.jsonl:1"
        ]

    @pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
    def test_a_key_twice_in_two_files_in_any_mode(
        self, towns: Graph, tmp_path: Path, mode: str
    ) -> None:
        first = written(tmp_path / "a.jsonl", node("City", name="oslo"), node("City", name="rome"))
        second = written(
            tmp_path / "b.jsonl", "", node("City", name="bern"), node("City", name="rome")
        )
        if mode == "append":
            towns = init(tmp_path / "empty", RULES, durable=False)

        assert broken(towns, [first, second], mode=mode, engine="inline") == [
            "error[V11]: b.jsonl:3: City.id: 'rome' is given already in a.jsonl:2"
        ]

    def test_a_key_many_times_is_told_at_every_line_but_the_first(self, towns: Graph) -> None:
        lines = [node("City", name="lima")] * 4

        assert [each.line for each in refused(towns, text(*lines), engine="inline").violations] == [
            2,
            3,
            4,
        ]

    def test_a_key_that_exists_and_stands_twice_is_told_as_both(self, towns: Graph) -> None:
        assert broken(towns, text(*[node("City", name="oslo")] * 2), engine="inline") == [
            "error[V12]: <text>:1: City.id: there is a City 'oslo' already",
            "error[V11]: <text>:2: City.id: 'oslo' is given already in <text>:1",
        ]

    def test_the_id_of_a_row_without_a_key_is_held_to_the_same(self, towns: Graph) -> None:
        notes = [node("Note", id=name, text="x") for name in ("n1", "n2", "n2")]

        assert broken(towns, text(*notes), engine="inline") == [
            "error[V12]: <text>:1: Note.id: there is a Note 'n1' already",
            "error[V11]: <text>:3: Note.id: 'n2' is given already in <text>:2",
        ]

    def test_an_edge_with_a_key_of_its_ends_is_one_edge(self, towns: Graph) -> None:
        lines = [edge("Knows", "ann", "bob"), *[edge("Knows", "bob", "ann")] * 2]

        assert broken(towns, text(*lines), engine="inline") == [
            """error[V12]: <text>:1: Knows.id: there is a Knows '["ann","bob"]' already""",
            """error[V11]: <text>:3: Knows.id: '["bob","ann"]' is given already in <text>:2""",
        ]
        towns.load(edge("Knows", "ann", "bob", since="2024-01-31"), mode="merge", engine="inline")
        assert [str(row["since"]) for row in rows(towns, "edge:Knows")] == ["2024-01-31"]

    def test_a_unique_value_twice_in_the_data(self, towns: Graph) -> None:
        lines = [*some("eve", email="e@x"), *some("fay", email="f@x"), *some("gil", email="e@x")]

        assert broken(towns, text(*lines), engine="inline") == [
            "error[V13]: <text>:5: Person.email: 'e@x' is given already in <text>:1"
        ]

    def test_a_unique_value_that_the_graph_has(self, towns: Graph) -> None:
        assert broken(towns, text(*some("eve", email="ann@x")), engine="inline") == [
            "error[V13]: <text>:1: Person.email: another Person has 'ann@x' already"
        ]

    def test_a_unique_value_goes_with_the_row_that_is_replaced(self, towns: Graph) -> None:
        lines = [node("Person", slug="ann"), *some("eve", email="ann@x", country="no", badge=1)]

        towns.load(text(*lines), mode="merge", engine="inline")

        emails = {row["id"]: row["email"] for row in rows(towns, "node:Person")}
        assert emails == {"ann": None, "bob": None, "eve": "ann@x"}

    def test_unique_values_of_several_properties(self, towns: Graph) -> None:
        lines = [
            *some("eve", country="no", badge=1),
            *some("fay", country="se", badge=1),
            *some("gil", country="se", badge=1),
            *some("hal", country="no", badge=2),
        ]

        assert broken(towns, text(*lines), engine="inline") == [
            "error[V13]: <text>:1: Person.country,badge: another Person has 'no, 1' already",
            "error[V13]: <text>:5: Person.country,badge: 'se, 1' is given already in <text>:3",
        ]

    def test_null_is_never_a_second_of_the_same(self, towns: Graph) -> None:
        lines = [
            *some("eve", country="no"),
            *some("fay", country="no", badge=None),
            *some("gil", badge=1),
            *some("hal", email=None, badge=1),
        ]

        towns.load(text(*lines), engine="inline")

        assert len(rows(towns, "node:Person")) == 6

    def test_an_end_of_an_edge_may_be_unique(self, towns: Graph) -> None:
        lines = [
            edge("Owns", "bob", "oslo"),
            edge("Owns", "bob", "rome"),
            edge("Owns", "ann", "rome"),
        ]

        assert broken(towns, text(*lines), engine="inline") == [
            "error[V13]: <text>:1: Owns.to: another Owns has 'oslo' already",
            "error[V13]: <text>:3: Owns.to: 'rome' is given already in <text>:2",
        ]

    def test_both_ends_of_an_edge_must_be_there(self, towns: Graph) -> None:
        lines = [
            edge("Knows", "nobody", "ann"),
            edge("Knows", "ann", "nobody"),
            edge("Lives", "bob", "ann"),
            edge("About", "n2", "ann"),
            edge("About", "n1", "ann"),
        ]

        assert broken(towns, text(*lines), engine="inline") == [
            "error[V14]: <text>:1: Knows.from: there is no Person 'nobody'",
            "error[V14]: <text>:2: Knows.to: there is no Person 'nobody'",
            "error[V14]: <text>:3: Lives.to: there is no City 'ann'",
            "error[V14]: <text>:4: About.from: there is no Note 'n2'",
        ]

    def test_every_line_that_needs_a_missing_node_is_told(
        self, towns: Graph, tmp_path: Path
    ) -> None:
        first = written(tmp_path / "a.jsonl", *[edge("About", "n1", "eve")] * 2)
        second = written(
            tmp_path / "b.jsonl", edge("About", "n1", "ann"), edge("About", "n1", "eve")
        )

        found = refused(towns, [first, second], engine="inline").violations

        assert [(each.file, each.line) for each in found] == [
            (str(first), 1),
            (str(first), 2),
            (str(second), 2),
        ]

    def test_an_overwrite_that_takes_nodes_from_edges_of_the_graph(self, towns: Graph) -> None:
        found = broken(towns, text(node("City", name="rome")), mode="overwrite", engine="inline")

        assert sorted(found) == [
            f"error[V14]: {name}.to: there is no City 'oslo' any more,"
            " and edges of the graph need it"
            for name in ("Lives", "Owns", "Speaks")
        ]

    def test_an_overwrite_with_the_nodes_that_edges_need(self, towns: Graph) -> None:
        cities = [node("City", name=name) for name in ("oslo", "lima")]

        towns.load(text(*cities), mode="overwrite", engine="inline")

        assert [row["id"] for row in rows(towns, "node:City")] == ["lima", "oslo"]

    def test_an_overwrite_of_edges_is_held_to_the_nodes_that_stay(self, towns: Graph) -> None:
        found = broken(towns, edge("Lives", "ann", "lima"), mode="overwrite", engine="inline")

        assert found == ["error[V14]: <text>:1: Lives.to: there is no City 'lima'"]

    def test_too_many_edges_with_those_of_the_graph_and_without(self, towns: Graph) -> None:
        lines = [
            edge("Lives", "ann", "rome"),
            edge("Lives", "bob", "rome"),
            edge("Lives", "bob", "bern"),
            edge("Speaks", "bob", "rome"),
            edge("Speaks", "bob", "bern"),
            edge("Speaks", "ann", "bern"),
        ]

        assert broken(towns, text(*lines), engine="inline") == [
            "error[V15]: <text>:1: Lives of 'ann': 2 Lives leave the Person;"
            " there must be at most 1",
            "error[V15]: <text>:3: Lives of 'bob': 2 Lives leave the Person;"
            " there must be at most 1",
            "error[V15]: <text>:5: Speaks of 'bob': 3 Speaks leave the Person;"
            " there must be at most 2",
        ]

    def test_too_few_edges_of_nodes_that_have_none_at_all(self, towns: Graph) -> None:
        lines = [node("Person", slug="eve"), *some("fay"), node("Person", slug="gil")]

        found = refused(towns, text(*lines), engine="inline").violations

        assert sorted((each.code, each.type, each.id) for each in found) == [
            (Code.CARDINALITY, "Speaks", "eve"),
            (Code.CARDINALITY, "Speaks", "gil"),
        ]
        assert {each.reason for each in found} == {
            "0 Speaks leave the Person; there must be at least 1"
        }

    def test_too_few_edges_after_an_overwrite_of_edges(self, towns: Graph) -> None:
        found = broken(towns, edge("Speaks", "ann", "rome"), mode="overwrite", engine="inline")

        assert found == [
            "error[V15]: Speaks of 'bob': 0 Speaks leave the Person; there must be at least 1"
        ]

    def test_an_edge_that_is_replaced_counts_once(self, towns: Graph) -> None:
        lines = [edge("Speaks", "ann", "rome", id="ann speaks"), edge("Speaks", "ann", "bern")]

        towns.load(text(*lines), mode="merge", engine="inline")

        spoken = {row["dst"] for row in rows(towns, "edge:Speaks") if row["src"] == "ann"}
        assert spoken == {"rome", "bern"}

    def test_sound_rows_are_all_admitted(self, towns: Graph) -> None:
        people = [f"p{number}" for number in range(50)]
        lines = [line for n, slug in enumerate(people) for line in some(slug, email=f"{n}@x")]
        lines += [edge("Knows", one, other) for one in people[:10] for other in people]

        towns.load(text(*lines), engine="inline")

        assert len(rows(towns, "edge:Knows")) == 501


def test_spark_tells_the_same_of_rules_between_rows(
    towns: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", 4)
    lines = [
        *some("eve", email="ann@x", country="no", badge=1),
        *some("eve"),
        node("Person", slug="fay"),
        edge("Knows", "ann", "bob"),
        edge("Knows", "ann", "nobody"),
        edge("Lives", "ann", "rome"),
        edge("Owns", "bob", "oslo"),
        node("City", name="oslo"),
    ]
    path = written(tmp_path / "lines.jsonl", *lines)
    report = tmp_path / "report.jsonl"

    error = refused(towns, path, engine=engine, shown=4, report=report)

    assert error.total == 10
    assert len(error.violations) == 4
    reported = [json.loads(line) for line in report.read_text().splitlines()]
    assert [each.to_json() for each in error.violations] == reported[:4]
    assert sorted((each["line"] or 0, each["code"], each["type"]) for each in reported) == [
        (0, "V15", "Speaks"),
        (1, "V13", "Person"),
        (1, "V13", "Person"),
        (3, "V11", "Person"),
        (4, "V11", "Speaks"),
        (6, "V12", "Knows"),
        (7, "V14", "Knows"),
        (8, "V15", "Lives"),
        (9, "V13", "Owns"),
        (10, "V12", "City"),
    ]


@pytest.mark.parametrize("rows_per_bucket", [1, 1_000_000])
@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("String", "é" * 200, "e" * 200),
        ("Bool", True, False),
        ("I32", -1, 1),
        ("U64", 2**64 - 1, 2**63),
        ("F32", 0.1, 0.2),
        ("F64", 1e300, -1e300),
        ("Date", "2024-01-31", "2024-02-01"),
        ("enum(a, b)", "a", "b"),
    ],
)
def test_unique_values_of_any_type_meet(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_bucket: int,
    kind: str,
    one: object,
    other: object,
) -> None:
    monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", rows_per_bucket)
    graph = init(
        tmp_path / "graph", f"node T {{ k: String @key  v: {kind} @unique }}", durable=False
    )
    graph.load(node("T", k="a", v=one), engine="inline")

    graph.load(node("T", k="b", v=other), engine="inline")
    twice = text(node("T", k="c", v=one), node("T", k="d", v=other))

    assert [
        (each.code, each.line) for each in refused(graph, twice, engine="inline").violations
    ] == [
        (Code.UNIQUE_VALUE, 1),
        (Code.UNIQUE_VALUE, 2),
    ]


@given(
    values=st.lists(st.tuples(st.text(max_size=6), st.none() | st.integers(-2, 2)), max_size=30),
    buckets=st.integers(1, 9),
    start=st.integers(0, 30),
)
def test_every_row_goes_to_one_bucket_and_equal_rows_to_the_same(
    values: list[tuple[str, int | None]], buckets: int, start: int
) -> None:
    columns = [
        pa.array([a for a, _ in values], pa.utf8()),
        pa.array([b for _, b in values], pa.int64()),
    ]
    batch = pa.record_batch(columns, names=["a", "b"]).slice(start).drop_null()

    parts = [(number, part.to_pylist()) for number, part in keys.bucketed(batch, buckets)]

    assert all(0 <= number < buckets for number, _ in parts)
    spread = [(repr(row), number) for number, part in parts for row in part]
    assert Counter(row for row, _ in spread) == Counter(map(repr, batch.to_pylist()))
    assert len(dict(spread)) == len(set(spread))


def test_a_violation_without_a_place_has_none_in_its_text_or_its_json() -> None:
    violation = Violation(code=Code.CARDINALITY, reason="why", type="Knows", id="ann")

    assert violation.render() == "error[V15]: Knows of 'ann': why"
    assert violation.to_json() == {
        "code": "V15",
        "file": None,
        "line": None,
        "type": "Knows",
        "id": "ann",
        "field": None,
        "reason": "why",
    }
    assert told([replace(violation, file="a.jsonl", line=3)]) == [
        "error[V15]: a.jsonl:3: Knows of 'ann': why"
    ]


def test_a_refused_load_can_be_mended_and_loaded(graph: Graph) -> None:
    before = history(graph)
    assert broken(graph, text(person("a"), person("b", age=151)), engine="inline")

    loaded = graph.load(text(person("a"), person("b", age=15)), engine="inline")

    assert loaded.commit is not None
    assert history(graph)["main"] == [loaded.commit.id, *before["main"]]
