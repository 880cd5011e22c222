"""The command `change`: runs a mutation and shows its receipt."""

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.queries import asked, query_options

if TYPE_CHECKING:
    from omnigraph.engine.change import Receipt


@click.command()
@query_options
@click.option("--branch", metavar="NAME", help="The branch to change.  [default: main]")
@click.option("--as", "actor", metavar="ACTOR", help="Who does it.")
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
@click.option("--operation-id", metavar="ID", help="Sent again with this id, it is done once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def change(
    branch: str | None,
    actor: str | None,
    message: str | None,
    expect: str | None,
    operation_id: str | None,
    as_json: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Run a mutation on the graph at URI, as one commit.

    What breaks a rule of the schema is told in full, and then nothing is changed. A change that
    finds nothing to do makes no commit.
    """
    what = asked("change", how)
    from omnigraph.graph import open as open_graph

    graph = open_graph(what.uri)
    branch = what.branch if branch is None else branch
    writer = graph.on(
        branch, actor=actor, message=message, expect=expect, operation_id=operation_id
    )
    receipt = writer.change(what.source, what.name, **what.params(graph.snapshot(branch)))
    if as_json or what.format == "json":
        show_json(receipt.to_json())
    else:
        click.echo(_told(receipt))


def _told(receipt: "Receipt") -> str:
    if receipt.commit is None:
        return f"nothing to change on {receipt.branch}; no commit was made"
    nodes = counted(receipt.affected_nodes, "node")
    edges = counted(receipt.affected_edges, "edge")
    return f"changed {nodes} and {edges} on {receipt.branch}, commit {receipt.commit.id}"
