"""Query: the rows of a read plan from Spark, as Arrow batches made while they are read."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.data.result import ResultStream
from omnigraph.errors import BudgetError, CancelledError, SparkError
from omnigraph.frozen import dataclass
from omnigraph.query.plan import ReadPlan
from omnigraph.read.execution import Execution, PlanRequest
from omnigraph.read.planner.planner import arrange_plan, expect_rows
from omnigraph.read.road import count_rows_read
from omnigraph.read.spark.computing import find_uncomputable
from omnigraph.read.spark.copies import Copies
from omnigraph.read.spark.lowering import LoweredPlan, lower
from omnigraph.read.spark.opening import OpenSession, open_session
from omnigraph.read.spark.overflow import find_overflow
from omnigraph.read.sparse_reader import SparseReader
from omnigraph.spark.choice import default_settings
from omnigraph.spark.job import Tag, failed_job
from omnigraph.spark.origins import without_origins
from omnigraph.spark.session import is_connect, session
from omnigraph.spark.settings import SparkSettings
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

WorkResult = TypeVar("WorkResult")


def read_on_spark(
    plan: ReadPlan,
    snapshot: Snapshot,
    request: PlanRequest,
    settings: SparkSettings | None,
    topology: Topology,
) -> ResultStream:
    """Return the rows of a plan from this process's Spark session, which is started if need be."""
    spark = session(settings or default_settings())
    return stream_plan(plan, snapshot, request, spark, topology)


def stream_plan(
    plan: ReadPlan,
    snapshot: Snapshot,
    request: PlanRequest,
    spark: "SparkSession",
    topology: Topology,
) -> ResultStream:
    """Return the rows of a plan, which Spark begins to compute at once.

    Of the budget only the time counts: what does not fit into memory goes to Spark's disks.
    """
    copies = Copies.beside(topology)
    plan = arrange_plan(plan, snapshot, topology, request.params).plan
    expected = expect_rows(plan, snapshot, topology, request.params)
    opened = open_session(max(count_rows_read(plan, snapshot), *expected), spark)
    watch = _Watch(Tag(opened.spark), request)

    def lowered(copies: Copies | None) -> LoweredPlan:
        execution = request.start(SparseReader(snapshot, {}))
        found = watch.over(lambda: _lower(execution, plan, opened, copies, expected))
        opened.set_compiled(whole_stages=found.narrow)
        return found

    def lowered_again(failed: SparkError) -> LoweredPlan:
        if copies is None or not copies.used:
            raise failed
        copies.drop_used()
        return lowered(None)

    try:
        found = lowered(copies)
    except SparkError as failed:
        found = lowered_again(failed)
    batches = _read_batches(found, watch, lowered_again)
    return ResultStream(plan.name, found.pack.schema, _ended(batches, opened))


def _lower(
    execution: Execution,
    plan: ReadPlan,
    opened: OpenSession,
    copies: Copies | None,
    expected: Sequence[float],
) -> LoweredPlan:
    with without_origins():
        return lower(execution, plan, opened.spark, opened.slices, copies, expected)


def _ended(batches: Iterator[pa.RecordBatch], opened: OpenSession) -> Iterator[pa.RecordBatch]:
    """Yield batches, and give a session back when all were read."""
    yield from batches
    opened.give_back()


def _read_batches(
    found: LoweredPlan, watch: "_Watch", again: Callable[[SparkError], LoweredPlan]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a result; whoever stops before the end also ends the jobs.

    When Spark fails before the first of them, `again` returns a plan to try instead, or raises.
    """

    def read(found: LoweredPlan) -> Iterator[pa.RecordBatch]:
        batches = _collect_at_once(found, watch) if found.few else _collect_by_slice(found, watch)
        return _cut_rows(batches, found.first, found.last)

    try:
        batches = read(found)
        try:
            first = next(batches, None)
        except SparkError as failed:
            batches = read(again(failed))
            first = next(batches, None)
        if first is not None:
            yield first
            yield from batches
    finally:
        watch.tag.interrupt()


def _collect_at_once(found: LoweredPlan, watch: "_Watch") -> Iterator[pa.RecordBatch]:
    """Yield batches from one job, and without tasks in Python: faster when the rows are few."""
    rows = watch.over(found.matches.frame.toArrow)
    yield from (found.pack.batch(each) for each in rows.to_batches())


def _collect_by_slice(found: LoweredPlan, watch: "_Watch") -> Iterator[pa.RecordBatch]:
    """Yield batches slice by slice, each from a job of its own.

    With one iterator over all slices, the JVM would hold every slice that it has sent.
    """
    packed = found.pack.frame(found.matches.frame)
    return map(found.pack.unpack, _packed_by_slice(packed, watch))


def _packed_by_slice(packed: "DataFrame", watch: "_Watch") -> Iterator[bytes]:
    spark = watch.tag.spark
    if is_connect(spark):
        rows = watch.over(packed.toLocalIterator)
        while (row := watch.over(lambda: next(rows, None))) is not None:
            yield row[0]
        return
    slices = watch.over(lambda: packed.rdd)
    context = spark.sparkContext
    for number in range(watch.over(slices.getNumPartitions)):
        some = watch.over(partial(context.runJob, slices, _all_of, [number]))
        yield from (row[0] for row in some)


def _all_of(rows: "Iterable[Row]") -> "Iterable[Row]":
    return rows


def _cut_rows(
    batches: Iterator[pa.RecordBatch], first: int, last: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows from `first` up to `last`, and ask for no batch beyond it.

    A row is asked for even if none is kept: what has no value is found on the way to it.
    """
    place = 0
    while last is None or place < max(last, 1):
        batch = next(batches, None)
        if batch is None:
            return
        begin = max(first - place, 0)
        end = batch.num_rows if last is None else min(last - place, batch.num_rows)
        place += batch.num_rows
        if begin < end:
            yield batch.slice(begin, end - begin)


@dataclass(slots=True)
class _Watch:
    """Runs the Spark work of one query, so that it can be cancelled and fails with our errors."""

    tag: Tag
    request: PlanRequest
    started: float = field(default_factory=time.monotonic)

    def over(self, work: Callable[[], WorkResult]) -> WorkResult:
        """Return what `work` returns; an exception that ends the wait cancels the query's jobs."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self._check()
        try:
            return self.tag.over(work, self._has_to_end)
        except (PySparkException, Py4JError) as failed:
            self._check()
            own = find_overflow(failed) or find_uncomputable(failed, self.request.source)
            raise own or failed_job(failed) from None

    def _check(self) -> None:
        """Raise CancelledError or BudgetError when the query was cancelled or takes too long."""
        if self.request.is_cancelled:
            raise CancelledError("the query was cancelled")
        if self._is_late():
            seconds = self.request.budget.seconds
            raise BudgetError(f"the query ran longer than {seconds:g} s", limit="seconds")

    def _has_to_end(self) -> bool:
        return self.request.is_cancelled or self._is_late()

    def _is_late(self) -> bool:
        return time.monotonic() - self.started > self.request.budget.seconds
