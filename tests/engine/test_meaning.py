"""What queries mean where other systems are silently wrong, one case for each trap."""

import time
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BudgetError, Code, ParamsError, QueryError, ResultOverflowError
from omnigraph.read.execution import Budget
from tests.engine.asking import column, made, result, rows
from tests.pipeline.loads import edge, node

SCHEMA = """
interface Named { name: String? }
node Person implements Named {
  slug: String @key  age: I32?  score: F64?  ratio: F32?  big: I64?  huge: U64?
  born: Date?  seen: DateTime?  times: [DateTime]?  tags: [String]?  bio: String? @index
  point: Vector(2)?
}
node City implements Named { slug: String @key  size: I64? }
edge Knows: Person -> Person { since: Date? }
edge Likes: Person -> Person
edge LivesIn: Person -> City
"""
NOON = "2024-01-31T12:00:00.001Z"


def person(slug: str, **data: object) -> str:
    return node("Person", slug=slug, **data)


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    """Ann, Ben, Cat and Dan: some know each other, some values are missing."""
    return made(
        tmp_path,
        SCHEMA,
        person("ann", name="Ann", age=30, score=1.0, bio="tea and cake", point=[1.0, 0.0]),
        person("ben", name="Ben", age=40, score=2.5, bio="tea tea tea", point=[0.9, 0.1]),
        person("cat", name="Cat", bio="coffee", point=[0.0, 1.0]),
        person("dan", name=None, age=20),
        node("City", slug="oslo", name="Oslo", size=700_000),
        node("City", slug="ann", name="Ann"),
        edge("Knows", "ann", "ben", since="2020-01-01"),
        edge("Knows", "ann", "ben", since="2021-01-01"),
        edge("Knows", "ann", "cat"),
        edge("Knows", "cat", "cat"),
        edge("Knows", "ben", "ann"),
        edge("Likes", "cat", "ann"),
        edge("Likes", "cat", "ben"),
        edge("LivesIn", "ann", "oslo"),
        edge("LivesIn", "cat", "oslo"),
    )


# Search


def test_limit_1_gives_a_row_also_when_the_best_one_fails_the_pattern(people: Graph) -> None:
    by_words = """
        match { $p: Person  $p livesIn $c }
        return { $p.slug } order { bm25($p.bio, "tea") } limit 1
    """
    by_vector = """
        match { $p: Person  $p.slug != "ann"  $p livesIn $_ }
        return { $p.slug } order { nearest($p.point, [1.0, 0.0]) } limit 1
    """

    everyone = 'match { $p: Person } return { $p.slug } order { bm25($p.bio, "tea") }'
    assert column(people, everyone) == ["ben", "ann"]
    assert column(people, by_words) == ["ann"]
    assert column(people, by_vector) == ["cat"]


def test_a_variable_reached_by_traversal_can_be_ranked(people: Graph) -> None:
    body = """
        match { $p: Person { slug: "cat" }  $p likes $q }
        return { $q.slug } order { bm25($q.bio, "tea") }
    """

    assert column(people, body) == ["ben", "ann"]


def test_two_text_predicates_on_one_variable_both_have_to_hold(people: Graph) -> None:
    body = 'match { $p: Person  search($p.bio, "tea")  search($p.bio, "cake") } return { $p.slug }'

    assert column(people, body) == ["ann"]


def test_a_text_predicate_after_grouping_keeps_groups(people: Graph) -> None:
    grouped = "match { $p: Person } return { $p.bio as bio, count($p) as n }"

    assert rows(people, f'{grouped} having {{ search($p.bio, "tea") }}') == [
        ("tea and cake", 1),
        ("tea tea tea", 1),
    ]
    assert rows(people, f'{grouped} having {{ not search($p.bio, "tea") }}') == [("coffee", 1)]


# Parameters and values


def test_a_required_parameter_that_is_missing_is_an_error(people: Graph) -> None:
    with pytest.raises(ParamsError, match="'\\$n' is missing"):
        rows(people, "match { $p: Person { age: $n } } return { $p }", "$n: I32")


def test_an_optional_parameter_that_is_missing_matches_nothing(people: Graph) -> None:
    body = "match { $p: Person { age: $n } } return { $p.slug }"

    assert rows(people, body, "$n: I32?") == []
    assert rows(people, body, "$n: I32?", n=30) == [("ann",)]


def test_an_inline_value_that_is_another_variable_is_refused(people: Graph) -> None:
    with pytest.raises(QueryError) as caught:
        rows(people, "match { $p: Person  $c: City { name: $p.name } } return { $c }")
    assert caught.value.problems[0].code is Code.NOT_A_VALUE


def test_now_is_one_instant_for_all_rows_of_a_read(people: Graph) -> None:
    before = datetime.now(UTC)
    body = "match { $p: Person  $q: Person  now() = now() } return { now() as now, $p.slug as p }"

    found = {now for now, _ in rows(people, body)}

    (now,) = found
    assert isinstance(now, datetime)
    assert before.replace(microsecond=before.microsecond // 1000 * 1000) <= now
    assert now <= datetime.now(UTC)


def test_an_integer_literal_fits_a_float_property(people: Graph) -> None:
    assert column(people, "match { $p: Person { score: 1 } } return { $p.slug }") == ["ann"]
    assert column(people, "match { $p: Person  $p.score > 1 } return { $p.slug }") == ["ben"]
    assert column(people, "match { $p: Person  $p.score in [1, 2] } return { $p.slug }") == ["ann"]


def test_numbers_of_a_list_are_compared_each_as_it_is(tmp_path: Path) -> None:
    lines = [person("a", ratio=1.0, big=2, huge=2**64 - 1), person("b", ratio=0.5, big=1, huge=1)]
    graph = made(tmp_path, SCHEMA, *lines)

    def among(value: str, items: str) -> list[object]:
        body = f"match {{ $p: Person  $p.{value} in {items} }} return {{ $p.slug }}"
        return column(graph, body, "$f: F32", f=0.5)

    assert among("ratio", "[0, 1]") == ["a"]
    assert among("ratio", "[0, 0.5]") == ["b"]
    assert among("big", "[$f, 2]") == ["a"]
    assert among("ratio", "[2, $f]") == ["b"]
    assert among("huge", "[1, 18446744073709551615]") == ["a", "b"]
    assert among("score", "[0, 1]") == []


def test_a_whole_number_equals_only_the_f32_that_is_just_that_number(tmp_path: Path) -> None:
    lines = [person("a", ratio=2.0**24), person("b", ratio=0.1)]
    graph = made(tmp_path, SCHEMA, *lines)

    def having(test: str) -> list[object]:
        return column(graph, f"match {{ $p: Person  $p.ratio {test} }} return {{ $p.slug }}")

    assert having("= 16777216") == having("in [16777216, 5]") == ["a"]
    assert having("= 16777217") == having("in [16777217]") == having("in [16777217, 5]") == []
    assert having("< 16777217") == having("!= 16777217") == ["a", "b"]
    assert having(">= 16777217") == []
    assert having("= 0.1") == having("in [0.1]") == ["b"]


def test_a_list_has_the_type_that_holds_all_its_numbers(people: Graph) -> None:
    def shown(items: str) -> object:
        body = f"match {{ $p: Person }} return {{ {items} as xs }} limit 1"
        (found,) = column(people, body, "$f: F32, $n: I32", f=0.5, n=3)
        return found

    assert shown("[1, $f]") == [1.0, 0.5]
    assert shown("[$n, $f]") == [3.0, 0.5]
    assert shown("[$n, 4294967296]") == [3, 2**32]
    assert shown("[1, 18446744073709551615]") == [1, 2**64 - 1]


@pytest.mark.parametrize(
    "items",
    ["[-1, 18446744073709551615]", "[9007199254740993, 0.5]", "[$big, 0.5]", "[$huge, $big]"],
)
def test_a_list_of_numbers_that_no_type_holds_is_compared_but_not_shown(
    numbers: Graph, items: str
) -> None:
    head, given = "$big: I64, $huge: U64", {"big": -1, "huge": 2**64 - 1}
    with pytest.raises(QueryError) as refused:
        rows(numbers, f"match {{ $p: Person }} return {{ {items} as xs }}", head, **given)
    assert refused.value.problems[0].code is Code.TYPE_MISMATCH

    among = f"match {{ $p: Person  $p.big in {items} or $p.huge in {items} }} return {{ $p.slug }}"
    expected = {"[-1, 18446744073709551615]": ["a", "c"], "[$huge, $big]": ["a", "c"]}
    expected |= {"[9007199254740993, 0.5]": ["a"], "[$big, 0.5]": ["c"]}
    assert column(numbers, among, head, **given) == expected[items]


# Null


def test_a_null_in_a_list_leaves_open_whether_another_value_is_in_it(people: Graph) -> None:
    def having(test: str, **given: object) -> list[object]:
        body = f"match {{ $p: Person  {test} }} return {{ $p.slug }}"
        return column(people, body, "$a: I32?, $b: I64?", **given)

    assert having("$p.age in [$a, 40]", a=30) == ["ann", "ben"]
    assert having("$p.age in [$a, 40]") == having("$p.age in [$b, 40]") == ["ben"]
    assert having("not $p.age in [$a, 40]", a=30) == ["dan"]
    assert having("not $p.age in [$a, 40]") == having("not $p.age in [$b, 40]") == []
    assert having("not $p.age in [$a]") == having("[$a] contains $p.age") == []


def test_a_null_in_a_list_is_shown(people: Graph) -> None:
    body = "match { $p: Person } return { [$a, 40] as xs } limit 1"

    assert column(people, body, "$a: I32?") == [[None, 40]]
    assert column(people, body, "$a: I32?", a=1) == [[1, 40]]


def test_a_variable_that_is_null_is_no_node_of_its_type(people: Graph) -> None:
    homeless = (
        "match { $p: Person  optional { $p livesIn $c }  not { $c: City } } return { $p.slug }"
    )
    assert column(people, homeless) == ["ben", "dan"]
    named = """
        match { $p: Person  optional { $p livesIn $c }  optional { $c: City  $d: City } }
        return { $p.slug as p, $d.slug as d }
    """
    assert rows(people, named) == [
        ("ann", "ann"),
        ("ann", "oslo"),
        ("ben", None),
        ("cat", "ann"),
        ("cat", "oslo"),
        ("dan", None),
    ]


def test_a_comparison_with_null_is_not_true_and_neither_is_its_negation(people: Graph) -> None:
    assert column(people, "match { $p: Person  $p.age != 30 } return { $p.slug }") == ["ben", "dan"]
    assert column(people, "match { $p: Person  not $p.age = 30 } return { $p.slug }") == [
        "ben",
        "dan",
    ]
    every = "match { $p: Person  $p.age = 30 or not $p.age = 30 } return { $p.slug }"
    assert column(people, every) == ["ann", "ben", "dan"]
    known = 'match { $p: Person  not ($p.age > 0 and $p.slug = "cat") } return { $p.slug }'
    assert column(people, known) == ["ann", "ben", "dan"]


def test_nothing_is_in_an_empty_list_not_even_null(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA, person("ann", tags=[]), person("ben", tags=["x"]), person("cat"))

    body = "match { $p: Person  not $p.tags contains $t } return { $p.slug }"
    assert column(graph, body, "$t: String?") == ["ann"]
    assert column(graph, body, "$t: String?", t="x") == ["ann"]
    assert column(graph, "match { $p: Person  not $p.name in [] } return { $p.slug }") == [
        "ann",
        "ben",
        "cat",
    ]


def test_a_text_predicate_on_a_missing_text_is_unknown(people: Graph) -> None:
    body = 'match { $p: Person  not search($p.bio, "tea") } return { $p.slug }'

    assert column(people, body) == ["cat"]
    other = "match { $p: Person  not search($p.bio, $q) } return { $p.slug }"
    assert column(people, other, "$q: String?") == []


# Traversals


def test_parallel_edges_are_one_pair_and_two_edges_when_they_are_named(people: Graph) -> None:
    pairs = 'match { $p: Person { slug: "ann" }  $p knows $q } return { $q.slug }'
    edges = 'match { $p: Person { slug: "ann" }  $p $e:knows $q } return { $q.slug, $e.since }'

    assert column(people, pairs) == ["ben", "cat"]
    assert sorted(rows(people, edges), key=str) == [
        ("ben", date(2020, 1, 1)),
        ("ben", date(2021, 1, 1)),
        ("cat", None),
    ]


def test_a_self_loop_is_one_hop_and_a_longer_way_never_gives_the_start_again(
    people: Graph,
) -> None:
    def reached(slug: str, hops: str) -> list[object]:
        body = f"match {{ $p: Person {{ slug: $s }}  $p knows {hops} $q }} return {{ $q.slug }}"
        return column(people, body, "$s: String", s=slug)

    assert reached("cat", "") == ["cat"]
    assert reached("cat", "{1,5}") == ["cat"]
    assert reached("cat", "{2,5}") == []
    assert reached("ann", "{1,5}") == ["ben", "cat"]
    assert reached("ann", "{2}") == []
    assert reached("ben", "{2,}") == ["cat"]
    both = 'match { $p: Person { slug: "cat" }  $p $e:<knows> $q } return { $q.slug }'
    assert column(people, both) == ["ann", "cat"]


def test_zero_hops_are_the_start_itself(people: Graph) -> None:
    body = 'match { $p: Person { slug: "ann" }  $p knows {0,1} $q } return { $q.slug }'

    assert column(people, body) == ["ann", "ben", "cat"]
    loop = "match { $p: Person  $p knows {0,} $p } return { count($p) as n }"
    assert column(people, loop) == [4]


def test_a_pattern_without_any_typed_binding_is_typed_by_its_edges(people: Graph) -> None:
    body = (
        "match { $p knows $q  $q livesIn $c } return { $p.slug as p, $q.slug as q, $c.slug as c }"
    )

    assert rows(people, body) == [
        ("ann", "cat", "oslo"),
        ("ben", "ann", "oslo"),
        ("cat", "cat", "oslo"),
    ]


def test_the_same_id_in_two_types_is_two_nodes(people: Graph) -> None:
    both = 'match { $x: Named  $y: Named  $x = $y  $x.id = "ann" } return { $x, $y.name }'

    assert len(rows(people, both)) == 2
    counted = 'match { $x: Named  $x.id = "ann" } return { count(distinct $x) as n }'
    assert column(people, counted) == [2]
    grouped = 'match { $x: Named  $x.id = "ann" } return { $x, count($x) as n }'
    assert [n for _, n in rows(people, grouped)] == [1, 1]
    distinct = 'match { $x: Named  $x.id = "ann" } return distinct { $x }'
    assert len(rows(people, distinct)) == 2


# Numbers


@pytest.fixture
def numbers(tmp_path: Path) -> Graph:
    return made(
        tmp_path,
        SCHEMA,
        person("a", big=2**53 + 1, score=2.0**53, huge=2**64 - 1),
        person("b", big=2**53, score=2.0**53, huge=0),
        person("c", big=-1, score=-0.0, huge=2**63),
    )


def test_an_int64_beyond_2_to_the_53_is_compared_with_floats_exactly(numbers: Graph) -> None:
    equal = "match { $p: Person  $p.big = $p.score } return { $p.slug }"
    more = "match { $p: Person  $p.big > 9007199254740992.0 } return { $p.slug }"

    assert column(numbers, equal) == ["b"]
    assert column(numbers, more) == ["a"]
    among = "match { $p: Person  $p.big in [9007199254740992.0] } return { $p.slug }"
    assert column(numbers, among) == ["b"]


def test_the_largest_u64_is_read_compared_and_ordered_as_it_is(numbers: Graph) -> None:
    body = "match { $p: Person } return { $p.huge as n } order { n desc }"

    assert column(numbers, body) == [2**64 - 1, 2**63, 0]
    exact = "match { $p: Person { huge: 18446744073709551615 } } return { $p.slug }"
    assert column(numbers, exact) == ["a"]
    assert column(numbers, "match { $p: Person } return { max($p.huge) as n }") == [2**64 - 1]
    less = "match { $p: Person  $p.big < $p.huge  $p.huge > -1 } return { $p.slug }"
    assert column(numbers, less) == ["a", "c"]
    assert result(numbers, body).to_json()[0] == {"n": "18446744073709551615"}


def test_minus_one_is_a_number_like_any_other(numbers: Graph) -> None:
    body = """
        match { $p: Person { slug: "c" } }
        return { sum($p.big) as s, min($p.big) as m, count(distinct $p.big) as n }
    """

    assert rows(numbers, body) == [(-1, -1, 1)]


def test_both_zeros_are_one_value(tmp_path: Path) -> None:
    lines = [person("a", score=0.0), person("b", score=-0.0), person("c", score=1.0)]
    graph = made(tmp_path, SCHEMA, *lines)

    assert rows(graph, "match { $p: Person } return { $p.score as s, count($p) as n }") == [
        (0.0, 2),
        (1.0, 1),
    ]
    assert column(graph, "match { $p: Person  $p.score in [0.0] } return { $p.slug }") == ["a", "b"]
    assert len(rows(graph, "match { $p: Person } return distinct { $p.score }")) == 2


def test_a_sum_that_does_not_fit_64_bits_is_an_error(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA, person("a", big=2**63 - 1), person("b", big=1))

    with pytest.raises(ResultOverflowError):
        rows(graph, "match { $p: Person } return { sum($p.big) as n }")
    one = 'match { $p: Person { slug: "a" } } return { sum($p.big) as n }'
    assert column(graph, one) == [2**63 - 1]


def test_a_sum_counts_what_floats_would_lose(tmp_path: Path) -> None:
    many = [person(f"p{n}", big=1) for n in range(1_024)]
    graph = made(tmp_path, SCHEMA, person("a", big=2**63 - 1_024), *many)

    with pytest.raises(ResultOverflowError):
        rows(graph, "match { $p: Person } return { sum($p.big) as n }")
    body = 'match { $p: Person  $p.slug != "p0" } return { sum($p.big) as n }'
    assert column(graph, body) == [2**63 - 1]


def test_what_is_no_number_sorts_after_all_numbers_with_or_without_nulls(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA)
    frame = {"slug": ["a", "b", "c"], "score": [float("nan"), 1.0, 2.0]}
    graph.load(pa.table(frame), type="Person", engine="inline")
    ascending = "match { $p: Person } return { $p.slug } order { $p.score }"
    descending = "match { $p: Person } return { $p.slug } order { $p.score desc }"

    assert column(graph, ascending) == ["b", "c", "a"]
    assert column(graph, descending) == ["a", "c", "b"]
    graph.load(person("d"), engine="inline")
    assert column(graph, ascending) == ["d", "b", "c", "a"]
    assert column(graph, descending) == ["a", "c", "b", "d"]


def test_what_is_no_number_is_in_no_list(tmp_path: Path) -> None:
    graph = made(tmp_path, "node N { slug: String @key  score: F64? }")
    frame = {"slug": ["a", "b", "c"], "score": [float("nan"), 1.0, None]}
    graph.load(pa.table(frame), type="N")
    body = "match {{ $n: N  {} }} return {{ $n.slug }}"

    for listed, given in (
        ("$l", {"params": "$l: [F64]", "l": [float("nan"), 1.0]}),
        ("[$x, 1.0]", {"params": "$x: F64", "x": float("nan")}),
    ):
        assert column(graph, body.format(f"$n.score in {listed}"), **given) == ["b"]
        assert column(graph, body.format(f"not ($n.score in {listed})"), **given) == ["a"]


def test_what_is_no_number_is_one_group_whatever_its_sign(tmp_path: Path) -> None:
    graph = made(tmp_path, "node N { slug: String @key  score: F64?  half: F32? }")
    scores = [float("nan"), -float("nan"), 1.0, None]
    frame = {"slug": pa.array("abcd"), "score": scores, "half": pa.array(scores, pa.float32())}
    graph.load(pa.table(frame), type="N")

    for name in ("score", "half"):
        once = column(graph, f"match {{ $n: N }} return distinct {{ $n.{name} as s }}")
        assert [str(each) for each in once] == ["None", "1.0", "nan"]
        body = f"match {{ $n: N }} return {{ $n.{name} as s, count($n) as n }}"
        assert [n for _, n in rows(graph, body)] == [1, 1, 2]
        assert column(graph, f"match {{ $n: N }} return {{ count(distinct $n.{name}) }}") == [2]


# Groups, order and results


@pytest.mark.parametrize(
    "pattern",
    [
        "$p: Person",
        "$p knows $q",
        "$p knows $q  $q knows $r",
        "$p: Person  $c: City",
        "$p: Person  $p $e:knows $q  $p likes $r",
        '$p: Person { slug: "ann" }  $p knows $q',
        "$p knows {1,3} $q  $q <knows> $r  $c: City",
        "$p: Person  $p.age > 25  $p knows $q  $q.age > 25",
        "$p knows $q  $p $e:knows $r  $e.since is null or $p.age > 0  $q knows $s",
    ],
)
def test_counted_matches_are_as_many_as_enumerated_ones(people: Graph, pattern: str) -> None:
    enumerated = rows(people, f"match {{ {pattern} }} return {{ $p.slug, 1 as one }}")

    assert column(people, f"match {{ {pattern} }} return {{ count($p) as n }}") == [len(enumerated)]
    by_slug = rows(people, f"match {{ {pattern} }} return {{ $p.slug, count($p) as n }}")
    slugs = [slug for slug, _ in enumerated]
    assert by_slug == [(slug, slugs.count(slug)) for slug in sorted(set(map(str, slugs)))]


def test_a_count_that_does_not_fit_64_bits_is_an_error(people: Graph) -> None:
    many = "  ".join(f"$p{n}: Person" for n in range(40))

    with pytest.raises(ResultOverflowError):
        rows(people, f"match {{ {many} }} return {{ count($p0) as n }}")


def test_a_limit_of_a_huge_product_is_quick_and_all_of_it_is_refused(people: Graph) -> None:
    many = "  ".join(f"$p{n}: Person" for n in range(25))
    start = time.monotonic()

    assert column(people, f"match {{ {many} }} return {{ 1 as one }} skip 2 limit 3") == [1, 1, 1]
    with pytest.raises(BudgetError):
        rows(people, f"match {{ {many} }} return {{ 1 as one }}")
    assert time.monotonic() - start < 20


def test_optional_variables_that_are_null_are_not_counted_and_come_first(people: Graph) -> None:
    pattern = "match { $p: Person  optional { $p livesIn $c } }"
    counts = f"{pattern} return {{ count($p) as p, count($c) as c, count(distinct $c) as d }}"
    order = f"{pattern} return {{ $p.slug as p, $c.slug as c }}"

    assert rows(people, counts) == [(4, 2, 1)]
    assert rows(people, f"{order} order {{ $c }}") == [
        ("ben", None),
        ("dan", None),
        ("ann", "oslo"),
        ("cat", "oslo"),
    ]
    assert [c for _, c in rows(people, f"{order} order {{ $c desc }}")] == [
        "oslo",
        "oslo",
        None,
        None,
    ]
    groups = f"{pattern} return {{ $c, count($p) as n, max($c.size) as size }}"
    assert [(c is None, n, size) for c, n, size in rows(people, groups)] == [
        (True, 2, None),
        (False, 2, 700_000),
    ]


def test_an_optional_block_inside_another_keeps_every_row(people: Graph) -> None:
    body = """
        match { $p: Person  optional { $p likes $q  optional { $q livesIn $c } } }
        return { $p.slug as p, $q.slug as q, $c.slug as c }
    """

    assert rows(people, body) == [
        ("ann", None, None),
        ("ben", None, None),
        ("cat", "ann", "oslo"),
        ("cat", "ben", None),
        ("dan", None, None),
    ]


def test_rows_are_grouped_by_a_whole_node(people: Graph) -> None:
    body = """
        match { $p knows $q }
        return { $q, count($p) as n } having { n > 1 and $q = $q } order { $q desc }
    """

    found = rows(people, body)

    assert [(q["slug"], n) for q, n in found if isinstance(q, dict)] == [("cat", 2)]
    assert isinstance(found[0][0], dict)
    assert "point" not in found[0][0]
    assert "#" not in found[0][0]


def test_distinct_rows_are_ordered_by_what_they_do_not_show(people: Graph) -> None:
    body = "match { $p: Person  $p knows $_ } return distinct { $p } order { $p.age desc }"

    assert [p["slug"] for (p,) in rows(people, body) if isinstance(p, dict)] == [
        "ben",
        "ann",
        "cat",
    ]
    with pytest.raises(QueryError) as caught:
        rows(people, "match { $p: Person } return distinct { $p.name } order { $p.age }")
    assert caught.value.problems[0].code is Code.UNGROUPED_EXPRESSION


def test_rows_are_ordered_by_the_ids_of_all_variables_also_of_those_that_do_not_show(
    people: Graph,
) -> None:
    pattern = 'match { $p: Person { slug: "ann" }  $p knows $q  $p knows $r }'

    assert column(people, f"{pattern} return {{ $r.slug }}") == ["ben", "cat", "ben", "cat"]
    assert column(people, f"{pattern} return {{ $q.slug }}") == ["ben", "ben", "cat", "cat"]
    assert column(people, f"{pattern} return {{ $r.slug }} limit 2") == ["ben", "cat"]


def test_a_key_that_is_given_is_also_used_when_rows_are_only_counted(people: Graph) -> None:
    body = 'match { $p: Person { slug: "ann" } } return { count($p) as n }'

    assert column(people, body) == [1]
    nobody = 'match { $p: Person { slug: "eve" } } return { count($p) as n }'
    assert column(people, nobody) == [0]


def test_results_are_typed_when_they_are_empty(people: Graph) -> None:
    body = """
        match { $p: Person { slug: "eve" } }
        return { $p, $p.age as age, $p.seen as seen, $p.tags as tags, [1] as list, "x" as text }
    """

    found = result(people, body).to_arrow()

    assert found.num_rows == 0
    assert found.schema.names == ["p", "age", "seen", "tags", "list", "text"]
    assert found.schema.field("age").type == pa.int32()
    assert found.schema.field("tags").type == pa.list_(pa.string())
    assert found.schema.field("list").type == pa.list_(pa.int64())
    full = result(people, "match { $p: Person } return { $p }").to_arrow()
    assert found.schema.field("p") == full.schema.field("p")


def test_no_rows_and_no_groups_are_one_row(people: Graph) -> None:
    body = """
        match { $p: Person { slug: "eve" } }
        return { count($p) as n, sum($p.age) as s, avg($p.age) as a, min($p.born) as b }
    """

    assert rows(people, body) == [(0, None, None, None)]
    grouped = 'match { $p: Person { slug: "eve" } } return { $p.slug, count($p) as n }'
    assert rows(people, grouped) == []


def test_a_value_that_is_the_same_for_all_rows_is_no_group(people: Graph) -> None:
    body = """
        match { $p: Person { slug: "eve" } }
        return { $kind as kind, 1 + 1 as two, count(*) as n }
    """

    assert rows(people, body, "$kind: String", kind="person") == [("person", 2, 0)]


def test_a_datetime_keeps_its_milliseconds(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 31, 12, 0, 0, 1_000, UTC)
    graph = made(tmp_path, SCHEMA, person("a", seen=NOON, times=[NOON]), person("b"))

    assert column(graph, "match { $p: Person } return { $p.seen }") == [moment, None]
    assert column(graph, "match { $p: Person } return { max($p.seen) as m }") == [moment]
    assert column(graph, 'match { $p: Person { slug: "a" } } return { $p.times }') == [[moment]]
    (whole,) = column(graph, 'match { $p: Person { slug: "a" } } return { $p }')
    assert isinstance(whole, dict)
    assert (whole["seen"], whole["times"]) == (moment, [moment])
    body = "match { $p: Person { seen: $t } } return { $p.slug }"
    assert column(graph, body, "$t: DateTime", t=NOON) == ["a"]
    before = 'match { $p: Person  $p.seen > datetime("2024-01-31T12:00:00Z") } return { $p.slug }'
    assert column(graph, before) == ["a"]
    found = result(graph, "match { $p: Person } return { $p.seen as seen }")
    assert found.to_json() == [{"seen": NOON}, {"seen": None}]
    assert found.to_pandas()["seen"][0] == moment


def test_the_largest_limit_and_skip_are_just_large(people: Graph) -> None:
    most = 2**64 - 1
    body = "match { $p: Person  $q: Person } return { 1 as one } skip $s limit $n"

    assert len(rows(people, body, "$s: U64, $n: U64", s=0, n=most)) == 16
    assert len(rows(people, body, "$s: U64, $n: U64", s=most, n=most)) == 0


def test_a_key_that_no_node_can_have_finds_none(tmp_path: Path) -> None:
    graph = made(tmp_path, "node Part { size: F64 @key }", node("Part", size=0.0))
    body = "match { $p: Part { size: $s } } return { $p.id }"

    assert column(graph, body, "$s: F64", s=float("nan")) == []
    assert column(graph, body, "$s: F64", s=-0.0) == ["0.0"]
    assert column(graph, "match { $p: Part { size: 0 } } return { $p.id }") == ["0.0"]


@pytest.mark.parametrize(("kind", "odd"), [("F32", 2**24 + 1), ("F64", 2**53 + 1)])
def test_a_float_key_is_found_by_a_whole_number_only_if_it_is_just_that(
    kind: str, odd: int, tmp_path: Path
) -> None:
    graph = made(tmp_path, f"node Part {{ size: {kind} @key }}", node("Part", size=float(odd - 1)))

    def found(size: int) -> int:
        return len(rows(graph, f"match {{ $p: Part {{ size: {size} }} }} return {{ $p.id }}"))

    assert [found(size) for size in (odd - 1, odd, odd + 1)] == [1, 0, 0]


def test_a_budget_that_is_exceeded_names_its_limit(people: Graph) -> None:
    view = people.at(budget=Budget(rows=10))

    with pytest.raises(BudgetError, match="more than 10 rows"):
        view.query("query q() { match { $p: Person  $q: Person } return { $p.slug, $q.name } }")


@pytest.mark.parametrize("friends", [1, 12, 60])
def test_nodes_are_counted_once_among_few_and_many_others(friends: int, tmp_path: Path) -> None:
    names = [f"p{number:03}" for number in range(200)]
    lines = [node("Person", name=name) for name in names]
    lines += [edge("Knows", names[0], name) for name in names[1 : friends + 1]]
    lines += [edge("Knows", name, names[at % 9]) for at, name in enumerate(names[1:])]
    schema = "node Person { name: String @key }\nedge Knows: Person -> Person"
    graph = made(tmp_path, schema, *lines)
    reached = {at % 9 for at in range(friends)}

    found = rows(
        graph,
        'match { $p: Person { name: "p000" }  $p knows $a  $a knows $b } '
        "return { count(distinct $b) as n, count($b) as m }",
    )

    assert found == [(len(reached), friends)]
