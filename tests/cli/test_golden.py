"""Every command prints what its transcript shows, and documents of the stable shapes."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.scene import GOLDEN, Scene, leaves, path_of

TRANSCRIPT = GOLDEN / "transcript.txt"
SHAPES = json.loads(Path("docs/documents.schema.json").read_text())
PROMPT = "$ omnigraph "
# They start Spark, talk to a person, an editor or an agent, need a server, or name a program of the
# machine; each has tests of its own.
ELSEWHERE = ("doctor", "login", "logout", "lsp", "mcp install", "mcp serve", "shell", "studio")
# What they print is a conversation, and no document.
TALKING = ("mcp serve", "shell")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    return Scene(tmp_path)


def test_every_command_prints_what_the_transcript_shows(
    scene: Scene, request: pytest.FixtureRequest
) -> None:
    expected = TRANSCRIPT.read_text()
    printed = ""
    for line in re.findall(rf"(?m)^{re.escape(PROMPT)}(.*)$", expected):
        done = scene.run(line)
        printed += f"{PROMPT}{line}\n{scene.told(done)}\n"
        if "--json" in line:
            check_shape(line, done.stdout, done.exit_code)
    if request.config.getoption("--update-cases"):
        TRANSCRIPT.write_text(printed)
        return
    assert printed == expected


def check_shape(line: str, printed: str, code: int) -> None:
    document = json.loads(printed)
    name = "error" if code and "error" in document else path_of(line)
    validate(name, document)


def validate(command: str, document: Any) -> None:
    """Check that a document has the shape that is documented for a command, and nothing more."""
    schema = {**SHAPES["commands"][command], "$defs": SHAPES["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(document)


def test_the_transcript_shows_every_command_for_people_and_for_programs() -> None:
    lines = re.findall(rf"(?m)^{re.escape(PROMPT)}(.*)$", TRANSCRIPT.read_text())
    shown = {(path_of(line), "--json" in line) for line in lines}
    wanted = {(name, False) for name in leaves() if name not in ELSEWHERE}
    wanted |= {
        (name, True)
        for name, command in leaves().items()
        if any("--json" in param.opts for param in command.params) and name not in ELSEWHERE
    }
    assert sorted(wanted - shown) == []


def test_every_document_has_a_documented_shape() -> None:
    speaking = {
        name
        for name, command in leaves().items()
        if any("--json" in param.opts for param in command.params) and name not in TALKING
    }
    assert speaking | {"error"} == set(SHAPES["commands"])
