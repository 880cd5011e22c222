"""The family `query`: checks queries, shows how they run, and runs those that are stored."""

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing, formats
from omnigraph.cli.commands.read import show
from omnigraph.cli.commands.rows.change import receipt_line
from omnigraph.cli.layouts import lay_out, layout_options
from omnigraph.cli.output import (
    counted,
    planned,
    show_json,
    show_problem,
    show_warning,
    write_bytes,
)
from omnigraph.cli.queries import read_params, single_params
from omnigraph.cli.session import (
    Session,
    find_queries,
    graph_options,
    read_queries,
    read_schema,
    target_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.query.stored import QueryDescription
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
    """Check queries, show how they run, and run stored ones."""


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
    if not session.has_graph:
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
    from omnigraph.query.planning.explain import explain_json, explain_text

    source, catalog = _sources(session, query_path, schema_path)
    if name is not None:
        plans = [compile_query(source, catalog, name)]
    else:
        plans = list(compile_queries(source, catalog).values())
    if session.as_json:
        show_json({"plans": [explain_json(plan) for plan in plans]})
    else:
        click.echo(planned("\n".join(explain_text(plan) for plan in plans)), nl=False)


@query.command()
@layout_options
def fmt(paths: tuple[str, ...], only_check: bool) -> None:
    """Lay queries out in one way; only white space changes.

    Files are written in place, and - is read from stdin and printed.
    """
    from omnigraph.query.layout import format_queries

    lay_out(map(find_queries, paths), read_queries, format_queries, only_check=only_check)


@query.command("list")
@target_options
@graph_options
def list_stored(session: Session, branch: str | None, snapshot: str | None) -> None:
    """List the stored queries that you may run."""
    target = session.to_read(branch, snapshot)
    is_named = session.address.is_remote or session.has_queries
    found = target.view(session.graph(stored=is_named)).queries.describe()
    lines = [_signature(each) for each in found] or ["no stored queries"]
    session.show({"queries": [each.to_json() for each in found]}, *lines)
    if not is_named:
        click.echo("name their files by `queries:` in omnigraph.yaml", err=True)


@query.command("show")
@click.argument("name", metavar="NAME")
@target_options
@graph_options
def show_stored(session: Session, name: str, branch: str | None, snapshot: str | None) -> None:
    """Show what a stored query takes and returns."""
    target = session.to_read(branch, snapshot)
    found = target.view(session.graph(stored=True)).queries[name].about
    notes = [each for each in (found.description, found.instruction) if each is not None]
    columns = [f"  {name}: {kind}" for name, kind in found.columns]
    problem = [] if found.problem is None else [f"cannot be run here: {found.problem}"]
    session.show(found.to_json(), _signature(found), *notes, *columns, *problem)


@query.command("run")
@click.argument("name", metavar="NAME")
@click.option(
    "--param",
    "texts",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter; repeatable. The value is JSON where that fits its type, else text.",
)
@click.option("--params", metavar="JSON", help="The parameters, as a JSON object.")
@click.option("--message", metavar="TEXT", help="The message of the commit of a mutation.")
@click.option("--expect", metavar="COMMIT", help="Change only if the branch still stands there.")
@click.option(
    "--operation-id", metavar="ID", help="Repeat a request with the same id; it is done once."
)
@click.option(
    "--format", "shown_as", type=click.Choice(formats.FORMATS), help="How rows are shown."
)
@target_options
@graph_options
def run_stored(
    session: Session,
    name: str,
    texts: tuple[str, ...],
    params: str | None,
    message: str | None,
    expect: str | None,
    operation_id: str | None,
    shown_as: str | None,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Run a stored query: a read, or a mutation as one commit."""
    from omnigraph.api.view import View
    from omnigraph.write.receipt import Receipt

    target = session.to_read(branch, snapshot)
    graph = session.graph(writing=True, stored=True)
    notes = {"message": message, "expect": expect, "operation_id": operation_id}
    if target.snapshot is None:
        view: View = graph.branch(target.name, **notes)  # type: ignore[arg-type]
    elif any(each is not None for each in notes.values()):
        raise click.UsageError("a snapshot never changes; name a branch")
    else:
        view = View(graph.backend, target.name)
    function = view.queries[name]
    if function.about.kind == "read" and any(each is not None for each in notes.values()):
        told = "--message, --expect and --operation-id are for changes"
        raise click.UsageError(f"'{name}' is a read; {told}")
    named = read_params(params)
    found = function(**_typed(function.about, single_params(texts, named)), **named)
    if isinstance(found, Receipt):
        session.show(found.to_json(), receipt_line(found))
        return
    config = None if session.config is None else session.config.cli
    usual = None if config is None else config.output_format
    chosen = shown_as or usual or ("table" if sys.stdout.isatty() else "jsonl")
    if session.as_json:
        chosen = "json"
    if chosen == "arrow":
        write_bytes([found.to_ipc()])
    else:
        show(formats.ShownRows.of_result(found, target.branch, target.snapshot), chosen, config)


def _signature(about: "QueryDescription") -> str:
    properties: Mapping[str, Mapping[str, object]] = about.params.get("properties", {})
    required = about.params.get("required", ())
    params = ", ".join(f"{name}{'' if name in required else '?'}" for name in properties)
    kind = "" if about.kind == "read" else f"  [{about.kind}]"
    told = "" if about.description is None else f"  {about.description}"
    return f"{about.name}({params}){kind}{told}"


def _typed(about: "QueryDescription", texts: "Mapping[str, str]") -> dict[str, object]:
    """Return the values of `--param`, as the types of the parameters want them."""
    properties = about.params.get("properties", {})
    return {
        name: _of_text(text, properties.get(name, {}).get("type", "string"))
        for name, text in texts.items()
    }


def _of_text(text: str, kinds: str | list[str]) -> object:
    """Return a text as JSON if that fits one of some types of JSON Schema, else the text."""
    from omnigraph.query.params import parse_json

    fitting = [kinds] if isinstance(kinds, str) else kinds
    try:
        found = parse_json(text)
    except (ValueError, RecursionError):
        return text
    if found is None:
        return None if "null" in fitting else text
    # A text may look like a number.
    return found if "string" not in fitting or isinstance(found, str) else text
