"""Those who change the manifest of a graph on one machine do it one at a time."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.storage import layout
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.turns import flip_turn as turns
from omnigraph.versioning.turns import locks
from omnigraph.versioning.turns.branch_turn import turn
from omnigraph.versioning.turns.flip_turn import flip_turn
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, new_graph, people, write

WRITERS, COMMITS, DEADLINE = 8, 6, 120

# Forks while it has the turn, and says whether it gets it again while its child lives.
FORKING = """
import os, signal, sys, time
from omnigraph.storage.store import store_at
from omnigraph.versioning.turns import flip_turn as turns

turns._LONGEST_WAIT, store = 20, store_at(sys.argv[1])
with turns.flip_turn(store):
    child = os.fork()
    if not child:
        time.sleep(600)
begun = time.monotonic()
with turns.flip_turn(store):
    print(time.monotonic() - begun < turns._LONGEST_WAIT)
os.kill(child, signal.SIGKILL)
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def test_writers_of_many_branches_lose_no_race_for_the_manifest(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance, skipped = Tables.advance, []

    def noted(self: Tables, table: Table, *given: Any, **named: Any) -> Table:
        made = advance(self, table, *given, **named)
        if table.path == layout.MANIFEST:
            skipped.append(made.version - table.version - 1)
        return made

    def work(number: int) -> None:
        graph.create_branch(f"task/{number}")
        for step in range(COMMITS):
            rows = people({f"{number}-{step}": step})
            write(graph, {PERSON: (Append(rows),)}, branch=f"task/{number}")
        graph.merge(f"task/{number}")
        graph.delete_branch(f"task/{number}")

    monkeypatch.setattr(turns, "_LONGEST_WAIT", DEADLINE)
    monkeypatch.setattr(Tables, "advance", noted)
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(work, range(WRITERS)))

    assert len(skipped) > WRITERS * (COMMITS + 3)
    # Who deletes a branch has itself noted before where that stood.
    assert sorted(skipped)[-WRITERS - 1 :] == [0, *[1] * WRITERS]
    assert len(ages(graph)) == WRITERS * COMMITS


def test_nobody_waits_for_long_for_one_who_keeps_the_turn(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_LONGEST_WAIT", 0.1)
    with flip_turn(store_at(graph.uri)), ThreadPoolExecutor(1) as pool:
        pool.submit(write, graph, {PERSON: (Append(people({"ann": 1})),)}).result(DEADLINE)

    assert ages(graph) == {"ann": 1}


def test_a_thread_does_not_wait_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_LONGEST_WAIT", 10 * DEADLINE)
    done = threading.Event()

    def nest() -> None:
        with flip_turn(store_at(tmp_path)), flip_turn(store_at(tmp_path)):
            done.set()

    threading.Thread(target=nest, daemon=True).start()
    assert done.wait(DEADLINE)


def test_a_process_that_is_forked_meanwhile_does_not_keep_the_turn(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True)

    assert done.stdout == "True\n"


def test_on_a_disk_without_locks_nobody_waits(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> bool:
        raise OSError("no locks available")

    monkeypatch.setattr(locks, "has_lock", fail)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert ages(graph) == {"ann": 1}


def test_without_a_temporary_folder_nobody_waits(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise FileNotFoundError("no usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", fail)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert ages(graph) == {"ann": 1}


def test_a_turn_that_cannot_be_given_back_makes_no_change_fail(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError("the disk failed")

    def flock(file: int, how: int) -> None:
        if how == fcntl.LOCK_UN:
            fail()
        lock(file, how)

    lock = fcntl.flock
    monkeypatch.setattr(os, "pread", fail)
    monkeypatch.setattr(fcntl, "flock", flock)
    with turn(store_at(graph.uri), "main", Patience()):
        write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert ages(graph) == {"ann": 1}


def test_a_temporary_folder_that_is_cleared_meanwhile_is_made_again(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "machine"
    machine.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(machine))
    for number in range(2):
        write(graph, {PERSON: (Append(people({f"p{number}": 1})),)})
        (lines,) = machine.iterdir()
        assert any(each.name.startswith("flip-") for each in lines.iterdir())
        shutil.rmtree(lines)

    assert len(ages(graph)) == 2
