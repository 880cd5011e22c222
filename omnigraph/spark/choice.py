"""Choice: which engine runs a job, Spark or this process."""

import os
from enum import StrEnum

from omnigraph.spark import session
from omnigraph.spark.runner import InlineRunner, Runner, SparkRunner
from omnigraph.spark.session import SparkSettings

# Below it, starting a JVM takes longer than the work.
SPARK_FROM_BYTES = 16 << 20


class Engine(StrEnum):
    """Who runs the tasks of a job."""

    AUTO = "auto"
    SPARK = "spark"
    INLINE = "inline"


def runner_for(
    engine: Engine, settings: SparkSettings, size: int, worth: int = SPARK_FROM_BYTES
) -> Runner:
    """Give the runner of a job over so many bytes; more than `worth` of them are for Spark."""
    wants = settings.is_configured or session.is_running() or size > worth
    if engine is Engine.INLINE or (engine is Engine.AUTO and not wants):
        return InlineRunner()
    spark = session.open_session(settings)
    return SparkRunner(spark, session.count_task_slots(spark))


def default_settings() -> SparkSettings:
    """Give what the environment says about Spark."""
    return session.resolve_settings(os.environ)
