"""Several processes serve one address: one can be killed, and turns and counts are of the whole."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.server.access.admission import Admission
from omnigraph.server.limits import Limits
from omnigraph.server.process.shared import SharedTurns, WorkerSide
from omnigraph.server.process.sides import NICENESS
from omnigraph.server.process.workers import VARIABLE, WorkerSettings
from tests.sample import new_graph
from tests.server.process import Running, ask, running
from tests.server.serving import ADD, ALL, PEOPLE

LONGEST = 120.0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    new_graph(tmp_path / "graph").load(PEOPLE)
    with running(tmp_path, "graph", "--workers", "2") as found:
        yield found


def workers_of(served: Running) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(served.process.pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(each) for each in listed.stdout.split()]


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not is_so():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def counted(served: Running) -> int:
    text = httpx.get(f"{served.url}/metrics", timeout=30).text
    found = re.findall(r'omnigraph_requests_total\{route="POST /read",status="200"\} (\d+)', text)
    return int(found[0]) if found else 0


def test_two_workers_answer_and_their_counts_are_one(served: Running) -> None:
    assert len(workers_of(served)) == 2

    for _ in range(20):
        assert ask(served.url, "/read", {"query_source": ALL}).status_code == 200

    wait_for(lambda: counted(served) == 20)


def test_a_killed_worker_loses_no_acknowledged_write_and_is_started_again(
    served: Running, tmp_path: Path
) -> None:
    written: list[str] = []
    done = threading.Event()

    def write_on() -> None:
        number = 0
        while not done.is_set():
            slug = f"p{number}"
            number += 1
            try:
                body = {"query_source": ADD, "params": {"slug": slug}}
                if ask(served.url, "/change", body).status_code == 200:
                    written.append(slug)
            except httpx.TransportError:
                continue  # it was with the worker that was killed

    writing = threading.Thread(target=write_on)
    writing.start()
    try:
        wait_for(lambda: len(written) >= 3)
        before = workers_of(served)
        os.kill(before[0], signal.SIGKILL)
        so_far = len(written)
        wait_for(lambda: len(written) >= so_far + 3)
        wait_for(lambda: len(set(workers_of(served)) - set(before)) == 1)
    finally:
        done.set()
        writing.join(LONGEST)
    with open_graph(tmp_path / "graph", read_only=True) as graph:
        slugs = {row["p.slug"] for row in graph.query(ALL).to_dicts()}
    assert set(written) <= slugs


def test_a_stop_ends_all_workers_with_success(served: Running) -> None:
    workers = workers_of(served)

    served.process.send_signal(signal.SIGTERM)

    assert served.wait() == 0
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_workers_end_when_nobody_supervises_them_any_more(served: Running) -> None:
    workers = workers_of(served)

    served.process.kill()
    served.process.wait(30)

    def are_gone() -> bool:
        return not any(_is_running(pid) for pid in workers)

    wait_for(are_gone)


def _is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_address_that_is_taken_is_one_message(
    tmp_path: Path, served: Running, workers: str
) -> None:
    port = served.address.rpartition(":")[2]
    program = served.process.args[0]  # type: ignore[index]
    again = subprocess.run(
        [str(program), "graph", "--workers", workers, "--bind", f"127.0.0.1:{port}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert again.returncode == 1
    assert f"127.0.0.1:{port} is in use" in again.stderr
    assert "choose another with --bind" in again.stderr
    assert len(again.stderr.splitlines()) == 2


def test_the_turns_of_an_actor_are_counted_over_all_workers(tmp_path: Path) -> None:
    import asyncio

    SharedTurns.make(tmp_path, 2)
    limits = Limits(threads=4, share=1)
    one, two = (Admission(limits, SharedTurns.at(tmp_path, index, 2)) for index in range(2))
    order: list[str] = []

    async def scenario() -> None:
        with one.entered("noisy"), two.entered("quiet"):
            async with one.turn("noisy"):
                waiting = asyncio.create_task(second())
                await asyncio.sleep(0.1)
                assert not waiting.done()  # its only turn is in the other worker
                async with two.turn("quiet"):
                    order.append("quiet")
            await asyncio.wait_for(waiting, LONGEST)

    async def second() -> None:
        async with two.turn("noisy"):
            order.append("noisy")

    asyncio.run(scenario())
    assert order == ["quiet", "noisy"]


def test_what_a_dead_worker_counted_is_kept_and_its_turns_are_freed(tmp_path: Path) -> None:
    SharedTurns.make(tmp_path, 2)
    one, two = (SharedTurns.at(tmp_path, index, 2) for index in range(2))
    one.count("ann", 3)
    assert two.elsewhere("ann") == 3

    two.clear(0)

    assert two.elsewhere("ann") == 0
    counts = {"requests": [["GET /", 200, 2]], "gauges": {"running": 1}}
    (tmp_path / "counts-999999999.json").write_text(json.dumps(counts))
    assert two.counts_of_others() == [{**counts, "gauges": {}}]


def test_a_connection_goes_to_the_side_of_its_actor_and_its_client_sees_nothing(
    tmp_path: Path,
) -> None:
    new_graph(tmp_path / "graph").load(PEOPLE)
    with two_workers(tmp_path) as (address, shared, pids):
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert [os.getpriority(os.PRIO_PROCESS, pid) - own for pid in pids] == [
            0,
            min(NICENESS, 19 - own),
        ]
        connection = HTTPConnection(address, timeout=LONGEST)
        for side, place in ((WorkerSide.BACK, 1), (WorkerSide.FRONT, 0), (WorkerSide.BACK, 1)):
            shared.sides[:] = side
            assert read_people(connection) == 200
            wait_for(lambda: shared.connections() == [1 - place, place])  # noqa: B023
            assert read_people(connection) == 200
        connection.close()


def read_people(connection: HTTPConnection) -> int:
    """Read on a connection that must not have been closed."""
    is_first = connection.sock is None
    connection.auto_open = int(is_first)
    body = json.dumps({"query_source": ALL})
    connection.request("POST", "/read", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


@contextmanager
def two_workers(folder: Path) -> Iterator[tuple[str, SharedTurns, list[int]]]:
    """Run two workers that the test supervises; gives their address, their table and processes."""
    SharedTurns.make(folder, 2)
    shared = SharedTurns.at(folder, 0, 2)
    program = str(Path(sys.executable).with_name("omnigraph-server"))
    reading, writing = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        try:
            for index in range(2):
                settings = WorkerSettings(
                    index=index,
                    workers=2,
                    folder=folder,
                    listening=listening.fileno(),
                    alive=reading,
                )
                processes.append(
                    subprocess.Popen(
                        [program, "graph", "--workers", "2", "--bind", f"{host}:{port}"],
                        cwd=folder,
                        env={**os.environ, VARIABLE: settings.to_text()},
                        pass_fds=(settings.listening, settings.alive),
                    )
                )
            wait_for(lambda: len(list(folder.glob("ready-*"))) == 2)
            yield f"{host}:{port}", shared, [each.pid for each in processes]
        finally:
            for each in processes:
                each.kill()
                each.wait(LONGEST)
            os.close(reading)
            os.close(writing)
