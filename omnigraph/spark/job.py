"""Job: a Spark job that reports how far it is, can be cancelled, and fails in our words."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar, cast
from uuid import uuid4

from omnigraph.errors import CancelledError, SparkError
from omnigraph.frozen import dataclass
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.gateway import find_reason
from omnigraph.spark.interrupt import interruptible
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

Found = TypeVar("Found")

_POLL_SECONDS = 0.2
_END_SECONDS = 0.1
_LAST_SECONDS = 2.0
_GROUP = "spark.jobGroup.id"
_NOISE = ("File ", "at ", "SQLSTATE")
_DIED = "Python worker exited unexpectedly"
_HINT = "the job changed nothing that can be seen"


def watched(
    spark: "SparkSession",
    made: Callable[[], "DataFrame"],
    progress: Progress,
    deadline: Deadline | None = None,
) -> list["Row"]:
    """Return the rows of a small frame that `made` makes; an interrupt cancels the job.

    Raises CancelledError or BudgetError when the deadline is over before the job has ended.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    tag, deadline = Tag(spark), deadline or Deadline()

    def collected() -> list["Row"]:
        with _reporting(spark, tag.name, progress):
            return made().collect()

    deadline.check()
    try:
        return tag.over(collected, lambda: deadline.is_over)
    except (PySparkException, Py4JError) as failed:
        deadline.check()
        raise failed_job(failed) from None


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for all jobs of some work, by which they are cancelled."""

    spark: "SparkSession"
    name: str = field(default_factory=lambda: f"omnigraph-{uuid4().hex}")

    def over(self, work: Callable[[], Found], is_over: Callable[[], bool]) -> Found:
        """Return what `work` returns, whose jobs have the tag; a Ctrl-C is felt at once.

        When it is felt, or when `is_over` says so, the jobs are cancelled, again and again until
        the work has ended: the next one, or even the first, may begin later.
        """
        ended, gone = threading.Event(), threading.Event()

        def poll() -> None:
            while not ended.wait(_END_SECONDS):
                if gone.is_set() or is_over():
                    self.interrupt()

        def tagged() -> Found:
            threading.Thread(target=poll, daemon=True).start()
            try:
                return self._tagged(work, gone)
            finally:
                ended.set()

        try:
            return interruptible(self.spark, tagged, gone)
        except BaseException:
            if not ended.is_set():  # this process may end now, and the job is a server's
                self.interrupt()
                ended.wait(_LAST_SECONDS)
            raise

    def interrupt(self) -> None:
        """Cancel all jobs with the tag that run now."""
        with suppress(Exception):  # the session can be gone
            if is_connect(self.spark):
                self.spark.interruptTag(self.name)
            else:
                self.spark.sparkContext.cancelJobsWithTag(self.name)

    def _tagged(self, work: Callable[[], Found], gone: threading.Event) -> Found:
        """Do some work in the thread that begins its jobs: a tag belongs to one thread."""
        if is_connect(self.spark):
            self.spark.addTag(self.name)
        else:  # the tags of a classic session are known to the thread alone that gave them
            self.spark.sparkContext.addJobTag(self.name)
        try:
            if gone.is_set():
                raise CancelledError("nobody waits for the job any more")
            return work()
        finally:
            self._untag()

    def _untag(self) -> None:
        with suppress(Exception):  # the session can be gone
            if is_connect(self.spark):
                self.spark.removeTag(self.name)
            else:
                self.spark.sparkContext.removeJobTag(self.name)


def failed_job(failed: Exception) -> SparkError:
    """Return an error of ours that says in one line why a job failed."""
    from pyspark.errors import PySparkException

    if isinstance(failed, PySparkException):
        return SparkError(_reason(failed), hint=_HINT)
    text = str(failed)
    reason = "a Python worker exited unexpectedly" if _DIED in text else find_reason(text)
    return SparkError(f"the job failed: {reason}", hint=_HINT)


@contextmanager
def _reporting(spark: "SparkSession", tag: str, progress: Progress) -> Iterator[None]:
    """Report how many tasks of the job are done, while the block runs."""
    if progress is NO_PROGRESS:
        yield
    elif is_connect(spark):
        with _handled(spark, progress):
            yield
    else:
        with _polled(spark, tag, progress):
            yield


@contextmanager
def _handled(spark: "SparkSession", progress: Progress) -> Iterator[None]:
    def handle(stages: Iterable["StageInfo"] | None, *_: object, **__: object) -> None:
        known = list(stages or ())
        done = sum(stage.num_completed_tasks for stage in known)
        progress.advance(done, sum(stage.num_tasks for stage in known))

    handler = cast("ProgressHandler", handle)
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextmanager
def _polled(spark: "SparkSession", tag: str, progress: Progress) -> Iterator[None]:
    context = spark.sparkContext
    before = context.getLocalProperty(_GROUP)
    ended = threading.Event()
    poll = threading.Thread(target=_poll, args=(context, tag, progress, ended), daemon=True)
    context.setLocalProperty(_GROUP, tag)
    poll.start()
    try:
        yield
    finally:
        ended.set()
        poll.join()
        context.setLocalProperty(_GROUP, cast(str, before))


def _poll(context: "SparkContext", tag: str, progress: Progress, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    while not ended.wait(_POLL_SECONDS):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(tag)]
        numbers = [number for job in jobs if job is not None for number in job.stageIds]
        stages = [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]
        if stages:
            done = sum(stage.numCompletedTasks for stage in stages)
            progress.advance(done, sum(stage.numTasks for stage in stages))


def _reason(failed: Exception) -> str:
    """Return what a failed job says last: of a Python traceback, the error itself."""
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    told = [line for line in lines if ": " in line and not line.startswith(_NOISE)]
    return f"the job failed: {(told or lines or [type(failed).__name__])[-1]}"
