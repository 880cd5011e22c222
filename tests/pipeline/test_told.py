"""What ids tell is read off them on Spark: keys of one text or integer, and what edges join."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.read.spark import counting
from omnigraph.read.spark.opening import open_session
from omnigraph.spark.origins import without_origins
from tests.engine.asking import made
from tests.engine.trial import by_tasks
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32? }
node Firm { size: U64 @key }
node Team { colour: enum(red, green) @key }
node Desk { floor: I32  row: I32  @key(floor, row) }
edge Knows: Person -> Person
edge At: Person -> Firm
edge In: Person -> Team
edge Sits: Person -> Desk
"""
PEOPLE = [-5, 0, 7, 10, 9_223_372_036_854_775_807]
MOST = 18_446_744_073_709_551_615
PATTERNS = [
    "match { $p knows $q } return { $p.number as p, $q.number as q } order { q desc, p }",
    "match { $f: Person  $p knows $f } return { $f.number as n, $f.name as name, count($p) as c }"
    " order { c desc, n } limit 2",
    "match { $p at $f  $q knows $p } return { $p.number as p, $f.size as f, count($q) as c }"
    " order { c desc, p } limit 2",
    "match { $p in $t  $t.colour = 'red'  $p.age > 20 } return { count($p) as c }",
    "match { $p in $t  $p at $f  $t.colour = 'red' } return { count($p) as c }",
    "match { $p: Person { number: -5 }  $p knows $a  $a knows $b } return { count($b) as c }",
    "match { $p: Person { number: 3 }  $p knows $a } return { $p.number as p, $a.name as a }",
    "match { $p: Person { number: 0 }  $p knows $a } return { $p.number as p, $a.name as a }",
    "match { $a knows $b  $b knows $c  $b.age < 50 } return { count($c) as c }",
    "match { $a knows $b  $a at $f  $a in $t } return { count($a) as c }",
    "match { $q knows $p  $p in $t } return { $t.colour as t, count($q) as c } order { c desc }",
    "match { $r knows $q  $q knows $p  $p in $t  $p at $_ } return { $t.colour as t,"
    " count($r) as c }",
    "match { $q knows $p  $p at $f  $q.age > 20 } return { $f.size as f, count($q) as c }",
    "match { $p: Person  optional { $p at $f } } return { $p.number as p, $f.size as f }",
    "match { $p: Person  not { $p in $t  $t.colour = 'red' } } return { $p.number as p }",
    "match { $p knows $_  $f: Firm  not { $p knows {2,} $q } }"
    " return { $f.size as f, count(*) as c }",
    "match { $p knows $q  $p at $_  $f: Firm } return { $f.size as f, count($q) as c }",
    "match { $p sits $d } return { $d.row as row, $d.floor as floor, count($p) as c }",
    "match { $p in $t } return distinct { $t as t, $p.number as p }",
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Five people who know each other, with keys of all kinds around them."""
    people = [
        node("Person", number=number, name=f"n{number}", age=20 + at)
        for at, number in enumerate(PEOPLE)
    ]
    others = [node("Firm", size=MOST), node("Firm", size=2), node("Team", colour="red")]
    others += [node("Team", colour="green"), node("Desk", floor=1, row=-2)]
    pairs: list[tuple[str, int, object]] = []
    pairs += [("Knows", PEOPLE[one], PEOPLE[other]) for one in range(5) for other in range(one)]
    pairs += [("At", PEOPLE[0], MOST), ("At", PEOPLE[1], 2), ("At", PEOPLE[2], 2)]
    pairs += [("At", PEOPLE[0], 2)]
    pairs += [("In", PEOPLE[at], "red" if at % 2 else "green") for at in range(4)]
    lines = [f'{{"edge": "{name}", "from": "{a}", "to": "{b}"}}' for name, a, b in pairs]
    lines += [f'{{"edge": "Sits", "from": "{PEOPLE[3]}", "to": "[1,-2]"}}']
    return made(tmp_path_factory.mktemp("told"), SCHEMA, *people, *others, *lines)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        pytest.param(
            pattern,
            limit,
            id=f"{way}-{pattern}",
            # Each pattern in one of both ways, each way with half of the patterns.
            marks=pytest.mark.long if (at + turn) % 2 else (),
        )
        for turn, (way, limit) in enumerate({"shuffled": 0, "sent": 1 << 17}.items())
        for at, pattern in enumerate(PATTERNS)
    ],
)
def test_what_ids_tell_is_what_the_tables_hold(
    graph: Graph,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    limit: int,
) -> None:
    assert spark is not None
    monkeypatch.setattr(counting, "_MOST_SENT", limit)
    text = f"query q() {{ {pattern} }}".replace("'", '"')

    found = [graph.at(engine=each).query(text).table for each in ("inline", "spark")]

    assert found[1].equals(found[0])


@pytest.mark.parametrize("slices", [by_tasks, lambda _: None], ids=["many", "few"])
def test_a_session_that_is_given_back_is_opened_again(
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    slices: Callable[[pytest.MonkeyPatch], None],
) -> None:
    slices(monkeypatch)
    first = open_session(10, spark)

    other = open_session(10, spark)
    first.give_back()
    again = open_session(10, spark)

    assert other.spark is not first.spark
    assert again.spark is first.spark
    for each in (other, again):
        each.give_back()


def test_lines_are_noted_again_after_frames_without_them(spark: "SparkSession") -> None:
    from pyspark.errors import utils

    assert spark is not None
    before = _is_noting(utils)
    with without_origins(), without_origins():
        assert _is_noting(utils) is False
    assert _is_noting(utils) is before


def _is_noting(utils: object) -> object:
    return vars(utils)["_enable_debugging_cache"]
