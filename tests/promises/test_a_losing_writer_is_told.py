"""Promise: a writer whose ground moved is told what moved; one whose ground stands goes on."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ExpectedVersionMismatchError
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import publish
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, TableWrite, Upsert, WriteSet
from omnigraph.versioning.writes import stage as stage_writes
from tests.sample import COMPANY, KNOWS, PERSON, ages, edges, knows, new_graph, people, write
from tests.stores import Lane


def test_of_two_writes_from_one_snapshot_the_second_is_told(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    first = write(graph, {PERSON: (Upsert(people({"ann": 1})),)}, base=base)

    with pytest.raises(ExpectedVersionMismatchError) as told:
        write(open_graph(lane.root), {PERSON: (Upsert(people({"ann": 2})),)}, base=base)

    assert told.value.table_key == PERSON
    assert told.value.expected == base.state(PERSON).version
    assert told.value.actual == first.tables[PERSON].version
    assert ages(graph) == {"ann": 1}
    assert [each.id for each in graph.log()] == [first.id, base.commit.id]
    copy = pickle.loads(pickle.dumps(told.value))
    assert copy.to_json() == told.value.to_json()
    conflict = copy.to_json()["manifest_conflict"]
    assert conflict["expected"] == str(base.state(PERSON).version)


def test_every_kind_of_change_can_lose(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    write(graph, {PERSON: (Append(people({"ann": 1})),)}, base=base)
    changes: list[TableWrite] = [Append(people({"bob": 2})), Upsert(people({"bob": 2}))]
    changes += [DeleteRows(pa.array(["ann"])), Overwrite(people({}))]

    for late in changes:
        with pytest.raises(ExpectedVersionMismatchError, match=PERSON):
            write(graph, {PERSON: (late,)}, base=base)

    assert ages(graph) == {"ann": 1}


def test_a_change_of_two_tables_loses_when_one_of_them_moved(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    write(graph, {KNOWS: (Append(knows([("a", "b")])),)}, base=base)
    both = {PERSON: (Append(people({"ann": 1})),), KNOWS: (Append(knows([("c", "d")])),)}

    with pytest.raises(ExpectedVersionMismatchError, match=KNOWS):
        write(graph, both, base=base)

    assert ages(graph) == {}
    assert edges(graph) == {("a", "b")}


def test_a_head_that_moved_for_other_tables_is_simply_followed(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    first = write(graph, {KNOWS: (Append(knows([("a", "b")])),)}, base=base)

    second = write(graph, {PERSON: (Append(people({"ann": 1})),)}, base=base)

    assert second.parents == (first.id,)
    assert second.version == first.version + 1
    assert ages(graph) == {"ann": 1}
    assert edges(graph) == {("a", "b")}


def test_a_table_that_was_only_validated_counts_too(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    moved = write(graph, {PERSON: (Append(people({"ann": 1})),)}, base=base)
    late = WriteSet(
        base=base, writes={KNOWS: (Append(knows([("a", "b")])),)}, validated=frozenset({PERSON})
    )

    with pytest.raises(ExpectedVersionMismatchError) as told:
        _publish(graph, late)

    assert told.value.table_key == PERSON
    assert told.value.actual == moved.tables[PERSON].version
    assert edges(graph) == set()


def test_a_validated_table_that_stands_does_not_hinder(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    write(graph, {PERSON: (Append(people({"ann": 1})),)}, base=base)

    edge = {KNOWS: (Append(knows([("a", "b")])),)}
    _publish(graph, WriteSet(base=base, writes=edge, validated=frozenset({COMPANY})))

    assert edges(graph) == {("a", "b")}


def test_branches_never_disturb_each_other(lane: Lane) -> None:
    graph = new_graph(lane.root)
    base = graph.snapshot()
    graph.create_branch("draft")
    write(graph, {PERSON: (Append(people({"ann": 1})),)}, base=base)

    write(graph, {PERSON: (Append(people({"bob": 2})),)}, "draft", base=base)

    assert ages(graph) == {"ann": 1}
    assert ages(graph, "draft") == {"bob": 2}


def test_of_many_writers_at_once_exactly_one_wins(lane: Lane) -> None:
    graph = new_graph(lane.root)
    for turn in range(lane.rounds(8)):
        base = graph.snapshot()
        ready = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            racing = [pool.submit(_race, graph, base.commit, each, ready) for each in range(4)]
            told = [each.result() for each in racing]
        winners = [each for each in told if each is not None]
        assert len(winners) == 1
        assert ages(graph)["ann"] == winners[0]
        assert graph.snapshot().version == turn + 1


def test_writers_of_different_tables_all_win(lane: Lane) -> None:
    graph = new_graph(lane.root)
    count = lane.rounds(8)

    def add(key: str) -> None:
        for each in range(count):
            rows = people({f"p{each}": each}) if key == PERSON else knows([("a", f"p{each}")])
            write(graph, {key: (Append(rows),)})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, [PERSON, KNOWS]))

    assert len(ages(graph)) == len(edges(graph)) == count
    assert graph.snapshot().version == 2 * count


def _race(graph: Graph, base: Commit, age: int, ready: threading.Barrier) -> int | None:
    write_set = WriteSet(
        base=graph.snapshot(base.id), writes={PERSON: (Upsert(people({"ann": age})),)}
    )
    staged = stage_writes(write_set, "main")
    ready.wait(60)
    try:
        publish(graph.repository, "main", staged)
    except ExpectedVersionMismatchError:
        return None
    return age


def _publish(graph: Graph, write_set: WriteSet) -> Commit:
    return publish(graph.repository, "main", stage_writes(write_set, "main"))
