"""What narrows a scan down never hides a row that the filters keep."""

import json
from datetime import date

import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omnigraph.api.graph import Graph, init
from omnigraph.query.compile import compile_query
from omnigraph.query.plan import NodeScan, ReadPlan
from omnigraph.read import answer, pushdown
from omnigraph.read.operators import scan
from omnigraph.read.pushdown import build_condition
from omnigraph.read.road import Road, RoadChoice
from omnigraph.schema.values import Value

SCHEMA = """
node Row {
  number: I64 @key
  small: I32? @index
  large: I64? @index
  text: String?
  day: Date? @index
  colour: enum(red, green, blue)? @index
  ratio: F64? @index
  plain: I64?
  @unique(text, number)
}
"""
SMALL = (-(2**31), -1, 0, 1, 7, 2**31 - 1, None)
LARGE = (-(2**63), -(2**53) - 1, -1, 0, 2**53 + 1, 2**63 - 1, None)
TEXTS = ("", "a", "A", "é", "e\u0301", "\U0001d6fc", "\uffff", "z'z", None)
DAYS = (date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31), None)
COLOURS = ("red", "green", "blue", None)
POOLS = {"small": SMALL, "large": LARGE, "text": TEXTS, "day": DAYS, "colour": COLOURS}
TYPES = {"small": "I32", "large": "I64", "text": "String", "day": "Date", "colour": "String"}
COMPARING = ("=", "<", "<=", ">", ">=")
NUMBERS = (*SMALL, *LARGE, 2**31, -(2**31) - 1, 2**64 - 1, 2**40)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph whose rows have every value of each pool."""
    graph = init(tmp_path_factory.mktemp("rows") / "g", SCHEMA, durable=False)
    lines = []
    for number in range(63):
        row: dict[str, object] = {name: pool[number % len(pool)] for name, pool in POOLS.items()}
        row |= {"number": number, "ratio": float(number), "plain": number}
        lines.append(json.dumps({"type": "Row", "data": row}, default=str))
    graph.load("\n".join(lines), engine="inline")
    return graph


def found(graph: Graph, clause: str, params: str = "", **given_: object) -> list[object]:
    text = f"query q({params}) {{ match {{ $r: Row  {clause} }} return {{ $r.number as n }} }}"
    return [row["n"] for row in graph.at().query(text, **given_)]


def compared(graph: Graph, clause: str, params: str = "", **given_: object) -> tuple[bool, Road]:
    """Tell whether both roads find the same rows, and which one was taken at last."""
    whole = found(graph, clause, params, **given_)
    roads: list[Road] = []
    answered = answer._execute

    def noted(*parts: object) -> answer.PlanAnswer:
        result = answered(*parts)  # type: ignore[arg-type]
        roads.append(result.road)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "choose_road", lambda *_: RoadChoice(Road.INDEX, 0, 0))
        patch.setattr(answer, "_execute", noted)
        looked_up = found(graph, clause, params, **given_)
    return looked_up == whole, roads[-1]


@given(data=st.data())
@settings(max_examples=40)
def test_a_value_given_as_parameter_finds_the_same_rows_by_index(
    graph: Graph, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(POOLS)))
    operator = data.draw(st.sampled_from(COMPARING))
    value = data.draw(st.sampled_from(POOLS[name]))
    turned = data.draw(st.booleans())
    clause = f"$v {operator} $r.{name}" if turned else f"$r.{name} {operator} $v"

    same, road = compared(graph, clause, f"$v: {TYPES[name]}?", v=value)

    assert same
    assert road is (Road.ADJACENCY if value is None else Road.INDEX)


@given(data=st.data())
@settings(max_examples=40)
def test_a_list_finds_the_same_rows_by_index(graph: Graph, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(POOLS)))
    pool = [each for each in POOLS[name] if each is not None]
    values = data.draw(st.lists(st.sampled_from(pool), max_size=4))

    same, road = compared(graph, f"$r.{name} in $v", f"$v: [{TYPES[name]}]", v=values)

    assert same
    assert road is Road.INDEX


@given(data=st.data())
@settings(max_examples=40)
def test_numbers_beyond_a_column_and_fractions_find_the_same_rows(
    graph: Graph, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(("small", "large")))
    operator = data.draw(st.sampled_from(COMPARING))
    whole = st.sampled_from([each for each in NUMBERS if each is not None])
    literal = data.draw(whole.map(str) | st.sampled_from(("0.5", "-1.5", "1e300", "7.0")))
    assume(literal != "-9223372036854775809")

    same, _ = compared(graph, f"$r.{name} {operator} {literal}")

    assert same


@given(data=st.data())
@settings(max_examples=25)
def test_several_conditions_at_once_find_the_same_rows(graph: Graph, data: st.DataObject) -> None:
    clauses, params, values = [], [], {}
    for number in range(data.draw(st.integers(2, 3))):
        name = data.draw(st.sampled_from(sorted(POOLS)))
        operator = data.draw(st.sampled_from(COMPARING))
        clauses.append(f"$r.{name} {operator} $v{number}")
        params.append(f"$v{number}: {TYPES[name]}?")
        values[f"v{number}"] = data.draw(st.sampled_from(POOLS[name]))
    clauses.append(data.draw(st.sampled_from(("$r.plain > 20", "$r.ratio <= 40.0", ""))))

    same, _ = compared(graph, "  ".join(clauses), ", ".join(params), **values)

    assert same


@pytest.mark.parametrize(
    "clause",
    [
        "$r.small in [1, 7, 2147483647]",
        "$r.small in [1, 99999999999]",
        "$r.text in ['', 'é']".replace("'", '"'),
        '$r.colour = "red"',
        '$r.id >= "5"  $r.id < "6"',
        '$r.text > ""',
        '$r.day >= date("2024-02-29")',
        "$r.large = -9223372036854775807",
        "9223372036854775807 <= $r.large",
        "$r.small != 1  $r.large > 0",
        "$r.small = 1 or $r.large > 0",
        "not $r.small = 1  $r.large > 0",
        "$r.small is null  $r.large > 0",
        "$r.small < $r.large  $r.large > 0",
    ],
)
def test_literals_find_the_same_rows_by_index(graph: Graph, clause: str) -> None:
    same, _ = compared(graph, clause)

    assert same


@pytest.mark.parametrize(
    ("clause", "narrows"),
    [
        ("$r.small = 1", True),
        ("1 < $r.small", True),
        ("$r.small in [1, 2]", True),
        ('$r.text >= "m"', True),
        ('$r.id >= "m"', True),
        ("$r.plain = 1", False),
        ("$r.ratio = 1.0", False),
        ("$r.small != 1", False),
        ("$r.small = 1 or $r.small = 2", False),
        ("$r.small = $r.plain", False),
        ("$r.small is null", False),
        ('$r.text starts_with "a"', False),
    ],
)
def test_only_plain_comparisons_with_an_indexed_column_narrow(
    graph: Graph, clause: str, narrows: bool
) -> None:
    text = f"query q() {{ match {{ $r: Row  {clause} }} return {{ $r.number }} }}"
    plan = compile_query(text, graph.catalog)
    assert isinstance(plan, ReadPlan)
    filters = [each for op in plan.operators if isinstance(op, NodeScan) for each in op.filters]

    assert bool(pushdown.pick_indexed(filters, graph.catalog.nodes["Row"])) is narrows


def test_a_value_that_its_column_cannot_hold_narrows_nothing(graph: Graph) -> None:
    text = "query q($v: I64?) { match { $r: Row  $r.small < $v } return { $r.number } }"
    plan = compile_query(text, graph.catalog)
    assert isinstance(plan, ReadPlan)
    first = plan.operators[0]
    assert isinstance(first, NodeScan)

    def narrowed(value: Value | None) -> object:
        return build_condition(first.filters, graph.catalog.nodes["Row"], lambda _: value)

    assert narrowed(2**31) is None
    assert narrowed(None) is None
    assert narrowed("5") is None
    assert str(narrowed(5)) == str(pc.field("small") < 5)


def test_a_condition_that_hides_rows_would_be_noticed(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "build_condition", lambda *_: pc.field("number") > 5)

    assert compared(graph, "$r.small > -5") == (False, Road.INDEX)
