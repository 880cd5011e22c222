"""Fsck finds no damage in a graph that is sound, whatever others do to it meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph.maintain.fsck as checking
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.storage.objects import Objects, Stored
from omnigraph.storage.table import Table
from omnigraph.versioning.audit import Audit, audit
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.manifest.manifest import Manifest
from tests.maintenance.interrupting import do_at
from tests.maintenance.tidying import EVE, WIDER, cleaned, grown
from tests.sample import new_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    grown(graph, 4)
    return graph


def _change(graph: Graph) -> None:
    graph.load(EVE, mode="merge", engine="inline")
    graph.load(EVE.replace("Eve", "Eva"), mode="merge", engine="inline")


def _clean_up(graph: Graph) -> None:
    cleaned(graph, keep=1)


def _widen(graph: Graph) -> None:
    graph.apply_schema(WIDER)


def _begin_run(graph: Graph) -> None:
    graph.begin_run()


def _abort_runs(graph: Graph) -> None:
    for run in graph.runs():
        graph.abort_run(run.run_id)


def _publish_runs(graph: Graph) -> None:
    for run in graph.runs():
        graph.publish_run(run.run_id)


def _forget_runs(graph: Graph) -> None:
    _abort_runs(graph)
    graph.cleanup(older_than="0s", grace="0s", confirm=True)


def _once(do: Callable[[], object]) -> Callable[[], None]:
    done: list[bool] = []

    def once() -> None:
        if not done:
            done.append(True)
            do()

    return once


def _when_listed(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Do something once the files were listed for the first time."""
    listing, once = Objects.listing, _once(do)

    def listed(self: Objects, folder: str = "") -> list[Stored]:
        found = listing(self, folder)
        once()
        return found

    monkeypatch.setattr(Objects, "listing", listed)


def _when_read(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Do something once the manifest was read for the first time."""
    once = _once(do)

    def read(manifest: Manifest, at: Table) -> Audit:
        found = audit(manifest, at)
        once()
        return found

    monkeypatch.setattr(checking, "audit", read)


MOMENTS = [_when_listed, _when_read]
CHANGES = [_change, _clean_up, _widen, _begin_run, _abort_runs, _publish_runs, _forget_runs]


@pytest.mark.parametrize("moment", MOMENTS, ids=["listed", "read"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_a_graph_that_others_use_while_it_is_checked_is_sound(
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Graph], None],
    moment: Callable[[pytest.MonkeyPatch, Callable[[], object]], None],
) -> None:
    graph.begin_run()
    other = open_graph(graph.uri, durable=False)
    happened: list[bool] = []

    def do() -> None:
        change(other)
        happened.append(True)

    moment(monkeypatch, do)

    assert graph.fsck().findings == ()
    assert happened


def test_a_run_that_is_aborted_just_now_is_sound(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = graph.begin_run()
    other, found = open_graph(graph.uri, durable=False), []
    do_at(monkeypatch, "branch flipped", lambda: found.append(other.fsck()))

    graph.abort_run(run.run_id)

    assert [each.findings for each in found] == [()]


def test_damage_is_told_although_the_graph_is_cleaned_up_without_end(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, checks = open_graph(graph.uri, durable=False), []
    state = next(iter(graph.snapshot().commit.tables.values()))

    def read(manifest: Manifest, at: Table) -> Audit:
        found = audit(manifest, at)
        checks.append(at.version)
        found.note(Damage.ROW_COUNT, state.path, "planted")
        _change(other)
        cleaned(other, keep=1)
        return found

    monkeypatch.setattr(checking, "audit", read)

    assert Damage.ROW_COUNT in {each.kind for each in graph.fsck().findings}
    assert len(checks) == 3
