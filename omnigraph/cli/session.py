"""Session: what every command needs: files, the configuration, showing errors, exit codes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from omnigraph.config import Config

_CONFIG = "omnigraph.config"
_EXIT_CODES: tuple[tuple[type[OmniGraphError], int], ...] = (
    (ConflictError, 3),
    (NotFoundError, 5),
)


def _remember_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    context.meta[_CONFIG] = path


config_option = click.option(
    "--config",
    metavar="FILE",
    expose_value=False,
    callback=_remember_config,
    help="The omnigraph.yaml.  [default: that of this folder]",
)


def given_config() -> "Config | None":
    """Give what `--config` names, or else the omnigraph.yaml of this folder if there is one."""
    from omnigraph.config import find_config

    return find_config(click.get_current_context().meta.get(_CONFIG), Path.cwd())


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


def read_text(path: str) -> str:
    """Give the text of a file; `-` is standard input."""
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise UnreadableError(f"cannot read '{path}': it is not UTF-8") from None


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
