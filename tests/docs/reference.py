"""Reference: docs/commands.md, made from the commands themselves; `make docs` writes it anew."""

from pathlib import Path

import click
from click.testing import CliRunner

from omnigraph.cli.main import omnigraph
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "commands.md"
_HEAD = """\
# Every command

This page is made from the commands themselves, by `make docs`. [cli.md](cli.md) says what they
are for, and [documents.schema.json](documents.schema.json) what they print with `--json`.
"""


def reference() -> str:
    """Return the page."""
    parts = [_HEAD, *_sections(omnigraph, "omnigraph")]
    return "\n".join(parts)


def _sections(group: click.Group, path: str) -> list[str]:
    sections = [_section(path)]
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = f"{path} {name}"
        if isinstance(command, click.Group):
            sections += _sections(command, inner)
        else:
            sections.append(_section(inner))
    return sections


def _section(path: str) -> str:
    words = path.split()[1:]
    printed = CliRunner().invoke(omnigraph, [*words, "--help"], prog_name="omnigraph").output
    return f"## {path}\n\n```text\n{printed.rstrip()}\n```\n"


def write_page(page: Path = PAGE) -> None:
    """Write the page anew."""
    page.write_text(reference())


if __name__ == "__main__":
    write_page()
