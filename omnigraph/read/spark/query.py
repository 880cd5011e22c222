"""Query: the rows of a read plan from Spark, as Arrow batches that are made while they are read."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from omnigraph.data.result import ResultStream
from omnigraph.errors import BudgetError, CancelledError
from omnigraph.query.plan import ReadPlan
from omnigraph.read.answer import Terms
from omnigraph.read.execution import Run
from omnigraph.read.road import rows_read
from omnigraph.read.spark.estimate import rows_made
from omnigraph.read.spark.lowering import Lowered, lowered
from omnigraph.read.spark.overflow import overflow_in
from omnigraph.read.spark.scans import FEW_ROWS
from omnigraph.read.sparse import Sparse
from omnigraph.spark.choice import default_settings
from omnigraph.spark.connector import register
from omnigraph.spark.job import Tag, failed_job
from omnigraph.spark.session import (
    SparkSettings,
    default_parallelism,
    is_connect,
    session,
)
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Found = TypeVar("Found")

# Rows are shuffled and sorted in slices of about so many; one slice of a result is here at a time.
_SLICE_ROWS = 20_000
_MOST_SLICES = 1_000
# Fewer samples than usual say where slices begin, because they are all held in memory.
_DIVIDED = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.rangeExchange.sampleSizePerPartition": "20",
}
_WITHOUT_CODE = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Code for whole stages would hold all rows in memory that joins make of one, and of these again.
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
}


def on_spark(
    plan: ReadPlan, snapshot: Snapshot, terms: Terms, settings: SparkSettings | None
) -> ResultStream:
    """Give the rows of a plan from the session of this process, or from one that it starts."""
    return streamed(plan, snapshot, terms, session(settings or default_settings()))


def streamed(
    plan: ReadPlan, snapshot: Snapshot, terms: Terms, spark: "SparkSession"
) -> ResultStream:
    """Give the rows of a plan, which Spark begins to compute at once.

    Of the budget only the time counts: what does not fit the memory is on Spark's disks.
    """
    own, slices = _session(plan, snapshot, spark)
    watch = _Watch(Tag(own), terms)
    run = Run(
        reader=Sparse(snapshot, {}),
        params=terms.params,
        now=terms.now,
        budget=terms.budget,
        environment=terms.environment,
        cancelled=terms.cancelled,
    )
    found = watch.over(lambda: lowered(run, plan, own, slices))
    return ResultStream(plan.name, found.pack.schema, _batches(found, watch, slices))


def _session(
    plan: ReadPlan, snapshot: Snapshot, spark: "SparkSession"
) -> "tuple[SparkSession, int]":
    """Give a session with settings of its own beside the given one, and the number of slices."""
    rows = max(rows_read(plan, snapshot), rows_made(plan.operators, snapshot))
    if rows < FEW_ROWS:  # not worth to be divided, nor to compile code for
        slices, more = 1, _WITHOUT_CODE
    else:
        slices = int(min(max(default_parallelism(spark), rows // _SLICE_ROWS), _MOST_SLICES))
        more = _DIVIDED
    conf = {**_ALWAYS, **more, "spark.sql.shuffle.partitions": str(slices)}
    own = spark.newSession()
    for name, value in conf.items():
        own.conf.set(name, value)
    register(own)
    return own, slices


def _batches(found: Lowered, watch: "_Watch", slices: int) -> Iterator[pa.RecordBatch]:
    """Give the batches of a result; whoever leaves before the end also ends the jobs."""
    packed = found.pack.frame(found.matches.frame)
    rows = _all_at_once(packed, watch) if slices == 1 else _rows(packed, watch)
    try:
        yield from _between(map(found.pack.unpacked, rows), found.first, found.last)
    finally:
        watch.tag.interrupt()


def _all_at_once(packed: "DataFrame", watch: "_Watch") -> Iterator[bytes]:
    """Give packed batches by one job, which is the faster one when they are few."""
    yield from (row[0] for row in watch.over(packed.collect))


def _rows(packed: "DataFrame", watch: "_Watch") -> Iterator[bytes]:
    """Give packed batches slice by slice, each by a job of its own.

    The JVM would hold all slices that it has sent, if one iterator of Spark's went through them.
    """
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


def _between(
    batches: Iterator[pa.RecordBatch], first: int, last: int | None
) -> Iterator[pa.RecordBatch]:
    """Give the rows from a place to another, and ask for no batch behind it."""
    place = 0
    while last is None or place < last:
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
    """Runs what Spark does for one query, so that it can be cancelled, and fails in our words."""

    tag: Tag
    terms: Terms
    started: float = field(default_factory=time.monotonic)

    def over(self, work: Callable[[], Found]) -> Found:
        """Give what some work gives; what interrupts the wait cancels the jobs of the query."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self._check()
        try:
            return self.tag.over(work, self._has_to_end)
        except (PySparkException, Py4JError) as failed:
            self._check()
            raise overflow_in(failed) or failed_job(failed) from None

    def _check(self) -> None:
        """Raise when the query was cancelled or takes too long."""
        if self.terms.cancelled.is_set():
            raise CancelledError("the query was cancelled")
        if self._is_late():
            seconds = self.terms.budget.seconds
            raise BudgetError(f"the query ran longer than {seconds:g} s", limit="seconds")

    def _has_to_end(self) -> bool:
        return self.terms.cancelled.is_set() or self._is_late()

    def _is_late(self) -> bool:
        return time.monotonic() - self.started > self.terms.budget.seconds
