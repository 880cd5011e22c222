"""The walk through each example runs, and says what it promises."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from omnigraph.cli.commands.machine.example import example
from tests.docs.blocks import ROOT

PROMISED = {
    "memory": [
        "works for the Harbour Survey",
        "0 contradictions left",
        "+ Fact ana-employer-2",
        "2026-06-01 ['Ana Reis works for the Harbour Survey.']",
    ],
    "people": ["Chie Mori", "+ Person gus", "7\n6\n"],
    "research": ["A river is a graph", "was updated by both sides", "wrote research.html"],
    "supply": [
        "Cargo box",
        "there must be at most 1",
        "fast_forward",
        "net30",
        "wrote supply.html",
    ],
}


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_a_walk_runs_from_its_first_cell_to_its_last(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, folder)

    done = subprocess.run(
        [sys.executable, "walk.py"],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error::DeprecationWarning:__main__"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for promised in PROMISED[name]:
        assert promised in done.stdout


def test_every_example_can_be_written_into_a_folder_of_ones_own() -> None:
    offered = example.params[0].type
    assert isinstance(offered, click.Choice)
    assert sorted(offered.choices) == sorted(PROMISED)


def test_every_example_has_a_walk_a_schema_queries_and_rows() -> None:
    for folder in (ROOT / "examples").iterdir():
        name = folder.name
        held = {each.name for each in folder.iterdir()}
        assert {f"{name}.pg", f"{name}.gq", f"{name}.jsonl", "walk.py"} <= held
        assert name in PROMISED
