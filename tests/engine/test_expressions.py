"""What is computed is exact, null where an argument is, and an error where it has no value."""

import math
from datetime import UTC, date, datetime
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.data.values.computing import Uncomputable, compute, convert_exactly
from omnigraph.errors import ExpressionError, QueryError
from omnigraph.schema.types import DATE, F32, F64, I64, STRING, U64, ValueType
from tests.engine.asking import column, made, result, rows
from tests.pipeline.loads import edge, node

SCHEMA = """
node Person {
  slug: String @key  name: String?  age: I32?  big: I64?  huge: U64?  pay: F64?  rate: F32?
  born: Date?  seen: DateTime?  tags: [String]?
}
edge Knows: Person -> Person { weight: F64? }
"""
MOST, LEAST, HUGE = 2**63 - 1, -(2**63), 2**64 - 1


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    return made(
        tmp_path,
        SCHEMA,
        node(
            "Person",
            slug="ann",
            name=" Ann ",
            age=30,
            big=7,
            huge=9,
            pay=2.5,
            rate=0.5,
            born="1990-02-28",
            seen="2024-01-31T23:30:00Z",
            tags=["a", "b"],
        ),
        node("Person", slug="ben", name="Bén", age=0, big=MOST, huge=HUGE, pay=-2.5),
        node("Person", slug="cat"),
        edge("Knows", "ann", "ben", weight=2.0),
        edge("Knows", "ann", "cat"),
    )


def computed(graph: Graph, text: str, slug: str = "ann") -> object:
    """Return the one value of an expression about one person."""
    body = f'match {{ $p: Person {{ slug: "{slug}" }} }} return {{ {text} as x }}'
    (found,) = column(graph, body)
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$p.age + 1", 31),
        ("$p.age - $p.big", 23),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % -3", 1),
        ("-7 % 3", -1),
        ("7 / 2.0", 3.5),
        ("$p.age + 2 * 3", 36),
        ("($p.age + 2) * 3", 96),
        ("10 - 3 - 2", 5),
        ("-$p.age", -30),
        ("- -$p.age", 30),
        ("$p.huge - 1", 8),
        ("$p.huge + -9", 0),
        ("$p.rate + $p.rate", 1.0),
        ("$p.pay % 1.0", 0.5),
        ('trim($p.name) + "!"', "Ann!"),
        ("upper($p.name)", " ANN "),
        ("length($p.name)", 5),
        ("length($p.tags)", 2),
        ("substring($p.name, 1, 2)", "An"),
        ("substring($p.name, 9)", ""),
        (f"substring($p.name, 1, {MOST})", "Ann "),
        (f"substring($p.name, {MOST}, {MOST})", ""),
        ("substring($p.name, 0, length($p.name) - 4)", " "),
        ("abs(-$p.pay)", 2.5),
        ("round($p.pay)", 3.0),
        ("round(-$p.pay)", -3.0),
        ("floor(-$p.pay)", -3.0),
        ("ceil($p.pay)", 3.0),
        ("floor($p.age)", 30),
        ("year($p.born) * 100 + month($p.born)", 199002),
        ("day($p.seen)", 31),
        ("$p.born + 1", date(1990, 3, 1)),
        ("$p.born - 59", date(1989, 12, 31)),
        ('$p.born - date("1990-01-01")', 58),
        ("$p.seen + 1", datetime(2024, 2, 1, 23, 30, tzinfo=UTC)),
    ],
)
def test_a_value_is_computed(people: Graph, text: str, value: object) -> None:
    found = computed(people, text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "text", ["$p.age + 1", "lower($p.name)", "-$p.pay", "$p.born + 1", "1 / $p.big"]
)
def test_null_in_is_null_out(people: Graph, text: str) -> None:
    assert computed(people, text, "cat") is None


def test_the_first_value_that_is_known_is_taken_and_no_later_one_is_computed(people: Graph) -> None:
    body = "match { $p: Person } return { coalesce($p.age, 1 / 0) as x } limit 2"
    assert column(people, body) == [30, 0]
    assert computed(people, 'coalesce($p.name, $p.slug, "x")', "cat") == "cat"
    with pytest.raises(ExpressionError):
        computed(people, "coalesce($p.age, 1 / 0)", "cat")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$p.big + 1", "does not fit I64"),
        (f"-({LEAST})", "does not fit I64"),
        (f"abs({LEAST})", "does not fit I64"),
        ("$p.huge + 1", "does not fit U64"),
        ("$p.huge * $p.huge", "does not fit U64"),
        ("0 - $p.huge", "does not fit U64"),
        ("1 / $p.age", "divided by zero"),
        ("1 % $p.age", "divided by zero"),
        ("1.5 / ($p.pay - $p.pay)", "divided by zero"),
        ("1e308 * 10.0", "too large"),
        ("substring($p.name, -1)", "not negative"),
        ("coalesce($p.pay, $p.big) + coalesce($p.big, $p.pay)", "no F64 has this value"),
        ('date("9999-12-31") + 1', "years 1 to 9999"),
        (f"$p.seen + {MOST}", "years 1 to 9999"),
    ],
)
def test_what_has_no_value_is_told_with_its_place(people: Graph, text: str, reason: str) -> None:
    slug = "ann" if "seen" in text else "ben"
    with pytest.raises(ExpressionError, match=reason) as told:
        computed(people, text, slug)
    assert told.value.code == "E1"
    rendered = told.value.render()
    assert "--> <query>:1:" in rendered
    assert "^" in rendered


@pytest.mark.parametrize("key", ["1 / 0", "-1 / 0.0 desc", "1 / (n - n)", "n, 1 / (n - n)"])
@pytest.mark.parametrize("shown", ["count($p) as n", "count($p) as n, collect($p.slug) as l"])
def test_a_key_without_a_value_is_told_though_one_row_needs_no_order(
    people: Graph, shown: str, key: str
) -> None:
    body = f"match {{ $p: Person }} return {{ {shown} }} order {{ {key} }}"
    with pytest.raises(ExpressionError, match="divided by zero"):
        column(people, body)


def test_a_condition_that_can_fail_is_asked_about_what_the_others_let_through(
    people: Graph,
) -> None:
    forms = (
        "$p.age != 0  60 / $p.age = 2",
        "60 / $p.age = 2  $p.age != 0",
        "60 / $p.age = 2 and $p.age != 0",
        "not ($p.age = 0 or 60 / $p.age != 2)",
    )
    for form in forms:
        assert column(people, f"match {{ $p: Person  {form} }} return {{ $p.slug }}") == ["ann"]
    with pytest.raises(ExpressionError):
        column(people, "match { $p: Person  60 / $p.age = 2 } return { $p.slug }")


GUARDS = [
    ("$p.age - 30 != 0", "60 / ($p.age - 30) < 0"),
    ("60 / ($p.age - 30) < 0", "$p.age * 2 != 60"),
    ("60 / ($p.age / 31) > 1", "$p.age / 31 != 0"),
    ('substring($p.slug, $p.age - 30) = ""', "$p.age - 30 >= 0"),
]


@pytest.mark.parametrize("guards", GUARDS, ids=" ".join)
@pytest.mark.parametrize("join", ["{a}  {b}", "{a} and {b}", "not (not {a} or not {b})"])
def test_a_condition_that_can_fail_is_guarded_by_one_that_fails_less_easily(
    people: Graph, guards: tuple[str, str], join: str
) -> None:
    known = "match {{ $p: Person  $p.age is not null  {test} }} return {{ $p.slug as s }}"
    later = "match {{ $p: Person }} return {{ $p.slug as s, $p.age as age }} having {{ {test} }}"
    groups = later.replace("as s,", "as s, count(*) as n,")
    for one, other in (guards, reversed(guards)):
        test = join.format(a=one, b=other)
        found = [rows(people, body.format(test=test)) for body in (known, later, groups)]
        assert [[row[0] for row in each] for each in found] == [[each[0] for each in found[0]]] * 3


def test_whether_a_condition_fails_does_not_depend_on_the_order_of_a_text(people: Graph) -> None:
    tests = ("60 / ($p.age - 30) < 9", "60 % ($p.age - 31) < 9", "60 / ($p.age - 29) < 9")
    for order in permutations(tests):
        for join in ("  ", " and "):
            body = f"match {{ $p: Person  {join.join(order)} }} return {{ $p.slug }}"
            assert column(people, body) == []


def test_a_condition_that_reads_no_row_is_asked_before_one_inside_a_pattern_can_fail(
    people: Graph,
) -> None:
    body = (
        "match {{ $p: Person  optional {{ $q knows $r }}  not {{ 60 / $q.age < $p.age }} }} "
        "return {{ {known} as yes }} having {{ yes = true }}"
    )
    people.branch().mutate('update Person set { age: 0 } where slug = "ann"')
    assert column(people, body.format(known="false")) == []
    with pytest.raises(ExpressionError):
        column(people, body.format(known="true"))


def test_only_rows_of_the_answer_are_computed(people: Graph) -> None:
    body = "match { $p: Person } return { 60 / $p.age as x } order { $p.slug } limit 1"
    assert column(people, body) == [2]
    assert column(people, 'match { $p: Person  $p.slug = "none" } return { 1 / 0 as x }') == []


def test_groups_are_computed_and_computed_with(people: Graph) -> None:
    body = """match { $p: Person } return {
        coalesce($p.age, -1) > 0 as no }"""
    with pytest.raises(QueryError):
        result(people, body)
    grouped = """match { $p: Person  optional { $p knows $q } }
        return { length($p.slug) as n, count($q) * 10 + 1 as m, sum(coalesce($p.age, 0) * 2) as s }
        having { count($q) + 0 = 2 } order { m / 2 }"""
    assert rows(people, grouped) == [(3, 21, 120)]


def test_rows_are_ordered_by_what_is_computed(people: Graph) -> None:
    body = "match { $p: Person } return { $p.slug } order { coalesce($p.age, 99) % 31 desc }"
    assert column(people, body) == ["ann", "cat", "ben"]


def test_a_star_counts_rows_and_all_properties_are_columns(people: Graph) -> None:
    assert column(people, "match { $p: Person  $p knows $q } return { count(*) }") == [2]
    found = people.query("match { $p: Person $p $k:knows $q } return { $k.*, $q.slug }")
    assert found.columns == ["k.weight", "q.slug"]
    assert [tuple(row.values()) for row in found] == [(2.0, "ben"), (None, "cat")]


def test_a_read_can_stand_alone(people: Graph) -> None:
    found = people.query("match { $p: Person } return { $p.slug } limit 1")
    assert (found.query_name, [row["p.slug"] for row in found]) == ("query", ["ann"])


def test_lists_are_made_for_each_group(people: Graph) -> None:
    body = """match { $p: Person  optional { $p $k:knows $q } } return {
        $p.slug as p, collect({ q: $q.slug, w: $k.weight } order { $q.slug desc }) as all,
        collect($k.weight) as w, collect(distinct $p.slug limit 1) as own }"""
    nothing: list[object] = []
    assert rows(people, body) == [
        ("ann", [{"q": "cat", "w": None}, {"q": "ben", "w": 2.0}], [2.0], ["ann"]),
        ("ben", nothing, nothing, ["ben"]),
        ("cat", nothing, nothing, ["cat"]),
    ]


def test_lists_nest_by_the_nodes_that_an_object_reads(people: Graph) -> None:
    body = """match { $p: Person  $p knows $q } return {
        collect({ who: $p, knows: collect({ slug: $q.slug }) }) as all }"""
    ((found,),) = rows(people, body)
    assert isinstance(found, list)
    assert [(each["who"]["id"], each["knows"]) for each in found] == [
        ("ann", [{"slug": "ben"}, {"slug": "cat"}])
    ]


def test_a_list_of_no_rows_is_empty_and_typed(people: Graph) -> None:
    found = result(people, 'match { $p: Person  $p.slug = "x" } return { collect($p.seen) as l }')
    assert found.table.schema.field("l").type == pa.list_(pa.timestamp("ms", "UTC"))
    assert found.to_dicts() == [{"l": []}]


def test_a_list_goes_to_every_form_of_a_result(people: Graph) -> None:
    body = "match { $p: Person } return { collect({ s: $p.slug, b: $p.born }) as l }"
    found = result(people, body)
    first = {"s": "ann", "b": date(1990, 2, 28)}
    assert found.to_dicts()[0]["l"][0] == first  # type: ignore[index]
    assert found.to_json()[0]["l"][0] == {"s": "ann", "b": "1990-02-28"}  # type: ignore[index,call-overload]
    assert found.to_pandas()["l"][0][0] == first
    assert "1990-02-28" in str(found)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$p.born + 4000000", "1990-02-28, 4000000"),
        ("4000000 + $p.born", "4000000, 1990-02-28"),
        ('date("0001-01-01") - 1', "0001-01-01, 1"),
        ('date("0001-01-01") - $p.huge', "0001-01-01, 9"),
        ("$p.seen - 4000000", "2024-01-31 23:30:00+00:00, 4000000"),
        ("$p.born - (0 - 9223372036854775807 - 1)", "1990-02-28, -9223372036854775808"),
        ("-(0 - 9223372036854775807 - 1)", "-9223372036854775808"),
        ("-($p.huge + 18446744073709551606)", "18446744073709551615"),
    ],
)
def test_an_error_shows_the_values_that_the_query_has(
    people: Graph, text: str, values: str
) -> None:
    with pytest.raises(ExpressionError) as raised:
        computed(people, text)

    assert raised.value.problems[0].message.endswith(f"(for {values})")


def test_a_date_is_moved_to_the_first_and_the_last_day_and_no_further(people: Graph) -> None:
    body = "match {{ $p: Person }} return {{ {} }} order {{ $p.slug }}"
    nobody = body.format("$p.born + 18446744073709551615 as x").replace(
        "Person }", 'Person { slug: "cat" } }'
    )

    assert computed(people, 'date("9999-12-31") - 3652058') == date(1, 1, 1)
    assert computed(people, 'date("0001-01-01") + 3652058') == date(9999, 12, 31)
    assert column(people, nobody) == [None]


@pytest.mark.parametrize(
    ("column_", "kind", "fits"),
    [
        (pa.array([2**53 + 1]), F64, False),
        (pa.array([2**53]), F64, True),
        (pa.array([-1]), U64, False),
        (pa.array([1, None]), U64, True),
    ],
)
def test_a_value_is_converted_exactly_or_not_at_all(
    column_: pa.Array, kind: ValueType, fits: bool
) -> None:
    if fits:
        assert convert_exactly(column_, kind).to_pylist() == column_.to_pylist()
        return
    with pytest.raises(Uncomputable):
        convert_exactly(column_, kind)


def test_whole_numbers_that_differ_in_sign_meet_in_u64() -> None:
    left, right = pa.array([-5, 2], pa.int64()), pa.array([10, 3], pa.uint64())
    assert compute("+", [left, right], U64).to_pylist() == [5, 5]


def test_floats_of_32_bits_stay_so() -> None:
    found = compute("*", [pa.array([0.1], pa.float32()), pa.scalar(3.0, pa.float32())], F32)
    assert found.type == pa.float32()
    with pytest.raises(Uncomputable):
        compute("*", [pa.array([3e38], pa.float32()), pa.scalar(10.0, pa.float32())], F32)


def test_a_number_that_is_none_comes_of_no_numbers(people: Graph) -> None:
    body = 'match { $p: Person { slug: "ann" } } return { $x * $p.pay, $x * $y }'

    (row,) = rows(people, body, "$x: F64, $y: F64", x=math.inf, y=-1.0)
    assert row[1] == -math.inf
    with pytest.raises(ExpressionError, match="the result is not a number"):
        rows(people, body, "$x: F64, $y: F64", x=math.inf, y=0.0)
    with pytest.raises(ExpressionError, match="the result is not a number"):
        rows(
            people, "match { $p: Person } return { $x * ($p.pay - $p.pay) }", "$x: F64", x=math.inf
        )


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("I64", np.int64(3), 3),
        ("U64", np.uint64(2**64 - 1), 2**64 - 1),
        ("F64", np.float32(1.5), 1.5),
        ("F64", np.int8(-1), -1.0),
        ("Bool", np.array([True])[0], True),
    ],
)
def test_a_number_of_numpy_is_given_as_one_of_python(
    people: Graph, kind: str, given: object, expected: object
) -> None:
    body = 'match { $p: Person { slug: "ann" } } return { $x as x }'
    assert column(people, body, f"$x: {kind}", x=given) == [expected]


def test_functions_of_columns_with_bounds_for_each_row() -> None:
    texts, starts = pa.array(["abc", "xyz", None]), pa.array([1, None, 0])
    assert compute("substring", [texts, starts], STRING).to_pylist() == ["bc", None, None]
    most = pa.scalar(2**64 - 1, pa.uint64())
    assert compute("substring", [texts, pa.scalar(1), most], STRING).to_pylist()[:1] == ["bc"]
    assert compute("substring", [texts, most], STRING).to_pylist()[:1] == [""]
    each = pa.array([most, most, most])
    assert compute("substring", [texts, starts, each], STRING).to_pylist()[:1] == ["bc"]
    nobody = pa.array([None, None], pa.utf8())
    assert compute("substring", [nobody, pa.scalar(-1)], STRING).to_pylist() == [None, None]
    assert compute("substring", [nobody, pa.array([1, -1])], STRING).to_pylist() == [None, None]
    days = compute("-", [pa.array([date(2024, 3, 1)]), pa.array([date(2024, 2, 1)])], I64)
    assert days.to_pylist() == [29]
    moved = compute("+", [pa.array([date(2024, 2, 28)]), pa.array([2])], DATE)
    assert moved.to_pylist() == [date(2024, 3, 1)]
