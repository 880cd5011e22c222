"""`GET /blob` sends bytes: whole, a range of them, or none to those who have them."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from omnigraph.api.graph import init
from omnigraph.server.limits import Limits
from tests.parity.serving import serving
from tests.pipeline.drivers import eventually

SCHEMA = "node File { name: String @key  content: Blob? }"
ROWS = """\
{"type": "File", "data": {"name": "a", "content": "base64:MDEyMzQ1Njc4OQ=="}}
{"type": "File", "data": {"name": "b"}}
{"type": "File", "data": {"name": "c", "content": "s3://elsewhere/c"}}
"""
LARGE = bytes(range(251)) * (20 << 10)
LARGE_ONE = "type=File&id=a&property=content"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root: Path = tmp_path_factory.mktemp("blobs") / "g"
    with init(root, SCHEMA) as graph:
        graph.load(ROWS)
    with serving(root) as address:
        yield address


def ask(address: str, name: str = "a", method: str = "GET", **headers: str) -> httpx.Response:
    about = {"type": "File", "id": name, "property": "content"}
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    return httpx.request(method, f"{address}/blob", params=about, headers=given)


def test_the_bytes_come_as_they_are_to_be_saved(address: str) -> None:
    answer = ask(address)
    assert (answer.status_code, answer.content) == (200, b"0123456789")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["accept-ranges"] == "bytes"


def test_the_head_of_a_blob_has_its_size_and_tag(address: str) -> None:
    answer = ask(address, method="HEAD")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "10"
    assert answer.headers["etag"] == ask(address).headers["etag"]


@pytest.mark.parametrize(
    ("asked", "found", "where"),
    [
        ("bytes=0-3", b"0123", "bytes 0-3/10"),
        ("bytes=4-", b"456789", "bytes 4-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=-99", b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ],
)
def test_a_range_of_bytes_is_sent_alone(address: str, asked: str, found: bytes, where: str) -> None:
    answer = ask(address, range=asked)
    assert (answer.status_code, answer.content) == (206, found)
    assert answer.headers["content-range"] == where


@pytest.mark.parametrize("asked", ["bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=5-4", "bytes"])
def test_what_is_no_single_range_is_answered_with_all(address: str, asked: str) -> None:
    answer = ask(address, range=asked)
    assert (answer.status_code, len(answer.content)) == (200, 10)


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_past_the_end_says_how_many_bytes_there_are(address: str, asked: str) -> None:
    answer = ask(address, range=asked)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == "bytes */10"
    assert answer.json()["error"] == "the blob has 10 bytes"


def test_who_has_the_bytes_gets_none(address: str) -> None:
    tag = ask(address).headers["etag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = ask(address, if_none_match=given)
        assert (answer.status_code, answer.content) == (304, b"")
    assert ask(address, if_none_match='"other"').status_code == 200


def test_a_range_of_other_content_is_answered_with_all(address: str) -> None:
    tag = ask(address).headers["etag"]
    assert ask(address, range="bytes=0-1", if_range=tag).status_code == 206
    assert ask(address, range="bytes=0-1", if_range='"old"').status_code == 200


def test_a_blob_over_the_limit_is_refused_with_the_name_of_that_limit(tmp_path: Path) -> None:
    with init(tmp_path / "g", SCHEMA) as graph:
        graph.load(ROWS)
    with serving(tmp_path / "g", limits=Limits(export_bytes=4)) as small:
        refused = ask(small)
        assert (refused.status_code, refused.json()["code"]) == (400, "budget_exceeded")
        assert refused.json()["detail"]["limit"] == "bytes"
        assert "its limit export_bytes" in refused.json()["detail"]["hint"]
        assert ask(small, range="bytes=0-3").content == b"0123"


def test_null_and_references_have_no_bytes_and_are_told_as_json(address: str) -> None:
    assert ask(address, "b").status_code == 404
    elsewhere = ask(address, "c")
    assert elsewhere.status_code == 400
    assert "refers to s3://elsewhere/c" in elsewhere.json()["error"]
    found = [ask(address, name, accept="application/json").json() for name in "abc"]
    assert found == [
        {"blob": "base64:MDEyMzQ1Njc4OQ=="},
        {"blob": None},
        {"blob": "s3://elsewhere/c"},
    ]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large") / "g"
    with init(root, SCHEMA) as graph:
        graph.load([{"name": "a", "content": LARGE}], type="File")
    return root


def test_a_large_blob_says_its_length_and_comes_in_parts_on_a_connection_that_stays(
    large: Path,
) -> None:
    end = len(LARGE) - 2
    with serving(large) as address, httpx.Client(base_url=address) as client:
        about = {"type": "File", "id": "a", "property": "content"}
        for _ in range(3):
            whole = client.get("/blob", params=about)
            assert (whole.headers["content-length"], whole.content) == (str(len(LARGE)), LARGE)
            part = client.get("/blob", params=about, headers={"range": f"bytes=3-{end}"})
            assert (part.status_code, part.content) == (206, LARGE[3 : end + 1])
            assert part.headers["content-range"] == f"bytes 3-{end}/{len(LARGE)}"
            assert part.headers["content-length"] == str(end - 2)
            assert client.head("/blob", params=about).headers["content-length"] == str(len(LARGE))
            told = client.get("/blob", params=about, headers={"accept": "application/json"})
            assert len(told.json()["blob"]) == len("base64:") + 4 * -(-len(LARGE) // 3)


@pytest.mark.parametrize("accept", ["application/octet-stream", "application/json"])
def test_a_large_blob_is_one_of_the_streams_of_an_actor(large: Path, accept: str) -> None:
    limits = Limits(streams=1)
    with (
        serving(large, limits=limits) as address,
        closing(_untaken(address, f"accept: {accept}")),
    ):
        assert eventually(lambda: ask(address, accept=accept).status_code == 429)


@pytest.mark.parametrize("header", ["accept: */*", "accept: application/json"])
def test_a_client_that_takes_no_answer_is_given_up_and_counted_until_then(
    large: Path, header: str
) -> None:
    limits = Limits(send_seconds=6.0, connections=2)
    with serving(large, limits=limits) as address, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(closing(_untaken(address, header)))
        time.sleep(1)
        assert httpx.get(f"{address}/healthz").status_code == 503
        assert eventually(lambda: httpx.get(f"{address}/healthz").status_code == 200)


def _untaken(address: str, header: str) -> socket.socket:
    """Ask for a large blob, and read no more of the answer than that there is one."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.connect(("127.0.0.1", int(address.rpartition(":")[2])))
    head = f"GET /blob?{LARGE_ONE} HTTP/1.1\r\nhost: 127.0.0.1\r\n{header}\r\n"
    found.sendall(f"{head}connection: close\r\n\r\n".encode())
    found.settimeout(60)
    assert found.recv(12) == b"HTTP/1.1 200"
    return found
