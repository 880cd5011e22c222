"""The command `report`: a page of HTML about a graph that opens without a network."""

from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.output import write_text
from omnigraph.cli.queries import read_params
from omnigraph.cli.session import Session, graph_options, read_queries, target_options

if TYPE_CHECKING:
    from omnigraph.api.view import View
    from omnigraph.data.result import Result


@click.command()
@target_options
@click.option(
    "--out", required=True, metavar="FILE", shell_complete=completing.files, help="The page."
)
@click.option(
    "--diff",
    "compared",
    nargs=2,
    multiple=True,
    metavar="FROM TO",
    help="Also show what differs between two branches, tags or commits; repeatable.",
)
@click.option(
    "--review",
    "reviewed",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.branches,
    help="Also show what a branch did since it parted; repeatable.",
)
@click.option(
    "--query",
    "query_path",
    metavar="FILE",
    shell_complete=completing.files,
    help="A .gq file; also show what its queries give.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="QUERY",
    help="A query of the file; repeatable.  [default: all]",
)
@click.option("--params", metavar="JSON", help="The parameters, as a JSON object.")
@graph_options
def report(
    session: Session,
    branch: str | None,
    snapshot: str | None,
    out: str,
    compared: tuple[tuple[str, str], ...],
    reviewed: tuple[str, ...],
    query_path: str | None,
    names: tuple[str, ...],
    params: str | None,
) -> None:
    """Write a page about a graph: its schema, its history, changes and results.

    The page is one file that needs nothing else. Each query gets those of the parameters that it
    declares; one that changes the graph is left out.
    """
    graph = session.graph()
    view = graph.at(session.to_read(branch, snapshot).name)
    answered = {} if query_path is None else _answers(view, query_path, names, read_params(params))
    shown = {f"From {old} to {new}": graph.diff(old, new) for old, new in compared}
    shown |= {f"What {name} did": graph.review(name, into=view.place) for name in reviewed}
    page = graph.report(view.place, compared=shown, answered=answered)
    write_text(out, page)
    session.show({"uri": graph.uri, "output": out, "bytes": len(page.encode())}, f"wrote {out}")


def _answers(
    view: "View", path: str, names: tuple[str, ...], params: dict[str, object]
) -> "dict[str, Result]":
    """Run the queries that are named, or all reads of a file; return each under its name."""
    from omnigraph.query.compile import compile_queries, compile_query
    from omnigraph.query.plan import ReadPlan

    source = read_queries(path)
    plans = (
        [compile_query(source, view.catalog, name) for name in names]
        if names
        else compile_queries(source, view.catalog).values()
    )
    found: dict[str, Result] = {}
    for plan in plans:
        if isinstance(plan, ReadPlan) or names:
            own = {param.name for param in plan.params}
            wanted = {name: value for name, value in params.items() if name in own}
            found[plan.name] = view.query(source, plan.name, **wanted)
    return found
