"""While a schema changes, others write: no row is lost, and none breaks what the schema says."""

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BudgetError,
    CancelledError,
    HeadMovedError,
    StorageError,
    ViolationsError,
)
from omnigraph.evolve import migrate
from omnigraph.storage import steps
from omnigraph.versioning import schema_lock
from omnigraph.versioning.branches import create_system_branch
from omnigraph.versioning.names import SCHEMA_LOCK
from tests.evolution.town import PEOPLE, edited, rows
from tests.evolution.writers import INSERT, Tally, apply, insisted, write, write_to

SCORE = "score: F64?"
PERSON = "node:Person"
WRITERS = 3
# What can be added without breaking the writers' statements.
ADDED = (
    "extra0: I32?",
    'extra1: String @default("x")',
    "extra2: I32? @index",
    "extra3: String? @index",
    "extra4: I32 @default(4)\n  @range(extra4, 0..9)",
    "extra5: Bool?\n  @range(age, 0..)",
)


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """Processes that are ready; Lance does not survive a fork."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WRITERS, mp_context=spawn) as pool:
        list(pool.map(time.sleep, [0.2] * WRITERS))
        yield pool


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(WRITERS) as pool:
        yield pool


def schemas() -> list[str]:
    """Return schemas of which each adds to the one before."""
    return [
        edited((SCORE, "\n  ".join([SCORE, *ADDED[: count + 1]]))) for count in range(len(ADDED))
    ]


def finished(writing: list["Future[Tally]"], stop: Path) -> list[Tally]:
    stop.touch()
    return [each.result() for each in writing]


def await_all(graph: Graph) -> None:
    """Wait until every writer has written."""
    until = time.monotonic() + 60
    for number in range(WRITERS):
        while not any(str(row["id"]).startswith(f"w{number}-") for row in rows(graph, PERSON)):
            assert time.monotonic() < until, "a writer writes nothing"
            time.sleep(0.02)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_no_row_is_lost_while_schemas_are_applied(
    graph: Graph, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    pool = request.getfixturevalue(kind)
    if kind == "threads":
        writing = [pool.submit(write_to, graph, each, str(stop)) for each in range(WRITERS)]
    else:
        writing = [pool.submit(write, graph.uri, each, str(stop)) for each in range(WRITERS)]
    try:
        await_all(graph)
        for schema in schemas():
            assert insisted(partial(graph.apply_schema, schema)).applied
            time.sleep(0.1)
    finally:
        tallies = finished(writing, stop)

    found = rows(graph, PERSON)
    acknowledged = {name for tally in tallies for name in tally.names}
    assert {row["id"] for row in found} == acknowledged | {f"p{n:02}" for n in range(PEOPLE)}
    assert sum(tally.refused for tally in tallies) == 0
    assert {(row["extra0"], row["extra1"], row["extra4"]) for row in found} == {(None, "x", 4)}
    assert graph.schema == schemas()[-1]


def test_no_row_breaks_a_rule_that_was_added_meanwhile(
    graph: Graph, threads: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """The writers write what the new rule forbids; they are refused from some moment on.

    They pause for long enough that a delete and the change of the schema fit between their turns.
    """
    desired = edited((SCORE, f"{SCORE}\n  @range(age, 0..)"))
    stop = tmp_path / "stop"
    writing = [
        threads.submit(write_to, graph, each, str(stop), age=-1, pause=0.5)
        for each in range(WRITERS)
    ]
    applied = False
    try:
        await_all(graph)
        until = time.monotonic() + 60
        while not applied and time.monotonic() < until:
            insisted(partial(graph.mutate, "query q() { delete Person where age < 0 }"))
            with suppress(ViolationsError):
                applied = insisted(partial(graph.apply_schema, desired)).applied
        with pytest.raises(ViolationsError):
            insisted(partial(graph.mutate, INSERT, n="late", a=-1))
    finally:
        finished(writing, stop)

    assert applied
    assert {row["id"] for row in rows(graph, PERSON)} == {f"p{n:02}" for n in range(PEOPLE)}


def test_the_same_schema_applied_by_many_at_once_is_applied_once(
    graph: Graph, processes: ProcessPoolExecutor
) -> None:
    applying = [processes.submit(apply, graph.uri, schemas()[-1]) for _ in range(WRITERS)]

    assert sorted(each.result() for each in applying) == [False] * (WRITERS - 1) + [True]
    assert [commit.kind for commit in graph.log(limit=2)] == ["schema", "write"]
    assert graph.branches() == ["main"]


def test_different_schemas_applied_at_once_are_applied_one_after_the_other(
    graph: Graph, threads: ThreadPoolExecutor
) -> None:
    types = [f"node Extra{number} {{ name: String @key }}\n" for number in range(WRITERS)]

    def add(text: str) -> str:
        """Add a type to whatever schema there is, and again when somebody else changed it."""
        while True:
            plan = graph.plan_schema(graph.schema + text)
            if plan.supported:
                done = graph.branch(expect=plan.head)
                try:
                    commit = done.apply_schema(plan.schema_source).commit
                except HeadMovedError:
                    continue
                assert commit is not None
                return commit.id

    commits = list(threads.map(add, types))

    assert len(set(commits)) == WRITERS
    assert set(graph.catalog.nodes) == {"Person", "City", *(f"Extra{n}" for n in range(WRITERS))}


def test_a_lock_that_a_crash_left_is_taken_over(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_system_branch(graph.repository, SCHEMA_LOCK)
    monkeypatch.setattr(migrate, "schema_lock", partial(schema_lock.schema_lock, lease=0.3))
    began = time.monotonic()

    done = open_graph(graph.uri, durable=False).apply_schema(schemas()[0])

    assert done.applied
    assert time.monotonic() - began > 0.3
    newest = graph.repository.manifest.newest()
    assert graph.repository.manifest.twin(SCHEMA_LOCK, newest) is None


def test_who_waits_for_the_lock_waits_until_it_is_given_back(
    graph: Graph, threads: ThreadPoolExecutor
) -> None:
    with schema_lock.schema_lock(graph.repository):
        waiting = threads.submit(graph.apply_schema, schemas()[0])
        time.sleep(0.3)
        assert not waiting.done()

    assert waiting.result(timeout=10).applied


@pytest.mark.parametrize("why", ["late", "cancelled"])
def test_who_waits_for_the_lock_ends_when_the_time_is_over_or_nobody_waits(
    graph: Graph, why: str, threads: ThreadPoolExecutor
) -> None:
    seconds, cancelled = 0.3 if why == "late" else None, Event()
    began = time.monotonic()

    with schema_lock.schema_lock(graph.repository):
        waiting = threads.submit(
            graph.apply_schema, schemas()[0], seconds=seconds, cancelled=cancelled
        )
        time.sleep(0.1)
        if why == "cancelled":
            cancelled.set()
        with pytest.raises(BudgetError if why == "late" else CancelledError):
            waiting.result(timeout=10)

    assert time.monotonic() - began < schema_lock.LEASE_SECONDS / 2
    assert graph.apply_schema(schemas()[0]).applied


def test_a_lock_that_cannot_be_given_back_does_not_hide_what_was_done(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def fail(step: str) -> None:
        seen.append(step)
        if step == "branch retired" and "head flipped" in seen:
            raise StorageError("the disk is full")

    monkeypatch.setattr(steps, "observer", fail)

    done = graph.apply_schema(schemas()[0])

    assert "branch retired" in seen
    assert (done.applied, graph.schema) == (True, schemas()[0])


def test_the_lock_is_no_branch_of_the_users(graph: Graph) -> None:
    with schema_lock.schema_lock(graph.repository):
        assert graph.branches() == ["main"]
        assert graph.mutate('query q() { insert City { name: "jena" } }').affected_nodes == 1
