"""Choice: which engine runs a job, Spark or this process."""

import os
from enum import StrEnum

from omnigraph.spark import session
from omnigraph.spark.deadline import Deadline
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
    engine: Engine,
    settings: SparkSettings,
    size: int,
    worth: int = SPARK_FROM_BYTES,
    deadline: Deadline | None = None,
) -> Runner:
    """Give the runner of a job over so many bytes; more than `worth` of them are for Spark."""
    wants = settings.is_configured or session.is_running() or size > worth
    if engine is Engine.INLINE or (engine is Engine.AUTO and not wants):
        return InlineRunner(deadline)
    spark = session.session(settings)
    return SparkRunner(spark, session.default_parallelism(spark), deadline)


def default_settings() -> SparkSettings:
    """Give what the environment says about Spark."""
    return session.settings_from(os.environ)
