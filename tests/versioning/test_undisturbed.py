"""Writers of other branches neither disturb a commit nor make it look back."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest.manifest import Manifest
from tests.changes.meanwhile import SYNCED, WRITTEN, meanwhile

SCHEMA = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } order { name } }"
ADD = "query add($name: String) { insert Person { name: $name } }"


@pytest.fixture
def guards(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return the version that guarded each flip of main, and the version that it made."""
    seen: list[tuple[int, int]] = []
    flip = Manifest.flip

    def watched(self: Manifest, at: Table, updates: dict[str, object], **rest: object) -> Table:
        made = flip(self, at, updates, **rest)  # type: ignore[arg-type]
        if "main" in updates:
            seen.append((at.version, made.version))
        return made

    monkeypatch.setattr(Manifest, "flip", watched)
    return seen


@pytest.mark.parametrize("step", [WRITTEN, SYNCED])
def test_commits_of_other_branches_are_not_looked_through(
    tmp_path: Path, step: str, guards: list[tuple[int, int]]
) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph, og.open(tmp_path / "g") as other:
        task = other.create_branch("task")
        with meanwhile(lambda: task.mutate(ADD, name="Ana"), step=step) as interrupted:
            graph.mutate(ADD, name="Ben")

        assert interrupted.seen.count(WRITTEN) == 1  # it was tried once
        assert [made - guard for guard, made in guards] == [1]
        assert [row["name"] for row in graph.query(NAMES)] == ["Ben"]
        assert [row["name"] for row in task.query(NAMES)] == ["Ana"]


@pytest.mark.parametrize("step", [WRITTEN, SYNCED])
def test_a_commit_of_the_same_branch_is_still_found(tmp_path: Path, step: str) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph, og.open(tmp_path / "g") as other:
        with meanwhile(lambda: other.mutate(ADD, name="Ana"), step=step):
            graph.mutate(ADD, name="Ben")

        assert [row["name"] for row in graph.query(NAMES)] == ["Ana", "Ben"]
        assert len(list(graph.log())) == 3


def test_nobody_waits_long_for_a_writer_that_was_stopped(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph:
        with _held(tmp_path / "g" / "__manifest" / "_versions"):
            graph.mutate(ADD, name="Ben")

        assert [row["name"] for row in graph.query(NAMES)] == ["Ben"]


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    file = os.open(folder, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(file)
