"""Studio: the page of a server, the code that gets a browser its token, and what it may offer."""

import gzip
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from omnigraph.server.studio import page
from omnigraph.server.studio.handover import Handover
from tests.sample import new_graph
from tests.server.serving import Served, serving

LONGEST = 120.0
SCRIPT = b"console.log('studio');" * 200


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a small page, in place of the one that is built."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Studio</title>")
    (folder / "assets/app-1a2b3c4d.js").write_bytes(SCRIPT)
    monkeypatch.setattr(page, "_FOLDER", folder)
    return folder


def test_the_page_and_its_files_need_no_token_and_allow_nothing_from_elsewhere(
    served: Served, built: Path
) -> None:
    start = served.ask("GET", "/studio?room=review&branch=draft", actor=None)
    script = served.ask("GET", "/studio/assets/app-1a2b3c4d.js", actor=None)

    assert (start.status_code, start.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Studio" in start.text
    assert script.content == SCRIPT
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    for each in (start, script):
        allowed = each.headers["content-security-policy"]
        assert "default-src 'none'" in allowed
        assert "script-src 'self';" in allowed
        assert "unsafe" not in allowed
        assert "http" not in allowed
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["referrer-policy"] == "no-referrer"
    assert start.headers["cache-control"] == "no-cache"
    assert "immutable" in script.headers["cache-control"]


def test_files_are_sent_compressed_to_those_who_read_that(served: Served, built: Path) -> None:
    path = "/studio/assets/app-1a2b3c4d.js"
    with served.client.stream("GET", path, headers={"accept-encoding": "br, gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    plain = served.ask("GET", path, actor=None, headers={"accept-encoding": "gzip;q=0"})

    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == SCRIPT
    assert len(packed) < len(SCRIPT) / 10
    assert "content-encoding" not in plain.headers


def test_rooms_are_the_page_and_only_files_of_the_page_can_be_read(
    served: Served, built: Path
) -> None:
    (built.parent / "secret.txt").write_text("secret")

    assert "Studio" in served.ask("GET", "/studio/review/draft", actor=None).text
    assert served.ask("GET", "/studio/assets/gone-00000000.js", actor=None).status_code == 404
    for path in ("/studio/../secret.txt", "/studio/%2e%2e/secret.txt", "/studio//etc/passwd"):
        assert "secret" not in served.ask("GET", path, actor=None).text


def test_a_page_that_is_built_anew_is_served_anew(served: Served, built: Path) -> None:
    served.ask("GET", "/studio", actor=None)
    start = built / "index.html"
    start.write_text("<!doctype html><title>Newer</title>")
    os.utime(start, (1, 1))

    assert "Newer" in served.ask("GET", "/studio", actor=None).text


def test_a_checkout_without_the_page_says_how_to_get_it(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_FOLDER", tmp_path / "nothing")

    answer = served.ask("GET", "/studio", actor=None)

    assert answer.status_code == 200
    assert "make studio" in answer.text


def test_a_code_gets_one_browser_the_token(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        body = {"code": served.handover.code}
        wrong = served.ask("POST", "/studio/session", {"code": "another"}, actor=None)
        first = served.ask("POST", "/studio/session", body, actor=None)
        second = served.ask("POST", "/studio/session", body, actor=None)

        assert [each.status_code for each in (wrong, first, second)] == [401, 200, 401]
        token = first.json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        asked = served.client.get("/studio/config.json", headers=headers)
        assert asked.json()["actor_id"] == first.json()["actor_id"] == "owner"


def test_a_code_is_void_after_its_time() -> None:
    handover = Handover("ana", seconds=0.0)

    assert handover.take(handover.code) is None


def test_what_is_shown_of_a_handover_has_neither_code_nor_token() -> None:
    handover = Handover("ana")

    assert handover.code not in repr(handover)
    assert handover.token not in repr(handover)


def test_the_page_is_told_what_an_actor_may_do_to_a_branch(served: Served) -> None:
    def told(actor: str, branch: str) -> list[str]:
        answer = served.ask("GET", "/studio/config.json", actor=actor, params={"branch": branch})
        found: list[str] = answer.json()["may"]
        return found

    assert "branch_merge" in told("owner", "main")
    assert told("reader", "main") == ["read"]
    assert told("drafter", "main") == ["read"]
    assert told("drafter", "draft") == ["read", "change"]
    assert told("stranger", "main") == []
    assert served.ask("GET", "/studio/config.json", actor=None).status_code == 401


def test_omnigraph_studio_serves_one_graph_to_who_has_the_code(tmp_path: Path) -> None:
    new_graph(tmp_path / "people").load('{"type": "Company", "data": {"name": "mill"}}')
    code = "from omnigraph.cli.main import main; main()"
    program = [sys.executable, "-c", code, "studio", str(tmp_path / "people")]
    command = subprocess.Popen(
        [*program, "--no-browser", "--as", "ana"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert command.stdout is not None
        url = command.stdout.readline().strip()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/studio#code=(\S+)", url)
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=LONGEST) as client:
            assert client.get("/studio").status_code == 200
            assert client.get("/branches").status_code == 401
            given = client.post("/studio/session", json={"code": found[2]}).json()
            headers = {"authorization": f"Bearer {given['token']}"}
            made = client.post("/branches", json={"name": "draft"}, headers=headers)
            assert (given["actor_id"], made.status_code) == ("ana", 200)
        command.send_signal(signal.SIGINT)
        assert command.wait(LONGEST) == 0
        assert command.stderr is not None
        assert given["token"] not in command.stderr.read()
    finally:
        if command.poll() is None:
            command.kill()
        command.communicate()
