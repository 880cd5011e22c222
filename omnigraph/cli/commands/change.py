"""The command `change`: runs a mutation and shows its receipt."""

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.queries import query_options, query_request
from omnigraph.cli.session import ReadTarget, Session, branch_option

if TYPE_CHECKING:
    from omnigraph.write.receipt import Receipt


@click.command()
@branch_option
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
@click.option("--operation-id", metavar="ID", help="Sent again with this id, it is done once.")
@query_options
def change(
    session: Session,
    branch: str | None,
    message: str | None,
    expect: str | None,
    operation_id: str | None,
    **how: Any,  # noqa: ANN401
) -> None:
    """Run a mutation, as one commit.

    What breaks a rule of the schema is told in full, and then nothing is changed. A change that
    finds nothing to do makes no commit.
    """
    request = query_request("change", session, how)
    graph = request.session.graph(writing=True)
    name = request.session.branch(branch, request.branch)
    target = graph.branch(name, message=message, expect=expect, operation_id=operation_id)
    params = request.params(graph, ReadTarget(name))
    receipt = target.mutate(request.source, request.name, **params)
    if session.as_json or request.format == "json":
        show_json(receipt.to_json())
    else:
        click.echo(receipt_line(receipt))


def receipt_line(receipt: "Receipt") -> str:
    """Return the receipt of a mutation as a line for people."""
    if receipt.commit is None:
        return f"nothing to change on {receipt.branch}; no commit was made"
    if receipt.affected_nodes is None or receipt.affected_edges is None:
        return f"changed {receipt.branch}, commit {receipt.commit.id}"
    nodes = counted(receipt.affected_nodes, "node")
    edges = counted(receipt.affected_edges, "edge")
    return f"changed {nodes} and {edges} on {receipt.branch}, commit {receipt.commit.id}"
