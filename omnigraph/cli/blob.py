"""The command `blob`: writes the content of one Blob property."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.errors import NotFoundError, UnreadableError

_COUNT = click.IntRange(min=0)


@click.command()
@click.argument("uri")
@click.argument("type_name", metavar="TYPE")
@click.argument("row_id", metavar="ID")
@click.argument("name", metavar="PROPERTY")
@click.option("--output", metavar="FILE", help="Write it there instead of to standard output.")
@click.option("--offset", type=_COUNT, default=0, metavar="N", help="The first byte to write.")
@click.option("--length", type=_COUNT, metavar="N", help="How many to write; all without it.")
@click.option("--branch", metavar="NAME", help="The branch to read.  [default: main]")
@click.option("--snapshot", metavar="COMMIT", help="The commit to read instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document about it instead.")
def blob(
    uri: str,
    type_name: str,
    row_id: str,
    name: str,
    output: str | None,
    offset: int,
    length: int | None,
    branch: str | None,
    snapshot: str | None,
    as_json: bool,
) -> None:
    """Write the content of a Blob property.

    TYPE, ID and PROPERTY say which. With --json its size is printed, or the URI that it refers to
    instead of having content. Null exits with 5.
    """
    if branch is not None and snapshot is not None:
        raise click.UsageError("--branch and --snapshot exclude each other")
    if as_json and output is not None:
        raise click.UsageError("--json and --output exclude each other")
    from omnigraph.graph import open as open_graph

    target = snapshot if branch is None else branch
    view = open_graph(uri, read_only=True).at("main" if target is None else target)
    found = view.blob(type_name, row_id, name)
    if as_json:
        size, reference = (None, None) if found is None else (found.size, found.uri)
        which = {"type": type_name, "id": row_id, "property": name}
        show_json({**which, "size": size, "uri": reference})
        return
    if found is None:
        raise NotFoundError(f"{type_name}.{name} of '{row_id}' is null")
    pieces = found.chunks(offset=offset, length=length)
    if output is None:
        _write(sys.stdout.buffer, pieces)
    else:
        click.echo(f"wrote {counted(_write_file(output, pieces), 'byte')} to {output}")


def _write_file(path: str, pieces: Iterable[bytes]) -> int:
    try:
        with Path(path).open("wb") as file:
            return _write(file, pieces)
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot write '{path}': {reason}") from None


def _write(file: BinaryIO, pieces: Iterable[bytes]) -> int:
    written = 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:  # an unbuffered stream may take a part only
            rest = rest[file.write(rest) :]
        written += len(piece)
    file.flush()
    return written
