"""Paths and unions on Spark give the rows of the engine, in its order."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import ExpressionError
from tests.engine.asking import made
from tests.engine.test_paths import FAR
from tests.engine.trial import by_tasks
from tests.pipeline.loads import edge, node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Town { slug: String @key  size: U64?  seen: DateTime?  tags: [String]? }
node Lake { slug: String @key }
edge Road: Town -> Town { km: F64?  toll: I32? }
edge Rail: Town -> Town { km: I32 }
edge At: Town -> Lake
"""
ENDS = '$a: Town { slug: "t0" }  $b: Town { slug: "t9" }'


@pytest.fixture(scope="module")
def towns(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Ten towns with roads, some of them parallel and some from a town to itself."""
    assert spark is not None
    random = Random(3)
    names = [f"t{number}" for number in range(10)]

    def seen(number: int) -> dict[str, object]:
        times = {"seen": f"2024-01-{number + 1:02}T00:00:00Z", "size": 2**63 + number}
        return {**times, "tags": ["x"] * (number % 3)} if number % 4 else {}

    return made(
        tmp_path_factory.mktemp("towns"),
        SCHEMA,
        *(node("Town", slug=slug, **seen(at)) for at, slug in enumerate(names)),
        node("Lake", slug="t1"),
        edge("At", "t3", "t1"),
        *(
            edge("Road", *random.choices(names, k=2), km=random.randint(0, 4) / 2)
            for _ in range(24)
        ),
        *(edge("Rail", *random.choices(names, k=2), km=random.randint(0, 2)) for _ in range(6)),
    )


@pytest.mark.parametrize(
    "body",
    [
        f"match {{ {ENDS}  $a <road>{{1,6}} $b as $p all shortest }}"
        " return { nodes($p) as n, edges($p) as e, length($p) as l }",
        f"match {{ {ENDS}  $a $e:<road>|rail{{1,}} $b as $p shortest by $e.km }}"
        " return { nodes($p) as n, edges($p) as e }",
        "match { $a road{0,3} $b as $p shortest } return { $a.slug as a, $b, nodes($p) as n }"
        " order { length($p) desc } limit 30",
        'match { $b: Town { slug: "t9" }  $a road{2,} $b as $p all shortest }'
        " return { $a.size as s, edges($p) as e }",
        'match { $b: Town { slug: "t9" }  $a $e:road{0,4} $b as $p shortest by $e.km }'
        " return { $a.slug as a, nodes($p) as n, length($p) * 2 as l }",
        "match { $a road{1,2} $b as $p shortest  $b <rail>{1,2} $c as $q all shortest  $c at $_ }"
        " return { $a.slug as a, nodes($q) as n } having { length($p) + length($q) > 2 }",
        "match { $a road{1,} $b as $p shortest  optional { $b at $l } }"
        " return { length($p) as l, $l.slug as lake, count(*) as n, max(length($p)) as m }",
    ],
)
def test_these_paths_are_the_same(towns: Graph, body: str) -> None:
    assert _same(towns, body)


@pytest.mark.parametrize(
    "body",
    [
        "match { $t: Town } return { $t.slug as s, $t.size as n } union all"
        " match { $t road $_ } return { $t.slug as s, $t.size as n }",
        "match { $t: Town } return { $t.slug as s } union all match { $l: Lake }"
        " return { $l.slug as s } union all match { $t: Town } return { $t.slug as s }"
        " order { length(s) } skip 2 limit 12",
        'match { $t rail $_ } return { $t.slug as s, "rail" as k, collect($t.tags) as l } union all'
        ' match { $t road $_ } return { $t.slug as s, "road" as k, collect($t.tags) as l }'
        " order { k desc }",
        'match { $a: Town { slug: "t0" }  $a road{1,3} $b as $p shortest }'
        " return { nodes($p) as n } union all"
        ' match { $a: Town { slug: "t1" }  $a rail{1,3} $b as $p all shortest }'
        " return { nodes($p) as n }",
    ],
)
def test_all_rows_of_these_unions_are_the_same(towns: Graph, body: str) -> None:
    assert _same(towns, body)


def test_tables_that_tasks_read_have_the_same_paths(
    towns: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_tasks(monkeypatch)

    assert _same(
        towns,
        "match { $a $e:road{1,2} $b as $p shortest by $e.km } return { edges($p) as e } union all"
        " match { $a road $b as $p shortest } return { edges($p) as e }",
    )


def test_a_weight_that_is_no_distance_is_an_error(towns: Graph) -> None:
    text = "match { $a $e:road{1,} $b as $p shortest by $e.toll } return { length($p) }"
    with pytest.raises(ExpressionError, match="of a path is null or NaN"):
        towns.at(engine="spark").query(text)


def test_weights_that_add_up_to_no_number_are_an_error(
    spark: "SparkSession", tmp_path: Path
) -> None:
    towns = (node("Town", slug=slug) for slug in "abc")
    ways = [("a", "b"), ("b", "c")]
    graph = made(tmp_path, SCHEMA, *towns, *(edge("Road", *ends, km=1e308) for ends in ways))

    text = "match { $a $e:road{%s} $b as $p shortest by $e.km } return { length($p) as n }"
    assert _same(graph, text % "1,1") == 2
    with pytest.raises(ExpressionError, match="'km' of a path add up to more than F64 holds"):
        graph.at(engine="spark").query(text % "1,2")


def test_weights_that_add_up_to_no_number_on_the_way_are_no_error(
    spark: "SparkSession", tmp_path: Path
) -> None:
    towns = (node("Town", slug=slug) for slug in "abcdeyz")
    ways = (edge("Road", *ends, km=far) for ends, far in FAR.items())
    graph = made(tmp_path, SCHEMA, *towns, *ways)
    match = '$a: Town { slug: "a" }  $b: Town { slug: "%s" }'
    text = (
        f"match {{ {match}  $a $e:road{{1,}} $b as $p shortest by $e.km }} return {{ edges($p) }}"
    )

    assert _same(graph, text % "b") == 1
    for end in "zy":
        for engine in ("inline", "spark"):
            with pytest.raises(ExpressionError, match="add up to more than F64 holds"):
                graph.at(engine=engine).query(text % end)


@pytest.mark.parametrize("bound", "ad")
def test_weights_that_floats_round_are_summed_alike(
    spark: "SparkSession", tmp_path: Path, bound: str
) -> None:
    towns = (node("Town", slug=slug) for slug in "abcdef")
    km = {"ab": 0.1, "bc": 0.2, "cd": 0.3, "ae": 0.3, "ef": 0.2, "fd": 0.1, "ac": 0.3, "ed": 0.3}
    graph = made(
        tmp_path, SCHEMA, *towns, *(edge("Road", *ends, km=far) for ends, far in km.items())
    )
    end = "a" if bound == "a" else "b"
    match = f'${end}: Town {{ slug: "{bound}" }}  $a $e:road{{1,}} $b as $p shortest by $e.km'

    assert _same(graph, f"match {{ {match} }} return {{ nodes($p) as n }}")


def _same(graph: Graph, body: str) -> int:
    """Ask both engines, which give the same table; return how many rows it has."""
    expected = graph.at(engine="inline").query(body).table
    found = graph.at(engine="spark").query(body).table
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    return int(found.num_rows)
