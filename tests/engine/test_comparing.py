"""Values that are compared quickly compare as the language says."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.data.derived.coded_column import code_column
from omnigraph.data.values import comparison
from omnigraph.data.values.comparison import (
    broadcast,
    can_compare_plainly,
    compare,
    compare_plainly,
    contains,
    equals_any,
    is_member,
    starts_with,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.types import F32, F64, I32, I64, STRING

ORDERS = [
    Operator.EQUAL,
    Operator.NOT_EQUAL,
    Operator.LESS,
    Operator.LESS_EQUAL,
    Operator.GREATER,
    Operator.GREATER_EQUAL,
]
NUMBERS: dict[pa.DataType, list[Any]] = {
    pa.int32(): [-(2**31), -1, 0, 7, 2**31 - 1],
    pa.uint32(): [0, 7, 2**32 - 1],
    pa.int64(): [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
    pa.uint64(): [0, 2**53 + 1, 2**64 - 1],
    pa.float64(): [float("-inf"), -0.0, 0.0, 0.1, 2.0**53, float("inf"), float("nan")],
}


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("operator", ORDERS)
def test_numbers_compare_plainly_as_they_do_exactly(kind: pa.DataType, operator: Operator) -> None:
    column = pa.array(NUMBERS[kind], kind)
    for value in NUMBERS[kind]:
        found = compare_plainly(column, operator, value)

        assert found is not None
        assert found.tolist() == compare(column, operator, pa.scalar(value, kind)).to_pylist()


@pytest.mark.parametrize("value", [-1, 2**32, None, "7", 7.0])
def test_what_does_not_fit_a_column_is_not_compared_plainly(value: object) -> None:
    assert compare_plainly(pa.array([1, 2], pa.uint32()), Operator.LESS, value) is None


def test_a_column_with_nulls_is_not_compared_plainly() -> None:
    assert compare_plainly(pa.array([1, None], pa.int64()), Operator.LESS, 2) is None


def test_only_numbers_of_one_kind_are_compared_plainly() -> None:
    plain = {
        (one, other)
        for one, other in product((I32, I64, F32, F64, STRING), repeat=2)
        if can_compare_plainly(one, Operator.LESS, other)
    }

    assert plain == {(I32, I32), (I32, I64), (I64, I32), (I64, I64), (F64, F64)}
    assert not can_compare_plainly(I32, Operator.IN, I32)


@pytest.mark.parametrize("value", ["a", "b", "", "c", "other"])
def test_a_value_is_found_by_its_code_in_all_rows_or_some(value: str) -> None:
    texts = ["a", None, "b", "", "c", "a", None]
    coded = code_column(pa.array(texts))
    assert coded is not None
    some = np.array([6, 5, 5, 2, 0])

    assert coded.equals(None, value).tolist() == [each == value for each in texts]
    assert coded.equals(some, value).tolist() == [texts[each] == value for each in some]


@pytest.mark.parametrize("count", [30, 3_000])
@pytest.mark.parametrize("condition", ['kind = "a"', 'kind in ["a"]', 'kind < "b"'])
def test_rows_that_a_change_looks_at_have_their_own_texts(
    count: int, condition: str, tmp_path: Path
) -> None:
    graph = og.init(tmp_path / "g", "node T { slug: String @key  kind: String }", durable=False)
    rows = [{"slug": str(9_999 - at), "kind": "ab"[at * at % 7 % 2]} for at in range(count)]
    graph.load(rows, type="T")
    graph.query('query q() { match { $t: T { kind: "a" } } return { count(*) as n } }')

    graph.branch().mutate(f"query q() {{ delete T where {condition} }}")

    left = graph.query("query q() { match { $t: T } return { $t.slug as s } }")
    assert {row["s"] for row in left} == {row["slug"] for row in rows if row["kind"] == "b"}


def test_a_text_is_compared_with_one_value_as_with_others(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node T { slug: String @key  kind: String? }")
    kinds = ["a", "b", None, "a"]
    rows = [{"slug": str(at), "kind": kind} for at, kind in enumerate(kinds)]
    graph.load(rows, type="T")

    def asked(condition: str, **params: object) -> list[str]:
        declared = "($k: String?)" if params else "()"
        text = f"query q{declared} {{ match {{ $t: T  {condition} }} return {{ $t.slug as s }} }}"
        return [str(row["s"]) for row in graph.query(text, **params)]

    for _ in range(2):
        assert asked("$t.kind = $k", k="a") == asked('$t.kind in ["a"]') == ["0", "3"]
        assert asked("$t.kind = $k", k="none") == asked("$t.kind = $k", k=None) == []
        assert asked("$t.kind != $k", k="a") == ["1"]
    graph.load([{"slug": "1", "kind": "a"}], type="T", mode="merge")
    assert asked("$t.kind = $k", k="a") == ["0", "1", "3"]


def test_a_text_is_searched_for_the_text_of_another_column_as_for_one_value() -> None:
    nul = chr(0)
    texts = ["x", "a", f"a{nul}", f"{nul}a", nul, "", None, "äb", f"a{nul}b"]
    pairs = list(product(texts, texts))
    columns = [pa.array(each, pa.utf8()) for each in zip(*pairs, strict=True)]

    for asked in (contains, starts_with):
        by_column = asked(*columns).to_pylist()

        assert by_column == [
            asked(pa.array([text], pa.utf8()), pa.scalar(part, pa.utf8()))[0].as_py()
            if part is not None
            else None
            for text, part in pairs
        ]
        assert asked(pa.scalar("a"), pa.array([f"a{nul}", "a"])).to_pylist() == [False, True]


MEMBERS: dict[pa.DataType, list[Any]] = {
    **NUMBERS,
    pa.float32(): [float("-inf"), -0.0, 0.5, 2.0**24, 2.0**63, 2.0**64, float("nan")],
    pa.uint64(): [0, 2**24 + 1, 2**53 + 1, 2**63, 2**64 - 1],
    pa.float64(): [*NUMBERS[pa.float64()], 0.5, 2.0**63, 2.0**64, -(2.0**63), 1e300],
}


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("theirs", MEMBERS, ids=str)
@pytest.mark.parametrize("ours", MEMBERS, ids=str)
def test_a_number_is_in_a_list_of_another_type_where_it_equals_a_member(
    ours: pa.DataType, theirs: pa.DataType, with_null: bool
) -> None:
    column = pa.array([*MEMBERS[ours], None], ours)
    for members in ([], MEMBERS[theirs][:2], MEMBERS[theirs]):
        given = pa.scalar([*members, *([None] if with_null else [])], pa.list_(theirs))

        one_by_one = equals_any(column, given.values)

        found = is_member(column, given)
        assert broadcast(found, len(column)).equals(broadcast(one_by_one, len(column)))


@pytest.mark.parametrize("members", ["$l", "[1, 2.5, $one, 18446744073709551615]"])
def test_the_members_of_a_list_are_not_compared_one_by_one(
    members: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "g", "node T { slug: String @key  i: I32? }", durable=False)
    graph.load([{"slug": str(at), "i": at} for at in range(9)] + [{"slug": "none"}], type="T")
    monkeypatch.setattr(comparison, "equals_any", None)
    text = f"""query q($l: [I64], $one: I32) {{
      match {{ $t: T  $t.i in {members} }} return {{ $t.i as i }} }}"""

    assert graph.query(text, l=[1, 4, 2**40], one=4).to_dicts() == [{"i": 1}, {"i": 4}]
