"""The commands `search` and `neighbors`: nodes that a text means, and the nodes around one."""

import click

from omnigraph.cli import completing
from omnigraph.cli.session import Session, graph_options, target_options, types_option


@click.command()
@click.argument("text")
@types_option
@click.option(
    "--limit", type=click.IntRange(1, 5_000), default=20, help="At most so many.  [default: 20]"
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
@click.option(
    "--direction", type=click.Choice(("out", "in")), help="Of edges that go both ways, which."
)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=50, help="At most so many.  [default: 50]"
)
@click.option("--after", metavar="EDGE", help="Go on behind the edge with this id.")
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
    more = [] if found.cursor is None else [f"more: --after {found.cursor}"]
    session.show(found.to_json(), *(lines or ["no edges"]), *more)
