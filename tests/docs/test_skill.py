"""The skill: every command of its pages succeeds, and what it names exists."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from omnigraph.cli.main import omnigraph
from omnigraph.errors import OmniGraphError
from omnigraph.query.compile import compile_queries
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source
from tests.docs.blocks import EXAMPLE, ROOT, Block, blocks_of
from tests.docs.test_docs_run import commands_of, matches
from tests.docs.warm import warmed

SKILL = ROOT / "skills" / "omnigraph"
PAGES = sorted(SKILL.glob("*.md"))
CONSOLE = [block for page in PAGES for block in blocks_of(page) if block.language == "console"]
_INLINE = re.compile(r"`(omnigraph (?!\[)[^`\n]*)`")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with warmed(tmp_path_factory.mktemp("warm")) as folder:
        yield folder


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_every_command_of_the_skill_succeeds(block: Block, tmp_path: Path, warm: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    path = os.pathsep.join([str(warm), str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands_of(block.text):
        done = subprocess.run(
            ["sh", "-c", command.line],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"$ {command.line}\n{done.stdout}"
        assert matches(command.expected, done.stdout.splitlines()), done.stdout


def test_the_skill_says_what_it_is_for() -> None:
    head = yaml.safe_load((SKILL / "SKILL.md").read_text().split("---")[1])
    assert head["name"] == SKILL.name
    assert 50 < len(head["description"]) < 1_000
    linked = re.findall(r"\]\(([\w-]+\.md)\)", (SKILL / "SKILL.md").read_text())
    assert sorted({*linked, "SKILL.md"}) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    for line in _INLINE.findall(page.read_text()):
        words = line.split()[1:]
        command: click.Command = omnigraph
        context = click.Context(command)
        while isinstance(command, click.Group) and words and words[0].islower():
            found = command.get_command(context, words[0])
            if found is None:
                break
            command, words = found, words[1:]
        assert command is not omnigraph, line
        known = {name for param in command.params for name in param.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("query q() { match { $p WorksAt $c } return { $p.name } }", "Q000"),
        ("query q() { match { $p: Person } return { $p.name } limit 3 order { $p.name } }", "Q000"),
        (
            'query q() { insert City { slug: "x" name: "x" country: "y" }'
            ' delete City where slug = "x" }',
            "D2",
        ),
        (
            "query q($v: Vector(384)) { match { $d: Document } return { $d.title }"
            " order { nearest($d.vector, $v) } }",
            "T20",
        ),
        ("match { $p: Persn } return { $p }", "T1"),
    ],
)
def test_the_mistakes_have_the_codes_that_the_page_tells(text: str, code: str) -> None:
    catalog = compile_schema((EXAMPLE / "people.pg").read_text())
    with pytest.raises(OmniGraphError) as raised:
        compile_queries(Source("<query>", text), catalog)
    assert raised.value.code == code
    assert code in (SKILL / "mistakes.md").read_text()


def test_what_the_agents_page_links_to_is_there() -> None:
    assert "skills/omnigraph" in (ROOT / "AGENTS.md").read_text()
