"""Session: what every command needs: reading files, showing errors, exit codes."""

import sys
from pathlib import Path

import click

from omnigraph.errors import (
    Code,
    ConflictError,
    NotFoundError,
    OmniGraphError,
    QueryError,
    SchemaError,
    UnreadableError,
)
from omnigraph.span import Source

_EXIT_CODES: tuple[tuple[type[OmniGraphError], int], ...] = (
    (ConflictError, 3),
    (NotFoundError, 5),
)


def exit_code(error: OmniGraphError) -> int:
    """Give the exit code of an error."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def show_error(error: OmniGraphError, *, as_json: bool) -> None:
    """Show an error: as a JSON object on stdout, or as text on stderr."""
    if as_json:
        from omnigraph.cli.output import show_json

        show_json(error.to_json())
    else:
        click.echo(error.render(), err=True)


def read_schema(path: str) -> Source:
    """Give the text of a `.pg` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    return decode(path, _bytes(path), SchemaError, Code.SCHEMA_SYNTAX)


def read_queries(path: str) -> Source:
    """Give the text of a `.gq` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    return decode(path, _bytes(path), QueryError, Code.QUERY_SYNTAX)


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
