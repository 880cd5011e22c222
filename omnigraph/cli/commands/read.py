"""The command `read`: runs a query and shows its rows, or how they come about."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import formats
from omnigraph.cli.output import show_json, write_bytes
from omnigraph.cli.queries import asked, query_options
from omnigraph.cli.session import Session, target_options
from omnigraph.cli.spark import SPARK_OPTIONS, engine_option, spark_options, spark_settings
from omnigraph.cli.terms import Target

if TYPE_CHECKING:
    from omnigraph.data.result import ResultStream
    from omnigraph.server.config import CliConfig

_STREAMED = {"jsonl": formats.as_jsonl, "csv": formats.as_csv}


@click.command()
@target_options
@click.option(
    "--format", "shown_as", type=click.Choice(formats.FORMATS), help="How rows are shown."
)
@click.option("--explain", "explains", is_flag=True, help="Show the plan, and run nothing.")
@click.option("--profile", "profiles", is_flag=True, help="Show what the run took, not the rows.")
@engine_option
@spark_options
@query_options
def read(
    session: Session,
    branch: str | None,
    snapshot: str | None,
    shown_as: str | None,
    explains: bool,
    profiles: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Run a query.

    Rows are shown as a table on a terminal, and as lines of JSON otherwise; plans and profiles as
    text, and as JSON when a server tells them. --json is the same as --format json.
    """
    if explains and profiles:
        raise click.UsageError("--explain and --profile exclude each other")
    if (explains or profiles) and shown_as not in (None, "json"):
        raise click.UsageError(f"--format {shown_as} is for rows; leave it out, or give --json")
    if (explains or profiles) and how["engine"] == "spark":
        raise click.UsageError("--engine spark is for rows, not for --explain and --profile")
    what = asked("read", session, how)
    target = what.session.to_read(branch, snapshot, what.branch)
    usual = what.format or ("table" if sys.stdout.isatty() else "jsonl")
    chosen = "json" if session.as_json else shown_as or usual
    backend = what.session.backend()
    question = what.question(target)
    if explains or profiles:
        tell = backend.explain if explains else backend.profile
        document, text = tell(question, target)
        if chosen == "json" or text is None:
            show_json(document)
        else:
            click.echo(text, nl=False)
        return
    config = what.session.config
    shown_how = None if config is None else config.cli
    from omnigraph.cli.local import Local

    if isinstance(backend, Local):
        settings = spark_settings(config, how)
        found = backend.stream(question, target, how["engine"], settings)
        _show_stream(found, target, chosen, shown_how)
        return
    _refuse_engine(how)
    if chosen == "arrow":
        write_bytes([backend.read_arrow(question, target)])
    else:
        show(backend.read(question, target), chosen, shown_how)


def _refuse_engine(how: Mapping[str, Any]) -> None:
    """Raise UsageError when a server is told how to run a query."""
    if how["engine"] != "auto" or any(how[name] for name in SPARK_OPTIONS):
        raise click.UsageError("a server runs queries itself; leave --engine and --spark-… out")


def _show_stream(
    found: "ResultStream", target: Target, shown_as: str, how: "CliConfig | None"
) -> None:
    """Print rows as they come, in the formats that can begin before all rows are there."""
    if shown_as == "arrow":
        write_bytes(found.to_ipc())
    elif shown_as in _STREAMED:
        for number, result in enumerate(found.results()):
            rows = formats.Rows.of_result(result, target.branch, target.snapshot)
            is_counted = found.count is not None
            known = replace(rows, count=found.count or 0, is_counted=is_counted)
            pieces = _STREAMED[shown_as](known)
            _echo(islice(pieces, min(number, 1), None))  # the head is the first piece
    else:
        rows = formats.Rows.of_result(found.to_result(), target.branch, target.snapshot)
        show(rows, shown_as, how)


def show(rows: formats.Rows, shown_as: str, how: "CliConfig | None" = None) -> None:
    """Print rows in one of the formats; tables as the configuration says."""
    match shown_as:
        case "json":
            show_json(rows.document())
        case "jsonl":
            _echo(formats.as_jsonl(rows))
        case "csv":
            _echo(formats.as_csv(rows))
        case "kv":
            _echo(f"{line}\n" for line in formats.as_kv(rows))
        case _:
            given = () if how is None else (how.table_max_column_width, how.table_cell_layout)
            _echo(f"{line}\n" for line in formats.as_table(rows, *given))


def _echo(pieces: Iterable[str]) -> None:
    for piece in pieces:
        click.echo(piece, nl=False)
