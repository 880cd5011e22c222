"""Sums of floats are the floats nearest to the exact sums, whatever the order of the rows."""

import math
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.data.values.sums import ExactSum, average_floats, sum_floats
from omnigraph.read.spark.sums import _Add
from tests.engine.asking import made, rows
from tests.pipeline.loads import node

POWERS = [(-3, 4), (-30, 30), (-320, 290), (290, 306)]


def floats(random: Random, count: int, low: int, high: int) -> "np.ndarray":
    """Return floats of both signs and of many sizes."""
    return np.array([random.gauss() * 10.0 ** random.randint(low, high) for _ in range(count)])


@pytest.mark.parametrize("powers", POWERS)
def test_a_sum_is_the_float_nearest_to_the_exact_sum(powers: tuple[int, int]) -> None:
    random = Random(1)
    for count in (0, 1, 2, 7, 300):
        values = floats(random, count, *powers)
        groups = np.array([random.randrange(3) for _ in range(count)], np.int64)

        found = sum_floats(values, groups, 3)

        for group in range(3):
            exact = ExactSum()
            exact.add(values[groups == group])
            assert found[group] == exact.round()
            if powers[1] < 300:
                assert found[group] == math.fsum(values[groups == group])


@pytest.mark.parametrize("powers", POWERS)
def test_the_order_of_rows_does_not_change_a_sum(powers: tuple[int, int]) -> None:
    random = Random(2)
    values = floats(random, 500, *powers)
    places = list(range(500))
    random.shuffle(places)
    one = np.zeros(500, np.int64)

    assert sum_floats(values, one, 1) == sum_floats(values[places], one, 1)


@pytest.mark.parametrize("most", [3, 1_000, 10**9, 10**14])
def test_a_value_of_weight_n_counts_n_times(most: int) -> None:
    random = Random(3)
    values = floats(random, 50, -5, 5)
    weights = np.array([random.randint(1, most) for _ in range(50)], np.int64)
    exact = sum(
        math.prod([numerator, int(weight), 2**80]) // denominator
        for (numerator, denominator), weight in zip(
            (value.as_integer_ratio() for value in values.tolist()), weights, strict=True
        )
    )

    found = sum_floats(values, np.zeros(50, np.int64), 1, weights)

    assert found[0] == exact / 2**80


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, math.inf], math.inf),
        ([1.0, -math.inf], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1.7e308, 1.7e308], math.inf),
        ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
        ([-0.0], 0.0),
        ([1.0, 1e-320, -1.0], 1e-320),
        ([5e-324, 5e-324], 1e-323),
    ],
)
def test_sums_of_the_extremes(values: list[float], expected: float) -> None:
    given = np.array(values)

    found = sum_floats(given, np.zeros(len(given), np.int64), 1)[0]

    exact = ExactSum()
    exact.add(given)
    assert np.array_equal([found, exact.round()], [expected, expected], equal_nan=True)
    assert math.copysign(1.0, found) == math.copysign(1.0, expected)


def test_a_tie_goes_to_the_even_float() -> None:
    half = 2.0**-53
    one = np.zeros(2, np.int64)

    assert sum_floats(np.array([1.0, half]), one, 1)[0] == 1.0
    assert sum_floats(np.array([1.0 + 2 * half, half]), one, 1)[0] == 1.0 + 4 * half


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.7e308, 1.7e308], 1.7e308),
        ([1.7e308, 1.7e308, -1.7e308, 1.7e308], 0.85e308),
        ([-1.7e308, -1.7e308], -1.7e308),
        ([1.7e308, math.inf], math.inf),
        ([1.7e308, 1.7e308, math.nan], math.nan),
        ([1.0, 2.0, 6.0], 3.0),
    ],
)
@pytest.mark.parametrize("weight", [None, 1, 3])
def test_an_average_is_a_number_also_where_the_sum_is_too_large(
    values: list[float], expected: float, weight: int | None
) -> None:
    groups = np.array([0, *([1] * len(values))])
    given = np.array([1.5, *values])
    weights = None if weight is None else np.full(len(given), weight)
    counts = np.bincount(groups, minlength=3) * (weight or 1)

    found = average_floats(given, groups, counts, weights)

    assert np.array_equal(found, [1.5, expected, math.nan], equal_nan=True)


def test_a_query_averages_numbers_whose_sum_is_too_large(tmp_path: Path) -> None:
    lines = [node("P", slug=slug, f=1.7e308) for slug in "ab"]
    graph = made(tmp_path, "node P { slug: String @key  f: F64 }", *lines)
    columns = "avg($p.f) as a, avg(distinct $p.f) as d, sum($p.f) as s"

    assert rows(graph, f"match {{ $p: P }} return {{ {columns} }}") == [
        (1.7e308, 1.7e308, math.inf)
    ]
    twice = "match { $p: P  $q: P } return { avg($p.f) as a }"
    assert rows(graph, twice) == [(1.7e308,)]


def test_batches_that_are_added_one_after_the_other_are_one_sum() -> None:
    values = floats(Random(4), 400, -300, 300)
    exact = ExactSum()
    for start in range(0, 400, 37):
        exact.add(values[start : start + 37])

    assert exact.round() == math.fsum(values)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("averages", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_a_task_of_spark_adds_groups_that_go_on_in_the_next_batch(
    size: int, averages: bool, weighed: bool
) -> None:
    random = Random(size)
    some = [(random.choice([None, 1, 2, 3]), random.choice("ab")) for _ in range(60)]
    keys = sorted(some, key=lambda key: (key[0] or 0, key[1]))
    values = floats(random, 60, -200, 200)
    weights = [random.randint(1, 9) if weighed else 1 for _ in range(60)]
    columns = {
        "one": pa.array([one for one, _ in keys], pa.int64()),
        "other": pa.array([other for _, other in keys]),
        "value": pa.array(values),
    }
    columns |= {"weight": pa.array(weights, pa.int64())} if weighed else {}
    batches = pa.table(columns).to_batches(max_chunksize=size)

    found = pa.Table.from_batches(
        list(_Add(2, averages=averages)([batches[0].slice(0, 0), *batches]))
    )

    expected: dict[tuple[int | None, str], list[float]] = {}
    for key, value, weight in zip(keys, values.tolist(), weights, strict=True):
        expected.setdefault(key, []).extend([value] * weight)
    assert found.column_names == ["one", "other", "value"]
    assert found.to_pylist() == [
        {"one": one, "other": other, "value": math.fsum(each) / (len(each) if averages else 1)}
        for (one, other), each in expected.items()
    ]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_task_of_spark_averages_floats_whose_sum_is_too_large(size: int) -> None:
    large = [1.7e308, 1.7e308, 1.6e308]
    columns = {"key": pa.array([1, 1, 1, 2]), "value": pa.array([*large, math.inf])}
    batches = pa.table(columns).to_batches(max_chunksize=size)

    found = pa.Table.from_batches(list(_Add(1, averages=True)(batches)))

    exact = sum(map(int, large)) / 3
    assert found.to_pylist() == [{"key": 1, "value": exact}, {"key": 2, "value": math.inf}]
