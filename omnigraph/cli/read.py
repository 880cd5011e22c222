"""The command `read`: runs a query and shows its rows, or how they come about."""

import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import formats
from omnigraph.cli.output import show_json
from omnigraph.cli.queries import asked, query_options

if TYPE_CHECKING:
    from omnigraph.errors import Json
    from omnigraph.profile import Explanation, Profile
    from omnigraph.result import Result


@click.command()
@query_options
@click.option("--branch", metavar="NAME", help="The branch to read.  [default: main]")
@click.option("--snapshot", metavar="COMMIT", help="The commit to read instead.")
@click.option(
    "--format", "shown_as", type=click.Choice(formats.FORMATS), help="How rows are shown."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--explain", "explains", is_flag=True, help="Show the plan, and run nothing.")
@click.option("--profile", "profiles", is_flag=True, help="Show what the run took, not the rows.")
def read(
    branch: str | None,
    snapshot: str | None,
    shown_as: str | None,
    as_json: bool,
    explains: bool,
    profiles: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Run a query on the graph at URI.

    Rows are shown as a table on a terminal, and as lines of JSON otherwise; plans and profiles as
    text, and as JSON with --json.
    """
    if branch is not None and snapshot is not None:
        raise click.UsageError("--branch and --snapshot exclude each other")
    if explains and profiles:
        raise click.UsageError("--explain and --profile exclude each other")
    if (explains or profiles) and shown_as not in (None, "json"):
        raise click.UsageError(f"--format {shown_as} is for rows; leave it out, or give --json")
    what = asked("read", how)
    from omnigraph.graph import open as open_graph

    branch = what.branch if branch is None else branch
    graph = open_graph(what.uri, read_only=True, keeps_topology=True)
    view = graph.at(branch if snapshot is None else snapshot)
    usual = what.format or ("table" if sys.stdout.isatty() else "jsonl")
    chosen = "json" if as_json else shown_as or usual
    branch = branch if snapshot is None else None
    if explains:
        explanation = view.explain(what.source, what.name)
        _show_how(explanation, formats.about(explanation.plan.name, branch, snapshot), chosen)
        return
    given = what.params(view.snapshot)
    if profiles:
        profile = view.profile(what.source, what.name, **given)
        _show_how(profile, formats.about(profile.result.query_name, branch, snapshot), chosen)
    else:
        show(view.query(what.source, what.name, **given), chosen, branch, snapshot)


def _show_how(how: "Explanation | Profile", about: dict[str, "Json"], shown_as: str) -> None:
    """Print how a query is run, as JSON with what it is about, or as text."""
    if shown_as == "json":
        show_json({**about, **how.to_json()})
    else:
        click.echo(str(how), nl=False)


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
