"""The command `explain`: what an error code means, as the documentation says it."""

import re
from functools import cache

import click
from click.shell_completion import CompletionItem

from omnigraph.cli.output import show_json
from omnigraph.cli.session import json_option
from omnigraph.errors import NotFoundError

_SECTION = re.compile(r"^## (\w+)(?:: (.+))?$")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#]*)(?:#[^)]*)?\)")


def _codes(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    found = (code for code in _sections() if code.lower().startswith(begun.lower()))
    return [CompletionItem(code) for code in found]


@click.command()
@click.argument("code", shell_complete=_codes)
@json_option
def explain(code: str, as_json: bool) -> None:
    """Show what the error code CODE means, and what to do about it."""
    known = {each.lower(): each for each in _sections()}
    found = known.get(code.lower())
    if found is None:
        from omnigraph.syntax.problems import suggest

        hint = suggest(code, known.values()) or "docs/errors.md lists them all"
        raise NotFoundError(f"unknown error code '{code}'", hint=hint)
    title, text = _sections()[found]
    if as_json:
        show_json({"code": found, "title": title, "text": text})
    else:
        click.echo(f"{found}: {title}" if title else found)
        click.echo(f"\n{_plain(text)}")


def _plain(text: str) -> str:
    """Return the text of a page for a terminal: examples indented, links by their pages."""
    lines: list[str] = []
    is_example = False
    for line in text.splitlines():
        if line.startswith("```"):
            is_example = not is_example
        elif is_example:
            lines.append(f"  {line}".rstrip())
        else:
            lines.append(_LINK.sub(_named, line))
    return "\n".join(lines)


def _named(link: re.Match[str]) -> str:
    words, page = link[1], link[2]
    if not page:
        return words
    return f"{words} ({page})" if "://" in page else f"{words} (docs/{page})"


@cache
def _sections() -> dict[str, tuple[str | None, str]]:
    """Return the title and the text of each code, as docs/errors.md has them."""
    from importlib.resources import files

    sections: dict[str, tuple[str | None, str]] = {}
    lines: list[str] = []
    code, title, is_code_block = None, None, False
    page = files("omnigraph.cli").joinpath("errors.md").read_text(encoding="utf-8")
    for line in [*page.splitlines(), "# end"]:
        is_code_block ^= line.startswith("```")
        if not is_code_block and line.startswith("#"):
            if code is not None:
                sections[code] = title, "\n".join(lines).strip()
            match = _SECTION.match(line)
            code, title = (None, None) if match is None else (match[1], match[2])
            lines = []
        else:
            lines.append(line)
    return sections
