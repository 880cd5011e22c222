"""Promise: what was acknowledged is visible to everybody at once, and stays."""

import multiprocessing
import unicodedata
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ConflictError
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, Upsert
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write
from tests.stores import Lane


def test_a_commit_is_seen_at_once_by_every_handle(lane: Lane) -> None:
    graph = new_graph(lane.root)
    other = open_graph(lane.root, read_only=True)

    for age in range(3):
        commit = write(graph, {PERSON: (Upsert(people({"ann": age})),)})

        for handle in (graph, other, open_graph(lane.root, read_only=True)):
            assert ages(handle) == {"ann": age}
            assert next(handle.log()).id == commit.id


def test_a_flushed_commit_is_seen_like_any_other(lane: Lane) -> None:
    graph = new_graph(lane.root, durable=True)

    write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert ages(open_graph(lane.root)) == {"ann": 1}


def test_a_commit_is_seen_by_another_process(lane: Lane) -> None:
    lane.skip_second_opinion()
    graph = new_graph(lane.root)
    spawn = multiprocessing.get_context("spawn")

    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        assert pool.submit(_ages_at, lane.root).result() == {}
        write(graph, {PERSON: (Append(people({"ann": 1})),)})
        assert pool.submit(_ages_at, lane.root).result() == {"ann": 1}


def test_every_kind_of_change_stays_through_later_ones(lane: Lane) -> None:
    graph = new_graph(lane.root)
    write(graph, {PERSON: (Overwrite(people({"ann": 1, "bob": 2, "cat": 3})),)})
    write(graph, {PERSON: (Upsert(people({"bob": 20, "dan": 4})),)})
    write(graph, {PERSON: (DeleteRows(pa.array(["cat"])),)})
    write(graph, {PERSON: (Append(people({"eve": 5})),)})

    for number in range(lane.rounds(40)):
        write(graph, {KNOWS: (Append(knows([("ann", f"p{number}")])),)})

    expected = {"ann": 1, "bob": 20, "dan": 4, "eve": 5}
    assert ages(graph) == ages(open_graph(lane.root)) == expected
    assert len(edges(graph)) == lane.rounds(40)


def test_a_commit_to_a_branch_named_in_another_form_stays_on_it(tmp_path: Path) -> None:
    graph = new_graph(tmp_path)
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    graph.create_branch(composed)

    write(graph, {PERSON: (Append(people({"ann": 1})),)}, decomposed)

    assert graph.branches() == ["main", composed]
    assert ages(graph, composed) == ages(graph, decomposed) == {"ann": 1}


def test_what_threads_were_told_is_there_at_the_end(lane: Lane) -> None:
    graph = new_graph(lane.root)
    count = lane.rounds(12)

    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(lambda each: _add_people(graph, each, count), range(3)))

    acknowledged = {name for each in told for name in each}
    assert set(ages(graph)) == set(ages(open_graph(lane.root))) == acknowledged
    assert len(acknowledged) == 3 * count
    assert len(list(graph.log())) == 3 * count + 1


def test_what_processes_were_told_is_there_at_the_end(lane: Lane) -> None:
    lane.skip_second_opinion()
    graph = new_graph(lane.root)
    count = lane.rounds(12)
    spawn = multiprocessing.get_context("spawn")

    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        told = list(pool.map(_add_people_at, [lane.root] * 2, range(2), [count] * 2))

    acknowledged = {name for each in told for name in each}
    assert set(ages(graph)) == acknowledged
    assert len(acknowledged) == 2 * count
    assert len(list(graph.log())) == 2 * count + 1


def _add_people(graph: Graph, worker: int, count: int) -> list[str]:
    """Add people one by one, again and again after a lost race; give those acknowledged."""
    told: list[str] = []
    while len(told) < count:
        name = f"w{worker}-{len(told)}"
        try:
            write(graph, {PERSON: (Append(people({name: worker})),)})
        except ConflictError:
            continue
        told.append(name)
    return told


def _add_people_at(root: str, worker: int, count: int) -> list[str]:
    return _add_people(open_graph(root, durable=False), worker, count)


def _ages_at(root: str) -> dict[str, int | None]:
    return ages(open_graph(root, read_only=True))
