"""The commands `query lint`, `query check` and `query explain`."""

import click

from omnigraph.cli.output import counted, show_json, show_problem, show_warning
from omnigraph.cli.session import read_queries, read_schema

_QUERY = click.option(
    "--query", "query_path", required=True, metavar="FILE", help="The .gq file; - for stdin."
)
_SCHEMA = click.option(
    "--schema", "schema_path", required=True, metavar="FILE", help="The .pg file; - for stdin."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def query() -> None:
    """Check queries and show how they run."""


def _check_stdin(query_path: str, schema_path: str) -> None:
    if query_path == schema_path == "-":
        raise click.UsageError("only one of --query and --schema can be read from stdin")


def _lint(query_path: str, schema_path: str, as_json: bool) -> None:
    _check_stdin(query_path, schema_path)
    from omnigraph.query.lint import lint_queries
    from omnigraph.schema.compile import compile_schema

    catalog, source = compile_schema(read_schema(schema_path)), read_queries(query_path)
    report = lint_queries(source, catalog)
    if as_json:
        show_json(report.to_json(schema_path))
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
@_JSON
def lint(query_path: str, schema_path: str, as_json: bool) -> None:
    """Check every query of a file against a schema.

    Exits with 1 when a query has an error; warnings alone exit with 0.
    """
    _lint(query_path, schema_path, as_json)


@query.command()
@_QUERY
@_SCHEMA
@_JSON
def check(query_path: str, schema_path: str, as_json: bool) -> None:
    """The same as lint."""
    _lint(query_path, schema_path, as_json)


@query.command()
@_QUERY
@_SCHEMA
@click.option("--name", metavar="QUERY", help="The query to explain; all of the file without it.")
@_JSON
def explain(query_path: str, schema_path: str, name: str | None, as_json: bool) -> None:
    """Show the plan of a query, or of every query of a file."""
    _check_stdin(query_path, schema_path)
    from omnigraph.query.compile import compile_queries, compile_query
    from omnigraph.query.explain import explain_json, explain_text
    from omnigraph.schema.compile import compile_schema

    catalog = compile_schema(read_schema(schema_path))
    source = read_queries(query_path)
    if name is not None:
        plans = [compile_query(source, catalog, name)]
    else:
        plans = list(compile_queries(source, catalog).values())
    if as_json:
        show_json({"plans": [explain_json(plan) for plan in plans]})
    else:
        click.echo("\n".join(explain_text(plan) for plan in plans), nl=False)
