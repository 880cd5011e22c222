"""`exists { … }` is true for the rows for which its pattern has a match, on both roads."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.engine.asking import column, made
from tests.engine.trial import by_index
from tests.pipeline.loads import edge, node

SCHEMA = """
node Person { slug: String @key  age: I32? @index }
node Firm { slug: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Firm
"""


@pytest.fixture(params=["adjacency", "index"])
def people(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Graph:
    """Ann works and knows Ben and Cat; Ben knows Cat; Cat works; Dan knows nobody."""
    graph = made(
        tmp_path,
        SCHEMA,
        *(
            node("Person", slug=slug, age=age)
            for slug, age in zip("abcd", (30, 20, None, 40), strict=True)
        ),
        node("Firm", slug="f"),
        *(edge("Knows", *pair) for pair in ("ab", "ac", "bc")),
        *(edge("WorksAt", one, "f") for one in "ac"),
    )
    if request.param == "index":
        by_index(monkeypatch)
    return graph


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("exists { $p knows $_ }", "ab"),
        ("not exists { $p knows $_ }", "cd"),
        ("exists { $p knows $_ } and exists { $p worksAt $_ }", "a"),
        ("exists { $p knows $_ } or exists { $p worksAt $_ }", "abc"),
        ("not (exists { $p knows $_ } or $p.age > 30)", ""),
        ("not (exists { $p knows $_ } or $p.age > 50)", "d"),
        ("$p.age > 30 or exists { $p worksAt $_ }", "acd"),
        ("exists { $p knows $f  not exists { $f worksAt $_ } }", "a"),
        ("exists { $p knows $f  exists { $f worksAt $_ } }", "ab"),
        ("exists { $p knows $f  $f.age < $p.age }", "a"),
        ("exists { $p knows {2} $_ }", ""),
        ("not { $p knows $f  exists { $f worksAt $_ } }", "cd"),
    ],
)
def test_a_condition_with_exists_selects_these_rows(
    people: Graph, condition: str, expected: str
) -> None:
    found = column(people, f"match {{ $p: Person  {condition} }} return {{ $p.slug }}")

    assert found == list(expected)


def test_exists_adds_no_rows(people: Graph) -> None:
    body = "match { $p: Person  exists { $p knows $_ } } return { count(*) }"

    assert column(people, body) == [2]


def test_exists_of_what_an_optional_part_left_null_is_false(people: Graph) -> None:
    body = "match { $p: Person  optional { $p knows $f }  not exists { $f worksAt $_ } }"

    assert column(people, body + " return distinct { $p.slug }") == ["a", "c", "d"]


def test_rows_are_kept_by_exists_while_others_are_counted(people: Graph) -> None:
    body = "match { $p: Person  $p knows $f  exists { $p worksAt $_ } or $p.age = 20 }"

    assert column(people, body + " return { count($f) }") == [3]
