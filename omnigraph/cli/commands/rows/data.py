"""The commands `load` and `ingest`: rows from files into a branch."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted
from omnigraph.cli.session import Session, branch_option, graph_options, yes_option
from omnigraph.cli.spark import engine_option, spark_options
from omnigraph.errors import InputError

if TYPE_CHECKING:
    from omnigraph.spark.progress import Progress
    from omnigraph.write.load.loaded import Loaded
    from omnigraph.write.load.options import LoadKeywords

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MODES = ("append", "merge", "replace", "overwrite")
_TOPIC = "kafka:"
_TOPIC_HINT = (
    'read the topic by spark.readStream.format("kafka") and write it by '
    'writeStream.format("omnigraph"), which commits each micro-batch once '
    "(docs/spark.md, From Kafka); or let a sink connector write files to a folder"
)
_TABULAR = (".csv", ".parquet", ".arrow")
_DATA_HELP = "JSON lines (also .gz), CSV or Parquet; a glob, a URI, or - for standard input."
_OPTIONS = (
    click.option(
        "--type",
        "type_name",
        metavar="TYPE",
        shell_complete=completing.types,
        help="The type of CSV or Parquet rows, or of plain JSON objects.",
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
    yes_option,
    spark_options,
)


def _data_option(*, required: bool) -> Callable[[_Command], _Command]:
    return click.option(
        "--data",
        multiple=True,
        required=required,
        metavar="FILE",
        shell_complete=completing.files,
        help=_DATA_HELP,
    )


def _load_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@branch_option
@click.option("--mode", type=click.Choice(_MODES), default="append", show_default=True)
@_data_option(required=True)
@_load_options
@graph_options
def load(session: Session, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, as one commit.

    append refuses keys that exist, merge changes what the records name in their rows, replace
    writes these rows whole, and overwrite replaces all rows of the types that the data holds. A
    bad line is reported with its file, line, field and reason; then nothing is loaded.
    """
    from omnigraph.cli.progress import shown_progress

    data, into = _rows(session, how), session.branch(branch)
    graph = session.graph(writing=True)
    with shown_progress() as progress:
        done = graph.load(
            data, branch=into, type=how["type_name"], **_load_how(session, progress, how)
        )
    session.show(done.to_json(graph.uri), _loaded_line(done))


@click.command()
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch; made when it is not there.  [default: cli.branch]",
)
@click.option("--from", "base", default="main", show_default=True, help="Where a new one starts.")
@click.option("--mode", type=click.Choice(_MODES), default="merge", show_default=True)
@_data_option(required=False)
@click.option(
    "--follow",
    metavar="FOLDER",
    shell_complete=completing.files,
    help="Instead of --data: files as they appear in a folder, until Ctrl-C.",
)
@click.option("--once", is_flag=True, help="With --follow: end when all that is there is done.")
@_load_options
@graph_options
def ingest(session: Session, branch: str | None, base: str, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, making it when it is not there.

    The branch and its rows appear together, by one commit, or not at all. With --follow every file
    that appears in a folder is a commit of its own, and is then moved to its folder _done; one with
    bad rows is reported and moved to _bad.
    """
    from omnigraph.cli.progress import shown_progress

    into = branch or (None if session.config is None else session.config.cli.branch)
    if into is None:
        raise click.UsageError("name a branch with --branch")
    if how["follow"] is not None:
        _follow(session, into, base, how)
        return
    if not how["data"]:
        raise click.UsageError("name files with --data, or a folder with --follow")
    data, graph = _rows(session, how), session.graph(writing=True)
    with shown_progress() as progress:
        done = graph.ingest(
            data,
            branch=into,
            base=base,
            type=how["type_name"],
            **_load_how(session, progress, how),
        )
    made = [f"made branch {done.loaded.branch} from {done.base_branch}"]
    lines = [*(made if done.branch_created else []), _loaded_line(done.loaded)]
    session.show(done.to_json(graph.uri), *lines)


def _follow(session: Session, into: str, base: str, how: Mapping[str, Any]) -> None:
    """Ingest what appears in a folder, until Ctrl-C or until all is done."""
    from omnigraph.cli.following import Inbox, Tally, follow
    from omnigraph.cli.progress import shown_progress

    _check_follow(session, how)
    graph, tally = session.graph(writing=True), Tally()

    def ingested(file: Path, operation_id: str) -> str:
        with shown_progress() as progress:
            keywords = _load_how(session, progress, how)
            keywords["operation_id"] = operation_id
            done = graph.ingest(
                [str(file)], branch=into, base=base, type=how["type_name"], **keywords
            )
        return _loaded_line(done.loaded)

    scope = json.dumps([into, base, how["mode"], how["type_name"]])
    try:
        inbox = Inbox(Path(how["follow"]).absolute())
        follow(inbox, ingested, scope, tally, once=how["once"])
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    click.echo(str(tally))
    if tally.bad:
        raise click.exceptions.Exit(1)


def _check_follow(session: Session, how: Mapping[str, Any]) -> None:
    """Raise for options that do not go with --follow."""
    if session.as_json:
        message = "--follow prints a line for each file, and --json one document; leave one out"
        raise click.UsageError(message)
    named = {"--data": how["data"], "--dry-run": how["dry_run"], "--report": how["report"]}
    wrong = next((name for name, given in named.items() if given), None)
    if wrong is not None:
        raise click.UsageError(f"--follow and {wrong} exclude each other")
    if how["mode"] == "overwrite":
        raise click.UsageError("each file would overwrite the one before; use another --mode")
    if how["follow"].startswith(_TOPIC):
        raise InputError(f"--follow takes a folder, not a topic: {how['follow']}", hint=_TOPIC_HINT)
    if session.address.is_remote:
        _refuse_for_server(how)


def _rows(session: Session, how: Mapping[str, Any]) -> list[str] | BinaryIO:
    """Return the files that `--data` names, or standard input."""
    data: tuple[str, ...] = how["data"]
    if "-" in data and data != ("-",):
        raise click.UsageError("standard input cannot be loaded together with files")
    if how.get("mode") == "overwrite":
        session.confirm("replacing all rows of some types", yes=how["yes"])
    if session.address.is_remote:
        _refuse_for_server(how)
    return sys.stdin.buffer if "-" in data else list(data)


def _refuse_for_server(how: Mapping[str, Any]) -> None:
    """Raise InputError for rows and options that a server does not take."""
    if how["report"] is not None or how["engine"] != "auto":
        raise InputError("--report and --engine do not work through a server")
    hint = "load it where the graph itself is"
    for place in how["data"]:
        if "://" in place:
            message = f"only local files can be sent to a server, not '{place}'"
            raise InputError(message, hint=hint)
        if place.removesuffix(".gz").endswith(_TABULAR):
            raise InputError(f"a server takes JSON lines only, not '{place}'", hint=hint)


def _load_how(session: Session, progress: "Progress", how: Mapping[str, Any]) -> "LoadKeywords":
    named = ("mode", "shown", "report", "dry_run", "message")
    chosen = {name: how[name] for name in named}
    return cast("LoadKeywords", {**chosen, **session.work_options(how, progress)})


def _loaded_line(loaded: "Loaded") -> str:
    nodes = counted(sum(loaded.nodes.values()), "node")
    edges = counted(sum(loaded.edges.values()), "edge")
    counts = loaded.counts
    met = counts is not None and bool(counts.updated or counts.unchanged)
    told = f": {counts}" if met else ""
    if loaded.commit is None:
        return f"checked {nodes} and {edges} ({loaded.engine}){told}; nothing was committed"
    where = f"{loaded.branch} ({loaded.engine})"
    return f"loaded {nodes} and {edges} into {where}{told}, commit {loaded.commit.id}"
