"""`GET /blob` sends bytes: whole, a range of them, or none to those who have them."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from omnigraph.api.graph import init
from omnigraph.server.limits import Limits
from tests.parity.serving import serving

SCHEMA = "node File { name: String @key  content: Blob? }"
ROWS = """\
{"type": "File", "data": {"name": "a", "content": "base64:MDEyMzQ1Njc4OQ=="}}
{"type": "File", "data": {"name": "b"}}
{"type": "File", "data": {"name": "c", "content": "s3://elsewhere/c"}}
"""


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
