"""A mutation that leaves everything as it was makes no commit, and the smallest difference does."""

import math
import struct
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from tests.changes.statements import link, person
from tests.changes.town import commits, content, counts, do, rows

SCHEMA = """
node Thing {
  k: String @key
  text: String?  flag: Bool?  i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
  day: Date?  at: DateTime?  hue: enum(green, red)?  vector: Vector(2)?  blob: Blob?
  texts: [String]?  numbers: [F64]?  flags: [Bool]?  ats: [DateTime]?
}
"""
NAN, OTHER_NAN = (
    struct.unpack("<d", struct.pack("<Q", bits))[0]
    for bits in (0x7FF8000000000000, 0x7FF8000000000001)
)

# Of each property, values that are all different from one another, however slightly.
VALUES: dict[str, tuple[object, ...]] = {
    "text": (None, "", "a", "A", "a\u0301", "á"),
    "flag": (None, True, False),
    "i32": (None, 0, -(2**31)),
    "i64": (None, 2**53, 2**53 + 1),
    "u32": (None, 0, 2**32 - 1),
    "u64": (None, 2**64 - 1, 2**64 - 2, 0),
    "f32": (None, 0.0, -0.0, math.nan, math.inf),
    "f64": (None, 0.0, -0.0, NAN, OTHER_NAN, 0.1, 0.1 + 2**-56),
    "day": (None, "2024-02-29", "2024-03-01"),
    "at": (None, "2024-01-01T10:00:00Z", "2024-01-01T10:00:00.001Z", "2024-01-01T11:00:00Z"),
    "hue": (None, "green", "red"),
    "vector": (None, [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]),
    "blob": (None, "base64:", "base64:AAEC", "base64:AAED", "s3://bucket/key"),
    "texts": (None, [], [""], ["a"], ["a", "b"], ["ab"], ["b", "a"]),
    "numbers": (None, [], [0.0], [-0.0], [math.nan], [0.0, 0.0]),
    "flags": (None, [], [True], [False], [True, True]),
    "ats": (None, [], ["2024-01-01T10:00:00Z"], ["2024-01-01T10:00:00.001Z"]),
}
# One kind of each way to compare; the others are of the long lane.
FEW = ("i64", "f64", "text", "at", "vector", "blob", "texts")
KINDS = {"hue": "String", "blob": "String", "at": "DateTime", "day": "Date", "text": "String"} | {
    "vector": "Vector(2)",
    "texts": "[String]",
    "numbers": "[F64]",
    "flags": "[Bool]",
    "ats": "[DateTime]",
    "flag": "Bool",
    **{name: name.upper() for name in ("i32", "i64", "u32", "u64", "f32", "f64")},
}


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = init(tmp_path_factory.mktemp("things") / "g", SCHEMA, durable=False)
    do(graph, 'insert Thing { k: "other", text: "other" }')
    return graph


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.long) for name in VALUES]
)
def test_the_same_value_is_no_change_and_any_other_is_one(things: Graph, name: str) -> None:
    text = f"""
        query insert_it($v: {KINDS[name]}?) {{ insert Thing {{ k: "{name}", {name}: $v }} }}
        query update_it($v: {KINDS[name]}?) {{
            update Thing set {{ {name}: $v }} where k = "{name}" }}"""
    for value in VALUES[name]:
        first = things.mutate(text, "insert_it", v=value)
        assert counts(first) == (1, 0), f"{value!r} is another value"
        version = commits(things)
        for again in ("insert_it", "update_it"):
            receipt = things.mutate(text, again, v=value)
            assert (receipt.commit, counts(receipt)) == (None, (0, 0)), f"{again} {value!r}"
        assert commits(things) == version
    for value in VALUES[name]:
        assert counts(things.mutate(text, "update_it", v=value)) == (1, 0)


def test_a_change_of_one_row_of_many_affects_that_row(settled: Graph) -> None:
    do(settled, 'update Person set { age: 20 } where slug = "ada"')
    receipt = do(settled, 'update Person set { age: 20 } where slug != ""')
    assert counts(receipt) == (1, 0), "of three only one was not 20 already"


@pytest.mark.parametrize(
    "statement",
    [
        person("ada", age="36", email='"ada@x"'),
        'update Person set { age: 36 } where slug = "ada"',
        'update Person set { age: 1 } where slug = "nobody"',
        'update Knows set { weight: 0.5 } where from = "ada"',
        'delete Person where slug = "nobody"',
        "delete Knows where weight > 1.0",
    ],
)
def test_what_changes_nothing_makes_no_commit(settled: Graph, statement: str) -> None:
    before, version = content(settled), commits(settled)
    receipt = do(settled.branch(actor="eve"), statement)
    assert (receipt.commit, counts(receipt), receipt.actor) == (None, (0, 0), "eve")
    assert (content(settled), commits(settled)) == (before, version)


def test_a_change_of_one_type_leaves_the_tables_of_others_where_they_are(settled: Graph) -> None:
    before = settled.snapshot().commit.tables
    do(settled, person("dan"), person("ada", age="36", email='"ada@x"'))
    after = settled.snapshot().commit.tables
    assert {key for key in after if after[key] != before[key]} == {"node:Person"}


def test_an_edge_without_a_key_is_always_new(settled: Graph) -> None:
    count = len(rows(settled, "Knows"))
    assert counts(do(settled, link("Knows", "ada", "bob", weight="0.5"))) == (0, 1)
    assert len(rows(settled, "Knows")) == count + 1


def test_a_blob_is_left_alone_by_updates_of_other_properties(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    blob = "base64:" + "AAEC" * 10_000
    text = """query it($b: String) {
        insert Thing { k: "full", blob: $b } insert Thing { k: "empty", blob: "base64:" }
        insert Thing { k: "none" } insert Thing { k: "far", blob: "s3://bucket/key" } }"""
    graph.mutate(text, b=blob)
    before = {row["k"]: row["blob"] for row in rows(graph, "Thing")}
    do(graph, 'update Thing set { i32: 1 } where k != ""')
    do(graph, 'insert Thing { k: "x" }')
    after = {row["k"]: row["blob"] for row in rows(graph, "Thing") if row["k"] != "x"}
    assert after == before
    assert (before["none"], before["empty"]) == (None, b"base64:")
