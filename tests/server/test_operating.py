"""Operating: starting, stopping, reloading, and what the server says about itself."""

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from omnigraph.errors import ConfigError, UnavailableError
from omnigraph.server.access.tokens import AWS_SECRET, FILE, JSON, SINGLE, token_source
from omnigraph.server.serve import Settings, app_of
from omnigraph.storage.layout import NEWEST_FORMAT
from tests.sample import new_graph
from tests.server.raw import connect, post
from tests.server.serving import ADD, ALL, PATIENT, POLICY, TOKENS, Served, serving

SLOW = "query q() { match { $a: Person $b: Person $c: Person $d: Person } return { count($a) } }"


def _settings(folder: Path, **changed: object) -> Settings:
    new_graph(folder / "graph")
    usual = Settings(uri=str(folder / "graph"), host="127.0.0.1", port=0, environment={})
    return replace(usual, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "graph.example"])
def test_without_tokens_other_machines_are_not_served(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="without tokens"):
        app_of(_settings(tmp_path, host=host))


def test_a_public_server_without_tokens_needs_a_flag(tmp_path: Path) -> None:
    assert app_of(_settings(tmp_path, host="0.0.0.0", is_public=True)).gate.tokens is None


def test_a_policy_without_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    with pytest.raises(ConfigError, match="needs tokens") as raised:
        app_of(_settings(tmp_path, policy=tmp_path / "policy.yaml"))
    assert FILE in str(raised.value.hint)


def test_without_tokens_everybody_here_may_do_everything(tmp_path: Path) -> None:
    with serving(tmp_path, with_tokens=False) as served:
        done = served.ask(
            "POST", "/change", {"query_source": ADD, "params": {"slug": "x"}}, actor=None
        )
        assert done.json()["actor_id"] is None
        document = served.client.get("/openapi.json").json()
        assert "securitySchemes" not in document["components"]
        assert "security" not in document["paths"]["/read"]["post"]
        assert "401" not in document["paths"]["/read"]["post"]["responses"]


def test_tokens_come_from_the_first_source_that_is_given(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"from-file": "token-in-a-file"}')
    every = {FILE: str(file), JSON: '{"from-json": "token-in-json"}', SINGLE: "single-token"}
    assert token_source(every).read().actor_of(b"token-in-a-file") == "from-file"
    del every[FILE]
    assert token_source(every).read().actor_of(b"token-in-json") == "from-json"
    del every[JSON]
    assert token_source(every).read().actor_of(b"single-token") == "default"
    assert not token_source({}).is_given


def test_no_token_is_kept_once_it_was_read(tmp_path: Path) -> None:
    given = {JSON: '{"ana": "token-of-ana-that-is-secret"}'}
    gate = app_of(_settings(tmp_path, environment=given)).gate
    gate.reload()
    assert gate.tokens is not None
    assert gate.tokens.actor_of(b"token-of-ana-that-is-secret") == "ana"
    assert "secret" not in f"{gate.source.value}{gate.tokens.actors}"


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "[]",
        '"secret-token"',
        "{}",
        '{"a": "short"}',
        '{"a": "short    "}',
        '{"a": 1}',
        '{"": "long-enough-token"}',
        '{"a": "the-same-token", "b": "the-same-token"}',
    ],
)
def test_tokens_that_cannot_be_used_are_refused_and_not_shown(text: str) -> None:
    source = token_source({JSON: text})
    with pytest.raises(ConfigError, match=JSON) as refused:
        source.read()
    assert not re.search("secret-token|short|long-enough|the-same", refused.value.render())
    assert "token" not in repr(source).replace("TokenSource", "").replace("TOKENS", "").lower()


def test_aws_secrets_need_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UnavailableError, match="boto3"):
        token_source({AWS_SECRET: "name"}).read()


def test_tokens_of_aws_secrets_manager(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boto3 = pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    secrets = boto3.client("secretsmanager")
    secrets.create_secret(Name="graph", SecretString='{"ana": "token-of-ana"}')

    assert token_source({AWS_SECRET: "graph"}).read().actor_of(b"token-of-ana") == "ana"
    with pytest.raises(ConfigError, match="gave no secret"):
        token_source({AWS_SECRET: "missing"}).read()


def test_tokens_and_policy_are_read_again_when_their_files_change(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        file, policy = tmp_path / "tokens.json", tmp_path / "policy.yaml"
        file.write_text(json.dumps({**TOKENS, "reader": "another-token-of-the-reader"}))
        _until(lambda: served.ask("GET", "/branches", actor="reader").status_code == 401)
        file.write_text("{broken")
        policy.write_text("broken: [")
        _until(lambda: "tokens_failed" in served.ask("GET", "/metrics").text)
        _until(lambda: "policy_failed" in served.ask("GET", "/metrics").text)
        assert served.ask("GET", "/branches").status_code == 200
        policy.write_text(POLICY.replace("readers: [reader, drafter]", "readers: [reader]"))
        _until(lambda: served.ask("GET", "/branches", actor="drafter").status_code == 403)


def test_tokens_are_read_again_from_a_file_of_the_same_time(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    os.utime(tokens, (1, 1))
    gate = app_of(_settings(tmp_path, environment={FILE: str(tokens)})).gate
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"owner": TOKENS["owner"][::-1]}))
    os.utime(other, (1, 1))

    other.replace(tokens)
    gate.reload_changed()

    assert gate.tokens is not None
    assert gate.tokens.actor_of(TOKENS["owner"].encode()) is None
    assert not gate.changed_files()


def _until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@contextmanager
def _held(served: Served, actor: str) -> Iterator[None]:
    """Take a turn of an actor until the block ends."""
    release = threading.Event()
    app, loop = served.server.app, served.server.servers[0].get_loop()
    holding = asyncio.run_coroutine_threadsafe(app.worked(actor, lambda: release.wait(20)), loop)
    _until(lambda: app.admission.running)
    try:
        yield
    finally:
        release.set()
        holding.result(20)


@dataclass
class Asking:
    """A read that somebody waits for on a thread."""

    served: Served
    statuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self) -> None:
        self.statuses.append(self.served.ask("POST", "/read", {"query_source": ALL}).status_code)


def test_a_stop_finishes_what_was_begun_and_takes_nothing_new(tmp_path: Path) -> None:
    with serving(tmp_path, replace(PATIENT, threads=1, share=1)) as served:
        with _held(served, "owner"):
            asking = Asking(served)
            _until(lambda: served.server.app.admission.entered_by("owner"))
            served.server.should_exit = True
            _until(lambda: _is_refused(served.address))
            assert not asking.statuses
        asking.thread.join(20)
        assert asking.statuses == [200]


def _is_refused(address: str) -> bool:
    try:
        httpx.get(f"http://{address}/healthz")
    except httpx.ConnectError:
        return True
    return False


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server that works for one request of an actor at a time and takes three."""
    limits = replace(PATIENT, threads=2, share=1, waiting=1, query_seconds=0.7, query_bytes=1 << 20)
    with serving(tmp_path_factory.mktemp("busy"), limits) as found:
        _many(found, 400)
        yield found


def _many(served: Served, count: int) -> None:
    rows = [{"type": "Person", "data": {"slug": f"m{n}", "name": "m"}} for n in range(count)]
    served.graph.load("\n".join(map(json.dumps, rows)))


def test_a_query_that_takes_too_long_is_stopped(busy: Served) -> None:
    answer = busy.ask("POST", "/read", {"query_source": SLOW.replace("count($a)", "$a, $b, $c")})
    assert answer.status_code == 400
    assert answer.json()["code"] == "budget_exceeded"


def test_one_actor_cannot_take_the_turns_of_another(busy: Served) -> None:
    with _held(busy, "owner"):
        asking = [Asking(busy) for _ in range(5)]
        _until(lambda: sum(len(each.statuses) for each in asking) == 2)
        refused = busy.ask("POST", "/read", {"query_source": ALL})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        # Others are served at once, and so is what tells about the server.
        assert busy.ask("POST", "/read", {"query_source": ALL}, actor="reader").status_code == 200
        assert busy.client.get("/readyz").status_code == 200
    for each in asking:
        each.thread.join(20)
    assert sorted(each.statuses[0] for each in asking) == [200, 200, 200, 429, 429]


def test_the_query_of_a_client_that_has_gone_is_not_run(busy: Served) -> None:
    with _held(busy, "owner"), pytest.raises(httpx.ReadTimeout):
        busy.ask("POST", "/read", {"query_source": ALL}, timeout=0.3)
    gone = 'omnigraph_requests_total{route="POST /read",status="499"} 1'
    _until(lambda: gone in busy.ask("GET", "/metrics").text)


def test_the_change_of_a_client_that_has_gone_is_not_made(busy: Served) -> None:
    head = busy.graph.snapshot().commit.id
    body = {"query_source": ADD, "params": {"slug": "late"}}
    with _held(busy, "owner"), pytest.raises(httpx.ReadTimeout):
        busy.ask("POST", "/change", body, timeout=0.3)
    gone = 'omnigraph_requests_total{route="POST /change",status="499"} 1'
    _until(lambda: gone in busy.ask("GET", "/metrics").text)
    assert busy.graph.snapshot().commit.id == head


def test_an_export_to_a_client_that_has_gone_ends(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        note = "x" * 100_000
        rows = [{"type": "Person", "data": {"slug": f"{n}", "name": note}} for n in range(120)]
        served.graph.load("\n".join(map(json.dumps, rows)))
        body = json.dumps({}).encode()
        head = post("/export", b"Content-Type: application/json", b"Content-Length: 2", body=body)
        with closing(connect(served.address)) as found:
            found.sendall(head)
            assert found.recv(1_000).startswith(b"HTTP/1.1 200")
            time.sleep(0.3)
            # As long as nobody reads, nothing more is made.
            assert not served.server.app.about.metrics.requests
        _until(lambda: served.server.app.about.metrics.requests)
        assert ("POST /export", 499) in served.server.app.about.metrics.requests


def test_metrics_count_by_route_and_never_by_what_clients_say(served: Served) -> None:
    served.ask("GET", "/commits/nobody-knows-this")
    served.ask("GET", "/nobody-knows-this")
    text = served.ask("GET", "/metrics").text
    assert 'route="GET /commits/{commit_id}",status="404"' in text
    assert "nobody-knows-this" not in text


def test_an_arrow_client_gets_arrow(served: Served) -> None:
    import pyarrow as pa

    headers = {"accept": "application/vnd.apache.arrow.stream"}
    answer = served.ask("POST", "/read", {"query_source": ALL}, headers=headers)
    assert answer.headers["content-type"] == headers["accept"]
    assert pa.ipc.open_stream(answer.content).read_all()["p.slug"].to_pylist() == ["ana", "bob"]


def test_an_export_loads_back_to_the_same_graph(served: Served) -> None:
    lines = served.ask("POST", "/export", {}).text
    body = {"branch": "again", "from": "main", "mode": "overwrite", "data": lines}
    assert served.ask("POST", "/ingest", body).status_code == 200
    assert served.ask("POST", "/export", {"branch": "again"}).text == lines


def test_the_schema_is_plain_text_for_who_wants_that(served: Served) -> None:
    text = served.ask("GET", "/schema", headers={"accept": "text/plain"}).text
    assert text == served.ask("GET", "/schema").json()["schema_source"] == served.graph.schema


@pytest.mark.parametrize(
    "text",
    [
        '{"reader": "\\ud800 is no character"}',
        "[" * 100_000,
        "\x00",
        '{"reader": "é\\udfff-xyzzy"}',
    ],
    ids=["surrogate", "deep", "zero", "lone"],
)
def test_tokens_that_cannot_be_read_leave_the_old_ones_and_the_watcher(
    tmp_path: Path, text: str
) -> None:
    with serving(tmp_path) as served:
        file = tmp_path / "tokens.json"
        file.write_text(text)
        _until(lambda: served.client.get("/healthz").json()["reload_failing"] == ["tokens"])
        assert served.ask("GET", "/branches").status_code == 200
        assert 'omnigraph_reload_failing{what="tokens"} 1' in served.ask("GET", "/metrics").text

        file.write_text(json.dumps({**TOKENS, "reader": "another-token-of-the-reader"}))

        _until(lambda: served.ask("GET", "/branches", actor="reader").status_code == 401)
        assert served.client.get("/healthz").json()["reload_failing"] == []


def test_the_watcher_goes_on_when_tokens_become_a_pipe(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        file = tmp_path / "tokens.json"
        file.unlink()
        os.mkfifo(file)
        _until(lambda: served.client.get("/healthz").json()["reload_failing"] == ["tokens"])
        file.unlink()
        file.write_text(json.dumps({**TOKENS, "reader": "another-token-of-the-reader"}))
        _until(lambda: served.ask("GET", "/branches", actor="reader").status_code == 401)


def test_whatever_a_reload_raises_keeps_the_old_state_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    monkeypatch.setattr("omnigraph.server.access.gate._TRY_AGAIN_SECONDS", 0.0)
    gate = app_of(_settings(tmp_path, environment={FILE: str(tokens)})).gate
    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_text", lambda *_, **__: 1 // 0)
        gate.reload()
        assert gate.metrics.failing == {"tokens": "ZeroDivisionError"}
        assert gate.tokens is not None
        assert gate.tokens.actor_of(TOKENS["owner"].encode()) == "owner"

    gate.reload_changed()

    assert gate.metrics.failing == {}


def test_a_file_of_secrets_that_others_can_open_draws_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    tokens.chmod(0o644)
    gate = app_of(_settings(tmp_path, environment={FILE: str(tokens)})).gate

    with caplog.at_level("WARNING", "omnigraph.server"):
        gate.warn_of_readers()
        gate.warn_of_readers()
        tokens.chmod(0o600)
        gate.warn_of_readers()

    assert [each.__dict__["fields"] for each in caplog.records] == [
        {"what": "tokens", "how": "read"}
    ]


def test_the_root_says_what_this_is_and_head_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        about = served.client.get("/").json()
        head = served.client.head("/healthz")

        assert about["name"] == "omnigraph-server"
        assert served.client.get(about["openapi"]).status_code == 200
        health = served.client.get(about["health"]).json()
        assert health["format_version"] == about["format_version"] == NEWEST_FORMAT
        assert (head.status_code, head.content) == (200, b"")
        assert served.client.head("/read").status_code == 405
        assert served.client.get("/docs").json()["code"] == "no_route"
