"""The command line takes what omnigraph.yaml says, and `init` writes a first one."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from omnigraph.cli.main import omnigraph
from omnigraph.config import load_config, write_scaffold
from omnigraph.errors import UnreadableError

SCHEMA = "node Person { slug: String @key }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.pg").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(omnigraph, arguments)
    return f"{result.exit_code} {result.output}"


def test_init_writes_a_configuration_that_names_the_graph(folder: Path) -> None:
    printed = run("init", "--schema", "people.pg", "people.omni")

    assert printed.endswith("wrote omnigraph.yaml\n")
    config = load_config(folder / "omnigraph.yaml")
    assert config.graph("people").uri == str(folder / "people.omni")
    assert config.cli.graph == "people"


def test_init_leaves_a_configuration_that_is_there(folder: Path) -> None:
    (folder / "omnigraph.yaml").write_text("project: {name: mine}\n")

    printed = run("init", "--schema", "people.pg", "people.omni")

    assert "omnigraph.yaml" not in printed
    assert (folder / "omnigraph.yaml").read_text() == "project: {name: mine}\n"


def test_a_graph_that_is_refused_gets_no_configuration(folder: Path) -> None:
    (folder / "people.pg").write_text("node Person {")

    assert run("init", "--schema", "people.pg", "people.omni").startswith("1 ")
    assert not (folder / "omnigraph.yaml").exists()


def test_a_folder_that_cannot_be_written_is_told_after_the_graph_was_made(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="the graph was made"):
        write_scaffold(tmp_path / "missing", "people.omni")


@pytest.mark.parametrize("option", [(), ("--config", "other.yaml")], ids=["here", "named"])
def test_a_load_runs_on_the_spark_of_the_configuration(
    folder: Path, option: tuple[str, ...]
) -> None:
    run("init", "--schema", "people.pg", "people.omni")
    name = option[1] if option else "omnigraph.yaml"
    (folder / name).write_text("spark: {remote: 'sc://127.0.0.1:1'}\n")
    (folder / "rows.jsonl").write_text('{"type": "Person", "data": {"slug": "ana"}}\n')

    # In a process of its own: a session that is up in this one would be used as it is.
    code = "from omnigraph.cli.main import main; main()"
    command = [sys.executable, "-c", code, "load", "people.omni", "--data", "rows.jsonl", *option]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 1
    assert "no Spark answers at sc://127.0.0.1:1" in done.stderr


def test_a_configuration_that_is_wrong_stops_the_command(folder: Path) -> None:
    run("init", "--schema", "people.pg", "people.omni")
    (folder / "omnigraph.yaml").write_text("sparc: {}\n")

    printed = run("load", "people.omni", "--data", "people.pg")

    assert "unknown key 'sparc'; did you mean 'spark'?" in printed
