"""`auto` picks the engine that is done first."""

import math

import pytest

from omnigraph.spark import choice, session
from omnigraph.spark.choice import Engine, bytes_worth_spark, runner_for_files
from omnigraph.spark.session import SparkSettings
from tests.pipeline.loads import Heard


def test_spark_is_worth_its_start_from_fewer_bytes_the_more_cores_there_are() -> None:
    assert bytes_worth_spark(1) == math.inf
    assert bytes_worth_spark(2) > bytes_worth_spark(4) > bytes_worth_spark(64) > 28_000_000


def test_a_load_of_28_megabytes_does_not_wait_for_a_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_running", lambda: False)

    assert runner_for_files(Engine.AUTO, SparkSettings(), 28_000_000).engine == "inline"


def test_starting_spark_is_a_stage_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setattr(session, "is_running", lambda: False)
    monkeypatch.setattr(choice, "_spark_runner", lambda *_: None)

    runner_for_files(Engine.SPARK, SparkSettings(), 1, progress=heard)

    assert heard.stages == ["starting Spark"]
