"""Connections: what no well-behaved client sends neither gets through nor holds the server up."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from queue import Queue

import pytest

from omnigraph.server.limits import Limits
from omnigraph.server.protocol import Guarded
from tests.server.raw import AUTHORIZED, connect, exchange, post, talk
from tests.server.serving import ALL, PATIENT, Served, serving

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json"
_DELETE = b"DELETE /branches/victim HTTP/1.1\r\nHost: localhost\r\n" + AUTHORIZED + b"\r\n"
_CHANGE = b'{"query_source": "x"}'
HASTY = replace(PATIENT, header_seconds=1.0, body_seconds=1.0, ingest_seconds=1.0)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve with little patience for requests that come slowly."""
    with serving(tmp_path_factory.mktemp("hasty"), HASTY) as found:
        yield found


@pytest.fixture(autouse=True)
def _still_answers(served: Served) -> Iterator[None]:
    """Whatever a test sent, the next request of somebody else is served."""
    yield
    assert served.client.get("/healthz").status_code == 200


SMUGGLING = {
    "length and chunks": post(
        "/read", JSON, b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"
    ),
    "two lengths": post("/read", JSON, b"Content-Length: 0", b"Content-Length: 5", body=b"{}"),
    "lengths in one": post("/read", JSON, b"Content-Length: 2, 3", body=b"{}"),
    "negative length": post("/read", JSON, b"Content-Length: -1", body=b"{}"),
    "length with a plus": post("/read", JSON, b"Content-Length: +2", body=b"{}"),
    "length in hex": post("/read", JSON, b"Content-Length: 0x2", body=b"{}"),
    "huge length": post("/read", JSON, b"Content-Length: 99999999999999999999999", body=b"{}"),
    "other coding": post("/read", JSON, b"Transfer-Encoding: cow", body=b"0\r\n\r\n"),
    "chunked twice": post(
        "/read", JSON, b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"
    ),
    "space before colon": post("/read", JSON, b"Content-Length : 2", body=b"{}"),
    "folded header": post("/read", JSON, b"X-A: b\r\n c: d", b"Content-Length: 0"),
    "bare line feed": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "null in a header": post("/read", JSON, b"X-A: b\0c", b"Content-Length: 0"),
    "bad chunk size": post("/read", JSON, b"Transfer-Encoding: chunked", body=b"zz\r\n\r\n"),
    "chunk size with a sign": post(
        "/read", JSON, b"Transfer-Encoding: chunked", body=b"+2\r\n{}\r\n0\r\n\r\n"
    ),
    "chunk without its end": post(
        "/read", JSON, b"Transfer-Encoding: chunked", body=b"2\r\n{}x0\r\n\r\n"
    ),
    "trailers": post(
        "/read", JSON, b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\nX-A: b\r\n\r\n"
    ),
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    "another host": b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "absolute address of another": b"GET http://evil/healthz HTTP/1.1\r\nHost: evil\r\n\r\n",
    "old protocol": b"GET /healthz HTTP/0.9\r\n" + HOST + b"\r\n",
    "new protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "upgrade": b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "tunnel": b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "space in the path": b"GET /health z HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_what_two_servers_could_read_in_two_ways_is_refused_and_ends_the_connection(
    served: Served, name: str
) -> None:
    served.graph.create_branch("victim") if "victim" not in served.graph.branches() else None
    reply = exchange(served.address, SMUGGLING[name] + _DELETE, seconds=1.5)
    assert len(reply.statuses) <= 1
    assert not reply.statuses or 400 <= reply.statuses[0] < 500, reply.data
    assert reply.is_closed
    assert "victim" in served.graph.branches()


def test_a_request_that_comes_before_the_last_answer_is_not_run(served: Served) -> None:
    served.graph.create_branch("kept")
    first = b"GET /snapshot HTTP/1.1\r\nHost: localhost\r\n" + AUTHORIZED + b"\r\n"
    reply = exchange(served.address, first + _DELETE.replace(b"victim", b"kept"))
    assert reply.statuses == [200]
    assert reply.is_closed
    assert "kept" in served.graph.branches()


@pytest.mark.parametrize(
    "head",
    [
        b"X-Large: " + b"a" * (1 << 20) + b"\r\n",
        b"".join(b"X-%d: a\r\n" % number for number in range(20_000)),
        b"".join(b"X-%d: a\r\n" % number for number in range(101)),
        b"a" * (1 << 20) + b": b\r\n",
    ],
    ids=["one of 1 MB", "20,000", "101", "a name of 1 MB"],
)
def test_headers_that_are_too_large_or_too_many_are_refused(served: Served, head: bytes) -> None:
    reply = exchange(served.address, b"GET /healthz HTTP/1.1\r\n" + HOST + head + b"\r\n")
    assert reply.statuses == [431]
    assert reply.document["code"] == "headers_too_large"
    assert reply.is_closed


def test_a_path_that_is_too_long_is_refused(served: Served) -> None:
    reply = exchange(served.address, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert reply.statuses == [431]


def _trickle(found: socket.socket, part: bytes) -> None:
    """Send some bytes now and then until something comes back, which they must not put off."""
    until = time.monotonic() + 60
    while not select.select([found], [], [], 0.1)[0]:
        assert time.monotonic() < until, "bytes that come now and then put the deadline off"
        with suppress(ConnectionError):
            found.sendall(part)


def test_headers_that_come_too_slowly_end_the_connection(served: Served) -> None:
    with closing(connect(served.address)) as found:
        found.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        _trickle(found, b"X")
        reply = talk(found, [])
        assert reply.statuses == [408]
        assert reply.is_closed


def test_a_client_that_leaves_as_it_is_refused_is_let_go(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse, outcome = Guarded._late, Queue[Exception | None]()

    def leave_first(connection: Guarded) -> None:
        found.close()  # so that the answer is met by a reset, which the server has not read yet
        try:
            refuse(connection)
        except Exception as failed:
            outcome.put(failed)
            raise
        outcome.put(None if connection._transport.is_closing() else Exception("it stays"))

    monkeypatch.setattr(Guarded, "_late", leave_first)
    found = connect(served.address)
    found.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    assert outcome.get(timeout=60) is None


def test_empty_lines_before_a_request_do_not_push_the_deadline(served: Served) -> None:
    with closing(connect(served.address)) as found:
        _trickle(found, b"\r\n")
        assert talk(found, []).is_closed


def test_a_connection_on_which_nothing_comes_is_closed(served: Served) -> None:
    assert exchange(served.address).is_closed


def test_a_body_that_comes_too_slowly_is_refused(served: Served) -> None:
    with closing(connect(served.address)) as found:
        found.sendall(post("/read", JSON, b"Content-Length: 1000"))
        _trickle(found, b" ")
        reply = talk(found, [])
        assert reply.statuses == [408]
        assert reply.is_closed


def test_a_body_of_chunks_that_never_say_anything_is_refused(served: Served) -> None:
    endless = b"1;" + b"a" * 200_000
    reply = exchange(served.address, post("/read", JSON, b"Transfer-Encoding: chunked"), endless)
    assert reply.statuses == [400]
    assert reply.is_closed


def test_a_client_that_expects_to_be_asked_for_its_body_is_asked(served: Served) -> None:
    body = b'{"query_source": "%s"}' % ALL.encode()
    size = b"Content-Length: %d" % len(body)
    with closing(connect(served.address)) as found:
        found.sendall(post("/read", JSON, size, b"Expect: 100-continue", b"Connection: close"))
        found.settimeout(3)
        assert found.recv(100).startswith(b"HTTP/1.1 100")
        assert talk(found, [body]).statuses == [200]


def test_who_may_not_is_told_so_without_being_asked_for_a_body(served: Served) -> None:
    head = post("/read", JSON, b"Content-Length: 10", b"Expect: 100-continue")
    reply = exchange(served.address, head.replace(AUTHORIZED, b""), seconds=0.5)
    assert reply.statuses == [401]


def test_who_is_refused_cannot_go_on_sending(served: Served) -> None:
    head = post("/read", JSON, b"Transfer-Encoding: chunked").replace(AUTHORIZED, b"")
    with closing(connect(served.address)) as found:
        found.sendall(head)
        answer = found.recv(1_000)
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"connection: close" in answer
        begun = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - begun < 10:
                found.sendall(b"1000\r\n" + b"a" * 0x1000 + b"\r\n")
                time.sleep(0.01)
        assert time.monotonic() - begun < 10


def test_a_connection_is_kept_after_a_refusal_whose_body_was_read(served: Served) -> None:
    request = post("/read", JSON, b"Content-Length: 2", body=b"{}")
    with closing(connect(served.address)) as found:
        for _ in range(3):
            found.sendall(request)
            answer = b""
            while not answer.endswith(b"}"):
                answer += found.recv(10_000)
            assert answer.startswith(b"HTTP/1.1 400")
            assert b"connection: close" not in answer


def test_a_web_page_of_another_site_is_refused(served: Served) -> None:
    answer = served.ask("GET", "/branches", headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")
    same = served.ask("GET", "/branches", headers={"origin": f"http://{served.address}"})
    assert same.status_code == 200
    assert not any(name.startswith("access-control") for name in same.headers)


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
BRANCHES = b"GET /branches HTTP/1.1\r\nHost: localhost\r\n" + AUTHORIZED + b"\r\n"
FEW = replace(PATIENT, connections=4)


def _answered(found: socket.socket, request: bytes = HEALTH) -> bool:
    """Tell whether a request gets an answer on an open connection."""
    found.settimeout(20)
    try:
        found.sendall(request)
        with HTTPResponse(found) as answer:
            answer.begin()
            answer.read()
            return answer.status == 200
    except (HTTPException, OSError):
        return False


def test_when_there_are_too_many_connections_the_oldest_idle_one_goes(tmp_path: Path) -> None:
    with serving(tmp_path, FEW) as served, ExitStack() as stack:
        found = [stack.enter_context(closing(connect(served.address))) for _ in range(2)]
        found[1].sendall(b"GET /healthz HTTP/1.1\r\nHo")  # half of a head is idle as well
        found += [stack.enter_context(closing(connect(served.address))) for _ in range(2)]
        time.sleep(0.1)
        found += [stack.enter_context(closing(connect(served.address))) for _ in range(2)]

        assert [_answered(each) for each in found[2:]] == [True] * 4
        assert [_answered(each) for each in found[:2]] == [False] * 2


def test_idle_connections_of_actors_go_last(tmp_path: Path) -> None:
    with serving(tmp_path, FEW) as served, ExitStack() as stack:
        known = stack.enter_context(closing(connect(served.address)))
        assert _answered(known, BRANCHES)
        for _ in range(50):
            stack.enter_context(closing(connect(served.address)))

        assert _answered(known, BRANCHES)


def test_while_all_connections_are_busy_others_are_turned_away(tmp_path: Path) -> None:
    with serving(tmp_path, FEW) as served, ExitStack() as stack:
        for _ in range(FEW.connections):
            busy = stack.enter_context(closing(connect(served.address)))
            busy.sendall(post("/read", JSON, b"Content-Length: 1000"))
        time.sleep(0.3)

        reply = exchange(served.address, seconds=2)

        assert reply.statuses == [503]
        assert reply.is_closed


def test_one_address_cannot_take_all_connections(tmp_path: Path) -> None:
    limits = replace(FEW, connections=8, address_connections=2)
    with serving(tmp_path, limits) as served, ExitStack() as stack:
        for _ in range(2):
            busy = stack.enter_context(closing(connect(served.address)))
            busy.sendall(post("/read", JSON, b"Content-Length: 1000"))
        time.sleep(0.3)
        port = int(served.address.rpartition(":")[2])
        other = stack.enter_context(
            closing(socket.create_connection(("127.0.0.1", port), 5, ("127.0.0.2", 0)))
        )

        assert exchange(served.address, seconds=2).statuses == [503]
        assert _answered(other)


def test_limits_have_a_default_for_everything() -> None:
    assert Limits().body_bytes == 1 << 20
    assert Limits().ingest_bytes == 32 << 20
