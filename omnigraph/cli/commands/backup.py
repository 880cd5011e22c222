"""The commands `backup` and `restore`: a copy of a graph in another place, and back."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, shown_bytes
from omnigraph.cli.session import Session, json_option, session_options

if TYPE_CHECKING:
    from omnigraph.maintain.reports import Copied

_verify_option = click.option(
    "--verify/--no-verify", default=True, show_default=True, help="Check the copy as fsck does."
)


@click.command()
@click.argument(
    "places", nargs=-1, required=True, metavar="[URI] DEST", shell_complete=completing.folders
)
@_verify_option
@session_options
def backup(session: Session, places: tuple[str, ...], verify: bool) -> None:
    """Copy a graph to DEST, or renew the backup that is there.

    DEST is a folder or a bucket: a path, s3://, gs:// or az://. Others may write meanwhile; the
    backup is the graph at one moment, with all history that can be read. Only what is new is
    copied. Until that is done, DEST has the backup before, or none. Exits with 1 when the copy is
    damaged.
    """
    from omnigraph.cli.progress import shown_progress

    *graphs, dest = places
    if len(graphs) > 1:
        raise click.UsageError("give the graph and DEST, and nothing else")
    graph = replace(session, word=graphs[0] if graphs else None).graph()
    with shown_progress() as progress:
        done = graph.backup(dest, verify=verify, progress=progress)
    _show(session, done, "backed up")


@click.command()
@click.argument("source", shell_complete=completing.folders)
@click.argument("uri", shell_complete=completing.folders)
@_verify_option
@json_option
def restore(source: str, uri: str, verify: bool, as_json: bool) -> None:
    """Make a graph at URI of the backup at SOURCE.

    URI has to be empty; an existing graph is refused and not touched. A restore that was cut off
    is completed when it is repeated. Exits with 1 when the graph is damaged.
    """
    from omnigraph.api.graph import restore as restore_graph
    from omnigraph.cli.progress import shown_progress

    with shown_progress() as progress:
        done = restore_graph(source, uri, verify=verify, progress=progress)
    _show(Session(as_json=as_json), done, "restored")


def _show(session: Session, done: "Copied", verb: str) -> None:
    """Print what was copied and the damage that was found, if there is any."""
    session.show(done.to_json(), *_lines(done, verb))
    if done.is_sound is False:
        click.get_current_context().exit(1)


def _lines(done: "Copied", verb: str) -> list[str]:
    findings = () if done.checkup is None else done.checkup.findings
    verdicts = {None: "not checked", True: "sound", False: counted(len(findings), "finding")}
    copied = f"{counted(done.files_copied, 'file')} copied ({shown_bytes(done.bytes_copied)})"
    kept = f"{counted(done.files_kept, 'file')} kept, {done.files_removed:,} removed"
    return [
        *(f"{each.kind}: {each.where}: {each.message}" for each in findings),
        f"{verb} {done.source} to {done.dest}, {counted(done.commits, 'commit')}, main at "
        f"{done.commit}",
        f"{copied}, {kept}; {verdicts[done.is_sound]}",
    ]
