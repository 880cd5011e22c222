"""The command `read`: runs a query and shows its rows."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli import formats
from omnigraph.cli.output import show_json
from omnigraph.cli.session import read_queries
from omnigraph.errors import Code, ParamsError, Problem, UnreadableError
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.result import Result


@click.command()
@click.argument("uri")
@click.option("--query", "query_path", metavar="FILE", help="The .gq file; - for standard input.")
@click.option("-e", "--execute", "text", metavar="TEXT", help="The text of a query itself.")
@click.option("--name", help="The query to run; needed when there are several.")
@click.option("--params", metavar="JSON", help="The parameters, as a JSON object.")
@click.option("--params-file", metavar="FILE", help="A file that holds them.")
@click.option("--branch", metavar="NAME", help="The branch to read.  [default: main]")
@click.option("--snapshot", metavar="COMMIT", help="The commit to read instead.")
@click.option(
    "--format", "shown_as", type=click.Choice(formats.FORMATS), help="How rows are shown."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def read(
    uri: str,
    query_path: str | None,
    text: str | None,
    name: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    shown_as: str | None,
    as_json: bool,
) -> None:
    """Run a query on the graph at URI.

    Rows are shown as a table on a terminal, and as lines of JSON otherwise.
    """
    if (query_path is None) == (text is None):
        raise click.UsageError("give either --query or -e")
    if branch is not None and snapshot is not None:
        raise click.UsageError("--branch and --snapshot exclude each other")
    if params is not None and params_file is not None:
        raise click.UsageError("--params and --params-file exclude each other")
    from omnigraph.graph import open as open_graph

    source = read_queries(query_path) if query_path else Source("<text>", text or "")
    given = _params(params if params_file is None else _text(params_file))
    branch = None if snapshot else branch or "main"
    view = open_graph(uri, read_only=True).at(snapshot or branch or "main")
    result = view.query(source, name, **given)
    chosen = "json" if as_json else shown_as or ("table" if sys.stdout.isatty() else "jsonl")
    show(result, chosen, branch, snapshot)


def show(result: "Result", shown_as: str, branch: str | None, snapshot: str | None) -> None:
    """Print a result in one of the formats."""
    match shown_as:
        case "json":
            show_json(formats.document(result, branch, snapshot))
        case "jsonl":
            for line in formats.as_jsonl(result, branch, snapshot):
                click.echo(line)
        case "csv":
            click.echo(formats.as_csv(result), nl=False)
        case "kv":
            for line in formats.as_kv(result):
                click.echo(line)
        case "arrow":
            click.echo(result.to_ipc(), nl=False)
        case _:
            for line in formats.as_table(result):
                click.echo(line)


def _params(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    try:
        given = json.loads(text)
    except ValueError as bad:
        raise _not_params(f"the parameters are not JSON: {bad}") from None
    if not isinstance(given, dict):
        raise _not_params("the parameters are no JSON object")
    return given


def _not_params(message: str) -> ParamsError:
    return ParamsError([Problem(Code.PARAM_TYPE, message, hint='write {"name": value}')])


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as bad:
        reason = bad.strerror if isinstance(bad, OSError) else "it is not UTF-8"
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
