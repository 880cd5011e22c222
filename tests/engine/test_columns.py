"""Values looked at one by one become the same columns as values converted at once."""

import pyarrow as pa
import pytest

from omnigraph.data.values.columns import convert_each, convert_whole
from omnigraph.schema.types import DATETIME, ListType, Scalar

TIME = "2024-01-31T22:30:05.123Z"
TICK = 1_706_740_205_123


def test_a_time_keeps_its_hour_whichever_way_it_is_read() -> None:
    quick = convert_whole(pa.array([TIME]), DATETIME)
    exact = convert_each([TIME], DATETIME).values

    assert quick is not None
    assert quick.cast(pa.int64()).to_pylist() == [TICK]
    assert exact.cast(pa.int64()).to_pylist() == [TICK]


@pytest.mark.parametrize("moments", [[[TIME, TIME], [], None], [None], []])
def test_lists_of_times_keep_their_hours(moments: list[list[str] | None]) -> None:
    kind = ListType(Scalar.DATETIME)

    exact = convert_each(moments, kind).values

    found = [row.values.cast(pa.int64()).to_pylist() if row.is_valid else None for row in exact]
    assert found == [None if each is None else [TICK] * len(each) for each in moments]
