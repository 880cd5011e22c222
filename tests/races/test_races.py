"""Processes and threads that change one graph at once lose nothing and are told when they lose."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import HeadMovedError
from omnigraph.storage.failures import CommitRejectedError
from omnigraph.storage.tables import Tables
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.writes import Append
from tests.races.verdict import after_appending, after_counting
from tests.races.worker import (
    Tally,
    Task,
    add_edges,
    add_people,
    count_up,
    count_up_on,
    create_at,
    delete_at,
    insert_people,
    write_until_gone,
)
from tests.sample import PERSON, new_graph, people, write

PROCESSES = 4
THREADS = 8
ROUNDS = 6


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Return processes that are already running; Lance does not survive a fork."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as processes:
        list(processes.map(time.sleep, [0.2] * PROCESSES))
        yield processes


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


@pytest.fixture(params=[10, pytest.param(50, marks=pytest.mark.long)])
def writes(request: pytest.FixtureRequest) -> int:
    """How often each process writes."""
    count: int = request.param
    return count


def tasks(graph: Graph, branches: list[str], writes: int) -> list[Task]:
    return [Task(graph.uri, branch, worker, writes) for worker, branch in enumerate(branches)]


def soon() -> float:
    """Return a moment at which all workers will be ready."""
    return time.time() + 0.1


def test_writers_of_one_row_on_one_branch_lose_nothing_and_are_told(
    graph: Graph, pool: ProcessPoolExecutor, writes: int
) -> None:
    tallies = list(pool.map(count_up, tasks(graph, ["main"] * PROCESSES, writes)))

    assert [len(tally.acknowledged) for tally in tallies] == [writes] * PROCESSES
    assert sum(tally.refused for tally in tallies) > 0, "nobody met anybody"
    assert after_counting(open_graph(graph.uri), "main", tallies) == []


def test_people_who_insert_into_one_branch_at_once_all_finish(
    graph: Graph, pool: ProcessPoolExecutor, writes: int
) -> None:
    tallies = list(pool.map(insert_people, tasks(graph, ["main"] * PROCESSES, writes)))

    assert [len(tally.acknowledged) for tally in tallies] == [writes] * PROCESSES
    assert after_appending(open_graph(graph.uri), "main", tallies, []) == []


def test_writers_of_different_branches_never_meet(
    graph: Graph, pool: ProcessPoolExecutor, writes: int
) -> None:
    branches = [f"branch{worker}" for worker in range(PROCESSES)]
    for branch in branches:
        graph.create_branch(branch)

    tallies = list(pool.map(count_up, tasks(graph, branches, writes)))

    assert [tally.refused for tally in tallies] == [0] * PROCESSES
    for branch, tally in zip(branches, tallies, strict=True):
        assert after_counting(graph, branch, [tally]) == []
    assert after_counting(graph, "main", []) == []


def test_writers_of_different_tables_of_one_branch_all_arrive(
    graph: Graph, pool: ProcessPoolExecutor, writes: int
) -> None:
    work = tasks(graph, ["main"] * 2, writes)

    persons, edges = pool.submit(add_people, work[0]), pool.submit(add_edges, work[1])

    tallies = [persons.result(), edges.result()]
    assert [len(tally.acknowledged) for tally in tallies] == [writes] * 2
    assert after_appending(graph, "main", tallies[:1], tallies[1:]) == []


def test_of_those_who_make_the_same_branch_at_once_one_wins(
    graph: Graph, pool: ProcessPoolExecutor
) -> None:
    for round_ in range(ROUNDS):
        names = [f"same{round_}"] * PROCESSES
        start = soon()

        won = list(pool.map(create_at, [graph.uri] * PROCESSES, names, [start] * PROCESSES))

        assert [name for name in won if name] == names[:1]
    assert graph.branches() == ["main", *(f"same{round_}" for round_ in range(ROUNDS))]


def test_of_those_who_make_branches_alike_but_for_their_case_one_wins(
    graph: Graph, pool: ProcessPoolExecutor
) -> None:
    winners = []
    for round_ in range(ROUNDS):
        names = [f"{twin}{round_}" for twin in ("twin", "Twin", "TWIN", "tWiN")]
        start = soon()

        won = list(pool.map(create_at, [graph.uri] * PROCESSES, names, [start] * PROCESSES))

        winners += [name for name in won if name]
        assert len(winners) == round_ + 1
    assert graph.branches() == ["main", *sorted(winners)]


def test_a_branch_deleted_under_its_writers_is_gone_and_they_are_told(
    graph: Graph, pool: ProcessPoolExecutor
) -> None:
    for round_ in range(ROUNDS):
        name = f"doomed{round_}"
        graph.create_branch(name)
        start = soon()
        writers: list[Future[Tally]] = [
            pool.submit(write_until_gone, Task(graph.uri, name, worker, 4), start)
            for worker in range(PROCESSES - 1)
        ]

        deleted = pool.submit(delete_at, graph.uri, name, start + 0.02 * round_).result()

        tallies = [writer.result() for writer in writers]
        assert (name in graph.branches()) is not deleted
        for commit in (each for tally in tallies for each in tally.acknowledged.values()):
            assert graph.commit(commit).branch == name
        if not deleted:
            assert after_counting(graph, name, tallies) == []
    assert after_counting(graph, "main", []) == []


def test_threads_that_share_one_handle_lose_nothing(graph: Graph) -> None:
    work = [Task(graph.uri, "main", worker, 5) for worker in range(THREADS)]
    counting: Callable[[Task], Tally] = lambda task: count_up_on(graph, task)  # noqa: E731

    with ThreadPoolExecutor(THREADS) as threads:
        tallies = list(threads.map(counting, work))

    assert after_counting(graph, "main", tallies) == []
    assert after_counting(open_graph(graph.uri, read_only=True), "main", tallies) == []


def test_threads_can_open_one_graph_for_writing_at_once(graph: Graph) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        opened = list(threads.map(lambda _: open_graph(graph.uri), range(THREADS * 4)))

    assert {each.snapshot().commit.id for each in opened} == {graph.snapshot().commit.id}


def test_a_manifest_too_busy_to_be_changed_is_a_conflict_like_any_other(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> NoReturn:
        raise CommitRejectedError("Failed to commit the transaction after 20 retries.")

    monkeypatch.setattr(Tables, "set_keys", busy)
    graph.repository.patience = Patience(seconds=0.1)

    with pytest.raises(HeadMovedError):
        write(graph, {PERSON: (Append(people({"ann": 1})),)})
