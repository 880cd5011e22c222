"""Lance decides a condition as Spark does, or is not asked."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from omnigraph.api.graph import Graph, init
from omnigraph.errors import StorageError
from omnigraph.schema.arrow import arrow_schema
from omnigraph.spark.filters import to_expression
from omnigraph.storage.staging import shares
from omnigraph.storage.table import takes_conditions

SCHEMA = """
node Row {
  slug: String @key
  text: String? @index  hue: enum(blue, red)?  flag: Bool?  i32: I32? @index  i64: I64?
  u32: U32?  u64: U64?  f32: F32?  f64: F64?  day: Date? @index  at: DateTime?  blob: Blob?
  vector: Vector(2)?  texts: [String]?
}
"""
ROWS: list[dict[str, Any]] = [
    {"slug": "none"},
    {"slug": "low", "text": "", "hue": "blue", "flag": False, "i32": -(2**31), "i64": -(2**63)},
    {"slug": "mid", "text": "a%b_c", "hue": "red", "flag": True, "i32": 0, "i64": 0, "f64": -0.0},
    {"slug": "high", "text": "é😀", "flag": True, "i32": 2**31 - 1, "i64": 2**63 - 1, "u32": 7},
    {"slug": "text", "text": "a\x00b'\"`", "i32": 5, "day": "2024-01-31", "f64": 1.5},
    {"slug": "old", "text": "\uffff", "day": "0001-01-01", "at": "2024-01-31T12:00:00Z"},
]
Decide = Callable[[Any], bool | None]


def when(decide: Callable[[Any], bool]) -> Decide:
    """Return a condition that is null for null."""
    return lambda value: None if value is None else decide(value)


CASES: list[tuple[Filter, Decide]] = [
    (EqualTo(("text",), "a%b_c"), when(lambda value: value == "a%b_c")),
    (EqualTo(("text",), "a\x00b'\"`"), when(lambda value: value == "a\x00b'\"`")),
    (GreaterThan(("text",), "a%b_c"), when(lambda value: value.encode() > b"a%b_c")),
    (LessThanOrEqual(("text",), "é😀"), when(lambda value: value.encode() <= "é😀".encode())),
    (GreaterThanOrEqual(("text",), "\uffff"), when(lambda value: value >= "\uffff")),
    (StringStartsWith(("text",), "a%"), when(lambda value: value.startswith("a%"))),
    (StringStartsWith(("text",), ""), when(lambda value: value.startswith(""))),
    (StringEndsWith(("text",), "_c"), when(lambda value: value.endswith("_c"))),
    (StringContains(("text",), "\x00b'"), when(lambda value: "\x00b'" in value)),
    (In(("text",), ("", "é😀", "x")), when(lambda value: value in ("", "é😀"))),
    (EqualNullSafe(("text",), ""), lambda value: value == ""),
    (EqualNullSafe(("text",), None), lambda value: value is None),
    (IsNull(("text",)), lambda value: value is None),
    (IsNotNull(("text",)), lambda value: value is not None),
    (EqualTo(("hue",), "red"), when(lambda value: value == "red")),
    (EqualTo(("flag",), value=True), when(lambda value: value is True)),
    (In(("flag",), (False,)), when(lambda value: value is False)),
    (EqualTo(("i32",), -(2**31)), when(lambda value: value == -(2**31))),
    (GreaterThan(("i32",), 0), when(lambda value: value > 0)),
    (In(("i32",), (0, 5)), when(lambda value: value in (0, 5))),
    (LessThan(("i64",), 2**63 - 1), when(lambda value: value < 2**63 - 1)),
    (GreaterThanOrEqual(("day",), date(2024, 1, 31)), when(lambda value: value >= "2024-01-31")),
    (In(("day",), (date(1, 1, 1),)), when(lambda value: value == "0001-01-01")),
    (IsNull(("f64",)), lambda value: value is None),
]
LEFT_TO_SPARK: list[Filter] = [
    EqualTo(("u32",), 7),
    IsNull(("u32",)),
    EqualTo(("u64",), Decimal(7)),
    GreaterThan(("f64",), 0.0),
    EqualTo(("f32",), 1.5),
    GreaterThan(("at",), datetime(2024, 1, 1, tzinfo=UTC)),
    IsNotNull(("at",)),
    EqualTo(("blob",), b"x"),
    IsNull(("vector",)),
    IsNull(("texts",)),
    EqualTo(("i32",), 2**31),
    EqualTo(("i32",), value=True),
    EqualTo(("i32",), 1.0),
    EqualTo(("i32",), None),
    EqualTo(("day",), datetime(2024, 1, 31)),  # noqa: DTZ001
    EqualTo(("flag",), 1),
    GreaterThan(("flag",), value=False),
    StringStartsWith(("day",), "2024"),
    In(("i32",), (1, None)),
    In(("i64",), tuple(range(1_001))),
    EqualTo(("text", "inner"), "a"),
    EqualTo(("nowhere",), "a"),
    Not(GreaterThan(("f64",), 0.0)),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = init(tmp_path_factory.mktemp("filters") / "graph", SCHEMA, durable=False)
    assert takes_conditions(arrow_schema(made.catalog.nodes["Row"]))
    for row in ROWS:  # each in a fragment of its own
        made.load(json.dumps({"type": "Row", "data": row}), engine="inline")
    return made


def found(graph: Graph, condition: Filter) -> set[str]:
    """Return the rows for which Lance says that the condition is true."""
    snapshot = graph.snapshot()
    where = to_expression(condition, snapshot.catalog.nodes["Row"])
    assert where is not None
    parts = shares(snapshot.table("node:Row"), 2)
    batches = [batch for share in parts for batch in share.batches(["slug"], where)]
    return {slug for batch in batches for slug in batch["slug"].to_pylist()}


def named(case: object) -> str:
    """Return a name that is the same in every process."""
    return "as it is" if callable(case) else str(case)[:60]


@pytest.mark.parametrize(("condition", "decide"), CASES, ids=named)
def test_a_condition_and_its_opposite_are_decided_as_spark_would(
    graph: Graph, condition: Any, decide: Decide
) -> None:
    (name,) = condition.attribute
    answers = {row["slug"]: decide(row.get(name)) for row in ROWS}
    assert found(graph, condition) == {slug for slug, said in answers.items() if said is True}
    assert found(graph, Not(condition)) == {slug for slug, said in answers.items() if said is False}


@pytest.mark.parametrize("condition", LEFT_TO_SPARK, ids=named)
def test_a_condition_that_lance_would_decide_otherwise_is_left_to_spark(
    graph: Graph, condition: Filter
) -> None:
    assert to_expression(condition, graph.catalog.nodes["Row"]) is None


@pytest.mark.parametrize("kind", ["U32", "U64", "DateTime"])
def test_lance_takes_no_condition_on_a_table_with_such_lists(tmp_path: Path, kind: str) -> None:
    schema = f"node Row {{ slug: String @key  many: [{kind}]? }}"
    graph = init(tmp_path / "graph", schema, durable=False)
    graph.load('{"type": "Row", "data": {"slug": "a"}}', engine="inline")
    with pytest.raises(StorageError, match="Substrait"):
        found(graph, EqualTo(("slug",), "a"))
    assert not takes_conditions(arrow_schema(graph.catalog.nodes["Row"]))
