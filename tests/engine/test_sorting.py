"""Rows are sorted by several keys as NumPy does it, whatever their numbers are."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.data.derived.codes import number_combinations
from omnigraph.data.derived.numbering import NO_ROW, is_row_range, take_or_null
from omnigraph.data.derived.sorting import are_apart, are_sorted, sort_places

ROWS = 3_000
KEYS: dict[str, "Callable[[np.random.Generator], np.ndarray]"] = {
    "few": lambda chance: chance.integers(-5, 5, ROWS),
    "narrow": lambda chance: chance.integers(0, 3, ROWS).astype(np.int32),
    "whole of 32 bits": lambda chance: chance.integers(-(2**31), 2**31 - 1, ROWS, dtype=np.int32),
    "half": lambda chance: chance.integers(0, 2**40, ROWS),
    "all": lambda chance: chance.integers(-(2**63), 2**63 - 1, ROWS),
    "unsigned": lambda chance: chance.integers(0, 2**64 - 1, ROWS, dtype=np.uint64),
    "large unsigned": lambda chance: chance.integers(2**64 - 9, 2**64 - 1, ROWS, dtype=np.uint64),
    "floats": lambda chance: chance.normal(size=ROWS).round(1),
    "sorted": lambda chance: np.sort(chance.integers(0, ROWS // 9, ROWS)),
    "one": lambda _: np.full(ROWS, 2**63 - 1),
}


@pytest.mark.parametrize("first", KEYS)
@pytest.mark.parametrize("second", KEYS)
def test_the_first_key_decides_first_and_equals_stay_in_their_order(
    first: str, second: str
) -> None:
    chance = np.random.default_rng(7)
    keys = [KEYS[name](chance) for name in (first, second, "few", "half", first, "narrow")]

    for count in range(1, len(keys) + 1):
        assert np.array_equal(sort_places(keys[:count], ROWS), np.lexsort(keys[:count][::-1]))


def test_a_few_rows_are_apart_when_no_two_have_equal_keys() -> None:
    one, other = np.array([3, 1, 3, 2]), np.array([0.5, 0.5, 1.5, 0.5])

    assert not are_apart([one])
    assert not are_apart([other])
    assert are_apart([one, other])
    assert are_apart([one[:1]])
    assert not are_apart([np.arange(ROWS)])  # of many rows it is not found out


def test_rows_that_are_sorted_already_keep_their_places() -> None:
    chance = np.random.default_rng(7)
    first = np.sort(chance.integers(0, 40, ROWS))
    second = np.concatenate([np.sort(chance.integers(0, 9, n)) for n in np.bincount(first)])

    assert is_row_range(sort_places([first, second], ROWS))
    assert is_row_range(sort_places([], ROWS))
    assert are_sorted([first, second])
    assert not are_sorted([second, first])
    assert not are_sorted([np.append(first, first[-1] - 1)])


@pytest.mark.parametrize("count", [0, 1, 2, 20_000])
def test_the_first_row_of_each_number_is_found_in_sorted_numbers_too(count: int) -> None:
    codes = np.repeat(np.arange(-(-count // 3)), 3)[:count]

    first, groups = number_combinations([codes], count)

    assert first.tolist() == list(range(0, count, 3))
    assert np.array_equal(groups, codes)


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.float64(), pa.float32(), pa.date32()])
@pytest.mark.parametrize("count", [3, 900])
def test_values_are_taken_as_they_are_whatever_their_type(kind: pa.DataType, count: int) -> None:
    values = pa.array(range(50), pa.int32()).cast(kind, safe=False)
    places = np.random.default_rng(7).integers(0, 50, count)
    missing = np.where(places % 9 == 0, NO_ROW, places)

    found = take_or_null(values, places)

    assert found.type == kind
    assert found.to_pylist() == [values[each].as_py() for each in places]
    expected = [None if each < 0 else values[each].as_py() for each in missing]
    assert take_or_null(values, missing).to_pylist() == expected
