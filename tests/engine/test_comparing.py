"""Numbers that are compared as a processor does compare as the language says."""

from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.data.values.comparison import can_compare_plainly, compare, compare_plainly
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
