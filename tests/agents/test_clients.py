"""Clients: entries in their configuration files are shown first, and nothing else is lost."""

import json
import os
import tomllib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from omnigraph.cli.main import omnigraph
from omnigraph.mcp.clients import CLIENTS
from tests.agents.agent import ROOT

SHAPES = json.loads((ROOT / "docs/documents.schema.json").read_text())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


def install(*words: str) -> Result:
    return CliRunner().invoke(omnigraph, ["mcp", "install", *words])


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)
def test_an_entry_is_shown_and_then_written(client: object, home: Path) -> None:
    name = client.name  # type: ignore[attr-defined]
    words = ("--client", name, "graph", "--read-only", "--actor", "ana")
    shown = install(*words)
    assert shown.exit_code == 0, shown.output
    assert "add --yes" in shown.output
    assert files(home.parent) == []
    written = install(*words, "--yes")
    assert written.exit_code == 0, written.output
    (path,) = files(home.parent)
    text = (home.parent / path).read_text()
    document = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    entry = document[client.key]["omnigraph"]  # type: ignore[attr-defined]
    assert entry["args"] == [
        *("mcp", str(Path.cwd() / "graph"), "--read-only", "--actor", "ana"),
    ]
    again = install(*words, "--yes")
    assert "has it already" in again.output
    assert (home.parent / path).read_text() == text


def test_a_file_that_cannot_be_written_is_told_in_words_and_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    refused = install("--client", "cursor", "graph", "--yes")
    assert refused.exit_code == 1
    assert "mcp.json cannot be written: No space left on device" in refused.output
    assert files(home) == []


def test_other_entries_and_settings_stay(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    before = {"theme": "ünï", "mcpServers": {"other": {"command": "x"}}}
    path.write_text(json.dumps(before))
    path.chmod(0o600)
    assert install("--client", "cursor", "graph", "--yes").exit_code == 0
    after = json.loads(path.read_text())
    added = after["mcpServers"].pop("omnigraph")
    assert added["args"][0] == "mcp"
    assert after == before
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_entry_of_that_name_is_not_overwritten(home: Path) -> None:
    path = home / ".codeium/windsurf/mcp_config.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {"omnigraph": {"command": "mine"}}}')
    refused = install("--client", "windsurf", "graph", "--yes")
    assert refused.exit_code == 1
    assert "another entry" in refused.output
    assert "mine" in path.read_text()
    assert install("--client", "windsurf", "graph", "--yes", "--replace").exit_code == 0
    assert "mine" not in path.read_text()


def test_a_file_with_comments_is_left_to_its_owner(home: Path) -> None:
    path = Path.cwd() / ".vscode/mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "servers": {}\n}')
    refused = install("--client", "vscode", "graph", "--yes")
    assert refused.exit_code == 1
    assert "by hand" in refused.output
    assert "// mine" in path.read_text()


def test_what_is_no_file_is_told_and_no_traceback(home: Path) -> None:
    (Path.cwd() / ".mcp.json").mkdir()
    refused = install("--client", "claude-code", "graph")
    assert refused.exit_code == 1
    assert "Is a directory" in refused.output
    assert ".mcp.json" in refused.output
    assert isinstance(refused.exception, SystemExit)


def test_an_unknown_client_gets_the_nearest_name() -> None:
    refused = install("--client", "cursr")
    assert refused.exit_code == 1
    assert "did you mean 'cursor'?" in refused.output


def test_the_document_says_what_happened(home: Path) -> None:
    found = json.loads(install("--client", "gemini", "https://graph.example", "--json").output)
    jsonschema.validate(found, SHAPES["commands"]["mcp install"])
    assert found["outcome"] == "shown"
    assert found["entry"]["args"] == ["mcp", "https://graph.example"]
    assert found["path"] == str(home / ".gemini/settings.json")
    assert os.listdir(home) == []  # noqa: PTH208
