"""Runner: runs pure tasks over items, on Spark or in this process, with the same results."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.errors import OmniGraphError, StorageError
from omnigraph.frozen import dataclass
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.garbage import spare_modules
from omnigraph.spark.job import watched
from omnigraph.spark.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Item = TypeVar("Item")
Found = TypeVar("Found")

_RESULTS = pa.schema([("item", pa.int64()), ("result", pa.binary())])
_RESULTS_SQL = "item long, result binary"
_PARTITIONS_PER_SLOT = 4
# Spark takes longer for many batches of one parcel than for their bytes.
_BATCH_BYTES = 1 << 20
PARCELS = pa.schema([("bucket", pa.int32()), ("tag", pa.string()), ("payload", pa.binary())])
_PARCELS_SQL = "bucket int, tag string, payload binary"


@dataclass(frozen=True, slots=True)
class Parcel:
    """Bytes on their way from a map task to the reduce task of a bucket."""

    bucket: int
    tag: str
    payload: bytes


def group_parcels(parcels: Iterable[Parcel]) -> Iterator[list[Parcel]]:
    """Yield parcels together, so many that a batch is neither tiny nor large."""
    held: list[Parcel] = []
    size = 0
    for parcel in parcels:
        held.append(parcel)
        size += len(parcel.payload)
        if size > _BATCH_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def parcel_batch(parcels: Sequence[Parcel]) -> pa.RecordBatch:
    """Return parcels as rows of `PARCELS`."""
    columns = (
        [each.bucket for each in parcels],
        [each.tag for each in parcels],
        [each.payload for each in parcels],
    )
    arrays = [pa.array(*pair) for pair in zip(columns, PARCELS.types, strict=True)]
    return pa.record_batch(arrays, schema=PARCELS)


Reduce: TypeAlias = Callable[[Sequence[Parcel]], Found]
Enough: TypeAlias = Callable[[Sequence[Found]], bool]


class Runner(Protocol):
    """Runs tasks. A task is a pure function: run twice, it does no harm.

    Tasks that run here are given the `deadline`; those elsewhere end when it is over.
    """

    @property
    def deadline(self) -> Deadline:
        """Until when tasks may run."""

    @property
    def engine(self) -> str:
        """The name under which results say who ran."""

    @property
    def slots(self) -> int:
        """How many tasks run at the same time."""

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,
    ) -> list[Found]:
        """Return the result of the task for every item, in their order.

        Once the first of them are `enough`, those of the items behind them may be left out.
        """

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Reduce[Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,
    ) -> list[Found]:
        """Return the result of `reduce` for every bucket that got a parcel.

        Buckets are numbered below `buckets`; only how the work is cut depends on it.
        """


class InlineRunner:
    """Runs tasks in this process, one after the other."""

    engine = "inline"
    slots = 1

    def __init__(self, deadline: Deadline | None = None) -> None:
        self.deadline = deadline or Deadline()

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,
    ) -> list[Found]:
        found: list[Found] = []
        for item in items:
            self.deadline.check()
            found.append(task(item))
            progress.advance(len(found), len(items))
            if enough is not None and enough(found):
                break
        return found

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Reduce[Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,  # noqa: ARG002 - there is one process for all of them
    ) -> list[Found]:
        held, counting = [0], Lock()

        def parcels(item: Item) -> list[Parcel]:
            found = []
            for parcel in task(item):
                with counting:  # tasks may run side by side
                    held[0] += len(parcel.payload)
                self.deadline.check_bytes(held[0])
                found.append(parcel)
            return found

        filled: dict[int, list[Parcel]] = {}
        for emitted in self.map(parcels, items, progress):
            for parcel in emitted:
                filled.setdefault(parcel.bucket, []).append(parcel)
        return InlineRunner.map(self, reduce, [filled[bucket] for bucket in sorted(filled)])


class ThreadRunner(InlineRunner):
    """Runs tasks in this process, so many at a time."""

    def __init__(self, slots: int, deadline: Deadline | None = None) -> None:
        super().__init__(deadline)
        self.slots = slots

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,  # noqa: ARG002 - all are begun at once
    ) -> list[Found]:
        def in_time(item: Item) -> Found:
            self.deadline.check()
            return task(item)

        if not items:
            return []
        found = []
        with ThreadPoolExecutor(min(self.slots, len(items))) as pool:
            for result in pool.map(in_time, items):
                found.append(result)
                progress.advance(len(found), len(items))
        return found


class SparkRunner:
    """Runs tasks on Spark; only small results come back, never rows."""

    engine = "spark"

    def __init__(self, spark: "SparkSession", slots: int, deadline: Deadline | None = None) -> None:
        self._spark = spark
        self.slots = slots
        self.deadline = deadline or Deadline()

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,  # noqa: ARG002 - all are begun at once
    ) -> list[Found]:
        if not items:
            return []

        def mapped() -> "DataFrame":
            return self._numbers(len(items)).mapInArrow(_Map(task, items), _RESULTS_SQL)

        results: dict[int, Found] = dict(_answers(self._watched(mapped, progress)))
        return [results[number] for number in range(len(items))]

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Reduce[Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,
    ) -> list[Found]:
        if not items:
            return []
        # What a session has set would be too few for a cluster, and too many for a few buckets.
        partitions = max(1, min(buckets, _PARTITIONS_PER_SLOT * self.slots))

        def reduced_table(table: pa.Table) -> pa.Table:  # Spark counts what it can be called with
            return _reduced(reduce, table)

        def reduced() -> "DataFrame":
            emitted = self._numbers(len(items)).mapInArrow(_Emit(task, items), _PARCELS_SQL)
            spread = emitted.repartition(partitions, "bucket")
            return spread.groupBy("bucket").applyInArrow(reduced_table, _RESULTS_SQL)

        results: dict[int, Found] = dict(_answers(self._watched(reduced, progress)))
        return [results[bucket] for bucket in sorted(results)]

    def _watched(self, made: Callable[[], "DataFrame"], progress: Progress) -> "list[Row]":
        return watched(self._spark, made, progress, self.deadline)

    def _numbers(self, count: int) -> "DataFrame":
        return self._spark.range(0, count, 1, count)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failure that is an answer, so that Spark does not try again what cannot succeed."""

    error: OmniGraphError


@dataclass(frozen=True, slots=True)
class _Map(Generic[Item, Found]):
    task: Callable[[Item], Found]
    items: Sequence[Item]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _row(number, _attempted(self.task, self.items[number]))
        spare_modules()


@dataclass(frozen=True, slots=True)
class _Emit(Generic[Item]):
    task: Callable[[Item], Iterable[Parcel]]
    items: Sequence[Item]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from map(parcel_batch, group_parcels(self.task(self.items[number])))
        spare_modules()


def _reduced(reduce: Reduce[Found], table: pa.Table) -> pa.Table:
    columns = [table[name].to_pylist() for name in PARCELS.names]
    parcels = [Parcel(*row) for row in zip(*columns, strict=True)]
    answer = _row(parcels[0].bucket, _attempted(reduce, parcels))
    spare_modules()
    return pa.Table.from_batches([answer])


def _attempted(task: Callable[[Item], Found], item: Item) -> "Found | _Failed":
    try:
        return task(item)
    except StorageError:
        raise  # the disk or the network may do better when Spark tries again
    except OmniGraphError as error:
        return _Failed(error)


def _answers(rows: Iterable["Row"]) -> Iterator[tuple[int, Any]]:
    """Yield what the tasks answered; raises the first failure among them."""
    for number, packed in rows:
        result = pickle.loads(packed)  # noqa: S301 - written by our own tasks
        if isinstance(result, _Failed):
            raise result.error
        yield number, result


def _row(number: int, result: object) -> pa.RecordBatch:
    arrays = [pa.array([number], pa.int64()), pa.array([pickle.dumps(result)], pa.binary())]
    return pa.record_batch(arrays, schema=_RESULTS)
