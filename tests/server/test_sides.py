"""A noisy actor is served apart from the others, and connections go where they are served best."""

import asyncio
import subprocess
import sys
from pathlib import Path
from socket import SOCK_STREAM, socket, socketpair

import numpy as np
import pytest

from omnigraph.server.access.admission import Admission
from omnigraph.server.limits import Limits
from omnigraph.server.process.moves import Moves
from omnigraph.server.process.shared import SharedTurns, WorkerSide
from omnigraph.server.process.sides import WorkerSides, sides

LONGEST = 60.0
Told = tuple[float, float, float]

# Processor seconds, seconds that requests were here, and requests, all of the last seconds.
QUIET: Told = (0.5, 1.0, 500)
NOISY: Told = (2.0, 20.0, 100)
GONE: Told = (2.0, 20.0, 0.01)


def side_of(*told: Told, before: list[WorkerSide] | None = None) -> list[WorkerSide]:
    spent, stayed, answered = np.array(told, float).T
    old = np.array(before or [WorkerSide.ANY] * len(told))
    return [WorkerSide(each) for each in sides(spent, stayed, answered, old)]


def test_who_has_much_work_waiting_is_at_the_back_and_the_others_are_in_front() -> None:
    assert side_of(QUIET, NOISY) == [WorkerSide.FRONT, WorkerSide.BACK]
    assert side_of(QUIET, NOISY, QUIET, NOISY) == [
        WorkerSide.FRONT,
        WorkerSide.BACK,
        WorkerSide.FRONT,
        WorkerSide.BACK,
    ]


def test_many_cheap_requests_at_once_are_as_noisy_as_a_few_costly_ones() -> None:
    crowd = (1.0, 20.0, 1_000)

    assert side_of(QUIET, crowd) == [WorkerSide.FRONT, WorkerSide.BACK]


def test_who_is_alone_has_all_workers() -> None:
    assert side_of(NOISY) == [WorkerSide.ANY]
    assert side_of(NOISY, GONE) == [WorkerSide.ANY, WorkerSide.ANY]
    assert side_of(GONE) == [WorkerSide.ANY]


def test_actors_alike_have_all_workers_however_busy_they_are() -> None:
    assert set(side_of(QUIET, QUIET, QUIET)) == {WorkerSide.ANY}
    assert set(side_of(NOISY, NOISY)) == {WorkerSide.ANY}


def test_when_most_actors_are_busy_no_worker_is_kept_free_for_the_last_one() -> None:
    assert set(side_of(QUIET, NOISY, NOISY, NOISY)) == {WorkerSide.ANY}


def test_a_costly_request_now_and_then_disturbs_nobody() -> None:
    assert set(side_of(QUIET, (0.05, 0.05, 1))) == {WorkerSide.ANY}


def test_who_is_noisy_stays_so_until_much_less_is_waiting() -> None:
    busy, twice = (2.0, 5.0, 500), (2.0, 10.0, 500)

    assert side_of(busy, twice) == [WorkerSide.ANY, WorkerSide.ANY]
    assert side_of(busy, twice, before=[WorkerSide.FRONT, WorkerSide.BACK]) == [
        WorkerSide.FRONT,
        WorkerSide.BACK,
    ]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[SharedTurns, SharedTurns]:
    SharedTurns.make(tmp_path, 2)
    return SharedTurns.at(tmp_path, 0, 2), SharedTurns.at(tmp_path, 1, 2)


def test_sides_follow_what_the_workers_count(pair: tuple[SharedTurns, SharedTurns]) -> None:
    one, two = pair
    decided = WorkerSides(one)
    for _ in range(50):
        one.spend("quiet", 0.001)
        one.left("quiet", 0.002)
        two.spend("noisy", 0.02)
        two.left("noisy", 0.2)

    decided.decide(1.0)

    one.note_connections(1)
    two.note_connections(1)
    assert two.better_for("quiet", 100) == 0
    assert two.better_for("noisy", 100) is None
    assert one.better_for("noisy", 100) == 1

    for _ in range(20):
        decided.decide(1.0)

    assert one.better_for("noisy", 100) is None


def test_a_busy_worker_gives_connections_to_an_idle_one_until_both_have_as_many(
    pair: tuple[SharedTurns, SharedTurns],
) -> None:
    one, two = pair
    one.note_connections(3)
    two.note_connections(1)
    assert one.better_for("ann", 100) is None  # it is idle itself

    one.note_busy(1e12)  # began just now: the clock is far from there
    assert one.better_for("ann", 100) == 1
    assert one.better_for("ann", 1) is None  # the other has no room

    one.note_connections(2)
    assert one.better_for("ann", 100) is None
    one.note_busy(1e-9)  # began long ago
    assert one.better_for("ann", 100) == 1

    two.note_busy(1e-9)
    assert one.better_for("ann", 100) is None


def test_requests_and_their_processor_time_are_counted_by_actor(
    pair: tuple[SharedTurns, SharedTurns],
) -> None:
    one, two = pair
    admission = Admission(Limits(), one)
    with admission.entered("ann"):
        pass
    two.spend("ann", 0.5)

    spent, stayed, answered = two.totals().sum(axis=1)
    assert (spent, answered) == (0.5, 1)
    assert stayed > 0


def test_a_moved_connection_brings_what_its_client_sent_meanwhile(
    pair: tuple[SharedTurns, SharedTurns],
) -> None:
    client, served = socketpair(type=SOCK_STREAM)
    came: list[tuple[socket, bool]] = []

    async def scenario() -> None:
        one, two = (Moves(each, 10) for each in pair)
        there = asyncio.Event()

        def welcome(connection: socket, is_known: bool) -> None:
            came.append((connection, is_known))
            there.set()

        two.take(welcome)
        client.sendall(b"early")
        assert one.send(served, 1, is_known=True)
        served.close()
        client.sendall(b" and late")
        await asyncio.wait_for(there.wait(), LONGEST)
        two.close()
        one.close()

    asyncio.run(scenario())
    ((connection, is_known),) = came
    assert is_known
    assert connection.recv(100) == b"early and late"
    assert not connection.get_inheritable()
    connection.close()
    client.close()


def test_a_connection_stays_when_the_other_worker_is_gone(
    pair: tuple[SharedTurns, SharedTurns],
) -> None:
    client, served = socketpair(type=SOCK_STREAM)

    async def scenario() -> None:
        one, two = (Moves(each, 10) for each in pair)
        two.take(lambda *_: None)
        two.close()
        assert not one.send(served, 1, is_known=False)
        one.close()

    asyncio.run(scenario())
    served.sendall(b"still here")
    assert client.recv(100) == b"still here"
    client.close()
    served.close()


_HOLDS = """
import sys
from pathlib import Path
from omnigraph.server.process.shared import SharedTurns
with SharedTurns.at(Path(sys.argv[1]), 1, 2).locked("noisy"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_turn_does_not_wait_for_a_worker_that_looks_after_another_actor(
    tmp_path: Path, pair: tuple[SharedTurns, SharedTurns]
) -> None:
    one, _ = pair
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"

        async def scenario() -> None:
            admission = Admission(Limits(), one)
            with admission.entered("quiet"):
                async with admission.turn("quiet"):
                    assert other.poll() is None

        asyncio.run(scenario())
        other.stdin.close()
