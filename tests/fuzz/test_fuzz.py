"""The short fuzzing campaign, and bad input of every kind that the language names."""

import json
from collections.abc import Callable
from random import Random

import pytest

from omnigraph import (
    Catalog,
    OmniGraphError,
    ParamsError,
    QueryError,
    SchemaError,
    compile_query,
    compile_schema,
)
from omnigraph.errors import Code
from omnigraph.query.compile import compile_queries
from omnigraph.query.params import bind_params
from omnigraph.syntax.source import MOST_BYTES, decode
from tests.fuzz.languages import catalog, params_plan
from tests.fuzz.target import Broken, check_error
from tests.fuzz.targets import TARGETS

INPUTS = {"schema": 1_500, "query": 1_200, "params": 700, "stored schema": 1_000}
FEWEST_INPUTS = 60


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_gives_errors_made_on_purpose_and_nothing_else(name: str) -> None:
    random, target = Random(20_240_131), TARGETS[name]
    for _ in range(INPUTS.get(name, FEWEST_INPUTS)):
        given = target.make(random)
        try:
            target.attempt(given)
        except Broken as broken:
            pytest.fail(f"{broken}\n{given!r}")


@pytest.mark.parametrize(
    ("data", "at"), [(b"\xff", 0), (b"node \xc3", 5), (b"\xef\xbb\xbfab\xed\xa0\x80", 5)]
)
def test_bytes_that_are_not_utf_8_are_reported_where_they_stand(data: bytes, at: int) -> None:
    with pytest.raises(SchemaError, match=f"byte {at} is not UTF-8") as caught:
        decode("a.pg", data, SchemaError, Code.SCHEMA_SYNTAX)
    check_error(caught.value)


def test_a_byte_order_mark_is_dropped() -> None:
    source = decode("a.pg", b"\xef\xbb\xbfnode A { }", SchemaError, Code.SCHEMA_SYNTAX)

    assert "A" in compile_schema(source).nodes


@pytest.mark.parametrize(
    "text", ["node A {", "node A { x: I32", "node A }", "node A {} }", "{", "}"]
)
def test_unbalanced_braces_in_a_schema_are_refused(text: str) -> None:
    _refused(lambda: compile_schema(text), "S000")


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { $p: Person } return { $p.name }",
        "query q() { match { $p: Person return { $p.name } }",
        "query q() { match { $p: Person } return { $p.name } } }",
        "query q( { match { $p: Person } return { $p.name } }",
    ],
)
def test_unbalanced_braces_in_a_query_are_refused(text: str) -> None:
    _refused(lambda: compile_queries(text, catalog()), "Q000")


@pytest.mark.parametrize("escape", ["\\q", "\\x41", "\\u12", "\\u12G4", "\\ud800", "\\'", "\\0"])
def test_an_unknown_escape_is_refused_wherever_a_string_stands(escape: str) -> None:
    _refused(lambda: compile_schema(f'node A @description("{escape}") {{ }}'), "S000")
    _refused(lambda: compile_query(_filtered(f'$p.name = "{escape}"'), catalog()), "Q000")


@pytest.mark.parametrize("escape", ["\\q", "\\ud800"])
def test_an_unknown_escape_in_an_enum_is_refused(escape: str) -> None:
    _refused(lambda: compile_schema(f'node A {{ e: enum("{escape}") }}'), "S000")
    text = f'query q($e: enum("{escape}")) {{ match {{ $p: Person }} return {{ $p.name }} }}'
    _refused(lambda: compile_query(text, catalog()), "Q000")


@pytest.mark.parametrize("opening", ["not { $p knows $_ ", "optional { $p knows $_ "])
def test_blocks_nest_64_deep_and_no_deeper(opening: str) -> None:
    compile_query(_filtered(opening * 64 + "}" * 64), catalog())
    _refused(lambda: compile_query(_filtered(opening * 65 + "}" * 65), catalog()), "Q001")


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", "")])
def test_predicates_nest_64_deep_and_no_deeper(opening: str, closing: str) -> None:
    compile_query(_filtered(opening * 64 + "$p.age = 1" + closing * 64), catalog())
    deeper = _filtered(opening * 65 + "$p.age = 1" + closing * 65)
    _refused(lambda: compile_query(deeper, catalog()), "Q001")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("count(", ")")])
def test_lists_and_calls_nest_no_deeper_than_64(opening: str, closing: str) -> None:
    text = _filtered(f"$p.age in {opening * 65}1{closing * 65}")
    _refused(lambda: compile_query(text, catalog()), "Q001")


def test_a_source_has_at_most_256_kib() -> None:
    schema = "node A { }"
    assert compile_schema(schema + " " * (MOST_BYTES - len(schema)))
    _refused(lambda: compile_schema(schema + " " * 1024 * 257), "S001")
    query = _filtered("$p.age = 1")
    assert compile_query(query + "\n" * (MOST_BYTES - len(query)), catalog())
    _refused(lambda: compile_query(query + "\n" * 1024 * 257, catalog()), "Q001")


def test_the_cap_on_a_source_counts_bytes_not_characters() -> None:
    _refused(lambda: compile_schema("//" + "é" * (MOST_BYTES // 2)), "S001")


def test_a_query_has_at_most_a_thousand_params() -> None:
    assert compile_query(_with_params(1_000), catalog())
    _refused(lambda: compile_query(_with_params(1_001), catalog()), "Q001")


def test_a_list_literal_has_at_most_8192_items() -> None:
    assert compile_query(_filtered(f"$p.age in [{', '.join(['1'] * 8_192)}]"), catalog())
    longer = _filtered(f"$p.age in [{', '.join(['1'] * 8_193)}]")
    _refused(lambda: compile_query(longer, catalog()), "Q001")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("node A { } node A { }", "S1"),
        ("node A { } interface A { }", "S1"),
        ("node A { } edge A: A -> A", "S1"),
        ("node A { } edge Ab: A -> A edge AB: A -> A", "S5"),
        ("node A { x: I32 x: I32 }", "S2"),
        ("interface A { x: I32 x: I32 }", "S2"),
    ],
)
def test_duplicate_names_in_a_schema_are_refused(text: str, code: str) -> None:
    _refused(lambda: compile_schema(text), code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("query q() { match { $p: Person } return { $p.name } } " * 2, "T6"),
        ("query q($a: I32, $a: I32) { match { $p: Person } return { $p.name } }", "T6"),
        ("query q($p: I32) { match { $p: Person } return { $p } }", "T6"),
        ("query q() { match { $p: Person $p: Doc } return { $p.id } }", "T5"),
        ("query q() { match { $p: Person } return { $p.name, $p.name } }", "T17"),
        ('query q() { insert Doc { title: "a", title: "b" } }', "T6"),
    ],
)
def test_duplicate_names_in_a_query_are_refused(text: str, code: str) -> None:
    _refused(lambda: compile_queries(text, catalog()), code)


@pytest.mark.parametrize("char", ["\x00", "\u200b", "\u2028", "\xa0", "٣", "'", "#", "\ud800"])
def test_a_character_outside_the_language_is_refused(char: str) -> None:
    _refused(lambda: compile_schema(f"node A {{ {char} }}"), None)
    _refused(lambda: compile_query(_filtered(f"$p.age = {char}1"), catalog()), None)


def test_base64_with_letters_outside_ascii_is_refused() -> None:
    _refused(lambda: compile_schema('node A { b: Blob @default("base64:é") }'), "S17")
    text = 'query q() { update Person set { photo: "base64:é" } where slug = "a" }'
    _refused(lambda: compile_query(text, catalog()), "T7")
    with pytest.raises(ParamsError, match="not valid base64"):
        bind_params(params_plan(), {"s": "a", "i": 1, "n": 1, "x": "base64:é"})


def _filtered(clause: str) -> str:
    return f"query q() {{ match {{ $p: Person {clause} }} return {{ $p.name }} }}"


def _with_params(count: int) -> str:
    params = ", ".join(f"$a{at}: I32?" for at in range(count))
    return f"query q({params}) {{ match {{ $p: Person }} return {{ $p.name }} }}"


def _refused(compile_it: Callable[[], Catalog | object], code: str | None) -> None:
    """Assert that a call raises an error that has this code among its problems."""
    with pytest.raises(OmniGraphError) as caught:
        compile_it()
    error = caught.value
    assert isinstance(error, SchemaError | QueryError)
    check_error(error)
    assert json.dumps(error.to_json())
    assert code is None or code in {str(problem.code) for problem in error.problems}
