"""Cycles are closed by intersection: the same rows as by following every path, in little memory."""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.read.execution import Budget
from omnigraph.read.operators import intersect

SCHEMA = """
node Person { number: I64 @key  age: I32 }
edge Follows: Person -> Person
edge Knows: Person -> Person
"""
PERSONS = 24
Pairs = set[tuple[int, int]]


@pytest.fixture(scope="module")
def pairs() -> dict[str, Pairs]:
    """Edges of two types, some of them from a person to themself."""
    random = Random(11)
    some = range(PERSONS)
    return {
        name: {(random.choice(some), random.choice(some)) for _ in range(150)}
        for name in ("Follows", "Knows")
    }


@pytest.fixture(scope="module")
def graph(pairs: dict[str, Pairs], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    tables = {
        "Person": pa.table(
            {
                "number": pa.array(range(PERSONS), pa.int64()),
                "age": pa.array(range(PERSONS), pa.int32()),
            }
        )
    }
    for name, found in pairs.items():
        ends = list(zip(*sorted(found), strict=True))
        tables[name] = pa.table({"from": map(str, ends[0]), "to": map(str, ends[1])})
    with init(tmp_path_factory.mktemp("cycles") / "g", SCHEMA, durable=False) as graph:
        graph.load(tables, engine="inline")
        yield graph


@pytest.fixture(params=["in blocks", "in blocks without sorting", "marked", "searched", "at once"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Try few paths at a time, or many with marks, or by searching, or as many as usual at once."""
    if request.param == "at once":
        return
    monkeypatch.setattr(intersect, "_FEW_AT_ONCE", -1)
    if request.param != "searched":
        monkeypatch.setattr(intersect, "_FEW", 0)
    if request.param.startswith("in blocks"):
        monkeypatch.setattr(intersect, "_BLOCK", 5)
        monkeypatch.setattr(intersect, "_BITS", intersect._BITS[:3])
    if request.param != "in blocks without sorting":
        monkeypatch.setattr(intersect, "_SORTED", 0)


SHAPES: list[tuple[str, str, Callable[..., bool]]] = [
    (
        "abc",
        "$a follows $b  $b follows $c  $c follows $a",
        lambda f, k, a, b, c: (a, b) in f and (b, c) in f and (c, a) in f,
    ),
    (
        "abc",
        "$a follows $b  $b knows $c  $a follows $c  $c.age > 11",
        lambda f, k, a, b, c: (a, b) in f and (b, c) in k and (a, c) in f and c > 11,
    ),
    (
        "abc",
        "$a <follows> $b  $b follows $c  $a knows $c",
        lambda f, k, a, b, c: ((a, b) in f or (b, a) in f) and (b, c) in f and (a, c) in k,
    ),
    (
        "abcd",
        "$a follows $b  $b follows $c  $a knows $d  $d knows $c  $a.age < 6",
        lambda f, k, a, b, c, d: (
            (a, b) in f and (b, c) in f and (a, d) in k and (d, c) in k and a < 6
        ),
    ),
    (
        "abcd",
        "$a follows $b  $a follows $c  $a follows $d  $b follows $c  $b follows $d  $c knows $d",
        lambda f, k, a, b, c, d: {(a, b), (a, c), (a, d), (b, c), (b, d)} <= f and (c, d) in k,
    ),
]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(("names", "body", "holds"), SHAPES)
def test_a_cycle_has_the_rows_that_all_its_edges_allow(
    graph: Graph, pairs: dict[str, Pairs], names: str, body: str, holds: Callable[..., bool]
) -> None:
    shown = ", ".join(f"${name}.number as {name}" for name in names)

    found = graph.query(f"query q() {{ match {{ {body} }} return {{ {shown} }} }}")

    every = product(range(PERSONS), repeat=len(names))
    expected = sorted(each for each in every if holds(pairs["Follows"], pairs["Knows"], *each))
    assert sorted(tuple(row.values()) for row in found) == expected
    assert expected


def test_paths_that_do_not_close_take_no_room(graph: Graph) -> None:
    query = """query q() {
      match { $a follows $b  $b follows $c  $c follows $a }
      return { count($a) as n }
    }"""
    triangles = graph.query(query).to_dicts()[0]["n"]
    assert isinstance(triangles, int)

    found = graph.at(budget=Budget(rows=max(triangles, 150))).query(query)

    assert 0 < triangles < 400
    assert found.to_dicts() == [{"n": triangles}]


def test_a_profile_measures_a_cycle_as_one(graph: Graph) -> None:
    query = """query q() {
      match { $a follows $b  $b follows $c  $c follows $a }
      return { count($a) as n }
    }"""

    costs = graph.profile(query).costs

    assert [len(cost.operators) for cost in costs] == [1, 1, 2, 1, 1]
