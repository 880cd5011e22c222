"""A writer that slept for longer than the manifest tells its rivals loses its race all the same."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    ConflictError,
    OutcomeUnknownError,
)
from omnigraph.storage import forward, layout, steps
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest import freshness
from omnigraph.versioning.manifest.freshness import Moment
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, new_graph, people, write
from tests.stores import Lane


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
            for module in (forward, freshness):
                monkeypatch.setattr(module, "moment", late)

    monkeypatch.setattr(steps, "observer", observer)


def forget(graph: Graph) -> None:
    """Remove the versions of the manifest between the first and one about something else."""
    graph.create_branch("elsewhere")
    repository = graph.repository
    repository.tables.forget_old(repository.manifest.newest(), repository.store.now() + 2_000_000)


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


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: add(graph, "late"),
        lambda graph: graph.rename_branch("draft", "renamed"),
        lambda graph: graph.delete_branch("draft"),
    ],
)
def test_what_a_sleep_in_the_flip_did_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Graph], object]
) -> None:
    graph = new_graph(tmp_path / "graph")
    graph.create_branch("draft")
    rival = open_graph(graph.uri, durable=False)
    set_keys, tables = graph.repository.tables.set_keys, graph.repository.tables

    def slept(*given: Any) -> Table:
        monkeypatch.setattr(tables, "set_keys", set_keys)
        add(rival, "ann")
        forget(rival)
        now = freshness.moment
        monkeypatch.setattr(freshness, "moment", lambda: tuple(each + 660 for each in now()))
        return set_keys(*given)

    monkeypatch.setattr(tables, "set_keys", slept)
    with pytest.raises(OutcomeUnknownError, match="took so long") as told:
        change(graph)

    assert told.value.hint


@pytest.fixture(params=["local", "bucket"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path / "graph")
    lane: Lane = request.getfixturevalue("standin")
    return lane.root


def prune(root: str) -> None:
    """Remove all versions of the manifest but the first and the newest three, as an hour would."""
    objects, folder = store_at(root).objects, f"{layout.MANIFEST}/_versions"
    names = [each for each in objects.names(folder) if each.endswith(".manifest")]
    objects.delete_many(f"{folder}/{each}" for each in names[3:-1])


@pytest.mark.parametrize("clock", ["time", "clock_gettime"])
@pytest.mark.parametrize("seconds", [6, 3_600])
@pytest.mark.parametrize("has_hint", [True, False])
def test_whoever_saw_the_first_version_and_slept_finds_what_others_did_since(
    root: str, monkeypatch: pytest.MonkeyPatch, clock: str, seconds: int, has_hint: bool
) -> None:
    """The first version stays when those after it go, and one of the clocks missed the sleep."""
    graph = new_graph(root)
    assert ages(graph) == {}
    rival = open_graph(root, durable=False)
    made = [add(rival, f"p{number}") for number in range(12)]
    rival.create_branch("draft", made[3])
    prune(root)
    if not has_hint:
        store_at(root).objects.delete(f"{layout.MANIFEST}/_versions/latest_version_hint.json")

    now = getattr(time, clock)
    monkeypatch.setattr(time, clock, lambda *which: now(*which) + seconds)
    with pytest.raises(BranchExistsError):
        graph.create_branch("draft")
    made.append(add(graph, "late"))

    assert [each.id for each in open_graph(root).log()][:-1] == made[::-1]
    assert len(ages(open_graph(root), "draft")) == 4
