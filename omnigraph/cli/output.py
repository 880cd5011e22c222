"""Output: how results are shown."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import click

from omnigraph.errors import Json, Problem, UnreadableError
from omnigraph.look.words import plural
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.write.load.loaded import Loaded

# A JSON object of the stable machine form; docs/documents.schema.json has them all.
Document: TypeAlias = dict[str, Any]

_LONGEST_SHOWN = 40
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def show_json(document: Json) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def show_either(document: Document, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a document for programs, or lines for people."""
    if as_json:
        show_json(document)
        return
    for line in lines:
        click.echo(line)


def show_problem(problem: Problem, source: Source) -> None:
    """Print a problem with its source line, in colour on a terminal."""
    click.echo(coloured(problem.render(source)))


def show_warning(code: str, message: str) -> None:
    """Print a warning, in colour on a terminal."""
    click.echo(coloured(f"warning[{code}]: {message}"))


def coloured(text: str) -> str:
    """Return a text with its errors in red and its warnings in yellow."""
    return "\n".join(_coloured(line) for line in text.split("\n"))


def _coloured(line: str) -> str:
    if line.startswith("error["):
        return click.style(line, fg="red", bold=True)
    return click.style(line, fg="yellow") if line.startswith("warning[") else line


_MARK_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


def marked(line: str) -> str:
    """Return the line of a change in the colour of its mark."""
    colour = _MARK_COLOURS.get(line[:1])
    return line if colour is None else click.style(line, fg=colour)


# Behind white space, and in a profile behind numbers.
_OPERATOR = re.compile(r"(?m)^([ \d,.!]*  )([A-Z]\w*)(?= )")
_NOTE = re.compile(r"(?m)^  (?:description|instruction): .*$")


def planned(text: str) -> str:
    """Return a plan with the names of its operators in colour, and its notes pale."""
    found = _OPERATOR.sub(lambda each: each[1] + click.style(each[2], fg="cyan"), text)
    return _NOTE.sub(lambda each: click.style(each[0], dim=True), found)


def headed(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a table with its head in bold and the line below it pale."""
    for number, line in enumerate(lines):
        if number == 0:
            yield click.style(line, bold=True)
        else:
            yield click.style(line, dim=True) if number == 1 else line


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 error`, `2 errors`, `3 queries`."""
    return f"{count} {noun if count == 1 else plural(noun)}"


def loaded_line(loaded: "Loaded") -> str:
    """Return what a load did as one line."""
    nodes = counted(sum(loaded.nodes.values()), "node")
    edges = counted(sum(loaded.edges.values()), "edge")
    counts = loaded.counts
    met = counts is not None and bool(counts.updated or counts.unchanged)
    told = f": {counts}" if met else ""
    if loaded.commit is None:
        return f"checked {nodes} and {edges} ({loaded.engine}){told}; nothing was committed"
    where = f"{loaded.branch} ({loaded.engine})"
    return f"loaded {nodes} and {edges} into {where}{told}, commit {loaded.commit.id}"


def shown_bytes(size: int) -> str:
    """Return a number of bytes in the unit that suits it: `12 bytes`, `3.4 MiB`."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def cell(value: Json) -> str:
    """Return a JSON value as a text for people: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shortened(value: Json) -> str:
    """Return a JSON value as a text that is short enough to be part of a line."""
    text = cell(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def write_text(path: str, text: str) -> None:
    """Write a file as it is, with its line ends; raises UnreadableError when that fails."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="")
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot write '{path}': {reason}") from None


def write_bytes(pieces: Iterable[bytes], file: BinaryIO | None = None) -> int:
    """Write pieces to a file or standard output, whole; return how many bytes they were."""
    out = sys.stdout.buffer if file is None else file
    written = 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:  # an unbuffered stream may take a part only
            rest = rest[out.write(rest) :]
        written += len(piece)
    out.flush()
    return written
