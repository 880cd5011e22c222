"""Bootstrap: `scripts/local-s3-bootstrap` serves the example out of a bucket, and cleans up."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

SCRIPT = Path(__file__).parents[2] / "scripts" / "local-s3-bootstrap"
COUNT = "query q() { match { $p: Person } return { count($p) as people } }"
LONGEST = 120.0


def test_the_script_serves_the_example_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ports = [_free_port(), _free_port()]
    given = {"PYTHON": sys.executable, "TMPDIR": str(tmp_path), "S3_PORT": str(ports[0])}
    log = tmp_path / "log"
    with log.open("wb") as file:
        script = subprocess.Popen(
            [str(SCRIPT)],
            env={**os.environ, **given, "BIND": f"127.0.0.1:{ports[1]}"},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{ports[1]}"
        _wait_for(url, script, log)
        answer = httpx.post(f"{url}/read", json={"query_source": COUNT})
        assert answer.json()["rows"][0]["people"] > 0

        script.send_signal(signal.SIGTERM)

        assert script.wait(30) == 0, log.read_text()
        assert [each for each in tmp_path.iterdir() if each != log] == []
        assert not any(map(_is_taken, ports))
    finally:
        if script.poll() is None:
            os.killpg(script.pid, signal.SIGKILL)
            script.wait(60)


def _wait_for(url: str, script: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + LONGEST
    while True:
        try:
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            assert script.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _is_taken(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
