"""The commands `load` and `ingest`: rows from files into a branch."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli import completing
from omnigraph.cli.output import Document, counted
from omnigraph.cli.session import Session, branch_option, graph_options
from omnigraph.cli.spark import engine_option, spark_options, spark_settings
from omnigraph.cli.terms import Given

if TYPE_CHECKING:
    from omnigraph.spark.progress import Progress
    from omnigraph.write.load.options import LoadHow

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MODES = ("append", "merge", "overwrite")
_OPTIONS = (
    click.option(
        "--data",
        multiple=True,
        required=True,
        metavar="FILE",
        shell_complete=completing.files,
        help="JSON lines (also .gz), CSV or Parquet; a glob, a URI, or - for standard input.",
    ),
    click.option(
        "--type",
        "type_name",
        metavar="TYPE",
        shell_complete=completing.types,
        help="The type of CSV or Parquet rows.",
    ),
    engine_option,
    click.option("--dry-run", is_flag=True, help="Check everything and commit nothing."),
    click.option(
        "--report", metavar="FILE", help="Write the first 1,000 violations there, as JSON lines."
    ),
    click.option(
        "--show",
        "shown",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        help="How many violations to print.",
    ),
    click.option("--message", metavar="TEXT", help="The message of the commit."),
    spark_options,
)


def _load_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@branch_option
@click.option("--mode", type=click.Choice(_MODES), default="append", show_default=True)
@_load_options
@graph_options
def load(session: Session, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, as one commit.

    append refuses keys that exist, merge replaces their rows, and overwrite replaces all rows of
    the types that the data holds. A bad line is reported with its file, line, field and reason;
    then nothing is loaded.
    """
    from omnigraph.cli.progress import shown_progress

    given, into = _given(how), session.branch(branch)
    with shown_progress() as progress:
        loaded = session.backend().load(given, into, _how(session, progress, how))
    session.show(loaded, _told(loaded))


@click.command()
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch; made when it is not there.  [default: cli.branch]",
)
@click.option("--from", "base", default="main", show_default=True, help="Where a new one starts.")
@click.option("--mode", type=click.Choice(_MODES), default="merge", show_default=True)
@_load_options
@graph_options
def ingest(session: Session, branch: str | None, base: str, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, making it when it is not there.

    The branch and its rows appear together, by one commit, or not at all.
    """
    from omnigraph.cli.progress import shown_progress

    into = branch or (None if session.config is None else session.config.cli.branch)
    if into is None:
        raise click.UsageError("name a branch with --branch")
    given = _given(how)
    with shown_progress() as progress:
        done = session.backend().ingest(given, into, base, _how(session, progress, how))
    made = [f"made branch {done['branch']} from {done['base_branch']}"]
    session.show(done, *(made if done["branch_created"] else []), _told(_sums(done)))


def _given(how: Mapping[str, Any]) -> Given:
    """Give the files that `--data` names, or standard input."""
    data: tuple[str, ...] = how["data"]
    if "-" in data and data != ("-",):
        raise click.UsageError("standard input cannot be loaded together with files")
    return Given(sys.stdin.buffer if "-" in data else list(data), how["type_name"])


def _how(session: Session, progress: "Progress", how: Mapping[str, Any]) -> "LoadHow":
    return {
        "mode": how["mode"],
        "engine": how["engine"],
        "spark": spark_settings(session.config, how),
        "shown": how["shown"],
        "report": how["report"],
        "dry_run": how["dry_run"],
        "message": how["message"],
        "progress": progress,
    }


def _sums(done: Document) -> Document:
    """Give what was ingested with the sums that a load tells."""
    sums = {"node": 0, "edge": 0}
    for table in done["tables"]:
        sums[table["table_key"].partition(":")[0]] += table["rows_loaded"]
    return {**done, "nodes_loaded": sums["node"], "edges_loaded": sums["edge"]}


def _told(loaded: Document) -> str:
    nodes = counted(loaded["nodes_loaded"], "node")
    edges = counted(loaded["edges_loaded"], "edge")
    if loaded["commit"] is None:
        return f"checked {nodes} and {edges} ({loaded['engine']}); nothing was committed"
    where = f"{loaded['branch']} ({loaded['engine']})"
    return f"loaded {nodes} and {edges} into {where}, commit {loaded['commit']}"
