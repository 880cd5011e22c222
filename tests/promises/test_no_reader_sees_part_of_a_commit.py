"""Promise: a reader sees all tables as of one commit, never a mixture."""

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Append, Overwrite, Upsert
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write
from tests.stores import Lane


def test_readers_see_both_tables_of_a_commit_or_none(lane: Lane) -> None:
    graph = new_graph(lane.root)
    other = open_graph(lane.root, read_only=True)
    done = threading.Event()

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(_watch, each, done.is_set) for each in (graph, other)]
        writer = pool.submit(_change_both, graph, lane.rounds(30))
        try:
            writer.result()
        finally:
            done.set()
        seen = [each.result() for each in readers]

    assert all(len(each) > 1 for each in seen), "the readers saw no change at all"
    assert all(each == sorted(each) for each in seen), "a reader went back in time"


def test_a_reader_in_another_process_sees_both_tables_or_none(lane: Lane, tmp_path: Path) -> None:
    lane.skip_second_opinion()
    graph = new_graph(lane.root)
    started, stop = tmp_path / "started", tmp_path / "stop"
    spawn = multiprocessing.get_context("spawn")

    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        reader = pool.submit(_watch_at, lane.root, str(started), str(stop))
        try:
            while not started.exists() and not reader.done():
                time.sleep(0.01)
            _change_both(graph, lane.rounds(30))
        finally:
            stop.touch()
        seen = reader.result()

    assert len(seen) > 1
    assert seen == sorted(seen)


def test_a_snapshot_stays_what_it_was_while_it_is_read(lane: Lane) -> None:
    graph = new_graph(lane.root)
    _change_both(graph, 1)
    pinned = graph.snapshot()
    persons = _names(pinned)

    _change_both(graph, lane.rounds(10), first=1)
    write(graph, {PERSON: (Overwrite(people({})),), KNOWS: (Overwrite(knows([])),)})

    assert _names(pinned) == persons == {"p0"}
    assert _ends(pinned) == {"p0"}


def test_row_counts_belong_to_the_commit_that_is_read(lane: Lane) -> None:
    graph = new_graph(lane.root)
    _change_both(graph, lane.rounds(10))

    for commit in graph.log():
        at = graph.snapshot(commit.id)
        for key in (PERSON, KNOWS):
            assert at.state(key).row_count == at.table(key).count()


def _change_both(graph: Graph, count: int, first: int = 0) -> None:
    """Add a person and its edge by each commit; the age of all is the number of the commit."""
    for number in range(first, first + count):
        all_ages: dict[str, int | None] = {f"p{each}": number for each in range(number + 1)}
        edge = knows([(f"p{number}", f"p{number}")])
        write(graph, {KNOWS: (Append(edge),), PERSON: (Upsert(people(all_ages)),)})


def _watch(graph: Graph, is_done: Callable[[], bool]) -> list[int]:
    """Look again and again, and give the versions seen; fails on a mixture."""
    seen: list[int] = []
    while not is_done():
        at = graph.snapshot()
        rows = at.table(PERSON).scan(["id", "age"]).to_pylist()
        assert {row["id"] for row in rows} == _ends(at)
        assert {row["age"] for row in rows} <= {at.version - 1}
        if not seen or seen[-1] != at.version:
            seen.append(at.version)
    return seen


def _watch_at(root: str, started: str, stop: str) -> list[int]:
    graph = open_graph(root, read_only=True)
    graph.snapshot()
    Path(started).touch()
    return _watch(graph, Path(stop).exists)


def _names(at: Snapshot) -> set[str]:
    return set(at.table(PERSON).scan(["id"])["id"].to_pylist())


def _ends(at: Snapshot) -> set[str]:
    return set(at.table(KNOWS).scan(["src"])["src"].to_pylist())
