"""A rollback on the command line: what it takes away is approved of in its own plan."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import open as open_graph
from omnigraph.cli.main import omnigraph
from omnigraph.deploy.definition import graph_uri
from omnigraph.deploy.ledger import Ledger
from omnigraph.errors import GraphNotFoundError
from tests.changes.meanwhile import meanwhile
from tests.deploy.folder import QUERIES, SCHEMA, TWO, write

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "brain")


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command of the family `cluster` in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(folder.parent))

    def invoke(line: str) -> Result:
        return CliRunner().invoke(omnigraph, ["cluster", *shlex.split(line)])

    return invoke


def document(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def approvals(refused: Result) -> list[str]:
    """Return the commands that the hint of a refused rollback names."""
    assert "approval_needed" in refused.output
    return re.findall(r"omnigraph cluster (approve [^;\n]+)", refused.output)


def add(folder: Path, graph: str, name: str) -> None:
    with open_graph(graph_uri(str(folder), graph)) as found:
        found.mutate(QUERIES, "add", name=name)


def test_a_rollback_deletes_a_graph_once_somebody_approved_of_its_plan(
    folder: Path, run: Run
) -> None:
    assert run("apply").exit_code == 0
    write(folder, cluster__yaml=TWO)
    assert run("apply").exit_code == 0
    add(folder, "people", "Ada")
    add(folder, "other", "Eve")

    refused = run("rollback 1")
    planned = document(run("plan --revision 1 --json"))
    (command,) = approvals(refused)
    assert command == f"approve graph.other --plan {planned['plan']} --revision 1"
    assert planned["needs_approval"] == ["graph.other"]
    assert run("plan").output == "nothing to do\n"
    assert run(command.replace("--revision 1", "")).exit_code != 0
    assert run(command).exit_code == 0
    add(folder, "other", "Zoe")
    (command,) = approvals(run("rollback 1"))  # what was approved is not what is there any more

    assert run(f"{command} --as ann").exit_code == 0
    done = run("rollback 1")

    assert done.output.splitlines()[-1] == "revision 3 serves"
    assert "- graph.other" in done.output
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert len(graph.query(QUERIES, "everyone")) == 1
    ledger = Ledger.at(str(folder))
    assert [each.kind for each in ledger.entries()] == ["rollback", "apply", "apply"]
    assert run("rollback 1").output == "nothing to do; revision 3 serves\n"


def test_hints_of_a_deployment_elsewhere_name_its_folder(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    elsewhere = folder.rename(folder.parent / "the brain")
    of = f"--config {shlex.quote(str(elsewhere))}"
    assert f"omnigraph cluster apply {of} first" in run(f"status {of}").output
    assert run(f"apply {of}").exit_code == 0
    assert f"omnigraph cluster log {of} lists" in run(f"rollback 9 {of}").output
    write(elsewhere, cluster__yaml=TWO)
    assert run(f"apply {of}").exit_code == 0

    refused = run(f"rollback 1 {of}")

    assert f"look at omnigraph cluster plan {of} --revision 1, then" in refused.output
    (command,) = approvals(refused)
    assert run(command).exit_code == 0
    assert run(f"rollback 1 {of}").exit_code == 0


def test_a_rollback_drops_what_a_schema_got_once_somebody_approved_of_its_plan(
    folder: Path, run: Run
) -> None:
    assert run("apply").exit_code == 0
    write(folder, people__pg=SCHEMA.replace("age: I32?", "age: I32?  nick: String?"))
    assert run("apply").exit_code == 0

    first = Ledger.at(str(folder)).find("1").revision[:8]
    (command,) = approvals(run(f"rollback {first}"))
    assert command.startswith("approve schema.people --plan ")
    assert run(command).exit_code == 0

    assert run("rollback 1").exit_code == 0
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert "nick" not in graph.schema


def test_a_rollback_keeps_a_graph_that_was_written_to_meanwhile_and_says_so(
    folder: Path, run: Run
) -> None:
    run("apply")
    write(folder, cluster__yaml=TWO)
    run("apply")
    (command,) = approvals(run("rollback 1"))
    assert run(command).exit_code == 0

    with meanwhile(lambda: add(folder, "other", "Late"), step="cluster published"):
        done = run("rollback 1")

    assert "kept graph.other: it was written to meanwhile" in done.output
    with open_graph(graph_uri(str(folder), "other")) as graph:
        assert len(graph.query(QUERIES, "everyone")) == 1


def test_the_plan_of_an_unknown_revision_is_refused(run: Run) -> None:
    run("apply")

    for line in ("plan --revision 9", "approve graph.other --plan x --revision 9"):
        assert "no revision '9'" in run(line).output
