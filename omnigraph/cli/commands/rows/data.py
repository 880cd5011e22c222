"""The commands `load` and `ingest`: rows from files into a branch."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeVar

import click

from omnigraph.cli import completing
from omnigraph.cli.commands.rows.following import check_no_topic, follow_options, run_follow
from omnigraph.cli.commands.rows.how import load_keywords, refuse_for_server
from omnigraph.cli.output import loaded_line
from omnigraph.cli.session import Session, branch_option, graph_options, yes_option
from omnigraph.cli.spark import engine_option, spark_options

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MODES = ("append", "merge", "replace", "overwrite")
_DATA_HELP = (
    "JSON lines or CSV, also compressed, Parquet or Arrow; a glob, a URI, or - for standard input; "
    "repeatable."
)
_OPTIONS = (
    click.option(
        "--type",
        "type_name",
        metavar="TYPE",
        shell_complete=completing.types,
        help="The type of rows of CSV, Parquet or Arrow, or of plain JSON objects.",
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


def _mode_option(default: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--mode",
        type=click.Choice(_MODES),
        default=default,
        show_default=True,
        help="What becomes of rows that exist.",
    )


def _load_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@branch_option
@_mode_option("append")
@_data_option(required=True)
@_load_options
@graph_options
def load(session: Session, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, as one commit.

    append refuses keys that exist, merge changes what the records name in their rows, replace
    writes these rows whole, and overwrite replaces all rows of the types that the data holds. A
    bad line is reported with its file, line, field and reason; then nothing is loaded.
    """
    data, into = _rows(session, how), session.branch(branch)
    graph = session.graph(writing=True)
    with load_keywords(session, how) as keywords:
        done = graph.load(data, branch=into, type=how["type_name"], **keywords)
    session.show(done.to_json(graph.uri), loaded_line(done))


@click.command()
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch; made when it is not there.  [default: cli.branch]",
)
@click.option(
    "--from",
    "base",
    metavar="BRANCH",
    default="main",
    show_default=True,
    help="Where a new one starts.",
)
@_mode_option("merge")
@_data_option(required=False)
@follow_options
@_load_options
@graph_options
def ingest(session: Session, branch: str | None, base: str, **how: Any) -> None:  # noqa: ANN401
    """Load rows into a branch, making it when it is not there.

    The branch and its rows appear together, by one commit, or not at all. With --follow every file
    that appears in a folder is a commit of its own, and is then moved to its folder _done; one with
    bad rows is reported and moved to _bad. Of a topic of Kafka the messages are JSON lines, some of
    which make a commit, together with how far the topic was read.
    """
    into = session.named_branch(branch)
    if into is None:
        raise click.UsageError("name a branch with --branch")
    if how["follow"] is not None:
        run_follow(session, into, base, how)
        return
    if not how["data"]:
        raise click.UsageError("name files with --data, or a folder or topic with --follow")
    check_no_topic(how)
    data, graph = _rows(session, how), session.graph(writing=True)
    with load_keywords(session, how) as keywords:
        done = graph.ingest(data, branch=into, base=base, type=how["type_name"], **keywords)
    made = [f"made branch {done.loaded.branch} from {done.base_branch}"]
    lines = [*(made if done.branch_created else []), loaded_line(done.loaded)]
    session.show(done.to_json(graph.uri), *lines)


def _rows(session: Session, how: Mapping[str, Any]) -> list[str] | BinaryIO:
    """Return the files that `--data` names, or standard input."""
    data: tuple[str, ...] = how["data"]
    if "-" in data and data != ("-",):
        raise click.UsageError("standard input cannot be loaded together with files")
    if how.get("mode") == "overwrite":
        session.confirm("replacing all rows of some types", yes=how["yes"])
    if session.address.is_remote:
        refuse_for_server(how)
    return sys.stdin.buffer if "-" in data else list(data)
