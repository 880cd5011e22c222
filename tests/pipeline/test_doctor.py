"""The doctor looks at everything, says what is wrong, and leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import omnigraph
from omnigraph.spark import doctor as doctor_module
from omnigraph.spark import java as java_module
from omnigraph.spark.doctor import Diagnosis, diagnose
from omnigraph.spark.session import is_running
from omnigraph.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person { slug: String @key }"


def test_a_healthy_machine_passes_every_check(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    omnigraph.init(tmp_path / "people.omni", SCHEMA)

    checks = diagnose(SparkSettings(), str(tmp_path / "people.omni"))

    assert [(check.name, check.ok, check.hint) for check in checks] == [
        (name, True, None) for name in ("python", "java", "spark", "embedding", "store", "graph")
    ]
    assert by_name(checks)["embedding"].detail == "texts are embedded by mock"
    assert f"Spark {spark.version} at local[2] started" in by_name(checks)["spark"].detail
    assert "ran a job of 2 tasks" in by_name(checks)["spark"].detail
    assert by_name(checks)["graph"].detail == "main at version 0 with 1 tables"


@pytest.mark.usefixtures("spark")
def test_a_machine_without_a_model_is_well_and_hears_how_to_choose_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMNIGRAPH_EMBED_MODEL", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    check = by_name(diagnose(SparkSettings(), None))["embedding"]

    assert check.ok
    assert "OMNIGRAPH_EMBED_MODEL" in (check.hint or "")


def test_the_doctor_leaves_the_session_that_it_found(spark: "SparkSession") -> None:
    diagnose(SparkSettings(), None)
    assert is_running()
    assert spark.range(3).count() == 3


@pytest.mark.usefixtures("spark")
def test_the_doctor_leaves_nothing_in_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/one/below/another"):
        checks = by_name(diagnose(SparkSettings(), str(tmp_path / name)))
        assert checks["store"].ok
        assert checks["graph"].detail == f"no graph at {tmp_path / name} yet"
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


@pytest.mark.usefixtures("spark")
def test_a_store_that_cannot_be_one_fails_its_check() -> None:
    checks = by_name(diagnose(SparkSettings(), "ftp://host/graph"))
    assert not checks["store"].ok
    assert "unknown kind of store 'ftp'" in checks["store"].detail
    assert checks["store"].hint is not None


@pytest.mark.usefixtures("spark")
def test_what_is_wrong_with_java_is_told_and_the_rest_is_still_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert (
        "JAVA_HOME=/nowhere cannot be used"
        in by_name(diagnose(SparkSettings(), None))["java"].detail
    )

    monkeypatch.setattr(java_module, "find_spec", lambda _: None)
    checks = by_name(diagnose(SparkSettings(), None))
    assert not checks["java"].ok
    assert "there is no java on the PATH" in checks["java"].detail
    assert checks["spark"].ok


def test_a_package_that_is_missing_fails_its_check(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_module, "_PACKAGES", ("pyarrow", "no-such-package"))
    checks = by_name(diagnose(SparkSettings(), None))
    assert checks["python"].hint == "`pip install no-such-package`"
    # The workers still have what this process pretends not to have.
    assert not checks["spark"].ok
    assert "install on the workers" in (checks["spark"].hint or "")


def test_the_command_tells_all_checks_as_json_and_exits_with_1_when_one_failed(
    tmp_path: Path,
) -> None:
    done = command("doctor", str(tmp_path), "--spark-remote", "sc://127.0.0.1:1", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert done.stderr == ""
    assert told["ok"] is False
    assert [(check["name"], check["ok"]) for check in told["checks"]] == [
        ("python", True),
        ("java", True),
        ("spark", False),
        ("embedding", True),
        ("store", True),
        ("graph", True),
    ]
    assert set(told["checks"][0]) == {"name", "ok", "detail", "hint"}
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_the_hint_below_what_failed() -> None:
    done = command("doctor", "--spark-remote", "sc://127.0.0.1:1/;token=secret")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("spark:"))
    assert lines[at : at + 2] == [
        "spark: failed, no Spark answers at sc://127.0.0.1:1: Connection refused",
        "   = hint: check that it runs and can be reached from here",
    ]


def test_options_that_exclude_each_other_end_the_command() -> None:
    done = command("doctor", "--spark-master", "local", "--spark-remote", "sc://x")
    assert done.returncode == 1
    assert done.stderr.startswith("error[config_invalid]: --spark-master and --spark-remote")


def by_name(checks: tuple[Diagnosis, ...]) -> dict[str, Diagnosis]:
    return {check.name: check for check in checks}


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = Path(sys.executable).with_name("omnigraph")
    whole = [str(program), *arguments]
    return subprocess.run(whole, capture_output=True, text=True, check=False)
