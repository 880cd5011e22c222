"""`explain` shows the page of an error code, also where only the wheel is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.scene import Scene
from tests.docs.blocks import ROOT
from tests.docs.test_error_codes import sections


@pytest.mark.parametrize("code", ["T3", "t3", "head_moved"])
def test_a_code_is_found_however_it_is_written(tmp_path: Path, code: str) -> None:
    printed = Scene(tmp_path).run(f"explain {code}").stdout

    assert printed.lower().startswith(code.lower())
    assert "\n## " not in printed


def test_a_terminal_is_shown_no_markup_of_pages(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    printed = scene.run("explain head_moved").stdout

    assert "\n  seen = graph.snapshot().commit.id\n" in printed
    assert "expects (docs/changing.md)" in printed
    marks = ("```", "](")
    shown = {code: scene.run(f"explain {code}").stdout for code, _ in sections()}
    assert [code for code, text in shown.items() if any(mark in text for mark in marks)] == []


def test_every_code_has_a_page(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert [code for code, _ in sections() if scene.run(f"explain {code}").exit_code] == []


def test_an_unknown_code_is_not_found_and_the_nearest_is_named(tmp_path: Path) -> None:
    done = Scene(tmp_path).run("explain hed_moved")

    assert (done.exit_code, done.stdout) == (5, "")
    assert "did you mean 'head_moved'?" in done.stderr


def test_the_wheel_holds_the_page_of_all_codes(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)

    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = wheel.read("omnigraph/cli/errors.md")
    assert held == (ROOT / "docs" / "errors.md").read_bytes()
