"""Every row that breaks a rule is reported with its file and line, by either engine alike."""

import json
import pickle
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import Code, UnreadableError, Violation, ViolationsError
from omnigraph.write.load.sources import splits as sources
from tests.pipeline.loads import (
    broken,
    engine,
    history,
    node,
    refused,
    text,
    told,
    written,
)
from tests.templates import fresh_graph

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
    return fresh_graph(tmp_path / "graph", SCHEMA)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of several splits with bad lines planted in it."""
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
def found() -> list[object]:
    """Keep what each engine found, to compare."""
    return []


def grep(path: Path) -> list[int]:
    """Return the numbers of the bad lines."""
    command = ["grep", "--text", "--line-number", "#bad", str(path)]
    done = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C"})
    return [int(line.partition(b":")[0]) for line in done.stdout.splitlines()]


def person(slug: str, **more: object) -> str:
    return node("Person", slug=slug, name="n", status="idle", **more)


def test_bad_lines_of_many_kinds_in_many_splits_are_all_reported_where_grep_finds_them(
    graph: Graph, planted: Path, tmp_path: Path, engine: str, found: list[object]
) -> None:
    report = tmp_path / "report.jsonl"

    error = refused(graph, planted, engine=engine, report=report)

    reported = [json.loads(line) for line in report.read_text().splitlines()]
    assert error.total == len(reported) == BAD_LINES
    assert [each["line"] for each in reported] == grep(planted)
    assert {each["file"] for each in reported} == {str(planted)}
    lines = planted.read_bytes().splitlines()
    kinds = {line: kind for line, *kind in KINDS}
    assert [[each["code"], each["field"]] for each in reported] == [
        kinds[lines[each["line"] - 1]] for each in reported
    ]
    assert [each.to_json() for each in error.violations] == reported[:20]
    *_, more, last = error.render().splitlines()
    assert (more, last) == ("… and 117 more", "137 violations; nothing was written")
    found.append(reported)
    assert found[0] == reported, "the engines do not agree"


def test_all_are_counted_and_those_of_the_first_lines_are_shown_whatever_their_kind(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_LEAST_SPLIT", 300)
    monkeypatch.setattr(sources, "_MOST_SPLIT", 300)
    lines = [person("a", age=151), person("b"), "[]", person("c", email="x"), "{}", person("d")]
    path = written(tmp_path / "people.jsonl", *lines * 10)
    bad = [number for number in range(1, 61) if number % 6 not in (2, 0)]

    for shown in (1, 2, 3, 7, 20, 40):
        error = refused(graph, path, engine="inline", shown=shown)

        assert error.total == len(bad)
        assert [each.line for each in error.violations] == bad[:shown]


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
        "other": None,
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


def test_a_record_over_two_lines_and_two_records_on_one_are_all_refused(tmp_path: Path) -> None:
    """Taken together, the lines hold as many records as there are lines."""
    graph = init(tmp_path / "graph", "node T { k: String @key  type: String? }", durable=False)
    lines = (
        '{"type":"T","data":',
        '{"type":"T","k":"x"}}',
        '{"type":"T","data":{"k":"y"}}{"type":"T","data":{"k":"z"}}',
    )

    error = refused(graph, text(*lines), engine="inline")

    assert [each.line for each in error.violations] == [1, 2, 3]


@pytest.mark.parametrize(
    ("bounds", "admitted"), [("10..", True), ("10..18446744073709551615", True), ("0..100", False)]
)
def test_a_range_holds_for_the_largest_numbers(tmp_path: Path, bounds: str, admitted: bool) -> None:
    schema = f"node T {{ k: String @key  u: U64?  @range(u, {bounds}) }}"
    graph = init(tmp_path / "graph", schema, durable=False)
    line = node("T", k="a", u=2**64 - 1)

    if admitted:
        graph.load(line, engine="inline")
    else:
        assert refused(graph, line, engine="inline").code == Code.VALUE_RANGE
