"""A loss of power: what was never flushed to disk is empty or gone, and the graph still opens."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.storage import durable, layout
from tests.crashes.model import applied
from tests.crashes.nursery import Nursery
from tests.crashes.scenarios import SCENARIOS, Scenario, prepared
from tests.crashes.sequences import judged, possible
from tests.sample import PERSON, new_graph

DEPTH = 100
# Nothing that the graph is read from is written before these steps.
LAST_STEPS = 3
NAMES = ("init", "write", "create branch", "migrate", "fold of the manifest")
CHOSEN = [each for each in SCENARIOS if each.name in NAMES]


def emptied(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("lost", [emptied, Path.unlink], ids=["emptied", "gone"])
@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda each: each.name)
def test_what_was_acknowledged_survives_a_loss_of_power(
    scenario: Scenario, lost: Callable[[Path], None], nursery: Nursery, place: Path
) -> None:
    scenario.prepare(nursery, place / "template")
    assert _after_loss(nursery, scenario, place, cut=None, lost=lost) == []


@pytest.mark.parametrize("lost", [emptied, Path.unlink], ids=["emptied", "gone"])
@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda each: each.name)
def test_a_loss_of_power_at_a_late_step_leaves_all_or_nothing(
    scenario: Scenario, lost: Callable[[Path], None], nursery: Nursery, place: Path
) -> None:
    scenario.prepare(nursery, place / "template")
    _copy(place / "template", place / "whole")
    steps = list(enumerate(prepared(nursery, place / "whole", [scenario.operation]), 1))

    found = {
        step: _after_loss(nursery, scenario, place, cut=step[0], lost=lost)
        for step in steps[-LAST_STEPS:]
    }

    assert found == {step: [] for step in steps[-LAST_STEPS:]}


def test_a_note_that_is_removed_and_made_again_is_flushed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "graph", durable=True)
    objects, tables = graph.repository.store.objects, graph.repository.tables
    note = f"{layout.OPERATIONS}/key.begun"
    flushed: list[str] = []
    flush = durable._flush

    def watched(path: str) -> None:
        flushed.append(path)
        flush(path)

    monkeypatch.setattr(durable, "_flush", watched)

    for _ in range(2):
        assert objects.create(note, b"{}")
        tables.sync([note])
        tables.sync_table(graph.snapshot().table(PERSON))
        objects.delete(note)

    assert flushed.count(f"{graph.uri}/{note}") == 2
    assert not any(each.endswith(".manifest") for each in flushed)  # these never change


def _after_loss(
    nursery: Nursery,
    scenario: Scenario,
    place: Path,
    *,
    cut: int | None,
    lost: Callable[[Path], None],
) -> list[str]:
    """Do the operation, or begin it, lose what was not flushed, and give what is wrong then."""
    root, acks, flushed = place / "graph", f"{place}/acks", place / "flushed"
    _copy(place / "template", root)
    known = {path: _stamp(path) for path in _files(root)}
    operations = [scenario.operation.to_json()]
    given = {"root": str(root), "operations": operations, "acks": acks, "cut": cut}
    ended = nursery.do("run and note flushes", flushes=str(flushed), **given)
    assert ended.was_killed is (cut is not None), ended.answer
    safe = set(flushed.read_text().splitlines()) if flushed.exists() else set()
    for path in _files(root):
        if known.get(path) != _stamp(path) and str(path) not in safe:
            lost(path)
    candidates = possible(scenario.model, [scenario.operation], acks)
    assert cut is not None or candidates == [applied(scenario.model, scenario.operation)]
    following = [scenario.instead, scenario.then] if cut else [scenario.then]
    checked = nursery.do(
        "check",
        root=str(root),
        candidates=candidates,
        following=[each.to_json() for each in following],
        depth=DEPTH,
    )
    shutil.rmtree(root)
    for path in (Path(acks), flushed):
        path.unlink(missing_ok=True)
    return judged(checked)[0]


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _copy(template: Path, root: Path) -> None:
    if template.exists():
        shutil.copytree(template, root)
