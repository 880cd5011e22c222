"""Fleet: agents of a deployment find each graph below its name; the SDK may be missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.agent import ROOT, SECONDS, at_address
from tests.deploy.folder import TWO, write
from tests.deploy.serving import TOKENS, applied, fleet
from tests.sample import new_graph
from tests.server.serving import serving

ALL = "query q() { match { $p: Person } return { $p.name as name } order { name } }"
ADD = "query add($name: String) { insert Person { name: $name } }"


async def test_every_graph_of_a_deployment_has_its_agents(tmp_path: Path) -> None:
    folder = write(tmp_path / "brain", cluster__yaml=TWO)
    applied(folder)
    with fleet(folder) as served:
        base = f"http://{served.server.address}/graphs"
        async with at_address(f"{base}/people/mcp", TOKENS["ann"], mode="auto") as agent:
            assert list(await agent.tools()) == ["q_everyone"]
            assert (await agent.done("q_everyone")).rows == []
            assert "error[denied]" in await agent.refused("query", query=ALL)
        async with at_address(f"{base}/other/mcp", TOKENS["bob"]) as agent:
            made = await agent.done("change", query=ADD, params={"name": "Ada"})
            assert made.branch.startswith("agent/bob/")
            assert (await agent.done("query", query=ALL, branch=made.branch)).rows == [["Ada"]]
        headers = {"authorization": f"Bearer {TOKENS['cy']}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        hidden = served.client.post("/graphs/people/mcp", json=body, headers=headers)
        missing = served.client.post("/graphs/peeple/mcp", json=body, headers=headers)
        assert hidden.status_code == missing.status_code == 404
        assert served.client.post("/mcp", json=body, headers=headers).status_code == 404


def test_a_server_without_the_sdk_says_how_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with serving(tmp_path) as served:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for _ in range(2):
            answer = served.ask("POST", "/mcp", body)
            assert (answer.status_code, answer.json()["code"]) == (501, "unavailable")
            assert "pip install 'omnigraph[mcp]'" in answer.json()["detail"]["hint"]
        assert served.ask("GET", "/healthz").status_code == 200


def test_the_command_without_the_sdk_says_how_it_is_installed(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph").close()
    program = "import sys; sys.modules['mcp'] = None; from omnigraph.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "mcp", "graph"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "pip install 'omnigraph[mcp]'" in done.stderr
