"""The command `blob`: writes the content of one Blob property."""

from collections.abc import Iterable
from pathlib import Path

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, write_bytes
from omnigraph.cli.session import Session, graph_options, target_options
from omnigraph.errors import NotFoundError, UnreadableError

_COUNT = click.IntRange(min=0)


@click.command()
@click.argument("type_name", metavar="TYPE", shell_complete=completing.types)
@click.argument("row_id", metavar="ID")
@click.argument("name", metavar="PROPERTY")
@click.option("--output", metavar="FILE", help="Write it there instead of to standard output.")
@click.option("--offset", type=_COUNT, default=0, metavar="N", help="The first byte to write.")
@click.option("--length", type=_COUNT, metavar="N", help="How many to write; all without it.")
@target_options
@graph_options
def blob(
    session: Session,
    type_name: str,
    row_id: str,
    name: str,
    output: str | None,
    offset: int,
    length: int | None,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Write the content of a Blob property.

    TYPE, ID and PROPERTY say which. With --json its size is printed, or the URI that it refers to
    instead of having content. Null exits with 5.
    """
    if session.as_json and output is not None:
        raise click.UsageError("--json and --output exclude each other")
    target = session.to_read(branch, snapshot)
    found = target.view(session.graph()).blob(type_name, row_id, name)
    if session.as_json:
        size, reference = (None, None) if found is None else (found.size, found.uri)
        which = {"type": type_name, "id": row_id, "property": name}
        session.show({**which, "size": size, "uri": reference})
        return
    if found is None:
        raise NotFoundError(f"{type_name}.{name} of '{row_id}' is null")
    pieces = found.chunks(offset=offset, length=length)
    if output is None:
        write_bytes(pieces)
    else:
        click.echo(f"wrote {counted(_write_file(output, pieces), 'byte')} to {output}")


def _write_file(path: str, pieces: Iterable[bytes]) -> int:
    try:
        with Path(path).open("wb") as file:
            return write_bytes(pieces, file)
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot write '{path}': {reason}") from None
