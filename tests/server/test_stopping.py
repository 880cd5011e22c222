"""A server lets go of work that nobody waits for, and stops in time whatever runs."""

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.server.limits import Limits
from tests.pipeline.drivers import eventually
from tests.sample import new_graph
from tests.server.process import Running, running
from tests.server.serving import TOKENS, Served, serving

GRACE = 4
PERSON = "node:Person"


def people(count: int) -> bytes:
    """Return lines that take some seconds to load: each is read singly."""
    line = ' {{"type":"Person","data":{{"slug":"p{}","name":"n","age":{}}}}}\n'
    return "".join(line.format(n, f"{n}e0") for n in range(count)).encode()


def send(
    address: str, path: str, data: bytes, method: str = "POST", more: int = 0
) -> socket.socket:
    """Begin a request on a connection of its own, of which more bytes come; wait for no answer."""
    host, port = address.rsplit(":", 1)
    opened = socket.create_connection((host, int(port)), timeout=10)
    kind = "application/x-ndjson" if path.startswith("/load") else "application/json"
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {kind}\r\n"
        "accept: application/json, text/event-stream\r\n"
        f"authorization: Bearer {TOKENS['owner']}\r\ncontent-length: {len(data) + more}\r\n\r\n"
    )
    opened.sendall(head.encode() + data)
    return opened


def answer_on(opened: socket.socket) -> tuple[int, dict[str, object]]:
    """Return the status and the document of the answer that came on a connection."""
    answer = http.client.HTTPResponse(opened)
    answer.begin()
    return answer.status, json.load(answer)


def events(server: Running) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = Limits(ingest_seconds=10, threads=4, write_seconds=0.5)
    with serving(tmp_path_factory.mktemp("stopping"), limits) as found:
        yield found


def is_idle(served: Served) -> Callable[[], bool]:
    return lambda: served.server.app.admission.running == 0


def test_a_load_ends_when_its_client_goes(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(ingest_seconds=10, threads=4)) as served:
        before = served.graph.commit(served.graph.snapshot().commit.id)
        with send(served.address, "/load?mode=append", people(200_000)):
            assert eventually(lambda: served.server.app.admission.running == 1, 10), "no load began"
            time.sleep(0.3)
        began = time.monotonic()
        assert eventually(is_idle(served), 20), "the load runs on"
        assert time.monotonic() - began < 10
        assert served.graph.snapshot().commit == before
        assert served.ask("GET", "/healthz").status_code == 200


def test_a_load_that_takes_too_long_is_refused_with_its_limit(loaded: Served) -> None:
    headers = {"content-type": "application/x-ndjson"}
    answer = loaded.ask("POST", "/load", headers=headers, content=people(200_000))
    assert answer.status_code == 400
    said = answer.json()
    assert (said["code"], said["detail"]["limit"]) == ("budget_exceeded", "seconds")
    assert said["error"] == "the load ran longer than 0.5 s"
    assert eventually(is_idle(loaded), 10)


def test_an_upload_of_millions_of_bad_lines_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(ingest_seconds=60, threads=4)) as served:
        headers = {"content-type": "application/x-ndjson"}
        answer = served.ask(
            "POST", "/load", headers=headers, content=b"{\n" * (8 << 20), timeout=60
        )
        assert answer.status_code == 400
        said = answer.json()
        assert said["detail"]["violation_count"] == 100_001
        assert len(said["detail"]["violations"]) == 20
        assert "more than 99,999 more" in said["error"]


def test_a_stopping_server_answers_what_it_cancels_and_ends_in_time(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    with running(tmp_path, "graph", "--limit", f"stop_seconds={GRACE}") as server:
        answers: list[httpx.Response] = []
        data = people(350_000)

        def load() -> None:
            answers.append(
                httpx.post(
                    f"{server.url}/load",
                    content=data,
                    headers={"content-type": "application/x-ndjson"},
                    timeout=60,
                )
            )

        client = threading.Thread(target=load)
        client.start()
        time.sleep(1.0)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 0
        assert time.monotonic() - began < GRACE + 1
        client.join(10)
        assert [each.status_code for each in answers] in ([503], [200])
        if answers[0].status_code == 503:
            assert answers[0].json()["code"] == "cancelled"
            assert open_graph(tmp_path / "graph").snapshot().state(PERSON).row_count == 0
        assert "failed" not in {each["event"] for each in events(server)}


def test_a_server_whose_work_cannot_be_cancelled_ends_in_time_all_the_same(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    stubborn = (
        "import sys, time\n"
        "from omnigraph.api.local import changes, reads, writes\n"
        "from omnigraph.api.operations.commits import ListCommits\n"
        "from omnigraph.api.operations.read import ReadRows\n"
        "from omnigraph.api.operations.write import Load\n"
        "writes.FUNCTIONS[Load] = lambda *_: time.sleep(600)\n"
        "changes.FUNCTIONS[ListCommits] = lambda *_: time.sleep(600)\n"
        "reads.FUNCTIONS[ReadRows] = lambda *_: time.sleep(600)\n"
        "from omnigraph.server.main import main\n"
        "main()\n"
    )
    script = tmp_path / "stubborn.py"
    script.write_text(stubborn)
    with (
        running(tmp_path, "graph", "--limit", f"stop_seconds={GRACE}", script=script) as server,
        send(server.address, "/load", people(1)) as writer,
        send(server.address, "/load", people(1), more=1) as sender,
        send(server.address, "/commits", b"", "GET") as reader,
        send(server.address, "/read", b'{"query_source": "MATCH (p:Person)"}') as asker,
    ):
        time.sleep(0.5)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 0
        assert time.monotonic() - began < GRACE + 1
        last = events(server)[-2:]
        assert [each["event"] for each in last] == [
            "stopped while requests were running",
            "stopped",
        ]
        assert last[0]["running"] == 3
        status, told = answer_on(writer)
        assert (status, told["code"]) == (500, "outcome_unknown")
        for nothing_was_done in (sender, reader, asker):
            status, told = answer_on(nothing_was_done)
            assert (status, told["code"]) == (503, "cancelled")


def test_calls_of_agents_are_finished_by_a_stopping_server_that_ends_in_time(
    tmp_path: Path,
) -> None:
    new_graph(tmp_path / "graph")
    slow = (
        "import time\n"
        "from omnigraph.server.agents.speaker import Speaker\n"
        "worked, seconds = Speaker.worked, iter([2, 600])\n"
        "def slowly(self, request, work):\n"
        "    return worked(self, request, lambda: (time.sleep(next(seconds)), work())[1])\n"
        "Speaker.worked = slowly\n"
        "from omnigraph.server.main import main\n"
        "main()\n"
    )
    script = tmp_path / "slow.py"
    script.write_text(slow)
    call = {"name": "schema", "arguments": {}}
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    with (
        running(tmp_path, "graph", "--limit", f"stop_seconds={GRACE}", script=script) as server,
        send(server.address, "/mcp", data) as quick,
    ):
        assert quick.recv(1 << 16).startswith(b"HTTP/1.1 200 ")  # it is at work
        with send(server.address, "/mcp", data) as stubborn:
            assert stubborn.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert b'"result"' in b"".join(iter(lambda: quick.recv(1 << 16), b""))
            assert server.wait() == 0
            assert time.monotonic() - began < GRACE + 1
