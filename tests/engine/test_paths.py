"""Shortest paths: between two nodes, from one to all, all of them, and by a weight."""

import time
from itertools import pairwise, permutations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BudgetError, ExpressionError
from omnigraph.read.execution import Budget
from omnigraph.read.operators import paths
from tests.engine.asking import made, rows
from tests.engine.trial import by_index
from tests.pipeline.loads import edge, node

SCHEMA = """
node Town { slug: String @key  size: I64? }
edge Road: Town -> Town { km: F64? }
"""
WEIGHED = "$e:road{1,} $b as $p shortest by $e.km"
KM = {"ab": 1.0, "ac": 5.0, "bd": 1.0, "cd": 1.0, "de": 1.0, "ea": 1.0, "bc": 1.0, "ff": 1.0}


@pytest.fixture(params=["adjacency", "index"])
def towns(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Seven towns, with two roads from a to b, a loop at f, and nothing at g."""
    graph = made(
        tmp_path,
        SCHEMA,
        *(node("Town", slug=slug) for slug in "abcdefg"),
        *(edge("Road", *pair, km=km) for pair, km in KM.items()),
        edge("Road", "a", "b", km=0.5),
    )
    if request.param == "index":
        by_index(monkeypatch)
    return graph


def ids(path: Any) -> str:
    return "".join(each["id"] for each in path)


def found(graph: Graph, match: str) -> list[str]:
    """Return the nodes of the paths of a match."""
    return [ids(path) for (path,) in rows(graph, f"match {{ {match} }} return {{ nodes($p) }}")]


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (
            '$a: Town { slug: "a" }  $b: Town { slug: "e" }  $a road{1,5} $b as $p shortest',
            ["abde"],
        ),
        (
            '$a: Town { slug: "a" }  $b: Town { slug: "e" }  $a road{1,5} $b as $p all shortest',
            ["abde", "acde"],
        ),
        ('$a: Town { slug: "a" }  $b: Town { slug: "e" }  $a road{1,2} $b as $p shortest', []),
        ('$a: Town { slug: "a" }  $a road{0,} $b as $p shortest', ["a", "ab", "ac", "abd", "abde"]),
        ('$b: Town { slug: "e" }  $a road{1,2} $b as $p shortest', ["bde", "cde", "de"]),
        ('$a: Town { slug: "f" }  $a road{1,} $b as $p shortest', []),
        ('$a: Town { slug: "a" }  $a road{2} $b as $p all shortest', ["abd", "acd"]),
        ('$b: Town { slug: "d" }  $a road{2} $b as $p all shortest', ["abd", "acd"]),
        ('$a: Town { slug: "e" }  $a <road>{1,2} $b as $p shortest', ["ea", "eab", "eac", "ed"]),
    ],
)
def test_these_paths_are_found(towns: Graph, match: str, expected: list[str]) -> None:
    assert found(towns, match) == expected


def test_a_path_has_the_edge_with_the_least_id_and_by_weight_the_lightest(towns: Graph) -> None:
    ends = '$a: Town { slug: "a" }  $b: Town { slug: "d" }'
    plain = rows(
        towns, f"match {{ {ends}  $a road{{1,}} $b as $p shortest }} return {{ edges($p) }}"
    )
    light = rows(
        towns,
        f"match {{ {ends}  $a $e:road{{1,}} $b as $p shortest by $e.km }}"
        " return { edges($p), length($p) }",
    )

    assert [(each["from"], each["to"]) for each in plain[0][0]] == [("a", "b"), ("b", "d")]  # type: ignore[attr-defined]
    assert [each["km"] for each in light[0][0]] == [0.5, 1.0]  # type: ignore[attr-defined]
    assert light[0][1] == 2


def test_the_length_is_counted_by_and_ordered_by(towns: Graph) -> None:
    body = "match { $a road{1,} $b as $p shortest } return { length($p) as n, count(*) as c }"

    assert rows(towns, body) == [(1, 7), (2, 6), (3, 6), (4, 1)]
    assert rows(towns, body + " having { n > 2 } order { n desc }") == [(4, 1), (3, 6)]


def test_a_condition_may_compare_a_length_with_what_a_node_has(towns: Graph) -> None:
    body = (
        'match { $a: Town { slug: "a" }  $a road{1,} $b as $p shortest }'
        " return { $b.slug as b } having { length($p) > length($a.slug) }"
    )

    assert rows(towns, body) == [("d",), ("e",)]


@pytest.mark.parametrize("weight", [-1.0, None])
def test_a_weight_that_is_no_distance_is_an_error(tmp_path: Path, weight: float | None) -> None:
    graph = made(
        tmp_path, SCHEMA, *(node("Town", slug=s) for s in "ab"), edge("Road", "a", "b", km=weight)
    )

    with pytest.raises(ExpressionError, match="it has to be 0 or more"):
        rows(graph, "match { $a $e:road{1,} $b as $p shortest by $e.km } return { length($p) }")


def test_an_integer_that_no_float_holds_exactly_is_a_weight_all_the_same(tmp_path: Path) -> None:
    schema = SCHEMA.replace("F64?", "U64")
    towns = (node("Town", slug=slug) for slug in "abc")
    ways = [("a", "b", 2**53 + 1), ("b", "c", 1), ("a", "c", 2**64 - 1)]
    graph = made(tmp_path, schema, *towns, *(edge("Road", *ends, km=km) for *ends, km in ways))

    match = '$a: Town { slug: "a" }  $a $e:road{1,} $b as $p shortest by $e.km'
    assert found(graph, match) == ["ab", "abc"]


def test_weights_that_add_up_to_no_number_are_an_error_where_no_lighter_path_is(
    tmp_path: Path,
) -> None:
    towns = (node("Town", slug=slug) for slug in "abcd")
    ways = [("a", "b", 1e308), ("b", "c", 1e308), ("a", "d", 1.0), ("d", "c", 1.0)]
    graph = made(tmp_path, SCHEMA, *towns, *(edge("Road", *ends, km=km) for *ends, km in ways))
    match = '$a: Town { slug: "%s" }  $a $e:road{1,} $b as $p shortest by $e.km'

    assert found(graph, match % "b") == ["bc"]
    graph.mutate('query nearer() { insert Road { from: "a", to: "c", km: 3.0 } }')
    assert found(graph, match % "a") == ["ab", "adc", "ad"]
    graph.mutate('query gone() { delete Road where from = "d" or km = 3.0 }')
    with pytest.raises(ExpressionError, match="'km' of a path add up to more than F64 holds"):
        found(graph, match % "a")


FAR = {"ad": 1e308, "db": 1e308, "dz": 1e308, "ac": 1.0, "ce": 1.0, "eb": 1.0, "zy": 1.0}


@pytest.mark.parametrize("bound", ["a", "b", "ab"])
def test_only_what_no_path_with_a_finite_sum_reaches_is_an_error(
    tmp_path: Path, bound: str
) -> None:
    graph = made(
        tmp_path,
        SCHEMA,
        *(node("Town", slug=slug) for slug in "abcdeyz"),
        *(edge("Road", *pair, km=km) for pair, km in FAR.items()),
    )

    def way(end: str, hops: str = "1,") -> list[str]:
        ends = {"a": '$a: Town { slug: "a" }', "b": f'$b: Town {{ slug: "{end}" }}'}
        match = " ".join(ends[each] for each in bound)
        path = f"$a $e:road{{{hops}}} $b as $p shortest by $e.km"
        return [each for each in found(graph, f"{match} {path}") if each[0] == "a"]

    if bound == "a":
        with pytest.raises(ExpressionError, match="add up to more than F64 holds"):
            way("b")
        return
    assert way("b") == ["aceb"]
    for end, hops in (("z", "1,"), ("y", "1,"), ("b", "1,2")):
        with pytest.raises(ExpressionError, match="add up to more than F64 holds"):
            way(end, hops)


@pytest.mark.parametrize("seed", range(8))
def test_paths_by_weight_are_those_of_all_paths(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    names = "abcdef"
    roads = {
        pair: float(random.randint(0, 4))
        for pair in permutations(names, 2)
        if random.random() < 0.4
    }
    graph = made(
        tmp_path,
        SCHEMA,
        *(node("Town", slug=slug) for slug in names),
        *(edge("Road", *pair, km=km) for pair, km in roads.items()),
    )
    most = random.choice((1, 2, 3, 5))
    body = f"match {{ $a $e:road{{1,{most}}} $b as $p shortest by $e.km }} return {{ nodes($p) }}"

    assert [ids(path) for (path,) in rows(graph, body)] == list(_lightest(names, roads, most))


@pytest.mark.parametrize("seed", range(4))
def test_the_lightest_path_is_the_same_from_either_end(tmp_path: Path, seed: int) -> None:
    """Summed as floats, 0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1."""
    random = Random(seed)
    names = "abcdefgh"
    pairs = [pair for pair in permutations(names, 2) if random.random() < 0.6]
    roads = (edge("Road", *pair, km=random.choice((0.1, 0.2, 0.3, 0.7, 1.1))) for pair in pairs)
    graph = made(tmp_path, SCHEMA, *(node("Town", slug=slug) for slug in names), *roads)
    path = "$a $e:road{1,5} $b as $p shortest by $e.km"

    for one in names:
        from_it = set(found(graph, f'$a: Town {{ slug: "{one}" }}  {path}'))
        for other in names:
            match = f'$b: Town {{ slug: "{other}" }}  {path}'
            to_it = {way for way in found(graph, match) if way[0] == one}
            assert to_it == {way for way in from_it if way[-1] == other}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("word", ["shortest", "all shortest"])
def test_paths_found_from_both_ends_are_those_found_from_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, word: str
) -> None:
    random = Random(seed)
    names = [f"{number:02}" for number in range(30)]
    graph = made(
        tmp_path,
        SCHEMA,
        *(node("Town", slug=slug, size=random.randint(0, 3)) for slug in names),
        *(edge("Road", *random.choices(names, k=2)) for _ in range(random.choice((30, 60, 120)))),
    )
    hops = random.choice(("{0,}", "{1,}", "{2,4}", "{3}"))
    arrow = random.choice(("road", "<road>"))
    body = (
        f"match {{ $a {arrow}{hops} $b as $p {word}  $a.size = 1  $b.size = 2 }}"
        " return { nodes($p), edges($p) }"
    )
    from_both = rows(graph, body)
    monkeypatch.setattr(paths, "_FEW_ENDS", 0)

    assert from_both == rows(graph, body)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", "ab")
def test_all_shortest_paths_from_or_to_one_node_are_those_to_each_other(
    tmp_path: Path, seed: int, bound: str
) -> None:
    random = Random(seed)
    names = [f"{number:02}" for number in range(24)]
    roads = [edge("Road", *random.choices(names, k=2)) for _ in range(70)]
    graph = made(tmp_path, SCHEMA, *(node("Town", slug=slug) for slug in names), *roads)
    arrow, hops = random.choice(("road", "<road>")), random.choice(("{0,}", "{1,}", "{2,4}"))
    one = f'${bound}: Town {{ slug: "07" }}  $a {arrow}{hops} $b as $p all shortest'
    other = "b" if bound == "a" else "a"
    each = [f'${other}: Town {{ slug: "{slug}" }}  {one}' for slug in names]

    expected = [way for match in each for way in found(graph, match)]
    assert expected
    assert found(graph, one) == expected


@pytest.mark.parametrize("match", ['$a: Town { slug: "0000" }', '$b: Town { slug: "1199" }'])
def test_all_shortest_paths_may_be_longer_than_python_calls_itself(
    tmp_path: Path, match: str
) -> None:
    slugs = [f"{number:04}" for number in range(1_200)]
    towns = (node("Town", slug=slug) for slug in slugs)
    graph = made(tmp_path, SCHEMA, *towns, *(edge("Road", *pair) for pair in pairwise(slugs)))
    body = f"match {{ {match}  $a road{{1,}} $b as $p all shortest }} return {{ length($p) as n }}"

    assert sorted(n for (n,) in rows(graph, body)) == list(range(1, 1_200))  # type: ignore[type-var]


def test_too_many_shortest_paths_exceed_the_time_of_a_query_soon(tmp_path: Path) -> None:
    """Each of 40 diamonds doubles the paths."""
    towns = [f"{letter}{number:02}" for number in range(41) for letter in "abc"]
    ways = [
        (f"{one}{number + (one != 'a'):02}", f"{other}{number + 1:02}")
        for number in range(40)
        for one, other in ("ab", "ac", "ba", "ca")
    ]
    graph = made(
        tmp_path,
        SCHEMA,
        *(node("Town", slug=slug) for slug in towns),
        *(edge("Road", *pair) for pair in ways),
    )
    body = '$a: Town { slug: "a00" }  $a road{1,} $b as $p all shortest'
    began = time.monotonic()

    with pytest.raises(BudgetError, match=r"longer than 0.3 s"):
        rows(graph.at(budget=Budget(seconds=0.3)), f"match {{ {body} }} return {{ count(*) }}")
    assert time.monotonic() - began < 10


def chain(folder: Path, count: int, *, ends: int = 0) -> Graph:
    """Make towns in a row, the last of which has roads to as many more as `ends` says."""
    slugs = [f"n{number:04}" for number in range(count)]
    more = [f"z{number:04}" for number in range(ends)]
    ways = [*pairwise(slugs), *((slugs[-1], end) for end in more)]
    towns = (node("Town", slug=slug) for slug in (*slugs, *more))
    return made(folder, SCHEMA, *towns, *(edge("Road", *way, km=1.0) for way in ways))


@pytest.mark.parametrize("way", ["road{1,} $b as $p shortest", WEIGHED])
@pytest.mark.parametrize("start", ['$a: Town { slug: "n0000" }', ""])
def test_paths_are_refused_before_they_are_larger_than_the_budget(
    tmp_path: Path, way: str, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(tmp_path, 60, ends=300)
    joined: list[int] = []
    monkeypatch.setattr(paths, "_join", joined.append)
    body = f"match {{ {start}  $a {way} }} return {{ max(length($p)) as n }}"

    with pytest.raises(BudgetError, match="needs more than 0 MiB") as raised:
        rows(graph.at(budget=Budget(bytes=60 * 300 * 8)), body)

    assert raised.value.limit == "bytes"
    assert joined == []


@pytest.mark.parametrize("way", ["road{1,} $b as $p shortest", WEIGHED])
def test_the_paths_of_all_starts_together_fit_the_budget(tmp_path: Path, way: str) -> None:
    graph = chain(tmp_path, 60)
    body = f"match {{ $a {way} }} return {{ max(length($p)) as n }}"

    assert rows(graph, body) == [(59,)]
    with pytest.raises(BudgetError, match="needs more than 0 MiB"):
        rows(graph.at(budget=Budget(bytes=200_000)), body)


def test_paths_by_weight_are_followed_back_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(tmp_path, 100)
    looked_up, checked = np.searchsorted, paths._Room.check_numbers
    calls: list[int] = []
    checks: list[int] = []

    def counting(*given: Any, **how: Any) -> Any:
        calls.append(1)
        return looked_up(*given, **how)

    def checking(room: Any, count: int) -> None:
        checks.append(count)
        checked(room, count)

    body = f'match {{ $a: Town {{ slug: "n0000" }}  $a {WEIGHED} }} return {{ nodes($p) as n }}'
    monkeypatch.setattr(np, "searchsorted", counting)
    monkeypatch.setattr(paths._Room, "check_numbers", checking)
    found = rows(graph, body)

    assert [ids(path) for (path,) in found] == [
        "".join(f"n{number:04}" for number in range(last + 1)) for last in range(1, 100)
    ]
    assert len(calls) < 10 * 100
    assert len(checks) >= 99


def _lightest(names: str, roads: dict[tuple[str, str], float], most: int) -> list[str]:
    """Return the lightest path between each two towns, found among all that there are."""
    best: dict[tuple[str, str], tuple[float, int, str]] = {}
    for count in range(2, most + 2):
        for way in permutations(names, min(count, len(names))):
            steps = list(pairwise(way))
            if len(steps) <= most and all(step in roads for step in steps):
                key = (sum(roads[step] for step in steps), len(steps), "".join(way))
                ends = (way[0], way[-1])
                best[ends] = min(best.get(ends, key), key)
    return [way for _, (_, _, way) in sorted(best.items())]
