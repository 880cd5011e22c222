"""`auto` picks the engine that is done first."""

from pathlib import Path

import pytest

from omnigraph.spark import choice, session
from omnigraph.spark.choice import Engine, FileWork, runner_for_files
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.store import store_at
from omnigraph.write.load.sources.files import File
from omnigraph.write.load.sources.splits import Format, LoadSource, estimate_work
from tests.pipeline.loads import Heard


def lines(megabytes: int) -> FileWork:
    return FileWork.of_lines(megabytes * 1_000_000)


def test_spark_is_worth_its_start_from_fewer_bytes_the_more_tasks_run_at_a_time() -> None:
    def least(slots: int) -> int:
        sizes = range(10, 2_000, 10)
        return next(n for n in sizes if lines(n).is_sooner_on_spark(slots, is_up=False))

    assert not lines(10_000).is_sooner_on_spark(1, is_up=False)
    assert 2_000 > least(2) > least(4) > least(64) > 200


def test_spark_that_is_up_is_used_for_less_and_never_for_a_few_lines() -> None:
    assert lines(100).is_sooner_on_spark(2, is_up=True)
    assert not lines(100).is_sooner_on_spark(2, is_up=False)
    assert not lines(5).is_sooner_on_spark(64, is_up=True)
    assert not FileWork.of_lines(0).is_sooner_on_spark(64, is_up=True)


def test_a_file_that_one_task_has_to_read_stays_here() -> None:
    whole = FileWork(seconds=600, parts=1)

    assert not whole.is_sooner_on_spark(64, is_up=True)
    assert (whole + whole).is_sooner_on_spark(64, is_up=True)


def test_what_a_file_takes_depends_on_its_format(tmp_path: Path) -> None:
    file = File("people", 40_000_000, store_at(tmp_path), "people")

    def work(kind: Format) -> FileWork:
        return estimate_work(LoadSource(file, kind, "Person"))

    assert work(Format.JSONL) == lines(40)
    assert work(Format.PARQUET).seconds > 3 * work(Format.ARROW).seconds
    assert work(Format.CSV).parts == work(Format.PACKED).parts == 1


def test_a_load_of_28_megabytes_does_not_wait_for_a_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_running", lambda: False)

    assert runner_for_files(Engine.AUTO, SparkSettings(), lines(28)).engine == "inline"


def test_starting_spark_is_a_stage_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setattr(session, "is_running", lambda: False)
    monkeypatch.setattr(choice, "_spark_runner", lambda *_: None)

    runner_for_files(Engine.SPARK, SparkSettings(), lines(1), progress=heard)

    assert heard.stages == ["starting Spark"]
