"""Writers of other branches do not make a commit look back."""

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest.manifest import Manifest
from tests.changes.meanwhile import READY, meanwhile

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


def test_commits_of_other_branches_are_not_looked_through(
    tmp_path: Path, guards: list[tuple[int, int]]
) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph, og.open(tmp_path / "g") as other:
        task = other.create_branch("task")
        with meanwhile(lambda: task.mutate(ADD, name="Ana"), step=READY) as interrupted:
            graph.mutate(ADD, name="Ben")

        assert interrupted.seen.count(READY) == 1  # it was tried once
        assert [made - guard for guard, made in guards] == [1]
        assert [row["name"] for row in graph.query(NAMES)] == ["Ben"]
        assert [row["name"] for row in task.query(NAMES)] == ["Ana"]


def test_a_commit_of_the_same_branch_is_still_found(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as graph, og.open(tmp_path / "g") as other:
        with meanwhile(lambda: other.mutate(ADD, name="Ana"), step=READY):
            graph.mutate(ADD, name="Ben")

        assert [row["name"] for row in graph.query(NAMES)] == ["Ana", "Ben"]
        assert len(list(graph.log())) == 3
