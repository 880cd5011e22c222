"""`exists { … }` is true for the rows for which its pattern has a match, on both roads."""

from itertools import product
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.read import blocks
from omnigraph.read.execution import Budget
from tests.engine.asking import column, made, rows
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


DENSE = 40


@pytest.fixture
def dense(tmp_path: Path) -> Graph:
    """Everybody knows everybody, so three hops lead from each to each in 1,600 ways."""
    slugs = [f"{number:02}" for number in range(DENSE)]
    people = (node("Person", slug=slug, age=at) for at, slug in enumerate(slugs))
    return made(
        tmp_path, SCHEMA, *people, *(edge("Knows", *pair) for pair in product(slugs, slugs))
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("exists { $p knows $a  $a knows $b  $b knows $c }", DENSE),
        ("exists { $p knows $a  $a knows $b  $b knows $c  $c.age > 90 }", 0),
        ("exists { $p knows $a  $a knows $b  $b knows $c  $c.age > $p.age }", DENSE - 1),
        ("exists { $p knows $a  exists { $a knows $b  exists { $b knows $c } } }", DENSE),
        ("exists { $p knows $a  not { $a knows $b  $b knows $c  $c.age = 90 } }", DENSE),
        ("not { $p knows $a  $a knows $b  $b knows $c  $c.age < $p.age }", 1),
    ],
)
def test_what_a_block_matches_in_many_ways_does_not_count_against_the_budget(
    dense: Graph, condition: str, expected: int
) -> None:
    view = dense.at(budget=Budget(rows=DENSE**3))
    body = f"match {{ $p: Person  {condition} }} return {{ count(*) }}"

    assert rows(view, body) == [(expected,)]


def test_blocks_that_match_more_often_than_can_be_counted_have_a_match(dense: Graph) -> None:
    far = "  ".join(f"$f{at} knows $f{at + 1}" for at in range(13))
    body = f"match {{ $p: Person  exists {{ $p knows $f0  {far} }} }} return {{ count(*) }}"

    assert column(dense, body) == [DENSE]


def test_a_block_is_asked_in_parts_where_it_makes_many_rows(
    dense: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 100)
    monkeypatch.setattr(blocks, "_BLOCK", 50)
    body = "match { $p: Person  exists { $p knows $a  $a knows $b  $b.age + $a.age < $p.age } }"

    assert column(dense, body + " return { $p.age }") == list(range(1, DENSE))
