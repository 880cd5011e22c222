"""The commands `search`, `neighbors` and `algo`: nodes found, around one, or by their edges."""

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.commands.read import refuse_engine, show_stream
from omnigraph.cli.formats import FORMATS
from omnigraph.cli.session import (
    ReadTarget,
    Session,
    graph_options,
    target_options,
    types_option,
)
from omnigraph.cli.spark import engine_option, spark_options, spark_settings

if TYPE_CHECKING:
    from omnigraph.api.backend import CallOptions

_ALGORITHMS = (
    "pagerank",
    "components",
    "communities",
    "betweenness",
    "k_core",
    "triangles",
    "similarity",
)
_SETTINGS = (
    "direction",
    "weight",
    "damping",
    "tolerance",
    "method",
    "resolution",
    "samples",
    "seed",
    "limit",
    "least",
)


@click.command()
@click.argument("text")
@types_option
@click.option(
    "--limit",
    type=click.IntRange(1, 5_000),
    default=20,
    help="Show at most this many.  [default: 20]",
)
@target_options
@graph_options
def search(
    session: Session,
    text: str,
    types: tuple[str, ...],
    limit: int,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Find the nodes that TEXT may mean, best first: by key, by words and by meaning."""
    view = session.to_read(branch, snapshot).view(session.graph())
    found = view.search(text, types=types, limit=limit)
    lines = [
        f"{each.type}  {each.id}  {each.label}  ({each.matched.property}: {each.matched.excerpt})"
        for each in found
    ]
    notes = [f"note: {each}" for each in found.notes]
    session.show(found.to_json(), *(lines or ["nothing was found"]), *notes)


@click.command()
@click.argument("type_name", metavar="TYPE", shell_complete=completing.types)
@click.argument("node_id", metavar="ID")
@click.option("--edge", metavar="TYPE", help="Show the edges of this type, with their other ends.")
@click.option("--direction", type=click.Choice(("out", "in")), help="Only those that go this way.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=50,
    help="Show at most this many.  [default: 50]",
)
@click.option("--after", metavar="EDGE", help="Start after the edge with this id.")
@target_options
@graph_options
def neighbors(
    session: Session,
    type_name: str,
    node_id: str,
    edge: str | None,
    direction: str | None,
    limit: int,
    after: str | None,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Count the edges of the node ID by type, or show those of one type."""
    view = session.to_read(branch, snapshot).view(session.graph())
    found = view.neighbors(
        type_name,
        node_id,
        edge=edge,
        direction="in" if direction == "in" else "out" if direction else None,
        limit=limit,
        after=after,
    )
    lines = [f"{each.count}  {each.edge}  {each.direction}  {each.type}" for each in found.groups]
    lines += [f"{each.node.type}  {each.node.id}  {each.node.label}" for each in found]
    more = [] if found.cursor is None else [f"more: --after {shlex.quote(found.cursor)}"]
    session.show(found.to_json(), *(lines or ["no edges"]), *more)


@click.command()
@click.argument("name", metavar="ALGORITHM", type=click.Choice(_ALGORITHMS))
@click.option(
    "--edge", "edges", multiple=True, metavar="TYPE", help="Edges that count; repeatable."
)
@types_option
@click.option(
    "--direction", type=click.Choice(("out", "in", "both")), help="How edges are followed."
)
@click.option("--weight", metavar="PROPERTY", help="A number on each edge.")
@click.option("--damping", type=float, help="Of pagerank.  [default: 0.85]")
@click.option("--tolerance", type=float, help="When pagerank ends.  [default: 1e-9]")
@click.option("--method", type=click.Choice(("labels", "louvain")), help="How to find communities.")
@click.option("--resolution", type=float, help="Of louvain: above 1 for more communities.")
@click.option("--samples", type=int, help="Estimate betweenness from so many nodes.")
@click.option("--seed", type=int, help="Chooses the samples.  [default: 0]")
@click.option("--limit", type=int, help="Similar nodes for each node.  [default: 10]")
@click.option("--least", type=float, help="The least similarity that is shown.")
@click.option("--write-to", metavar="PROPERTY", help="Write the values there, as one commit.")
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
@click.option("--format", "shown_as", type=click.Choice(FORMATS), help="How rows are shown.")
@target_options
@engine_option
@spark_options
@graph_options
def algo(
    session: Session,
    name: str,
    branch: str | None,
    snapshot: str | None,
    write_to: str | None,
    shown_as: str | None,
    **how: Any,  # noqa: ANN401
) -> None:
    """Run an algorithm over the nodes and edges of a graph.

    Rows come by id, as a table on a terminal and as lines of JSON otherwise. With --write-to they
    become a property of the nodes of the branch, as one commit; --snapshot says where it runs.
    """
    if write_to is None and (how["message"] or how["expect"]):
        raise click.UsageError("--message and --expect are for --write-to")
    if write_to is not None and shown_as is not None:
        raise click.UsageError("--format is for rows, and --write-to shows none; leave one out")
    settings = {each: how[each] for each in _SETTINGS}
    settings |= {each: list(how[each]) for each in ("edges", "types")}
    options = _options(session, how)
    if write_to is None:
        _show_rows(session, name, settings, session.to_read(branch, snapshot), options, shown_as)
        return
    from omnigraph.api.operations.algorithms import WriteAlgorithm
    from omnigraph.cli.commands.rows.change import receipt_line

    change = WriteAlgorithm(
        name=name,
        property=write_to,
        branch=session.branch(branch),
        snapshot=snapshot,
        message=how["message"],
        expect=how["expect"],
        **settings,
    )
    receipt = session.graph(writing=True).backend.run(change, options)
    session.show(receipt.to_json(), receipt_line(receipt))


def _options(session: Session, how: Mapping[str, Any]) -> "CallOptions":
    """Return who computes; a server decides that itself."""
    from omnigraph.api.backend import CallOptions

    if session.address.is_remote:
        refuse_engine(how)
        return CallOptions()
    return CallOptions(engine=how["engine"], spark=spark_settings(session.config, how))


def _show_rows(
    session: Session,
    name: str,
    settings: dict[str, Any],
    target: ReadTarget,
    options: "CallOptions",
    shown_as: str | None,
) -> None:
    from omnigraph.api.operations.algorithms import RunAlgorithm

    asked = RunAlgorithm(name=name, branch=target.branch, snapshot=target.snapshot, **settings)
    found = session.graph(keeps_topology=True).backend.run(asked, options)
    config = None if session.config is None else session.config.cli
    usual = None if config is None else config.output_format
    chosen = shown_as or usual or ("table" if sys.stdout.isatty() else "jsonl")
    show_stream(found, target, "json" if session.as_json else chosen, config)
