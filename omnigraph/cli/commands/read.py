"""The command `read`: runs a query and shows its rows, or how they come about."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import formats
from omnigraph.cli.address import Address
from omnigraph.cli.output import Document, headed, planned, show_json, write_bytes
from omnigraph.cli.queries import query_options, query_request
from omnigraph.cli.session import ReadTarget, Session, target_options
from omnigraph.cli.spark import SPARK_OPTIONS, engine_option, spark_options, spark_settings
from omnigraph.frozen import dataclass
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.api.operations.read import ReadRows
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

    Rows are shown as a table on a terminal, and as lines of JSON otherwise. Plans and profiles are
    shown as text, or as JSON if they come from a server. --json is the same as --format json.
    """
    if explains and profiles:
        raise click.UsageError("--explain and --profile exclude each other")
    if (explains or profiles) and shown_as not in (None, "json"):
        raise click.UsageError(f"--format {shown_as} is for rows; leave it out, or give --json")
    if (explains or profiles) and how["engine"] == "spark":
        raise click.UsageError("--engine spark is for rows, not for --explain and --profile")
    request = query_request("read", session, how)
    session = request.session
    target = session.to_read(branch, snapshot, request.branch)
    usual = request.format or ("table" if sys.stdout.isatty() else "jsonl")
    chosen = "json" if session.as_json else shown_as or usual
    graph = session.graph(keeps_topology=True)
    query = QueryCall(request.source, request.name, request.params(graph, target))
    if explains or profiles:
        show_plan(graph, query, target, "explain" if explains else "profile", chosen == "json")
        return
    config = None if session.config is None else session.config.cli
    if session.address.is_remote:
        refuse_engine(how)
        _show_answer(graph, query, target, chosen, config)
        return
    settings = spark_settings(session.config, how)
    view = graph.at(target.name, engine=how["engine"], spark=settings)
    found = view.stream(query.source, query.name, **query.params)
    show_stream(found, target, chosen, config)


@dataclass(frozen=True, slots=True)
class QueryCall:
    """A query of a text, and the parameters that it is run with."""

    source: Source
    name: str | None
    params: Mapping[str, object]

    def operation(self, target: ReadTarget, mode: Any = "rows") -> "ReadRows":  # noqa: ANN401
        """Return the operation that runs the query."""
        from omnigraph.api.operations.read import ReadRows

        return ReadRows(
            query_source=self.source.text,
            query_name=self.name,
            params={**self.params},
            branch=target.branch,
            snapshot=target.snapshot,
            mode=mode,
        )


def served_document(
    graph: "Graph", query: QueryCall, target: ReadTarget, mode: str = "rows"
) -> Document:
    """Return the answer of a server to a query as it is, without loading Arrow to read it."""
    from omnigraph.api.backend import CallOptions

    options = CallOptions(source=query.source)
    return dict(graph.backend.document(query.operation(target, mode), options))


def show_plan(
    graph: "Graph", query: QueryCall, target: ReadTarget, mode: str, as_json: bool
) -> None:
    """Print how a query would be run, or what it took: as text, and as JSON of a server."""
    if Address(graph.uri).is_remote:
        show_json(served_document(graph, query, target, mode))
        return
    view = graph.at(target.name)
    if mode == "explain":
        explained = view.explain(query.source, query.name)
        name, text, document = explained.plan.name, str(explained), explained.to_json()
    else:
        profile = view.profile(query.source, query.name, **query.params)
        name, text, document = profile.result.query_name, str(profile), profile.to_json()
    if as_json:
        show_json({**formats.about(name, target.branch, target.snapshot), **document})
    else:
        click.echo(planned(text), nl=False)


def _show_answer(
    graph: "Graph", query: QueryCall, target: ReadTarget, shown_as: str, how: "CliConfig | None"
) -> None:
    """Print the rows that a server sends."""
    from omnigraph.api.backend import CallOptions

    if shown_as == "arrow":
        options = CallOptions(source=query.source)
        write_bytes(graph.backend.stream(query.operation(target), options))
    else:
        document = served_document(graph, query, target)
        show(formats.ShownRows.of_document(document), shown_as, how)


def refuse_engine(how: Mapping[str, Any]) -> None:
    """Raise UsageError when a server is told how to run a query."""
    if how["engine"] != "auto" or any(how[name] for name in SPARK_OPTIONS):
        raise click.UsageError("a server runs queries itself; leave --engine and --spark-… out")


def show_stream(
    found: "ResultStream", target: ReadTarget, shown_as: str, how: "CliConfig | None"
) -> None:
    """Print rows as they come, in the formats that can begin before all rows are there."""
    if shown_as == "arrow":
        write_bytes(found.to_ipc())
    elif shown_as in _STREAMED:
        for number, result in enumerate(found.results()):
            rows = formats.ShownRows.of_result(result, target.branch, target.snapshot)
            is_counted = found.count is not None
            known = replace(rows, count=found.count or 0, is_counted=is_counted)
            pieces = _STREAMED[shown_as](known)
            _echo(islice(pieces, min(number, 1), None))  # the head is the first piece
    else:
        rows = formats.ShownRows.of_result(found.to_result(), target.branch, target.snapshot)
        show(rows, shown_as, how)


def show(rows: formats.ShownRows, shown_as: str, how: "CliConfig | None" = None) -> None:
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
            _echo(f"{line}\n" for line in headed(formats.as_table(rows, *given)))


def _echo(pieces: Iterable[str]) -> None:
    for piece in pieces:
        click.echo(piece, nl=False)
