"""Process: the command starts, stops, reloads; and when it is killed, nothing is lost or half."""

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.server.main import omnigraph_server
from tests.sample import PERSON, ages, edges, new_graph
from tests.server.process import Running, ask, running
from tests.server.raw import connect
from tests.server.serving import ALL, PEOPLE

PAIR = """query pair($a: String, $b: String) {
  insert Person { slug: $a name: $a age: 1 }
  insert Person { slug: $b name: $b age: 1 }
  insert Knows { from: $a to: $b }
}"""
_WRITERS = 8
_ENOUGH = 40
_LONGEST = 60.0


def test_every_acknowledged_write_survives_a_kill_and_none_is_half(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph", durable=True)
    acknowledged: list[str] = []
    with running(tmp_path, "graph") as server:
        writers = [
            threading.Thread(target=_write, args=(server, number, acknowledged))
            for number in range(_WRITERS)
        ]
        for each in writers:
            each.start()
        end = time.monotonic() + _LONGEST
        while len(acknowledged) < _ENOUGH and time.monotonic() < end:
            time.sleep(0.01)
        server.process.kill()
        for each in writers:
            each.join()
    assert len(acknowledged) >= _ENOUGH

    graph = open_graph(tmp_path / "graph")

    found = ages(graph)
    assert {f"{name}-{side}" for name in acknowledged for side in "ab"} <= set(found)
    pairs = edges(graph)
    assert {(f"{name}-a", f"{name}-b") for name in acknowledged} <= pairs
    assert set(found) == {end for pair in pairs for end in pair}, "a write is there by half"
    _writes_again(graph)


def _write(server: Running, number: int, acknowledged: list[str]) -> None:
    for count in range(10_000):
        name = f"w{number}-{count}"
        body = {"query_source": PAIR, "params": {"a": f"{name}-a", "b": f"{name}-b"}}
        try:
            answer = ask(server.url, "/change", body)
        except httpx.TransportError:
            return
        # On a busy machine others may be faster again and again; then nothing was done.
        assert answer.status_code in (200, 409), answer.text
        if answer.status_code == 200:
            acknowledged.append(name)


def _writes_again(graph: Graph) -> None:
    before = graph.snapshot().state(PERSON).row_count
    graph.mutate(PAIR, a="after-a", b="after-b")
    assert graph.snapshot().state(PERSON).row_count == before + 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_a_signal_stops_the_command_and_that_is_a_success(tmp_path: Path, number: int) -> None:
    new_graph(tmp_path / "graph")
    with running(tmp_path, "graph") as server:
        assert ask(server.url, "/read", {"query_source": ALL}).status_code == 200
        server.process.send_signal(number)
        assert server.wait() == 0
        events = [json.loads(line)["event"] for line in server.log.read_text().splitlines()]
        assert events == ["serving", "request", "stopping", "stopped"]


def test_a_hangup_reads_the_tokens_again(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"ana": "the-first-token"}')
    given = {"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(tokens)}
    with running(tmp_path, "graph", environment=given) as server:
        body = {"query_source": ALL}
        assert ask(server.url, "/read", body, "the-first-token").status_code == 200
        tokens.write_text('{"ana": "the-second-token"}')
        server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if ask(server.url, "/read", body, "the-second-token").status_code == 200:
                break
            time.sleep(0.05)
        assert ask(server.url, "/read", body, "the-first-token").status_code == 401
        assert server.process.poll() is None


def test_graph_address_and_policy_come_from_the_configuration(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    (tmp_path / "policy.yaml").write_text("version: 1\ngroups: {g: [ana]}\nrules: []\n")
    (tmp_path / ".env.omni").write_text("OMNIGRAPH_SERVER_BEARER_TOKEN=token-of-the-file\n")
    (tmp_path / "omnigraph.yaml").write_text(
        "graphs: {people: {uri: graph}}\n"
        "server: {graph: people}\n"
        "auth: {env_file: .env.omni}\n"
        "policy: {file: policy.yaml}\n"
    )
    with running(tmp_path) as server:
        body = {"query_source": ALL}
        assert ask(server.url, "/read", body).status_code == 401
        assert ask(server.url, "/read", body, "token-of-the-file").status_code == 403


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no graph to serve"),
        (["missing"], "no graph at"),
        (["graph", "--bind", "0.0.0.0:0"], "without tokens"),
        (["graph", "--bind", "8080"], "--bind is an address"),
        (["graph", "--limit", "thread=1"], "no limit 'thread'"),
        (["graph", "--limit", "threads=none"], "is a number"),
        (["graph", "--policy", "missing.yaml"], "needs tokens"),
        (["graph", "--target", "x"], "exclude each other"),
    ],
)
def test_what_cannot_be_served_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    new_graph(tmp_path / "graph")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(omnigraph_server, arguments)
    assert done.exit_code in (1, 2)
    assert said in done.output


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = "import sys; from omnigraph.server.main import omnigraph_server\n"
    code += "try: omnigraph_server(['--help'])\n"
    code += "finally: print('heavy:', *(n for n in ('lance', 'uvicorn') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("heavy:")


def test_when_no_descriptor_is_left_the_log_has_no_traceback(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph").load(PEOPLE)
    with running(tmp_path, str(tmp_path / "graph")) as server, ExitStack() as stack:
        taken = len([*Path(f"/proc/{server.process.pid}/fd").iterdir()])
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (taken + 20, taken + 20))

        for _ in range(60):
            stack.enter_context(closing(connect(server.address)))
        deadline = time.monotonic() + 10
        while "no file descriptor left" not in server.log.read_text():
            assert time.monotonic() < deadline, "the limit was never reached"
            time.sleep(0.05)
        stack.close()
        while httpx.get(f"{server.url}/healthz", timeout=10).status_code != 200:
            assert time.monotonic() < deadline

        log = server.log.read_text()
        assert "Traceback" not in log
        assert all(line.startswith("{") for line in log.splitlines())
