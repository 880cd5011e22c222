"""Statistics say about how many rows have a value, or lie below one."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.data.derived import topology
from omnigraph.data.derived.statistics import (
    ColumnStatistics,
    describe_column,
    describe_degrees,
    from_arrays,
    to_arrays,
)
from tests.sample import access_of


def described(values: Sequence[object], kind: pa.DataType | None = None) -> ColumnStatistics:
    found = describe_column(pa.array(values, kind))
    assert found is not None
    return found


def test_of_a_small_column_everything_is_known() -> None:
    known = described(["a", "b", "b", None])

    assert (known.nulls, known.distinct) == (0.25, 2)
    assert known.common == {"a": 0.25, "b": 0.5}
    assert (known.share_equal("b"), known.share_equal("z")) == (0.5, 0.0)
    assert known.share_equal(None) == 0.375


@pytest.mark.parametrize("seed", range(3))
def test_of_a_large_column_shares_are_about_right(seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = np.minimum(chance.geometric(0.02, 200_000), 500)

    known = described(values.tolist())

    for value in (1, 5, 60):
        assert known.share_equal(value) == pytest.approx((values == value).mean(), abs=0.005)
        below = known.share_below(value, inclusive=False)
        assert below == pytest.approx((values < value).mean(), abs=0.03)
    assert known.distinct == pytest.approx(len(np.unique(values)), rel=0.3)


def test_a_column_of_different_values_has_about_as_many_as_rows() -> None:
    known = described([f"name {number}" for number in range(100_000)])

    assert known.distinct == pytest.approx(100_000, rel=0.3)
    assert known.share_equal("name 7") < 1e-4


def test_of_times_what_lies_between_two_days_is_told_apart() -> None:
    noon = datetime(2024, 1, 31, 12, tzinfo=UTC)
    minutes = range(0, 60_000_000, 60_000)
    stored = pa.array([int(noon.timestamp() * 1000) + each for each in minutes], pa.int64())
    known = describe_column(stored.view(pa.date64()))
    assert known is not None

    half = noon + timedelta(minutes=500)
    assert known.share_below(half, inclusive=False) == pytest.approx(0.5, abs=0.02)
    assert known.share_equal(half) == pytest.approx(0.001)
    assert len(known.common) == min(len(minutes), 32)
    assert repr(from_arrays(to_arrays(known, pa.date64()))) == repr(known)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 2, None], pa.int32()),
        ([0.5, float("nan"), float("-inf")], pa.float64()),
        (["x", "y", None], pa.utf8()),
        ([True, False, True], pa.bool_()),
        ([date(2024, 1, 31), date(1969, 12, 31)], pa.date32()),
        ([datetime(2024, 1, 31, 12, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
        ([None, None], pa.int64()),
    ],
)
def test_statistics_survive_being_stored(values: list[object], kind: pa.DataType) -> None:
    known = described(values, kind)

    assert repr(from_arrays(to_arrays(known, kind))) == repr(known)


def test_lists_have_no_statistics() -> None:
    assert describe_column(pa.array([[1], [2, 3]])) is None
    assert describe_column(pa.array([], pa.int64())) is None


def test_degrees_are_described_by_mean_quantiles_and_most() -> None:
    known = describe_degrees(np.array([0] * 50 + [1] * 45 + [100] * 5))

    assert (known.nodes, known.most) == (100, 100)
    assert known.mean == 5.45
    assert known.quantiles == (0, 1, 100)


QUERY = "query q() { match { $p: Person  $p.age > 3 } return { count($p) as n } }"


def ages(graph: Graph) -> ColumnStatistics | None:
    table = graph.snapshot().table(graph.snapshot().catalog.nodes["Person"].identity)
    return access_of(graph).topology.statistics(table, "age")


def test_what_is_known_of_a_column_is_known_to_the_next_process_and_after_a_small_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    chance = Random(1)
    rows = {"number": list(range(500)), "age": [chance.randrange(9) for _ in range(500)]}
    graph = init(tmp_path / "g", "node Person { number: I64 @key  age: I64 }", durable=False)
    graph.load({"Person": pa.table(rows)}, engine="inline")
    assert ages(graph) is None
    graph.query(QUERY)
    before = ages(graph)
    assert before is not None
    assert before.distinct == 9

    graph.load('{"type": "Person", "data": {"number": 900, "age": 77}}', engine="inline")
    graph.query(QUERY)

    assert ages(graph) == before
    graph.close()
    with open_graph(tmp_path / "g", durable=False) as later:
        assert ages(later) == before
