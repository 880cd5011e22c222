"""Tidying: graphs with a history, their cleanups, and what happens at a step of one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import CommitCleanedError
from omnigraph.maintain.reports import Cleaned
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest import Head, Manifest
from omnigraph.versioning.ulid import Clock, now_us
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, people, write

DAY = 86_400_000_000


def days_later(graph: Graph, days: float) -> None:
    """Let the clock of a graph be ahead."""
    graph.repository.clock = Clock(lambda: now_us() + int(days * DAY))


def grown(graph: Graph, commits: int = 12, branch: str = "main") -> list[Commit]:
    """Add a person by each of some commits."""
    rows = (people({f"{branch}{number}": number}) for number in range(commits))
    return [write(graph, {PERSON: (Append(each),)}, branch) for each in rows]


def cleaned(
    graph: Graph, *, keep: int | None = None, older_than: timedelta | str | None = None
) -> Cleaned:
    """Clean up a graph that nobody reads or writes meanwhile."""
    return graph.cleanup(keep=keep, older_than=older_than, grace="0s", confirm=True)


def readable(graph: Graph, commit: Commit) -> bool:
    """Tell whether a commit still has its rows."""
    try:
        return len(ages(graph, commit.id)) == commit.tables[PERSON].row_count
    except CommitCleanedError:
        return False


def at_step(wanted: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Return an observer that does something when a step is reached for the first time."""
    done: list[str] = []

    def observer(step: str) -> None:
        if step == wanted and not done:
            done.append(step)
            do()

    return observer


def die() -> None:
    """End an operation as a kill would: nothing that it does on errors is done."""
    raise KeyboardInterrupt


def before_flip(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Do something between what the next flip was made of and the flip."""
    flip = Manifest.flip
    done: list[bool] = []

    def late(self: Manifest, at: Table, updates: dict[str, Head | None], **more: Any) -> Table:
        if not done:
            done.append(True)
            do()
        return flip(self, at, updates, **more)

    monkeypatch.setattr(Manifest, "flip", late)
