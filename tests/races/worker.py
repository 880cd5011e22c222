"""Worker: what one process or thread of a race does, and what it was told."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow.compute as pc

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    ExpectedVersionMismatchError,
    HeadMovedError,
)
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.writes import Append, Upsert
from tests.sample import KNOWS, PERSON, knows, people, write

COUNTER = "counter"
LOST = (ExpectedVersionMismatchError, HeadMovedError)


@dataclass(frozen=True, slots=True)
class Task:
    """One worker's part of a race."""

    uri: str
    branch: str
    worker: int
    writes: int

    def name(self, number: int) -> str:
        """Return the id of the own row that a write adds."""
        return f"w{self.worker}x{number}"


@dataclass(frozen=True, slots=True)
class Tally:
    """The commits that a worker was promised, by the row of each, and how often it lost."""

    acknowledged: dict[str, str]
    refused: int


def count_up(task: Task) -> Tally:
    """Add one to the counter many times, each with an own row and an edge in one commit."""
    return count_up_on(open_graph(task.uri, durable=False), task)


def count_up_on(graph: Graph, task: Task) -> Tally:
    """Do what `count_up` does, on a handle that others may share."""
    return _all(task, lambda name: _counted(graph, task.branch, name))


def add_people(task: Task) -> Tally:
    """Append persons, and touch no other table."""
    graph = open_graph(task.uri, durable=False)
    return _all(task, lambda n: write(graph, {PERSON: (Append(people({n: 0})),)}, task.branch))


def add_edges(task: Task) -> Tally:
    """Append edges, and touch no other table."""
    graph = open_graph(task.uri, durable=False)
    return _all(task, lambda n: write(graph, {KNOWS: (Append(knows([(n, n)])),)}, task.branch))


def insert_people(task: Task) -> Tally:
    """Insert persons as a user does, by a mutation each; whoever loses a race is not told."""
    branch = open_graph(task.uri, durable=False).branch(task.branch)
    acknowledged = {}
    for number in range(task.writes):
        name = task.name(number)
        receipt = branch.mutate(
            "query add($slug: String) { insert Person { slug: $slug, name: $slug } }", slug=name
        )
        assert receipt.commit is not None
        acknowledged[name] = receipt.commit.id
    return Tally(acknowledged, 0)


def create_at(uri: str, name: str, start: float) -> str | None:
    """Make a branch at a moment; None when somebody else had it, else the name."""
    graph = open_graph(uri, durable=False)
    _wait_for(start)
    try:
        graph.create_branch(name)
    except (BranchExistsError, HeadMovedError):
        return None
    return name


def delete_at(uri: str, name: str, start: float) -> bool:
    """Delete a branch at a moment; False when its writers were faster every time."""
    graph = open_graph(uri, durable=False)
    _wait_for(start)
    try:
        graph.delete_branch(name)
    except HeadMovedError:
        return False
    return True


def write_until_gone(task: Task, start: float) -> Tally:
    """Write to a branch from a moment on, until the writes are done or the branch is gone."""
    graph = open_graph(task.uri, durable=False)
    acknowledged: dict[str, str] = {}
    refused = 0
    _wait_for(start)
    for number in range(task.writes):
        name = task.name(number)
        try:
            acknowledged[name] = _counted(graph, task.branch, name).id
        except LOST:
            refused += 1
        except BranchNotFoundError:
            break
    return Tally(acknowledged, refused)


def _all(task: Task, attempt: Callable[[str], Commit]) -> Tally:
    """Make every write of a task, each as often as it takes; only a conflict is repeated."""
    acknowledged: dict[str, str] = {}
    refused = 0
    for number in range(task.writes):
        name = task.name(number)
        while name not in acknowledged:
            try:
                acknowledged[name] = attempt(name).id
            except LOST:
                refused += 1
    return Tally(acknowledged, refused)


def _counted(graph: Graph, branch: str, name: str) -> Commit:
    base = graph.snapshot(branch)
    found = base.table(PERSON).scan(["age"], pc.field("id") == COUNTER)["age"].to_pylist()
    value = (found[0] if found else 0) + 1
    rows = people({COUNTER: value, name: value})
    edge = knows([(name, COUNTER)])
    return write(graph, {PERSON: (Upsert(rows),), KNOWS: (Append(edge),)}, branch, base=base)


def _wait_for(start: float) -> None:
    while time.time() < start:
        pass
