"""Editor: what may be written where the cursor stands, and the problems of a text with places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.query.editor.complete import Completion, complete
from omnigraph.query.editor.diagnose import diagnose
from omnigraph.schema.compile import compile_schema

CATALOG = compile_schema("""
interface Named { name: String }
node Person implements Named { slug: String @key  name: String  age: I32?  status: enum(new, old) }
node Company { slug: String @key  size: I32? }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company { role: String? }
""")
CURSOR = "¦"


def offered(text: str) -> list[Completion]:
    """Return what is offered where the cursor stands in a text."""
    position = text.index(CURSOR)
    return list(complete(text.replace(CURSOR, ""), position, CATALOG))


def labels(text: str, kind: str | None = None) -> list[str]:
    return [each.label for each in offered(text) if kind in (None, each.kind)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("query q() { match { $p: ¦ } }", ["Person", "Company", "Named"]),
        ("query q() { match { $p: Pe¦ } }", ["Person"]),
        ("match { $c: Company $c.¦", ["slug", "size"]),
        ("match { $n: Named } return { $n.¦ }", ["name", "*"]),
        ("query q() { match { $p: Person $p ¦", ["knows", "worksAt"]),
        ("query q() { match { $c: Company $c ¦", ["worksAt"]),
        ("query q() { match { $p: Person $p wor¦", ["worksAt"]),
        ("query q() { match { $p: Person $p $e:¦", ["knows", "worksAt"]),
        ("query q() { match { $p $e:worksAt $c } return { $e.¦ } }", ["role", "*"]),
        ("query q() { match { $p worksAt $c  $c.¦", ["slug", "size"]),
        ("query q() { match { $p: Person { ¦ } } }", ["slug", "name", "age", "status"]),
        ('query q() { match { $p: Person { slug: "x", a¦ } } }', ["age"]),
        ("query q() { match { $p: Person $p knows {1,3} ¦", ["$p"]),
        ("query q($slug: ¦", ["String", "Blob", "Bool", "I32"]),
        ("query q() { insert ¦", ["Person", "Company", "Knows", "WorksAt"]),
        ("query q() { insert Company { ¦", ["slug", "size"]),
        ("query q() { insert Knows { ¦", ["since", "from", "to"]),
        ("query q() { update Person set { ¦", ["slug", "name", "age", "status"]),
        ("query q() { delete Company where ¦", ["slug", "size"]),
        ("query q() { update Company set { size: 1 } where s¦", ["slug", "size"]),
        ("¦", ["query", "match"]),
        ("query q() { ¦", ["match", "insert", "replace", "update", "delete"]),
        ("query q() { match { $p: Person } ¦", ["return", "insert", "replace", "set"]),
        ("query q() { match { $p: Person } return { $p.name } ¦", ["having", "order", "limit"]),
        ("match { $p: Person } return { $p.name as who, count($p) as n } order { ¦", ["who", "n"]),
        ("match { $p: Person } return { cou¦", ["count"]),
        ("match { $p: Person } return { $p.name } order { bm¦", ["bm25"]),
        ("query q($limit: I64) { match { $p: Person } return { $p } limit ¦", ["$limit"]),
        ("query q($s: enum(a, b), $v: Vector(3), $n: I32) { match { $p: Person $p.age = ¦", ["$n"]),
        ('match { // the "best"\n ¦', ["not", "optional"]),
        ("match { // not /* a block\n ¦", ["not", "optional"]),
        ("match { /* not // a line */ ¦", ["not", "optional"]),
    ],
)
def test_what_fits_is_offered(text: str, wanted: list[str]) -> None:
    assert [each for each in labels(text) if each in wanted] == wanted


@pytest.mark.parametrize(
    ("text", "unwanted"),
    [
        ("query q() { match { $c: Company $c.¦", "name"),
        ("query q() { match { $c: Company $c ¦", "knows"),
        ("query q() { match { $p: ¦ } }", "Knows"),
        ('query q() { match { $p: Person { slug: "x", ¦ } } }', "slug"),
        ("query a() { match { $x: Person } return { $x } } query b() { match { ¦", "$x"),
    ],
)
def test_what_does_not_fit_is_not(text: str, unwanted: str) -> None:
    assert unwanted not in labels(text)


def test_values_are_parameters_variables_and_those_of_an_enum() -> None:
    found = offered("query q($s: String) { match { $p: Person { status: ¦ } } }")

    assert [each.label for each in found[:3]] == ['"new"', '"old"', "$s"]
    assert ("$s", "parameter", "String") in [(e.label, e.kind, e.detail) for e in found]


def test_parameters_are_told_from_variables_behind_types_in_parentheses() -> None:
    text = "query q($s: enum(a, b), $v: Vector(3), $n: I32) { match { $p: Person $p.age = ¦"

    assert labels(text, "parameter") == ["$s", "$v", "$n"]
    assert labels(text, "variable") == ["$p"]


def test_a_sign_is_enough_to_be_offered_variables() -> None:
    text = "query q($name: String) { match { $person: Person } return { $¦"

    assert labels(text) == ["$person", "$name"]
    assert complete(text.replace(CURSOR, ""), text.index(CURSOR), CATALOG).start == len(text) - 2


def test_an_item_says_what_it_is_and_what_is_inserted() -> None:
    edge = offered("match { $p: Person $p know¦")[0]
    call = offered("match { $p: Person } return { coun¦")[0]
    value = offered("query q() { insert Company { sl¦")[0]

    assert edge == Completion("knows", "edge", "Person -> Person", "knows")
    assert (call.kind, call.insert) == ("function", "count(")
    assert (value.kind, value.detail, value.insert) == ("property", "String", "slug: ")


@pytest.mark.parametrize(
    "text",
    [
        'match { $p: Person { slug: "a¦',
        "// match { ¦",
        "match { /* $p: ¦",
        'x "a" // ¦',
        'match { // a\n "¦',
    ],
)
def test_nothing_is_offered_in_strings_and_comments(text: str) -> None:
    assert offered(text) == []


def test_positions_are_characters() -> None:
    text = 'match { $p: Person { name: "é🧊日" } } return { $p.¦'
    assert "age" in labels(text)


def test_a_large_hostile_text_is_answered_at_once() -> None:
    text = "{}" * 100_000 + "query q() { ("
    assert complete(text, len(text), CATALOG).items
    assert complete("{" * 300_000, 300_000, CATALOG).items == ()


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet='query match{}()[]$p:Person.knows,"|<>=/* \n', max_size=80),
    st.integers(-5, 100),
)
def test_any_text_and_position_gets_an_answer(text: str, position: int) -> None:
    found = complete(text, position, CATALOG)

    assert found.start <= max(position, 0)
    diagnose(text, CATALOG)


def test_problems_have_their_places_in_characters() -> None:
    text = (
        "query a() { match { $p: Persn } return { $p.name } }\nquery b() { match { $p: Person } }"
    )

    found = diagnose(text, CATALOG)

    first = found.problems[0]
    assert (first.severity, first.line, first.column) == ("error", 1, 25)
    assert text[first.start : first.end] == "Persn"
    assert first.hint == "did you mean 'Person'?"
    assert found.problems[-1].line == 2
    assert not found.ok


def test_warnings_are_at_the_name_of_their_query() -> None:
    text = 'query fix() { update Person set { age: 1 } where slug = "x" }'

    found = diagnose(text, CATALOG)

    assert {each.severity for each in found.problems} == {"warning"}
    assert {text[each.start : each.end] for each in found.problems} == {"fix"}
    assert found.ok


def test_queries_are_told_with_what_they_take_and_return() -> None:
    text = (
        "query a($slug: String, $age: I32?) { match { $p: Person { slug: $slug } }"
        " return { $p.name as name, count($p) as n } }\n"
        "query b($slug: String) { delete Person where slug = $slug }"
    )

    one, other = diagnose(text, CATALOG).queries

    assert (one.name, one.kind) == ("a", "read")
    assert [(each.name, each.type, each.required) for each in one.parameters] == [
        ("slug", "String", True),
        ("age", "I32?", False),
    ]
    assert one.columns == (("name", "String"), ("n", "I64"))
    assert (other.kind, other.columns) == ("change", ())
