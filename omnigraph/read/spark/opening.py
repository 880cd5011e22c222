"""Opening: a session of Spark beside the given one, configured for the rows of one question."""

from typing import TYPE_CHECKING

from omnigraph.read.spark.frames import FEW_ROWS
from omnigraph.spark.connector import register
from omnigraph.spark.session import count_task_slots

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
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    _WHOLE_STAGE: "false",
    # Copies hold times of any century as they are.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def open_session(rows: float, spark: "SparkSession") -> "tuple[SparkSession, int]":
    """Return a session for about so many rows, and the number of slices they are divided into."""
    if rows < FEW_ROWS:  # not worth dividing, nor compiling code for
        slices, more = 1, _WITHOUT_CODE
    else:
        slices = int(min(max(count_task_slots(spark), rows // _SLICE_ROWS), _MOST_SLICES))
        more = _DIVIDED
    conf = {**_ALWAYS, **more, "spark.sql.shuffle.partitions": str(slices)}
    own = spark.newSession()
    for name, value in conf.items():
        own.conf.set(name, value)
    register(own)
    return own, slices


def set_compiled(own: "SparkSession", *, whole_stages: bool) -> None:
    """Let Spark make code for whole stages or not, and with it read copies by columns."""
    own.conf.set(_WHOLE_STAGE, str(whole_stages).lower())
