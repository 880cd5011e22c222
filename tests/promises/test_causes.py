"""Promise: what a store says is passed on, so that causes read differently, without secrets."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    FormatUnreadableError,
    GraphNotFoundError,
    OmniGraphError,
    StorageError,
    StoreError,
)
from omnigraph.storage.causes import hint_of
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest.records import STAMP
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, SCHEMA, ages, new_graph, people, write
from tests.server.process import running
from tests.standin import Bucket
from tests.stores import BUCKET, Lane

REFUSALS = {
    "InvalidAccessKeyId": ("The key does not exist", "AWS_ACCESS_KEY_ID"),
    "SignatureDoesNotMatch": ("The signature does not match", "AWS_SECRET_ACCESS_KEY"),
    "RequestTimeTooSkewed": ("The times differ too much", "clock"),
    "AccessDenied": ("Access Denied", "rights"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not try again for long."""
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRIES", "1")


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_says_what_the_store_says(code: str, standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    message, remedy = REFUSALS[code]
    bucket.refuses = (403, code, message)

    for call in (
        lambda: open_graph(standin.root),
        lambda: init(standin.root, SCHEMA),
        lambda: store_at(standin.root).objects.read("_schema.pg"),
        lambda: store_at(standin.root).objects.create("x", b""),
        lambda: graph.snapshot().table(PERSON).at(2**63 + 1),
    ):
        with pytest.raises(StorageError) as told:
            call()
        shown = told.value.render()
        assert "secret-of-the-key" not in shown
        assert "\n<" not in shown
        if "HEAD" not in shown:
            assert f"{code}: {message}" in shown
            assert remedy in (told.value.hint or "")


@pytest.mark.parametrize(
    "how",
    ["Server returned non-2xx status code: 403 Forbidden", "kind: Connect", "operation timed out"],
)
def test_a_key_that_is_not_set_is_named(how: str) -> None:
    asked = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 2ms"
    assert hint_of(f"{asked} - {how}") == (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; they are not both set"
    )


@pytest.mark.parametrize("lane", ["moto", "seaweedfs"], indirect=True)
def test_a_missing_bucket_is_not_a_missing_graph(lane: Lane) -> None:
    for call in (open_graph, lambda uri: init(uri, SCHEMA)):
        with pytest.raises(StoreError, match="NoSuchBucket") as told:
            call("s3://no-such-bucket-here/graph")
        assert "bucket" in (told.value.hint or "")
    with pytest.raises(GraphNotFoundError):
        open_graph(f"s3://{BUCKET}/no-such-graph")


@pytest.mark.parametrize("lane", ["seaweedfs"], indirect=True)
def test_a_wrong_key_and_a_wrong_secret_read_differently(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "planted-value")
            with pytest.raises(StorageError) as refused:
                open_graph(lane.root)
            told.append(refused.value)
            assert "planted-value" not in refused.value.render()

    assert ["InvalidAccessKeyId" in told[0].message, told[0].hint] == [
        True,
        "check AWS_ACCESS_KEY_ID",
    ]
    assert "SignatureDoesNotMatch" in told[1].message
    assert "AWS_SECRET_ACCESS_KEY" in (told[1].hint or "")


def test_a_refused_connection_says_so(standin: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(StorageError, match="Connection refused") as told:
        open_graph(standin.root)

    assert "AWS_ENDPOINT_URL_S3" in (told.value.hint or "")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"AWS_ENDPOINT_URL_S3": ""}, "AWS_ENDPOINT_URL_S3 is set, but empty"),
        ({"AWS_ENDPOINT_URL": " "}, "AWS_ENDPOINT_URL is set, but empty"),
        ({"AWS_ENDPOINT_URL_S3": "localhost:9000"}, "does not begin with http"),
        ({"AWS_ENDPOINT_URL_S3": "http://localhost:9000"}, "without encryption"),
        (
            {"AWS_ENDPOINT_URL": "http://localhost:9000", "AWS_ALLOW_HTTP": "false"},
            "without encryption",
        ),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_a_hint(
    variables: dict[str, str], said: str
) -> None:
    with pytest.raises(StoreError, match=said) as told:
        store_at("s3://bucket/graph", variables)
    assert told.value.hint


@pytest.mark.parametrize("stamp", ["two", "", "-1", "0", "9" * 5_000, "2.0"])
def test_a_format_stamp_that_is_no_number_is_told(stamp: str, tmp_path: Path) -> None:
    graph = new_graph(tmp_path)
    tables = graph.repository.tables
    tables.set_schema_keys(graph.repository.manifest.newest(), {STAMP: stamp})

    for read_only in (True, False):
        with pytest.raises(FormatUnreadableError) as told:
            open_graph(tmp_path, read_only=read_only)
        assert len(told.value.message) < 200


def test_a_server_says_that_the_store_failed_and_its_log_says_why(
    standin: Lane, bucket: Bucket, tmp_path: Path
) -> None:
    new_graph(standin.root)
    environment = {**standin.environment, "OMNIGRAPH_STORE_RETRIES": "0"}
    with running(tmp_path, standin.root, environment=environment) as server:
        bucket.refuses = (403, "AccessDenied", "Access Denied")
        denied = _asked(server.url)
        bucket.refuses = None
        bucket.resets = lambda *_: True
        away = _asked(server.url)
        bucket.resets = lambda *_: False
        well = httpx.get(f"{server.url}/branches", timeout=30)
        log = [json.loads(each) for each in server.log.read_text().splitlines()]

    for answer in (denied, away):
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_failed")
        assert answer.headers["retry-after"]
        assert "127.0.0.1" not in answer.text
        assert "AccessDenied" not in answer.text
    assert well.status_code == 200
    causes = [each.get("cause") for each in log if each["event"] == "failed"]
    assert causes == ["403", "the connection was lost"]


def _asked(url: str) -> httpx.Response:
    return httpx.get(f"{url}/branches", timeout=30)


def test_the_bytes_of_a_warm_read_do_not_grow_with_the_history(
    standin: Lane, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A writer does this beside its write, and may end it while the reader's requests are counted.
    monkeypatch.setattr(Table, "look_up_indexes", lambda _: None)
    graph, reader = new_graph(standin.root), open_graph(standin.root)
    costs = []
    for number in range(30):
        write(graph, {PERSON: (Append(people({f"p{number}": number})),)})
        reader.snapshot()
        with _counted(bucket) as cost:
            reader.snapshot()
        costs.append(cost)

    assert {tuple(cost) for cost in costs} == {(0, 2)}
    assert len(ages(reader)) == 30


@contextmanager
def _counted(bucket: Bucket) -> Iterator[list[int]]:
    """Count the bytes that are sent inside, and the requests."""
    found: list[int] = []
    sent = bucket.sent
    with bucket.counted() as seen:
        yield found
    found += [bucket.sent - sent, seen.total()]


@pytest.mark.parametrize("method", ["PUT", "GET", "POST", "DELETE"])
def test_one_request_of_the_probe_may_be_lost(method: str, standin: Lane, bucket: Bucket) -> None:
    new_graph(standin.root)
    lost: list[str] = []

    def resets(asked: str, key: str) -> bool:
        if asked == method and ("_aside" in key or not key) and not lost:
            lost.append(key)
            return True
        return False

    bucket.resets = resets
    try:
        open_graph(standin.root)
    except OmniGraphError as failed:
        raise AssertionError(f"after a lost {method}") from failed
