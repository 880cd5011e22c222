"""On Spark nodes whose keys are integers go by these, and by texts wherever an id is a text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.api.graph import Graph
from omnigraph.read.spark import copies
from omnigraph.read.spark.matches import to_number
from tests.engine.asking import made
from tests.engine.trial import by_tasks
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
interface Named { name: String }
node Person implements Named { number: I64 @key  age: I32? }
node Robot implements Named { code: I32 @key }
node Ship implements Named { slug: String @key }
node Ticket { code: U32 @key }
node Firm { size: U64 @key }
node Day { day: Date @key }
edge Knows: Person -> Person { since: I32 }
edge Owns: Person -> Robot
edge Sails: Ship -> Person
edge Builds: Robot -> Ship
edge Holds: Person -> Ticket
edge At: Person -> Firm
edge On: Person -> Day
"""
# As texts and as integers, they come one after another otherwise.
PEOPLE = [0, -5, 7, 10, 100, 9_223_372_036_854_775_807, -9_223_372_036_854_775_808]
ROBOTS, SHIPS = [7, -2_147_483_648], ["7", "argo", "10"]
TICKETS, FIRMS, DAYS = [0, 4_294_967_295], [2, 2**63, 2**64 - 1], ["1970-01-01", "2026-02-28"]
PATTERNS = [
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " order { c desc, n } limit 3",
    "match { $f knows $p } return { $p as p, count($f) as c } order { c desc } limit 3",
    "match { $f knows $p } return { $p.id as id, $p.age as age, count($f) as c }"
    " order { c } limit 3",
    "match { $f knows $p } return { $p.id as p, $f.number as f } order { $p.age } limit 9",
    "match { $a knows $b  $b knows $a } return { $a.id as a, $b.id as b }",
    "match { $a $e:knows $b  $e.since > 2 } return { $a.id as a, $e.since as e, $b.number as b }",
    "match { $a $e:knows $b  $a $o:knows $b } return { $a.number as a, $e.since as e,"
    " $o.since as o } limit 20",
    "match { $a knows $b  $a owns $r  $r builds $s  $s sails $b } return { $s.slug as s,"
    " $r.code as r, count($a) as c }",
    "match { $p at $f  $p holds $t } return { $f.size as f, $t.code as t, count($p) as c }"
    " order { f desc, t } limit 4",
    "match { $p on $d  $p knows $q } return { $d.day as d, count($q) as c } order { d }",
    "match { $p: Person  optional { $p owns $r  $r builds $s } } return { $p.number as p,"
    " $r.code as r, $s.name as s }",
    "match { $p: Person  not { $p knows $q  $q holds $t } } return { $p.number as p }",
    "match { $p: Person  not { $p at $_ }  optional { $s sails $p } } return { $p as p, $s as s }",
    "match { $a knows {1,2} $b  $b at $f } return { $a.number as a, $b.id as b, $f.size as f }",
    "match { $a knows {2,} $b } return { $b.number as b, count($a) as c }",
    "match { $n: Named } return { $n.id as id, $n.name as name } order { id, name }",
    "match { $n: Named  $m: Named  $n.id = $m.id } return { $n as n, $m.name as m }",
    "match { $p: Person { number: -5 }  $p knows $q } return { $q.number as q }",
    "match { $p: Person { number: 9223372036854775807 }  $p knows $q } return { $q.number as q }",
    "match { $p: Person  $p.number >= 7  $p.id < '7' } return { $p.number as n }",
    "match { $p: Person { id: '7' }  $p knows $q } return { $q.id as q }",
    "match { $p: Person { id: '07' }  $p knows $q } return { $q.id as q }",
    "match { $p: Person { id: '9223372036854775808' }  $p knows $q } return { $q.id as q }",
    "match { $p knows $q } return distinct { $q as q }",
    "match { $p knows $q } return { $q.number as q, collect($p.number) as ps }",
    "match { $p knows $q } return { count(distinct $q) as c, min($q.number) as least }",
    "match { $p: Person { number: 0 }  $q: Person { number: 7 }  $p knows {1,} $q as $w shortest }"
    " return { nodes($w) as nodes }",
]


def _some_tasks(_: pytest.MonkeyPatch) -> None:
    """Let small tables travel with a query."""


def _copied_by_tasks(patch: pytest.MonkeyPatch) -> None:
    by_tasks(patch)
    patch.setattr(copies, "_MOST_HELD", 0)
    patch.setattr(copies, "_SCANS", 0)  # the first query makes them


def _scanned(patch: pytest.MonkeyPatch) -> None:
    by_tasks(patch)
    patch.setattr(copies.Copies, "beside", staticmethod(lambda _: None))


WAYS: list[Callable[[pytest.MonkeyPatch], None]]
WAYS = [_some_tasks, by_tasks, _copied_by_tasks, _scanned]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """People, robots and tickets that go by numbers, among firms, ships and days that do not."""
    return _made(tmp_path_factory.mktemp("numbered"))


def _made(folder: Path) -> Graph:
    lines = [
        node("Person", number=number, name=f"n{number % 3}", age=20 + at % 4)
        for at, number in enumerate(PEOPLE)
    ]
    lines += [node("Robot", code=code, name=f"r{code}") for code in ROBOTS]
    lines += [node("Ship", slug=slug, name=f"s{slug}") for slug in SHIPS]
    lines += [node("Ticket", code=code) for code in TICKETS]
    lines += [node("Firm", size=size) for size in FIRMS]
    lines += [node("Day", day=day) for day in DAYS]
    known = [(one, other) for one in PEOPLE for other in PEOPLE if (one + 2 * other) % 3 != 1]
    for at, (one, other) in enumerate([*known, *known[:9]]):
        ends = {"edge": "Knows", "from": str(one), "to": str(other)}
        lines.append(json.dumps({**ends, "data": {"since": at % 5}}))
    pairs: list[tuple[str, object, object]] = []
    for at, number in enumerate(PEOPLE):
        pairs += [("Owns", number, ROBOTS[at % 2]), ("Sails", SHIPS[at % 3], number)]
        pairs += [("Holds", number, TICKETS[at % 2]), ("On", number, DAYS[at % 2])]
    pairs += [("At", number, FIRMS[at % 3]) for at, number in enumerate(PEOPLE[:5])]
    pairs += [("Builds", code, slug) for code in ROBOTS for slug in SHIPS[:2]]
    lines += [
        json.dumps({"edge": name, "from": str(one), "to": str(other)}) for name, one, other in pairs
    ]
    return made(folder, SCHEMA, *lines)


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        pytest.param(
            pattern,
            way,
            id=f"{way.__name__}-{pattern}",
            # Each pattern in one of the ways, each way with a quarter of the patterns.
            marks=pytest.mark.long if (at + turn) % len(WAYS) else (),
        )
        for turn, way in enumerate(WAYS)
        for at, pattern in enumerate(PATTERNS)
    ],
)
def test_nodes_that_go_by_numbers_are_those_that_go_by_ids(
    graph: Graph,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    way: Callable[[pytest.MonkeyPatch], None],
) -> None:
    assert spark is not None
    way(monkeypatch)
    text = f"query q() {{ {pattern} }}".replace("'", '"')

    found = [graph.at(engine=each).query(text).table for each in ("inline", "spark")]

    assert found[1].equals(found[0])


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ("$a knows $b", [pa.int64(), pa.int64()]),
        ("$a owns $b", [pa.int64(), pa.int64()]),
        ("$a sails $b", [pa.int64(), pa.string()]),
        ("$a builds $b", [pa.string(), pa.int64()]),
        ("$a holds $b", [pa.int64(), pa.int64()]),
        ("$a at $b", [pa.string(), pa.int64()]),
        ("$a on $b", [pa.string(), pa.int64()]),
    ],
)
def test_a_copy_has_the_ends_of_edges_as_integers_where_keys_are_of_64_bits(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    kinds: list[pa.DataType],
) -> None:
    assert spark is not None
    by_tasks(monkeypatch)
    graph = _made(tmp_path)

    graph.at(engine="spark").query(f"match {{ {pattern} }} return {{ $a.id as a, $b.id as b }}")

    (file,) = (Path(graph.uri) / "_copies").glob("*/*.parquet")
    assert pq.read_schema(file).types == kinds, "the target, then the source"


def test_a_copy_of_another_format_is_made_again(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark is not None
    by_tasks(monkeypatch)
    graph, query = _made(tmp_path), "match { $a knows $b } return { $a.id as a, $b.number as b }"
    with monkeypatch.context() as before:
        before.setattr(copies, "_FORMAT", 3)
        graph.at(engine="spark").query(query)
    (label,) = (Path(graph.uri) / "_copies").glob("*/_copy.json")
    # Before, ids were texts in all columns.
    file = label.with_name("part.parquet")
    texts = pa.table({"v0": ["7"], "v1": ["7"]})
    pq.write_table(texts, file)
    label.with_name(".part.parquet.crc").unlink()
    said = json.loads(label.read_text())
    label.write_text(json.dumps({**said, "files": {file.name: file.stat().st_size}}))

    found = [graph.at(engine=each).query(query).table for each in ("inline", "spark")]

    assert found[1].equals(found[0])
    assert json.loads(label.read_text())["format"] == copies._FORMAT


@pytest.mark.parametrize(
    ("row_id", "number"),
    [
        ("0", 0),
        ("-7", -7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-0", None),
        ("07", None),
        ("+7", None),
        (" 7", None),
        ("1_0", None),
        ("٧", None),
        ("", None),
        ("9" * 5_000, None),
    ],
)
def test_an_id_has_a_number_if_it_is_the_text_of_it(row_id: str, number: int | None) -> None:
    assert to_number(row_id) == number
