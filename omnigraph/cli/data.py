"""The commands `load` and `ingest`: rows from files into a branch."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.spark import spark_options, spark_settings

if TYPE_CHECKING:
    from omnigraph.pipeline.load import Loaded
    from omnigraph.pipeline.options import LoadHow
    from omnigraph.pipeline.progress import Progress

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MODES = ("append", "merge", "overwrite")
_ENGINES = ("auto", "spark", "inline")
_OPTIONS = (
    click.option(
        "--data",
        multiple=True,
        required=True,
        metavar="FILE",
        help="JSON lines (also .gz), CSV or Parquet; a glob, a URI, or - for standard input.",
    ),
    click.option("--type", "type_name", metavar="TYPE", help="The type of CSV or Parquet rows."),
    click.option("--engine", type=click.Choice(_ENGINES), default="auto", show_default=True),
    click.option("--dry-run", is_flag=True, help="Check everything and commit nothing."),
    click.option("--report", metavar="FILE", help="Write every violation there, as JSON lines."),
    click.option(
        "--show",
        "shown",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        help="How many violations to print.",
    ),
    click.option("--message", metavar="TEXT", help="The message of the commit."),
    click.option("--as", "actor", metavar="ACTOR", help="Who does it."),
    spark_options,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
)


def _load_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("uri")
@click.option("--branch", default="main", show_default=True, help="The branch.")
@click.option("--mode", type=click.Choice(_MODES), default="append", show_default=True)
@_load_options
def load(uri: str, branch: str, data: tuple[str, ...], as_json: bool, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch of the graph at URI, as one commit.

    append refuses keys that exist, merge replaces their rows, and overwrite replaces all rows of
    the types that the data holds. A bad line is reported with its file, line, field and reason;
    then nothing is loaded.
    """
    from omnigraph.cli.progress import shown_progress
    from omnigraph.graph import open as open_graph

    graph = open_graph(uri)
    with shown_progress() as progress:
        loaded = graph.load(
            _given(data), branch=branch, type=how["type_name"], **_how(progress, how)
        )
    if as_json:
        show_json(loaded.to_json(graph.uri))
    else:
        click.echo(_told(loaded))


@click.command()
@click.argument("uri")
@click.option("--branch", required=True, help="The branch; made when it is not there.")
@click.option("--from", "base", default="main", show_default=True, help="Where a new one starts.")
@click.option("--mode", type=click.Choice(_MODES), default="merge", show_default=True)
@_load_options
def ingest(
    uri: str,
    branch: str,
    base: str,
    data: tuple[str, ...],
    as_json: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Load rows into a branch, making it when it is not there.

    The branch and its rows appear together, by one commit, or not at all.
    """
    from omnigraph.cli.progress import shown_progress
    from omnigraph.graph import open as open_graph

    graph = open_graph(uri)
    with shown_progress() as progress:
        ingested = graph.ingest(
            _given(data), branch=branch, base=base, type=how["type_name"], **_how(progress, how)
        )
    if as_json:
        show_json(ingested.to_json(graph.uri))
        return
    if ingested.branch_created:
        click.echo(f"made branch {branch} from {base}")
    click.echo(_told(ingested.loaded))


def _given(data: tuple[str, ...]) -> list[str] | BinaryIO:
    """Give the files that `--data` names, or standard input."""
    if data == ("-",):
        return sys.stdin.buffer
    if "-" in data:
        raise click.UsageError("standard input cannot be loaded together with files")
    return list(data)


def _how(progress: "Progress", how: dict[str, Any]) -> "LoadHow":
    return {
        "mode": how["mode"],
        "engine": how["engine"],
        "spark": spark_settings(how["spark_master"], how["spark_remote"], how["spark_conf"]),
        "shown": how["shown"],
        "report": how["report"],
        "dry_run": how["dry_run"],
        "actor": how["actor"],
        "message": how["message"],
        "progress": progress,
    }


def _told(loaded: "Loaded") -> str:
    nodes = counted(sum(loaded.nodes.values()), "node")
    edges = counted(sum(loaded.edges.values()), "edge")
    if loaded.commit is None:
        return f"checked {nodes} and {edges} ({loaded.engine}); nothing was committed"
    where = f"{loaded.branch} ({loaded.engine})"
    return f"loaded {nodes} and {edges} into {where}, commit {loaded.commit.id}"
