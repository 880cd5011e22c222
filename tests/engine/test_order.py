"""The first rows are found without sorting all."""

import numpy as np
import pytest

from omnigraph.read.operators import order


@pytest.mark.parametrize("kind", ["few values", "many values", "floats", "falling"])
@pytest.mark.parametrize("wanted", [1, 3, 10, 40, 300])
def test_the_last_of_the_first_keys_is_that_of_all_keys_sorted(kind: str, wanted: int) -> None:
    chance = np.random.default_rng(wanted)
    keys = {
        "few values": chance.integers(0, 5, 30_001),
        "many values": chance.integers(-(10**12), 10**12, 30_001),
        "floats": chance.standard_normal(30_001),
        "falling": np.arange(30_001)[::-1],
    }[kind]

    assert order._last_wanted(keys, wanted) == np.sort(keys)[wanted - 1]
