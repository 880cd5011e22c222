"""Promise: every commit of the history can be read as it was, however long ago it was made."""

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitNotFoundError
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, TableWrite, Upsert
from tests.sample import PERSON, ages, new_graph, people, write
from tests.stores import Lane

Ages = dict[str, int | None]


def test_every_commit_reads_as_it_was_made_by_its_id_and_by_its_version(lane: Lane) -> None:
    graph = new_graph(lane.root)
    history = _history(graph, lane.rounds(50))

    for handle in (graph, open_graph(lane.root, read_only=True)):
        assert {commit: ages(handle, commit) for commit in history} == history

    reopened = open_graph(lane.root, read_only=True)
    assert [commit.id for commit in reopened.log()][:-1] == list(reversed(history))
    for version, (commit, expected) in enumerate(history.items(), start=1):
        at = reopened.snapshot_at_version(version)
        assert at.commit.id == commit
        assert at.state(PERSON).row_count == len(expected)


def test_one_person_is_found_as_it_was_at_every_version(lane: Lane) -> None:
    graph = new_graph(lane.root)
    for age in range(lane.rounds(15)):
        write(graph, {PERSON: (Upsert(people({"ann": age})),)})

    found = [graph.entity_at(PERSON, "ann", each) for each in range(lane.rounds(15) + 1)]

    assert [each and each["age"] for each in found] == [None, *range(lane.rounds(15))]


def test_a_commit_outlives_the_branch_it_was_made_on(lane: Lane) -> None:
    graph = new_graph(lane.root)
    graph.create_branch("draft")
    commit = write(graph, {PERSON: (Append(people({"ann": 1})),)}, "draft")
    graph.create_branch("kept", "draft")

    graph.delete_branch("draft")

    assert ages(graph, commit.id) == ages(graph, "kept") == {"ann": 1}
    assert ages(graph) == {}


def test_a_commit_that_never_was_is_not_found(lane: Lane) -> None:
    graph = new_graph(lane.root)

    with pytest.raises(CommitNotFoundError):
        graph.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(CommitNotFoundError):
        graph.snapshot_at_version(7)


def _history(graph: Graph, count: int) -> dict[str, Ages]:
    """Make all kinds of changes, and give what every commit left."""
    history: dict[str, Ages] = {}
    model: Ages = {}
    for number in range(count):
        step, model = _step(number, model)
        history[write(graph, {PERSON: (step,)}).id] = model
    return history


def _step(number: int, model: Ages) -> tuple[TableWrite, Ages]:
    name = f"p{number}"
    match number % 5:
        case 0 | 1:
            return Append(people({name: number})), {**model, name: number}
        case 2:
            new: Ages = dict.fromkeys([*list(model)[:3], name], number)
            return Upsert(people(new)), {**model, **new}
        case 3:
            gone = next(iter(model))
            return DeleteRows(pa.array([gone])), {k: v for k, v in model.items() if k != gone}
        case _:
            left = dict(list(model.items())[-20:])
            return Overwrite(people(left)), left
