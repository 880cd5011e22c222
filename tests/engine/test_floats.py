"""Nested operators of floats have the bits, the nulls and the errors that each has alone."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.data.values.computing import compute
from omnigraph.data.values.floats import FLOAT_OPERATORS, FloatOperation, operate
from omnigraph.errors import ExpressionError
from omnigraph.schema.types import F64
from tests.engine.asking import made, result, rows
from tests.pipeline.loads import node

F32_, F64_ = pa.float32(), pa.float64()
ROWS = 40_000
ALONE = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}


@cache
def _columns() -> list[pa.Array]:
    chance = np.random.default_rng(7)
    missing = chance.random(ROWS) < 0.1
    return [
        pa.array(chance.normal(size=ROWS) * 1000),
        pa.array(chance.integers(1, 2**62, ROWS)),
        pa.array(chance.integers(2**63, 2**64 - 1, ROWS, dtype=np.uint64)),
        pa.array(chance.normal(size=ROWS).astype(np.float32)),
        pa.array(chance.normal(size=ROWS), mask=missing),
        pa.array(chance.integers(1, 9, ROWS), mask=missing[::-1]),
    ]


@pytest.mark.parametrize(("inner", "outer"), list(product(sorted(FLOAT_OPERATORS), repeat=2)))
@pytest.mark.parametrize("kind", [F32_, F64_])
def test_operators_together_have_the_bits_of_each_alone(
    inner: str, outer: str, kind: pa.DataType
) -> None:
    columns, number = _columns(), pa.scalar(1.3)
    for one, other in zip(columns, columns[1:] + columns[:1], strict=True):
        between = ALONE[inner](one.cast(kind, safe=False), number.cast(kind, safe=False))
        expected = ALONE[outer](between, other.cast(kind, safe=False))

        found = operate(
            FloatOperation(outer, FloatOperation(inner, one, number, kind), other, kind)
        )

        assert found is not None
        assert found.equals(expected)


@pytest.mark.parametrize(
    ("sign", "left", "right"),
    [
        ("+", 1e308, 1e308),
        ("*", 1e200, 1e200),
        ("/", 1.0, 0.0),
        ("/", 0.0, 0.0),
        ("-", -1e308, 1e308),
    ],
)
def test_a_result_that_is_not_finite_is_none_even_where_something_is_divided_by_it(
    sign: str, left: float, right: float
) -> None:
    ones = pa.array([1.0] * ROWS)
    lost = pa.array([1.0] * (ROWS - 1) + [left])
    by = pa.array([1.0] * (ROWS - 1) + [right])
    inner = FloatOperation(sign, lost, by, F64_)

    assert operate(inner) is None
    assert operate(FloatOperation("/", ones, inner, F64_)) is None
    assert operate(FloatOperation("*", inner, ones, F64_)) is None


def test_without_a_number_or_without_columns_it_is_left_to_others() -> None:
    nothing = pa.scalar(None, F64_)

    assert operate(FloatOperation("+", pa.array([1.0]), nothing, F64_)) is None
    assert operate(FloatOperation("+", pa.scalar(1.0), pa.scalar(2.0), F64_)) is None
    assert compute("+", [pa.array([1.0]), nothing], F64).to_pylist() == [None]
    assert compute("+", [pa.scalar(1.0), pa.scalar(2.0)], F64).as_py() == 3.0


def test_of_nested_operators_the_one_that_fails_is_told_with_its_place(tmp_path: Path) -> None:
    graph = made(
        tmp_path,
        "node N { slug: String @key  a: F64  b: F64?  n: I64 }",
        *[node("N", slug=f"{at}", a=1.0, b=2.0, n=4) for at in range(9)],
        node("N", slug="last", a=1e200, b=0.0, n=4),
    )

    assert rows(graph, 'match { $x: N { slug: "0" } } return { ($x.a + $x.n) / $x.b as v }') == [
        (2.5,)
    ]
    for text, told in (
        ("$x.n / ($x.a * 1e200)", "$x.a * 1e+200"),
        ("1.0 + $x.a / $x.b", "$x.a / $x.b"),
        ("($x.a * 1e100) * 1e100 + $x.n", "($x.a * 1e+100) * 1e+100"),
    ):
        with pytest.raises(ExpressionError) as failed:
            result(graph, f"match {{ $x: N }} return {{ {text} as v }}")
        assert failed.value.problems[0].message.startswith(f"{told}: ")
