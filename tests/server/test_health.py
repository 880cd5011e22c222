"""Health: `--health` asks the server that has the same settings."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from omnigraph.server.monitoring.health import health_problem
from tests.sample import new_graph
from tests.server.process import running

PROGRAM = str(Path(sys.executable).with_name("omnigraph-server"))


def asked(
    folder: Path, *arguments: str, bind: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command, with the address as the variable that recipes set."""
    environment = {**os.environ, **({} if bind is None else {"OMNIGRAPH_BIND": bind})}
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def replying(reply: bytes) -> Iterator[int]:
    """A server of something else, which gives every client the same reply; its port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def test_the_port_that_is_asked_is_the_one_that_is_configured(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    with running(tmp_path, "graph") as server:
        port = server.address.rpartition(":")[2]
        (tmp_path / "omnigraph.yaml").write_text(f"server: {{bind: '0.0.0.0:{port}'}}\n")

        assert asked(tmp_path, "--health", "20").returncode == 0
        assert asked(tmp_path, "--health", "20", bind=f"0.0.0.0:{port}").returncode == 0
        assert asked(tmp_path, "--health", "20", "--bind", f"localhost:{port}").returncode == 0

        wrong = asked(tmp_path, "--health", "0.5", bind=f"127.0.0.1:{free_port()}")
        assert wrong.returncode == 1
        assert "no healthy server at 127.0.0.1:" in wrong.stderr
        assert "Traceback" not in wrong.stderr


@pytest.mark.long
def test_a_server_that_is_known_by_other_names_is_healthy(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    with running(tmp_path, "graph", "--host", "graph.example") as server:
        assert asked(tmp_path, "--health", "20", bind=server.address).returncode == 0


def test_a_check_waits_until_the_server_is_there() -> None:
    port = free_port()
    reply = b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"status": "ok"}'
    listener = socket.socket()

    def late() -> None:
        time.sleep(0.4)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            client.sendall(reply)

    with closing(listener):
        threading.Thread(target=late, daemon=True).start()
        assert health_problem("127.0.0.1", port, seconds=20) is None


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}", "answers with 503"),
        (b"HTTP/1.1 400 No\r\nContent-Length: 17\r\n\r\n" + b'{"code": "other"}', "with 400"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "another program"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "another program"),
        (b"SSH-2.0-OpenSSH\r\n", "BadStatusLine"),
    ],
)
def test_other_answers_are_not_health(reply: bytes, said: str) -> None:
    with replying(reply) as port:
        problem = health_problem("127.0.0.1", port, seconds=0.3)
    assert problem is not None
    assert said in problem


def test_a_server_that_never_answers_is_not_waited_for() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        began = time.monotonic()
        problem = health_problem("127.0.0.1", listener.getsockname()[1], seconds=0.5)
    assert problem is not None
    assert time.monotonic() - began < 5


def test_a_port_that_the_system_chooses_cannot_be_asked(tmp_path: Path) -> None:
    done = asked(tmp_path, "--health", "1", bind="127.0.0.1:0")
    assert done.returncode == 2
    assert "port 0" in done.stderr
