"""Promise: a worker of Spark spends its time on tasks, not on what surrounds them."""

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.spark.runner import Parcel, SparkRunner, group_parcels, parcel_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_worker_does_not_look_through_modules_after_each_task(spark: "SparkSession") -> None:
    def count_objects(_: int) -> int:
        return len(gc.get_objects())

    runner = SparkRunner(spark, 2)
    for _ in range(3):
        found = runner.map(count_objects, range(8))

    assert max(found) < 10_000


def test_parcels_travel_together() -> None:
    def parcels(count: int, size: int) -> Iterator[Parcel]:
        for number in range(count):
            yield Parcel(number, "t", b"x" * size)

    assert [len(each) for each in group_parcels(parcels(1_000, 100))] == [1_000]
    assert [len(each) for each in group_parcels(parcels(5, 600_000))] == [2, 2, 1]
    assert list(group_parcels([])) == []
    assert parcel_batch(list(parcels(2, 1))).to_pylist() == [
        {"bucket": 0, "tag": "t", "payload": b"x"},
        {"bucket": 1, "tag": "t", "payload": b"x"},
    ]
