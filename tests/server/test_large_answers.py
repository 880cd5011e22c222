"""Large answers: made in pieces, counted while they are made, and cut where they are too large."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.operation import ARROW, JSON
from omnigraph.errors import BudgetError, RemoteError
from tests.sample import new_graph
from tests.server.process import Running, running
from tests.server.raw import connect

PEOPLE = 1_000
QUERY_MIB = 64
WARM = "query w() { match { $a: Person } return { $a.slug, $a.name } }"
ONE = 'query o() { match { $a: Person { slug: "p00001" } } return { $a.name } }'
# A million rows, whose texts are larger than a query may take.
PAIRS = "query q() { match { $a: Person $b: Person } return { $a.name, $b.name as other } }"
SOME = PAIRS.replace("} }", "} limit 200000 }")
OBJECTS = "query s() { match { $a: Person $b: Person } return { $a, $b } }"
DISTINCT = PAIRS.replace("return", "return distinct")
SORTED = PAIRS.replace("} }", "} order { $b.name desc } }")
TRIPLES = """query t() {
    match { $a: Person $b: Person $c: Person { age: 3 } } return { $a.slug, $b.slug, $c.slug }
}"""


def _lines() -> str:
    rows = (
        {"slug": f"p{n:05}", "name": f"the long name of number {n:05}", "age": n % 90}
        for n in range(PEOPLE)
    )
    return "\n".join(json.dumps({"type": "Person", "data": row}) for row in rows)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("large")
    new_graph(folder / "graph").load(_lines())
    tokens = json.dumps({"one": "token-of-one", "other": "token-of-other"})
    limits = [f"query_bytes={QUERY_MIB << 20}", "export_bytes=60000", "threads=4", "streams=2"]
    given = [part for each in limits for part in ("--limit", each)]
    with running(
        folder,
        str(folder / "graph"),
        *given,
        "--allow-writes-without-policy",
        environment={"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": tokens},
    ) as found:
        yield found


def _client(server: Running, actor: str = "one") -> httpx.Client:
    headers = {"authorization": f"Bearer token-of-{actor}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60)


def _resident(server: Running, which: str = "VmRSS") -> int:
    """Return how many bytes of memory the server has, or had at most."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith(which))
    return int(line.split()[1]) << 10


def _forget_peak(server: Running) -> None:
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def _read_all(server: Running, query: str, accept: str) -> tuple[int, bytes, bool]:
    """Return the status of an answer, the end of what came of it, and whether it was complete."""
    tail = b""
    with (
        _client(server) as client,
        client.stream(
            "POST", "/read", json={"query_source": query}, headers={"accept": accept}
        ) as answer,
    ):
        try:
            for piece in answer.iter_bytes():
                tail = (tail + piece)[-2_000:]
        except httpx.RemoteProtocolError:
            return answer.status_code, tail, False
        return answer.status_code, tail, True


@pytest.mark.parametrize("accept", [JSON, ARROW])
@pytest.mark.parametrize("query", [PAIRS, OBJECTS, DISTINCT, SORTED, TRIPLES])
def test_a_query_and_its_answer_take_no_more_than_twice_their_bytes(
    server: Running, query: str, accept: str
) -> None:
    assert _read_all(server, WARM, accept)[0] == 200
    before = _resident(server)
    _forget_peak(server)

    _read_all(server, query, accept)

    assert _resident(server, "VmHWM") - before < 2 * QUERY_MIB << 20


@pytest.mark.parametrize("accept", [JSON, ARROW])
def test_an_answer_that_grows_too_large_is_cut_and_says_why(server: Running, accept: str) -> None:
    status, tail, is_complete = _read_all(server, OBJECTS, accept)

    assert (status, is_complete) == (200, False)
    told = json.loads(tail.splitlines()[-1])
    assert (told["code"], told["detail"]["limit"]) == ("budget_exceeded", "bytes")
    assert told["error"] == f"the answer is larger than {QUERY_MIB} MiB"


def test_our_client_raises_when_an_answer_was_cut(server: Running) -> None:
    graph = omnigraph.connect(server.url, token="token-of-one")

    with pytest.raises(BudgetError, match="the answer is larger than") as raised:
        graph.query(OBJECTS)

    assert raised.value.limit == "bytes"


def test_an_export_that_was_cut_gives_its_rows_and_then_raises(server: Running) -> None:
    graph = omnigraph.connect(server.url, token="token-of-one")
    lines = graph.export()

    with pytest.raises(BudgetError, match="the answer is larger than 0 MiB"):
        list(lines)


def test_what_exceeds_its_budget_before_the_first_byte_is_refused(server: Running) -> None:
    with _client(server) as client:
        answer = client.post("/read", json={"query_source": TRIPLES})

    assert answer.status_code == 400
    assert answer.json()["code"] == "budget_exceeded"


def test_a_large_answer_is_the_same_as_a_local_one(server: Running, tmp_path: Path) -> None:
    graph = omnigraph.connect(server.url, token="token-of-one")
    local = new_graph(tmp_path / "graph")
    local.load(_lines())

    found = graph.query(SOME)
    with _client(server) as client:
        document = client.post("/read", json={"query_source": SOME}).json()

    assert found.table.equals(local.query(SOME).table)
    assert document["row_count"] == len(document["rows"]) == 200_000
    assert (
        document["rows"][::1000]
        == pa.table(found.table).take(pa.array(range(0, 200_000, 1000))).to_pylist()
    )


def test_a_small_answer_has_a_length(server: Running) -> None:
    with _client(server) as client:
        answer = client.post("/read", json={"query_source": ONE})

    assert int(answer.headers["content-length"]) == len(answer.content)


def test_a_point_read_does_not_wait_for_the_answers_of_others(server: Running) -> None:
    with _client(server, "other") as client:
        client.post("/read", json={"query_source": ONE})
        busy = threading.Thread(target=_read_all, args=(server, SOME, JSON))
        busy.start()
        longest = 0.0
        while busy.is_alive():
            began = time.perf_counter()
            assert client.post("/read", json={"query_source": ONE}).status_code == 200
            longest = max(longest, time.perf_counter() - began)
        busy.join()

    assert longest < 1.0


def test_an_actor_has_few_large_answers_at_the_same_time(server: Running) -> None:
    body = json.dumps({"query_source": SOME}).encode()
    head = b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Authorization: Bearer token-of-one\r\nContent-Length: %d\r\n\r\n" % len(body)
    slow = [connect(server.address) for _ in range(2)]
    try:
        for each in slow:
            each.sendall(head + body)
            assert each.recv(12) == b"HTTP/1.1 200"
        with _client(server) as client:
            refused = client.post("/read", json={"query_source": SOME})
            small = client.post("/read", json={"query_source": ONE})
        with _client(server, "other") as client:
            others = client.post("/read", json={"query_source": SOME})
    finally:
        for each in slow:
            each.close()

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert small.status_code == others.status_code == 200


def test_an_answer_without_an_end_or_a_reason_is_an_error(server: Running) -> None:
    body = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n"
    body += b'transfer-encoding: chunked\r\n\r\n5\r\n{"a"\n\r\n'
    with _cut_short(body) as address:
        graph = omnigraph.connect(f"http://{address}")
        with pytest.raises(RemoteError):
            list(graph.export())


@contextmanager
def _cut_short(answer: bytes) -> Iterator[str]:
    """Serve one answer, again and again, and close the connection behind it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    found, _ = listening.accept()
                    with found:
                        found.recv(65_536)
                        found.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield "{}:{}".format(*listening.getsockname())
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)
