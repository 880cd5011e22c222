"""Layouts: files laid out in one way, in place or as a check, for the commands called `fmt`."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from omnigraph.cli import completing
from omnigraph.cli.output import write_text
from omnigraph.span import Source

_Command = TypeVar("_Command", bound=Callable[..., Any])


def layout_options(command: _Command) -> _Command:
    """Add the files of a command that lays them out, and `--check`."""
    paths = click.argument(
        "paths", nargs=-1, required=True, metavar="FILE...", shell_complete=completing.files
    )
    check = click.option(
        "--check",
        "only_check",
        is_flag=True,
        help="Write nothing; exit with 1 if a file would change.",
    )
    return paths(check(command))


def lay_out(
    paths: Iterable[str],
    read: Callable[[str], Source],
    form: Callable[[Source], str],
    *,
    only_check: bool,
) -> None:
    """Write files in their layout and name those that change; `-` is read and printed."""
    changed = 0
    for path in paths:
        source = read(path)
        written = form(source)
        if path == "-" and not only_check:
            click.echo(written, nl=False)
        elif written != source.text:
            changed += 1
            click.echo(f"{path}: {'would be laid out anew' if only_check else 'laid out anew'}")
            if not only_check:
                write_text(path, written)
    if only_check and changed:
        click.get_current_context().exit(1)
