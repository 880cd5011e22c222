"""What is acknowledged while a graph is cleaned up keeps all that it is made of."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError
from omnigraph.storage import steps
from omnigraph.storage.objects import Objects, Stored
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.writes import Overwrite, Upsert
from tests.maintenance.interrupting import before_flip, die, do_at
from tests.maintenance.tidying import EVE, WIDER, cleaned, days_later, grown, readable, sound
from tests.sample import PERSON, ages, new_graph, people, write

SECONDS = 30


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def _ingest(graph: Graph, commits: list[Commit]) -> Callable[[], object]:
    return lambda: graph.ingest(EVE, branch="late", base=commits[2].id)


def _branch_and_load(graph: Graph, commits: list[Commit]) -> Callable[[], object]:
    def do() -> None:
        graph.create_branch("late", commits[2].id)
        write(graph, {PERSON: (Upsert(people({"eve": 1})),)}, "late")

    return do


@pytest.mark.parametrize("step", ["versions buried", "heads checked"])
@pytest.mark.parametrize("change", [_ingest, _branch_and_load])
def test_a_branch_that_goes_on_from_an_old_commit_before_the_mark_keeps_its_files(
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    change: Callable[[Graph, list[Commit]], Callable[[], object]],
) -> None:
    commits = grown(graph, 6)
    do_at(monkeypatch, step, change(graph, commits))

    cleaned(graph, keep=1)

    assert set(ages(graph, "late")) == {"main0", "main1", "main2", "eve"}
    sound(graph, "main", "late")


def _cleaning_around_flip(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]
) -> BaseException | None:
    """Begin a change after a cleanup was planned, flip when it is over, and return the error."""
    staged, over = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            change()
        except BaseException as failed:
            raised.append(failed)

    def wait() -> None:
        staged.set()
        assert over.wait(SECONDS), "the cleanup never ended"

    changing = threading.Thread(target=run)

    def begin() -> None:
        before_flip(monkeypatch, wait)
        changing.start()
        assert staged.wait(SECONDS), "the change never came to its flip"

    do_at(monkeypatch, "versions buried", begin)
    cleaned(open_graph(graph.uri, durable=False), keep=1)
    over.set()
    changing.join(SECONDS)
    return raised[0] if raised else None


def test_a_change_of_an_old_commit_that_is_cleaned_up_before_the_flip_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)

    failed = _cleaning_around_flip(graph, monkeypatch, _ingest(graph, commits))

    assert isinstance(failed, CommitCleanedError)
    assert graph.branches() == ["main"]
    sound(graph, "main")


def test_a_commit_that_was_written_but_not_published_when_the_plan_was_made_keeps_its_files(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    listing = Objects.listing
    written, planned = threading.Event(), threading.Event()
    ingest = threading.Thread(target=_ingest(open_graph(graph.uri, durable=False), commits))

    def observer(step: str) -> None:
        if step == "commit ready":
            written.set()
            assert planned.wait(SECONDS), "the cleanup never buried anything"
        elif step == "versions buried" and not planned.is_set():
            planned.set()
            ingest.join(SECONDS)

    def listed(self: Objects, folder: str = "") -> list[Stored]:
        found = listing(self, folder)
        if not written.is_set():
            ingest.start()
            assert written.wait(SECONDS), "the ingest never wrote its commit"
        return found

    monkeypatch.setattr(steps, "observer", observer)
    monkeypatch.setattr(Objects, "listing", listed)
    cleaned(graph, keep=1)

    assert set(ages(graph, "late")) == {"main0", "main1", "main2", "eve"}
    sound(graph, "main", "late")


def _parted(graph: Graph) -> Commit:
    """Return a commit of which no other has rows, and let `main` get another schema."""
    graph.create_branch("other")
    grown(graph, 2, "other")
    commit = graph.snapshot("other").commit
    write(graph, {PERSON: (Overwrite(people({"new": 1})),)}, "other")
    graph.apply_schema(WIDER)
    return commit


def test_a_merge_of_an_old_commit_into_another_schema_keeps_its_files(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = _parted(graph)
    merge = lambda: graph.merge(commit.id, "main")  # noqa: E731
    do_at(monkeypatch, "versions buried", merge)

    cleaned(graph, keep=1)

    assert set(ages(graph)) == {"other0", "other1"}
    sound(graph, "main", "other")


def test_a_merge_into_another_schema_of_what_is_cleaned_up_before_the_flip_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = _parted(graph)

    failed = _cleaning_around_flip(graph, monkeypatch, lambda: graph.merge(commit.id, "main"))

    assert isinstance(failed, CommitCleanedError)
    assert ages(graph) == {}
    sound(graph, "main", "other")


def _overwritten(graph: Graph) -> Commit:
    """Return a commit that overwrote all rows, after which `main` got another schema."""
    grown(graph, 2)
    commit = write(graph, {PERSON: (Overwrite(people({"new": 1})),)})
    graph.apply_schema(WIDER)
    return commit


def test_a_revert_across_a_change_of_the_schema_keeps_its_files(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = _overwritten(graph)
    revert = lambda: graph.revert(commit.id)  # noqa: E731
    do_at(monkeypatch, "versions buried", revert)

    cleaned(graph, keep=1)

    assert set(ages(graph)) == {"main0", "main1"}
    sound(graph, "main")


def test_a_revert_to_what_is_cleaned_up_before_the_flip_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = _overwritten(graph)

    failed = _cleaning_around_flip(graph, monkeypatch, lambda: graph.revert(commit.id))

    assert isinstance(failed, CommitCleanedError)
    assert set(ages(graph)) == {"new"}
    sound(graph, "main")


def test_a_schema_that_is_applied_again_during_a_cleanup_stays(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 3)
    do_at(monkeypatch, "fragments written", die)
    with pytest.raises(KeyboardInterrupt):
        graph.apply_schema(WIDER)
    days_later(graph, 2)
    do_at(monkeypatch, "versions buried", lambda: graph.apply_schema(WIDER))

    graph.cleanup(keep=1, confirm=True)

    again = open_graph(graph.uri, durable=False)
    assert "city" in again.snapshot().catalog.nodes["Person"].properties
    sound(graph, "main")


@pytest.mark.parametrize("removed", [False, True])
def test_an_interrupted_cleanup_of_what_a_head_has_is_taken_back_if_it_removed_nothing(
    graph: Graph, removed: bool
) -> None:
    commits = grown(graph, 3)
    graph.create_branch("late", commits[1].id)
    manifest, tables = graph.repository.manifest, graph.repository.tables
    gone = [(PERSON, each.tables[PERSON].version) for each in commits[:2]]
    buried = manifest.bury(manifest.newest(), "c1", gone)
    tables.set_keys(buried, {"cleaned": "c1"})
    if removed:
        Path(graph.uri, commits[0].tables[PERSON].manifest).unlink()

    cleaned(graph, keep=3)

    again = open_graph(graph.uri, durable=False)
    assert [readable(again, each) for each in commits] == [not removed, not removed, True]
    assert len(ages(again, "late")) == 2
