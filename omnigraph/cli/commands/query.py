"""The commands `query lint`, `query check` and `query explain`."""

from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, show_json, show_problem, show_warning
from omnigraph.cli.session import Session, graph_options, read_queries, read_schema

if TYPE_CHECKING:
    from omnigraph.schema.catalog import Catalog
    from omnigraph.span import Source

_QUERY = click.option(
    "--query",
    "query_path",
    required=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="The .gq file; - for stdin.",
)
_SCHEMA = click.option(
    "--schema",
    "schema_path",
    metavar="FILE",
    shell_complete=completing.files,
    help="The .pg file, - for stdin, instead of a graph.",
)


@click.group()
def query() -> None:
    """Check queries and show how they run."""


def _sources(
    session: Session, query_path: str, schema_path: str | None
) -> "tuple[Source, Catalog]":
    """Return the queries, and the schema of a file or else of the graph."""
    if query_path == schema_path == "-":
        raise click.UsageError("only one of --query and --schema can be read from stdin")
    if schema_path is None:
        return read_queries(query_path), _graph_catalog(session)
    from omnigraph.schema.compile import compile_schema

    catalog = compile_schema(read_schema(schema_path))
    return read_queries(query_path), catalog


def _graph_catalog(session: Session) -> "Catalog":
    if session.find_address() is None:
        raise click.UsageError("give --schema, or name a graph")
    return session.graph().branch(session.branch(None)).catalog


def _lint(session: Session, query_path: str, schema_path: str | None) -> None:
    from omnigraph.query.lint import lint_queries

    source, catalog = _sources(session, query_path, schema_path)
    report = lint_queries(source, catalog)
    if session.as_json:
        document = report.to_json(schema_path or "")
        if schema_path is None:
            document["schema_source"] = {"kind": "graph", "uri": session.address.uri}
        show_json(document)
    else:
        for finding in report.findings:
            if finding.problem is not None:
                show_problem(finding.problem, report.source)
            else:
                show_warning(finding.code, finding.message)
        counts = (
            counted(len(report.results), "query"),
            counted(report.errors, "error"),
            counted(report.warnings, "warning"),
        )
        click.echo(f"{query_path}: {', '.join(counts)}")
    if not report.ok:
        click.get_current_context().exit(1)


@query.command()
@_QUERY
@_SCHEMA
@graph_options
def lint(session: Session, query_path: str, schema_path: str | None) -> None:
    """Check every query of a file against a schema or a graph.

    Exits with 1 when a query has an error; warnings alone exit with 0.
    """
    _lint(session, query_path, schema_path)


@query.command()
@_QUERY
@_SCHEMA
@graph_options
def check(session: Session, query_path: str, schema_path: str | None) -> None:
    """The same as lint."""
    _lint(session, query_path, schema_path)


@query.command()
@_QUERY
@_SCHEMA
@click.option("--name", metavar="QUERY", help="The query to explain; all of the file without it.")
@graph_options
def explain(session: Session, query_path: str, schema_path: str | None, name: str | None) -> None:
    """Show the plan of a query, or of every query of a file."""
    from omnigraph.query.compile import compile_queries, compile_query
    from omnigraph.query.explain import explain_json, explain_text

    source, catalog = _sources(session, query_path, schema_path)
    if name is not None:
        plans = [compile_query(source, catalog, name)]
    else:
        plans = list(compile_queries(source, catalog).values())
    if session.as_json:
        show_json({"plans": [explain_json(plan) for plan in plans]})
    else:
        click.echo("\n".join(explain_text(plan) for plan in plans), nl=False)
