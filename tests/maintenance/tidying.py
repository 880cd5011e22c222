"""Tidying: graphs with a history, their cleanups, and what happens at a step of one."""

import re
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError
from omnigraph.maintain.reports import Cleaned
from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.ulid import Clock, now_us
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, SCHEMA, ages, people, write

DAY = 86_400_000_000
EVE = '{"type": "Person", "data": {"slug": "eve", "name": "Eve"}}'
# Where Lance puts the time of a version: seconds and nanoseconds, in the form of Protocol Buffers.
_TIMESTAMP = re.compile(rb"\x3a[\x08-\x0c]\x08([\x80-\xff]{4}[\x01-\x7f])\x10", re.DOTALL)
WIDER = SCHEMA.replace("age: I32? @index", "age: I32? @index  city: String?")


@dataclass(frozen=True)
class _LaterStore(Store):
    """A store whose clock is ahead, in microseconds."""

    ahead: int = 0

    def now(self) -> int:
        return Store.now(self) + self.ahead


def clock_ahead(days: float = 3) -> Clock:
    """Return the clock of a machine that is wrong, or was once: a clock never goes back."""
    return Clock(lambda: now_us() + int(days * DAY))


def days_later(graph: Graph, days: float) -> None:
    """Let the clocks of a graph, its machine's and its store's, be ahead."""
    graph.repository.clock = clock_ahead(days)
    given = {each.name: getattr(graph.repository.store, each.name) for each in fields(Store)}
    graph.repository.store = _LaterStore(**given, ahead=int(days * DAY))


def days_behind(graph: Graph, seen: int, days: float) -> None:
    """Date the versions of the manifest after one as a writer does whose clock is behind.

    The files stay as old as they are by the clock of the store.
    """
    folder = Path(graph.uri, layout.MANIFEST, "_versions")
    for path in folder.glob("*.manifest"):
        if layout.NEWEST_VERSION - int(path.stem) > seen:
            stored = path.read_bytes()
            (found,) = _TIMESTAMP.finditer(stored)
            seconds = _varint(now_us() // 1_000_000 - round(days * DAY / 1_000_000))
            path.write_bytes(stored[: found.start(1)] + seconds + stored[found.end(1) :])


def _varint(number: int) -> bytes:
    low = [number >> shift & 127 for shift in range(0, 35, 7)]
    return bytes([*(each | 128 for each in low[:-1]), low[-1]])


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


def sound(graph: Graph, *branches: str) -> None:
    """Every row of some branches can be read by another process, also after a cleanup."""
    again = open_graph(graph.uri, durable=False)
    for _ in range(2):
        for branch in branches:
            assert len(ages(again, branch)) == again.snapshot(branch).state(PERSON).row_count
        assert again.fsck().findings == ()
        cleaned(again, keep=1)
