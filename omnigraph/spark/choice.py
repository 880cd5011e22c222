"""Choice: whether work runs in this process or on Spark, one function for each kind of work.

Whoever asks for `spark` or `inline` gets it. `auto` stays in this process where the work is done
before Spark has begun, and a query stays here while its rows fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.frozen import dataclass
from omnigraph.spark.settings import settings_from

if TYPE_CHECKING:
    from omnigraph.spark.deadline import Deadline
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.runner import Runner
    from omnigraph.spark.settings import SparkSettings

# A server whose Spark is up uses it from here on.
FILE_BYTES = 16 << 20
# Starting a JVM and its workers takes so long, and the jobs of a load so long at least. One process
# loads 30 MB of JSON lines a second, and a core of Spark about 0.86 of that.
_START_SECONDS = 8
_JOBS_SECONDS = 0.4
_BYTES_PER_SECOND = 30 << 20
_SHARE_OF_A_CORE = 0.86
_PART_BYTES = 4 << 20
# Rows are read twice and by address; one process merges this much while a JVM starts.
MERGE_BYTES = 256 << 20
# Below it, the threads of this process are done before Spark has begun.
OPTIMIZE_BYTES = 4 << 30
# A row that is read takes about 100 bytes in this process, so these are about 5 GiB.
MOST_ROWS_HERE = 50_000_000


class Engine(StrEnum):
    """Who runs the tasks of a job."""

    AUTO = "auto"
    SPARK = "spark"
    INLINE = "inline"


def default_settings() -> SparkSettings:
    """Return where the environment says that Spark runs."""
    return settings_from(os.environ)


@dataclass(frozen=True, slots=True)
class FileWork:
    """How long one process works on files, and the parts that others could work on meanwhile."""

    seconds: float
    parts: int

    def __add__(self, other: FileWork) -> FileWork:
        return FileWork(self.seconds + other.seconds, self.parts + other.parts)

    @staticmethod
    def of_lines(size: int) -> FileWork:
        """Return what so many bytes of JSON lines take."""
        return FileWork(size / _BYTES_PER_SECOND, -(-size // _PART_BYTES))

    def is_sooner_on_spark(self, slots: int, *, is_up: bool) -> bool:
        """Whether so many tasks at a time are done first, though Spark may have to start before."""
        side_by_side = _SHARE_OF_A_CORE * min(slots, self.parts)
        if side_by_side <= 1:
            return False
        before = _JOBS_SECONDS + (0 if is_up else _START_SECONDS)
        return before + self.seconds / side_by_side < self.seconds


def runner_for_files(
    engine: Engine,
    settings: SparkSettings,
    work: FileWork,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> Runner:
    """Return the runner of a load, an export or an embedding of files.

    A master that somebody chose is used for small files too.
    """
    if engine is Engine.AUTO:
        is_chosen = settings.is_configured or _is_sooner_on_spark(work, settings)
        engine = Engine.SPARK if is_chosen else Engine.INLINE
    return _pick_runner(engine, settings, is_large=False, deadline=deadline, progress=progress)


def _is_sooner_on_spark(work: FileWork, settings: SparkSettings) -> bool:
    from omnigraph.spark import session

    if not session.is_running():
        return work.is_sooner_on_spark(os.cpu_count() or 1, is_up=False)
    # A server of Spark Connect takes a job to say how many tasks it runs at a time.
    if not work.is_sooner_on_spark(work.parts, is_up=True):
        return False
    slots = session.count_task_slots(session.session(settings))
    return work.is_sooner_on_spark(slots, is_up=True)


def runner_for_merge(
    engine: Engine, settings: SparkSettings, size: int, deadline: Deadline | None = None
) -> Runner:
    """Return the runner that merges about `size` bytes of changed rows in buckets."""
    return _pick_runner(engine, settings, is_large=size > MERGE_BYTES, deadline=deadline)


def runner_for_optimize(
    engine: Engine, settings: SparkSettings, size: int, concurrency: int, deadline: Deadline
) -> Runner:
    """Return the runner that compacts and indexes tables of `size` bytes, by threads or on Spark.

    A session that is up, or a master that somebody chose, does not make Spark worth it.
    """
    is_small = engine is Engine.AUTO and size < OPTIMIZE_BYTES
    if is_small or engine is Engine.INLINE:
        from omnigraph.spark.runner import ThreadRunner

        return ThreadRunner(concurrency, deadline)
    return _spark_runner(settings, deadline)


def reads_on_spark(
    engine: Engine, graph_rows: int, plan_rows: Callable[[], int], looks_up: Callable[[], bool]
) -> bool:
    """Return whether a query goes to Spark: one that would hold too many rows in this process.

    `plan_rows` counts the rows of the tables that the plan goes through, and `looks_up` tells
    whether it would look single rows up by index instead; both are asked only when it matters.
    """
    if engine is not Engine.AUTO:
        return engine is Engine.SPARK
    return graph_rows > MOST_ROWS_HERE and plan_rows() > MOST_ROWS_HERE and not looks_up()


def engine_for_request(size: int | None = None) -> Engine:
    """Return the engine with which a server does work over `size` bytes, or over unknown many.

    No request waits until Spark has started: it is used when it is up and the work is large.
    """
    from omnigraph.spark import session

    is_large = size is None or size > FILE_BYTES
    return Engine.AUTO if is_large and session.is_running() else Engine.INLINE


def _pick_runner(
    engine: Engine,
    settings: SparkSettings,
    *,
    is_large: bool,
    deadline: Deadline | None,
    progress: Progress | None = None,
) -> Runner:
    from omnigraph.spark import session
    from omnigraph.spark.runner import InlineRunner

    wants_spark = settings.is_configured or session.is_running() or is_large
    if engine is Engine.INLINE or (engine is Engine.AUTO and not wants_spark):
        return InlineRunner(deadline)
    if progress is not None and not session.is_running():
        progress.begin("starting Spark")
    return _spark_runner(settings, deadline)


def _spark_runner(settings: SparkSettings, deadline: Deadline | None = None) -> Runner:
    from omnigraph.spark import session
    from omnigraph.spark.runner import SparkRunner

    spark = session.session(settings)
    return SparkRunner(spark, session.count_task_slots(spark), deadline)
