"""Promise: a graph lives wherever a commit can be atomic, and is refused everywhere else."""

import errno
import multiprocessing
import os
import pickle
import tempfile
import threading
import time
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    GraphExistsError,
    GraphNotFoundError,
    OmniGraphError,
    StorageError,
    StoreError,
)
from omnigraph.storage import layout, steps
from omnigraph.storage.near.sending import at_once
from omnigraph.storage.staging import TablePlace
from omnigraph.storage.store import store_at
from omnigraph.storage.tables import Tables
from omnigraph.versioning.writes import Append, Upsert
from tests.sample import PERSON, SCHEMA, ages, new_graph, people, write
from tests.standin import Bucket
from tests.stores import BUCKET, Lane

NOBODY = 65_534
NAMES = [
    "with space",
    "ünïcödé-日本語",
    unicodedata.normalize("NFD", "é"),
    "100%25",
    "a#b?c",
    "quo'te\"s",
    " edges ",
    "a:b",
    "[x]*",
]


class Crash(BaseException):
    """The end of a process, as far as the code under test can tell."""


def _use(uri: str | Path, other: str | Path | None = None) -> None:
    """Make a graph, write to it, and read it by a second handle, under another name if given."""
    graph = new_graph(uri)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    assert ages(open_graph(uri if other is None else other)) == {"ann": 1}


@pytest.mark.parametrize("name", NAMES)
def test_a_local_path_may_hold_any_letters(name: str, tmp_path: Path) -> None:
    _use(tmp_path / name / "graph", str(tmp_path / name / "graph") + "/")

    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_uri_means_the_same_as_its_path(name: str, tmp_path: Path) -> None:
    path = tmp_path / name / "graph"

    _use(path.as_uri(), path)


def test_a_relative_path_starts_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    _use("some/graph", tmp_path / "some" / "graph")


def test_a_graph_stays_where_it_is_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = new_graph("graph")
    (tmp_path / "elsewhere").mkdir()

    monkeypatch.chdir(tmp_path / "elsewhere")

    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    assert ages(open_graph(tmp_path / "graph")) == {"ann": 1}


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    _use("~/graph", tmp_path / "graph")


def test_each_account_of_a_cloud_is_reached_by_a_client_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stores = []
    for name in ("one", "two", "one"):
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", name)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
        stores.append(store_at("az://box/graph"))
        assert stores[-1].objects.store is store_at("az://box/graph").objects.store

    one, two, again = (each.objects.store for each in stores)

    assert one is again
    assert one is not two


def test_tables_and_tasks_ask_a_cloud_with_the_login_of_their_handle(
    asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "one"):
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", name)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
        store = store_at("az://box/graph")
        place = TablePlace("id", store, "nodes/x", layout.DETACHED + 5)
        sent = pickle.loads(pickle.dumps(place))
        asked.clear()

        store.objects.read("x")
        for each in (partial(Tables(store).open, "nodes/x", 5), place.open, sent.open):
            with pytest.raises(StorageError):
                each()

        assert asked == {name}
        assert "a2V5" not in repr((store, place))


def test_a_cloud_takes_the_login_of_the_variables_of_a_graph() -> None:
    given = {"AZURE_STORAGE_ACCESS_KEY": "a2V5", "GOOGLE_BEARER_TOKEN": "b2V5"}

    azure, google = (store_at(f"{each}://box/graph", given).options for each in ("az", "gs"))

    assert azure["azure_storage_account_key"] == "a2V5"
    assert google["google_bearer_token"] == "b2V5"
    assert not {*azure.values()} & {*google.values()} & {*given.values()}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Serve an Azure without objects; returns the accounts as which it is asked."""
    found: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            login = self.headers.get("Authorization", "")
            found.add(login.removeprefix("SharedKey ").partition(":")[0])
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
    yield found
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("prefix", ["", "/deep/er", "/with space", "/ünïcödé", "/a+b=c"])
def test_a_bucket_is_used_below_the_prefix_alone(
    prefix: str, standin: Lane, bucket: Bucket
) -> None:
    _use(f"s3://{BUCKET}{prefix}", f"s3://{BUCKET}{prefix}/")

    below = {key.removeprefix(prefix[1:]).lstrip("/").partition("/")[0] for key in bucket.objects}
    assert below == {*("__manifest", "_schema.ir.json", "_schema.pg", "_schemas", "edges", "nodes")}


def test_graphs_in_one_bucket_do_not_disturb_each_other(lane: Lane) -> None:
    first, second = new_graph(f"{lane.root}/a"), new_graph(f"{lane.root}/ab")

    write(first, {PERSON: (Append(people({"ann": 1})),)})

    assert ages(first) == {"ann": 1}
    assert ages(second) == {}


@pytest.mark.parametrize(
    "uri",
    [
        *("http://127.0.0.1/graph", "https://example.org/graph", "ftp://x/y", "memory://x"),
        *("", "file://", "nul\0l", "s3://", "s3:///graph", "file://host/graph", "~nobody-here/x"),
    ],
)
def test_what_is_no_store_is_refused_with_the_reason(uri: str) -> None:
    with pytest.raises(StoreError) as told:
        store_at(uri)
    assert told.value.message


def test_neither_init_nor_open_takes_what_is_no_store() -> None:
    for uri in ("http://127.0.0.1/graph", "ftp://x/y", ""):
        with pytest.raises(StoreError):
            init(uri, SCHEMA)
        with pytest.raises(StoreError):
            open_graph(uri)


def test_a_server_is_not_taken_for_a_store() -> None:
    with pytest.raises(StoreError, match="HTTP is not a store") as told:
        store_at("https://example.org/graph")
    assert "run it where the graph itself is" in (told.value.hint or "")


def test_a_store_that_ignores_if_none_match_is_refused_at_init(
    standin: Lane, bucket: Bucket
) -> None:
    bucket.honours_create = False

    with pytest.raises(StoreError, match="overwrites") as told:
        init(standin.root, SCHEMA)

    assert "If-None-Match" in (told.value.hint or "")
    assert bucket.objects == {}


def test_a_store_that_ignores_if_none_match_is_only_opened_for_reading(
    standin: Lane, bucket: Bucket
) -> None:
    graph = new_graph(standin.root)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    bucket.honours_create = False
    before = dict(bucket.objects)

    with pytest.raises(StoreError, match="overwrites"):
        open_graph(standin.root)

    assert ages(open_graph(standin.root, read_only=True)) == {"ann": 1}
    assert bucket.objects == before


def test_a_folder_without_permission_to_write_is_refused(tmp_path: Path) -> None:
    with _forbidden(tmp_path), pytest.raises(StoreError, match="Permission denied"):
        init(tmp_path / "graph", SCHEMA)

    assert list(tmp_path.iterdir()) == []


def test_a_graph_without_permission_to_write_is_only_opened_for_reading(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")

    with _forbidden(tmp_path / "graph"):
        with pytest.raises(StoreError, match="Permission denied"):
            open_graph(tmp_path / "graph")
        assert ages(open_graph(tmp_path / "graph", read_only=True)) == {}


def test_a_file_system_without_hard_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "link", no_links)

    with pytest.raises(StoreError, match="hard links: Operation not supported"):
        init(tmp_path / "graph", SCHEMA)
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


@pytest.mark.parametrize("below", ["", "graph", "deep/graph"])
def test_a_file_where_a_folder_should_be_is_refused(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(StoreError):
        init(tmp_path / "file" / below, SCHEMA)

    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_made_by_looking_for_a_graph(lane: Lane, tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(GraphNotFoundError):
            open_graph(lane.root, read_only=read_only)

    assert list(tmp_path.iterdir()) == []


def test_an_existing_graph_is_refused_and_not_touched(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    before = _tree(tmp_path)

    for schema in (SCHEMA, "node Other { name: String @key }"):
        with pytest.raises(GraphExistsError):
            init(tmp_path / "graph", schema)

    assert _tree(tmp_path) == before


def test_an_existing_graph_in_a_bucket_is_refused_and_not_touched(
    standin: Lane, bucket: Bucket
) -> None:
    write(new_graph(standin.root), {PERSON: (Append(people({"ann": 1})),)})
    before = dict(bucket.objects)

    with pytest.raises(GraphExistsError):
        new_graph(standin.root)

    assert bucket.objects == before


def test_init_leaves_files_alone_that_are_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    _use(tmp_path)

    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_init_works_after_one_that_crashed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(steps, "observer", reached.append)
        init(tmp_path / "whole", SCHEMA, durable=False)
    assert len(reached) > 5

    for number, step in enumerate(reached):
        root = tmp_path / str(number)
        with _crash_at(number, monkeypatch), pytest.raises(Crash):
            init(root, SCHEMA, durable=False)
        if step not in ("manifest created", "manifest synced", "schema shown"):
            with pytest.raises(GraphNotFoundError):
                open_graph(root)
            init(root, SCHEMA, durable=False)
        assert ages(open_graph(root)) == {}
        write(open_graph(root), {PERSON: (Append(people({"ann": 1})),)})
        assert ages(open_graph(root)) == {"ann": 1}


def test_init_with_another_schema_works_after_one_that_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _crash_at(5, monkeypatch), pytest.raises(Crash):
        init(tmp_path, SCHEMA, durable=False)

    graph = init(tmp_path, "node Person { slug: String @key  height: F64 }", durable=False)

    assert set(graph.catalog.nodes) == {"Person"}
    assert "height" in graph.snapshot().table(PERSON).schema.names


def test_of_processes_that_race_to_init_one_wins(lane: Lane) -> None:
    lane.skip_second_opinion()
    spawn = multiprocessing.get_context("spawn")
    turns = 6 if lane.is_local else 2
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        list(pool.map(_init_at, [f"{lane.root}-warm-{each}" for each in range(2)]))
        for turn in range(turns):
            root = f"{lane.root}-{turn}"
            told = [pool.submit(_init_at, root) for _ in range(2)]
            assert sorted(each.result() for each in told) == ["GraphExistsError", "made"]
            assert ages(open_graph(root)) == {}


def test_of_inits_that_end_at_the_same_moment_one_wins(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Tables.create_exclusively
    schemas = [f"node {name} {{ name: String @key }}" for name in ("Left", "Right")]
    for turn in range(20 if lane.is_local else 6):
        monkeypatch.setattr(Tables, "create_exclusively", _waiting(create, threading.Barrier(2)))
        root = f"{lane.root}-{turn}"
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(_init_at, [root, root], schemas))
        assert sorted(told) == ["GraphExistsError", "made"]
        assert open_graph(root).schema == schemas[told.index("made")]


@pytest.mark.parametrize("types", [1, 12])
def test_a_commit_takes_the_same_requests_whatever_the_history_and_the_types(
    types: int, standin: Lane, bucket: Bucket
) -> None:
    others = "".join(f"\nnode Other{each} {{ name: String @key }}" for each in range(types))
    graph = init(standin.root, SCHEMA + others)

    counts = [_requests(graph, bucket, number) for number in range(96)]

    # One period holds every fold of the table, and once commits become rows of the manifest.
    period = 16
    early, late = counts[3 * period : 4 * period], counts[-period:]
    assert sum(late) <= 1.1 * sum(early)
    assert max(late) <= 1.1 * max(early)
    assert sorted(early)[period // 2] <= 24
    assert max(early) <= 40


def test_the_tables_of_many_types_are_created_side_by_side(standin: Lane, bucket: Bucket) -> None:
    types = "".join(f"node Type{each} {{ name: String @key }}\n" for each in range(12))
    bucket.pause = 0.005

    graph = init(standin.root, types)

    assert bucket.together >= 4
    bucket.together = 0
    graph.apply_schema(types.replace("Type", "Other") + types)
    assert bucket.together >= 4
    assert len(open_graph(standin.root).snapshot().commit.tables) == 24


@pytest.mark.parametrize("place", ["missing", "a-file"])
def test_a_bucket_is_written_to_where_no_temporary_folder_can_be_made(
    place: str, standin: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = init(standin.root, SCHEMA)
    (tmp_path / "a-file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / place))

    write(graph, {PERSON: (Append(people({"ada": 36})),)})

    assert ages(graph) == ages(open_graph(standin.root)) == {"ada": 36}


def test_fsck_looks_at_versions_side_by_side(standin: Lane, bucket: Bucket) -> None:
    graph = init(standin.root, SCHEMA)
    for number in range(12):
        write(graph, {PERSON: (Upsert(people({f"p{number}": number})),)})
    bucket.pause, bucket.together = 0.005, 0

    assert graph.fsck().findings == ()

    assert bucket.together >= 4


def _requests(graph: Graph, bucket: Bucket, number: int) -> int:
    with bucket.counted() as seen:
        write(graph, {PERSON: (Upsert(people({f"p{number % 40}": number})),)})
    return seen.total()


def _init_at(root: str, schema: str = SCHEMA) -> str:
    """Try to make a graph, and give what happened."""
    try:
        init(root, schema, durable=False)
    except OmniGraphError as refused:
        return type(refused).__name__
    return "made"


def _waiting(create: object, ready: threading.Barrier) -> object:
    """Return the creation of tables such that all who create a manifest do so at one moment."""

    def create_exclusively(*given: object) -> object:
        if layout.MANIFEST in given:
            with suppress(threading.BrokenBarrierError):
                ready.wait(2)
        assert callable(create)
        return create(*given)

    return create_exclusively


@contextmanager
def _crash_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    reached: list[str] = []

    def observer(step: str) -> None:
        reached.append(step)
        if len(reached) == number + 1:
            raise Crash(step)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "observer", observer)
        yield


@contextmanager
def _forbidden(folder: Path) -> Iterator[None]:
    """Take away the right to write to a folder, also from the superuser."""
    entered = [each for each in folder.parents if each.stat().st_uid == os.geteuid()]
    before = {each: each.stat().st_mode for each in [folder, *entered] if each != Path("/")}
    is_root = os.geteuid() == 0
    for each in entered:
        each.chmod(each.stat().st_mode | 0o555) if each != Path("/") else None
    folder.chmod(0o555)
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for each, mode in before.items():
            each.chmod(mode)


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and folder below one, with its time and content."""
    return {
        str(each.relative_to(folder)): (
            each.stat().st_mtime_ns,
            each.read_bytes() if each.is_file() else b"",
        )
        for each in folder.rglob("*")
    }


def test_what_is_done_side_by_side_has_ended_when_it_fails(standin: Lane) -> None:
    ended = threading.Event()

    def fail() -> None:
        raise StorageError("the first piece failed")

    def go_on() -> None:
        time.sleep(0.2)
        ended.set()

    with pytest.raises(StorageError, match="the first piece"):
        at_once(store_at(standin.root), [fail, go_on])

    assert ended.is_set()
