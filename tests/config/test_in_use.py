"""The command line takes what omnigraph.yaml says, and `init` writes a first one."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from omnigraph.cli.address import Address, Naming
from omnigraph.cli.main import omnigraph
from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.server.config import load_config, write_scaffold

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


ENV_FILE = """\
# a comment
OMNI_PLAIN = plain text   # and why
export OMNI_SINGLE='as it is: \\n'
OMNI_DOUBLE="two\\nlines"
OMNI_KEPT=other

OMNI_EMPTY=
"""


def test_an_env_file_gives_variables_that_the_environment_lacks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env.omni").write_text(ENV_FILE)
    (folder / "omnigraph.yaml").write_text("auth: {env_file: .env.omni}\n")
    environment = {"OMNI_KEPT": "kept"}

    load_config(folder / "omnigraph.yaml").load_env(environment)

    assert environment == {
        "OMNI_PLAIN": "plain text",
        "OMNI_SINGLE": "as it is: \\n",
        "OMNI_DOUBLE": "two\nlines",
        "OMNI_KEPT": "kept",
        "OMNI_EMPTY": "",
    }


def test_an_env_file_that_is_not_there_gives_nothing(folder: Path) -> None:
    (folder / "omnigraph.yaml").write_text("auth: {env_file: .env.omni}\n")
    environment: dict[str, str] = {}

    load_config(folder / "omnigraph.yaml").load_env(environment)

    assert environment == {}


@pytest.mark.parametrize("line", ["secret", "1A=x", "A='x", 'A="x" y', "A B=x"])
def test_a_line_that_is_no_variable_is_refused_and_not_shown(folder: Path, line: str) -> None:
    (folder / ".env").write_text(f"OK=1\n{line}\n")
    (folder / "omnigraph.yaml").write_text("auth: {env_file: .env}\n")

    with pytest.raises(ConfigError, match=r"\.env:2: expected NAME=value") as raised:
        load_config(folder / "omnigraph.yaml").load_env({})
    assert line not in raised.value.render()


GRAPHS = """\
graphs:
  here: {uri: here.omni}
  there: {uri: 'http://127.0.0.1:9', bearer_token_env: OMNI_THERE}
  open: {uri: 'http://127.0.0.1:8'}
cli: {graph: here, branch: draft}
"""


@pytest.mark.parametrize(
    ("naming", "address"),
    [
        ({}, Address("{folder}/here.omni")),
        ({"usual": "there"}, Address("http://127.0.0.1:9", "own")),
        ({"target": "there", "usual": "here"}, Address("http://127.0.0.1:9", "own")),
        ({"word": "x.omni", "usual": "there"}, Address("x.omni")),
        ({"uri": "x.omni"}, Address("x.omni")),
        ({"uri": "http://127.0.0.1:9/"}, Address("http://127.0.0.1:9", "own")),
        ({"target": "open"}, Address("http://127.0.0.1:8", "global")),
        ({"uri": "http://127.0.0.1:7"}, Address("http://127.0.0.1:7", "global")),
    ],
)
def test_what_names_the_graph_comes_in_this_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch, naming: dict[str, str], address: Address
) -> None:
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "global")
    monkeypatch.setenv("OMNI_THERE", "own")
    (folder / "omnigraph.yaml").write_text(GRAPHS)
    wanted = replace(address, uri=address.uri.replace("{folder}", str(folder)))

    with click.Context(omnigraph):
        assert Naming(**naming).find_address() == wanted


def test_the_branch_of_the_configuration_is_that_of_every_command(folder: Path) -> None:
    run("init", "--schema", "people.pg", "here.omni")
    run("branch", "create", "draft")
    (folder / "omnigraph.yaml").write_text(GRAPHS)

    assert run("snapshot").startswith("0 draft at version")
    assert run("branch", "create", "more").startswith("0 made branch more from draft")
    assert run("snapshot", "--branch", "main").startswith("0 main at version")
