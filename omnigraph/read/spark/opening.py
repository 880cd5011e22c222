"""Opening: a session of Spark beside the given one, configured for the rows of one question."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from omnigraph.frozen import dataclass
from omnigraph.read.spark.frames import FEW_ROWS
from omnigraph.spark.connector import register
from omnigraph.spark.session import count_task_slots, is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows per slice when shuffling and sorting; one slice of a result is in memory at a time.
_SLICE_ROWS = 20_000
_MOST_SLICES = 1_000
# Fewer samples than usual to find where slices begin, because all of them are held in memory.
_DIVIDED = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.rangeExchange.sampleSizePerPartition": "20",
}
_WITHOUT_CODE = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Whole-stage code holds in memory all the rows that a chain of joins makes of one row.
_WHOLE_STAGE = "spark.sql.codegen.wholeStage"
# Also what is usual, where a user who has set it otherwise would get other rows, or none.
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "true",
    "spark.sql.retainGroupColumns": "true",
    # A copy that is gone or damaged has to fail, so that the table is read instead.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    _WHOLE_STAGE: "false",
    # Filters go to Parquet as days and moments of one calendar, not as java.sql.Date.
    "spark.sql.datetime.java8API.enabled": "true",
    # Copies hold times of any century as they are.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_SLICES = "spark.sql.shuffle.partitions"
# Sessions for few rows and for many that no question uses, by the session that they are beside.
_idle: "WeakKeyDictionary[SparkSession, tuple[list[SparkSession], list[SparkSession]]]"
_idle = WeakKeyDictionary()
_MOST_IDLE = 4


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session `beside` another for one question, whose rows are divided into so many slices."""

    spark: "SparkSession"
    beside: "SparkSession"
    slices: int

    def set_compiled(self, *, whole_stages: bool) -> None:
        """Let Spark make code for whole stages or not, and with it read copies by columns."""
        self.spark.conf.set(_WHOLE_STAGE, str(whole_stages and self.slices > 1).lower())

    def give_back(self) -> None:
        """Let another question have the session: Spark takes long to make one."""
        idle = _idle_beside(self.beside, self.slices)
        # A server forgets a session that is idle for long.
        if len(idle) < _MOST_IDLE and not is_connect(self.spark):
            idle.append(self.spark)


def open_session(rows: float, spark: "SparkSession") -> OpenSession:
    """Return a session for about so many rows."""
    slices = 1  # few rows are not worth dividing, nor compiling code for
    if rows >= FEW_ROWS:
        slices = int(min(max(count_task_slots(spark), rows // _SLICE_ROWS), _MOST_SLICES))
    try:
        own = _idle_beside(spark, slices).pop()
    except IndexError:
        own = _make_session(spark, _WITHOUT_CODE if slices == 1 else _DIVIDED)
    own.conf.set(_SLICES, str(slices))
    return OpenSession(own, spark, slices)


def _idle_beside(spark: "SparkSession", slices: int) -> "list[SparkSession]":
    few, many = _idle.setdefault(spark, ([], []))
    return few if slices == 1 else many


def _make_session(spark: "SparkSession", more: Mapping[str, str]) -> "SparkSession":
    own = spark.newSession()
    for name, value in {**_ALWAYS, **more}.items():
        own.conf.set(name, value)
    register(own)
    return own
