"""Patterns that make many rows are matched in blocks: only what is kept of them counts."""

from pathlib import Path
from random import Random

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BudgetError
from omnigraph.read import blocks, dense_reader
from omnigraph.read.execution import Budget
from tests.engine.asking import made, rows
from tests.engine.trial import try_queries
from tests.engine.worlds import random_world
from tests.pipeline.loads import edge, node

SCHEMA = """
node Person { slug: String @key  age: I32  weight: F64 }
edge Knows: Person -> Person
"""
PERSONS = 30
PATHS = "$a knows $b  $b knows $c"
QUERIES = 60


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks of a few rows, from a few rows on."""
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 7)
    monkeypatch.setattr(blocks, "_BLOCK", 3)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Persons of whom each knows every other one: 25,230 paths of two steps."""
    slugs = [f"p{number:02}" for number in range(PERSONS)]
    lines = [
        node("Person", slug=slug, age=at % 5, weight=0.1 * at) for at, slug in enumerate(slugs)
    ]
    lines += [edge("Knows", one, other) for one in slugs for other in slugs if one != other]
    return made(tmp_path, SCHEMA, *lines)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", range(500, 504))
def test_random_queries_in_blocks_give_what_the_oracle_gives(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(), random, QUERIES)

    assert tally.run == QUERIES


@pytest.mark.parametrize(
    "tail",
    [
        "return { count($c) as n }",
        "return { count($c) as n, count(distinct $c) as m, sum($b.weight) as w }",
        "return { $c.age as age, count($a) as n, avg($a.weight) as w } order { age }",
        "return distinct { $a.age as a, $c.age as c }",
        "return { $a.slug as a, $b.slug as b, $c.slug as c } order { b desc } skip 5 limit 9",
    ],
)
def test_what_is_kept_of_many_rows_is_all_that_the_answer_needs(
    graph: Graph, tail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"match {{ {PATHS}  $a.age <= $c.age }} {tail}"
    at_once = rows(graph, body)
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 1_000)
    monkeypatch.setattr(blocks, "_BLOCK", 100)

    assert rows(graph, body) == at_once
    few = graph.at(budget=Budget(rows=2_000))
    assert rows(few, body) == at_once


@pytest.mark.parametrize(
    "tail",
    [
        "return { $a.age as age, count(distinct $c) as n, count($b) as m } order { age }",
        "return { $a.age % 2 as odd, $c.age as age, count($b) as n } order { odd, age }",
        "return distinct { $a.age as a, $c.age as c }",
    ],
)
def test_of_nodes_that_are_alike_in_what_groups_read_one_is_kept(
    graph: Graph, tail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"match {{ {PATHS} }} {tail}"
    at_once = rows(graph, body)
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 300)
    monkeypatch.setattr(blocks, "_BLOCK", 100)

    few = graph.at(budget=Budget(rows=880))

    assert rows(few, body) == at_once


def test_what_has_to_be_kept_still_counts(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_MOST_AT_ONCE", 1_000)
    monkeypatch.setattr(blocks, "_BLOCK", 100)
    query = f"query q() {{ match {{ {PATHS} }} return {{ $a.slug, $b.slug, $c.slug }} }}"

    with pytest.raises(BudgetError, match="more than 2,000 rows"):
        graph.at(budget=Budget(rows=2_000)).query(query)


@pytest.mark.parametrize("seed", range(600, 604))
def test_texts_compared_as_codes_give_what_the_oracle_gives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_reader, "_LEAST_CODED", 0)
    random = Random(seed)
    world = random_world(random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(), random, QUERIES)

    assert tally.run == QUERIES


def test_a_column_named_like_a_counted_variable_still_orders_the_rows(graph: Graph) -> None:
    found = rows(graph, "match { $p: Person  $p knows $a } return distinct { $p.age as a }")

    assert found == [(0,), (1,), (2,), (3,), (4,)]
