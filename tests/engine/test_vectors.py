"""Vectors as matrices: distances are those of each vector alone, however a column is split."""

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.data.derived import vectors
from omnigraph.data.derived.vectors import build_matrix
from omnigraph.schema.types import VectorType
from omnigraph.schema.values import BadValue, coerce

WANTED = np.array([1.0, 2.0, -1.0], np.float32)
ROWS = [[1, 2, -1], [1e-20, 2e-20, -1e-20], None, [0, 0, 0], [1e20, 2e20, -1e20], [-1, -2, 1]]


@pytest.mark.parametrize("joined_bytes", [0, 1 << 20])
def test_distances_do_not_depend_on_how_a_column_is_split(
    monkeypatch: pytest.MonkeyPatch, joined_bytes: int
) -> None:
    monkeypatch.setattr(vectors, "_JOINED_BYTES", joined_bytes)
    kind = pa.list_(pa.float32(), 3)
    parts = [pa.array(ROWS[:2], kind), pa.array(ROWS[2:3], kind), pa.array(ROWS[3:], kind)]
    found = build_matrix(pa.chunked_array(parts)).distances(WANTED)
    one_by_one = [build_matrix(pa.array([row], kind)).distances(WANTED)[0] for row in ROWS]
    np.testing.assert_array_equal(found, one_by_one)
    np.testing.assert_allclose(found, [0, 0, np.nan, np.nan, 0, 2], atol=1e-6)


def test_the_numbers_of_a_vector_become_floats_of_32_bits() -> None:
    assert coerce([0.1, 2, -0.0], VectorType(3)) == (float(np.float32(0.1)), 2.0, -0.0)
    assert coerce(np.array([0.1, 2, 3]), VectorType(3)) == (float(np.float32(0.1)), 2.0, 3.0)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (1e39, "1e\\+39 does not fit F32"),
        (10**400, "does not fit F32"),
        (True, "expected F32"),
        ("1", "expected F32"),
        (None, "item 1 is null"),
        (float("nan"), "only finite numbers"),
        (float("inf"), "only finite numbers"),
    ],
)
def test_a_bad_number_of_a_vector_is_named(item: object, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        coerce([0.5, item, 2], VectorType(3))
