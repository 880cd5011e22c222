"""Promise: whatever a store does, also nothing at all, every call ends in bounded time."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BudgetError,
    OmniGraphError,
    OutcomeUnknownError,
    StorageError,
    StoreError,
)
from omnigraph.read.execution import Budget
from omnigraph.storage.store import store_at
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, SCHEMA, ages, new_graph, people, write
from tests.standin import Bucket
from tests.stores import BUCKET, Lane, s3_environment

ALL = "query all() { match { $p: Person } return { $p.slug } }"
LONGEST = 20.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a store half a second at most, and try once more."""
    monkeypatch.setenv("OMNIGRAPH_STORE_CONNECT_SECONDS", "0.5")
    monkeypatch.setenv("OMNIGRAPH_STORE_REQUEST_SECONDS", "0.5")
    monkeypatch.setenv("OMNIGRAPH_STORE_RETRIES", "1")


@contextmanager
def _silence() -> Iterator[str]:
    """Return the address of a server that takes every connection and never says anything."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for each in held:
                each.close()


@contextmanager
def _ends_within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


def test_neither_open_nor_init_waits_for_a_server_that_never_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _silence() as address:
        for name, value in s3_environment(address).items():
            monkeypatch.setenv(name, value)
        for read_only in (True, False):
            with _ends_within(5), pytest.raises(StorageError, match="no answer in time") as told:
                open_graph(f"s3://{BUCKET}/graph", read_only=read_only)
            assert "OMNIGRAPH_STORE_REQUEST_SECONDS" in (told.value.hint or "")
        with _ends_within(5), pytest.raises(StorageError, match="no answer in time"):
            init(f"s3://{BUCKET}/graph", SCHEMA)


@pytest.mark.parametrize("what", ["manifest", "tables"])
def test_a_read_ends_near_its_budget(
    what: str, standin: Lane, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_STORE_REQUEST_SECONDS", "10")
    write(new_graph(standin.root), {PERSON: (Append(people({"ann": 1})),)})
    graph = open_graph(standin.root)
    bucket.silent = lambda _, key: ("__manifest" in key) == (what == "manifest")

    with _ends_within(3), pytest.raises(BudgetError, match="longer than 1 s") as told:
        graph.branch(budget=Budget(seconds=1)).query(ALL)

    assert told.value.limit == "seconds"


def test_every_call_ends_when_a_store_falls_silent(standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    bucket.silent = lambda *_: True

    for call in (
        graph.branches,
        graph.snapshot,
        lambda: list(graph.log()),
        lambda: graph.query(ALL),
        lambda: graph.create_branch("draft"),
        lambda: graph.load('{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}'),
        lambda: graph.merge("main"),
    ):
        with _ends_within(LONGEST), pytest.raises(StorageError):
            call()

    bucket.silent = lambda *_: False
    assert ages(open_graph(standin.root)) == {"ann": 1}


@pytest.mark.parametrize("place", ["nodes/", "__manifest/_versions"], ids=["table", "flip"])
def test_a_write_that_gets_no_answer_ends_and_is_unknown_only_after_the_flip(
    place: str, standin: Lane, bucket: Bucket
) -> None:
    graph = new_graph(standin.root)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    seen: list[str] = []

    def silent(method: str, key: str) -> bool:
        if method == "PUT" and place in key:
            seen.append(key)
        return bool(seen)

    bucket.silent = silent
    expected = StorageError if place == "nodes/" else OutcomeUnknownError
    with _ends_within(LONGEST), pytest.raises(OmniGraphError) as told:
        write(graph, {PERSON: (Append(people({"bob": 1})),)})

    assert type(told.value) is expected
    bucket.silent = lambda *_: False
    assert ages(open_graph(standin.root)) == {"ann": 1}


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf"])
def test_how_long_is_waited_has_to_be_a_number(value: str) -> None:
    for name in ("CONNECT_SECONDS", "REQUEST_SECONDS", "RETRIES"):
        with pytest.raises(StoreError, match=f"OMNIGRAPH_STORE_{name}"):
            store_at("s3://bucket/graph", {f"OMNIGRAPH_STORE_{name}": value})


def test_a_local_graph_has_nothing_to_wait_for(tmp_path: Path) -> None:
    assert store_at(tmp_path, os.environ).options == {}
