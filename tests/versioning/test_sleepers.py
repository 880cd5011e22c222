"""A writer that slept for longer than the manifest tells its rivals loses its race all the same."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import BranchExistsError, BranchNotFoundError, ConflictError
from omnigraph.storage import steps
from omnigraph.versioning.manifest import freshness
from omnigraph.versioning.manifest.freshness import Moment
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, new_graph, people, write


def sleep_at(monkeypatch: pytest.MonkeyPatch, wanted: str, others: Callable[[], object]) -> None:
    """Let a writer sleep for two hours at a step, in which others write and old versions go."""
    now = freshness.moment

    def late() -> Moment:
        steady, day = now()
        return steady + 7_200, day + 7_200

    def observer(step: str) -> None:
        if step == wanted:
            monkeypatch.setattr(steps, "observer", None)
            others()
            monkeypatch.setattr(freshness, "moment", late)

    monkeypatch.setattr(steps, "observer", observer)


def forget(graph: Graph) -> None:
    """Remove all versions of the manifest but the newest, which is about something else."""
    graph.create_branch("elsewhere")
    repository = graph.repository
    repository.tables.forget_old(repository.manifest.newest(), timedelta(0))


def add(graph: Graph, name: str) -> str:
    return write(graph, {PERSON: (Append(people({name: 1})),)}).id


def test_a_writer_that_slept_takes_no_commit_of_others_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "graph")
    rival = open_graph(graph.uri, durable=False)
    made: list[str] = []

    def others() -> None:
        made.extend(add(rival, name) for name in ("ann", "bob"))
        forget(rival)

    sleep_at(monkeypatch, "commit ready", others)
    with pytest.raises(ConflictError):
        add(graph, "late")

    assert ages(open_graph(graph.uri)) == {"ann": 1, "bob": 1}
    assert [commit.id for commit in graph.log()][:2] == made[::-1]
    add(graph, "later")
    assert set(ages(graph)) == {"ann", "bob", "later"}


def test_a_branch_that_somebody_deleted_in_his_sleep_is_not_deleted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "graph")
    rival = open_graph(graph.uri, durable=False)
    graph.create_branch("draft", add(graph, "ann"))
    add(graph, "bob")

    def others() -> None:
        write(rival, {PERSON: (Append(people({"dan": 1})),)}, "draft")
        rival.delete_branch("draft")
        forget(rival)

    sleep_at(monkeypatch, "branch retired", others)
    with pytest.raises(BranchNotFoundError):
        graph.delete_branch("draft")

    assert graph.branches() == ["main", "elsewhere"]


def test_a_branch_that_others_made_in_the_sleep_of_a_writer_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "graph")
    rival = open_graph(graph.uri, durable=False)
    refuse_twin = graph.repository.manifest.refuse_twin
    seen: list[str] = []

    def slept(name: str, at: object) -> None:
        refuse_twin(name, at)  # type: ignore[arg-type]
        if not seen:
            seen.append(name)
            steps.reached("asleep")

    def others() -> None:
        add(rival, "ann")
        rival.create_branch("draft")
        forget(rival)

    monkeypatch.setattr(graph.repository.manifest, "refuse_twin", slept)
    sleep_at(monkeypatch, "asleep", others)
    with pytest.raises(BranchExistsError):
        graph.create_branch("draft")

    assert ages(open_graph(graph.uri), "draft") == {"ann": 1}
