"""The commands `change` and `resolve`: a mutation as one commit, and two nodes that become one."""

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, show_json
from omnigraph.cli.queries import query_options, query_request
from omnigraph.cli.session import ReadTarget, Session, branch_option, graph_options

if TYPE_CHECKING:
    from omnigraph.write.receipt import Receipt
    from omnigraph.write.resolved import Resolved

_SIDES = ("into", "from")
_MESSAGE = click.option("--message", metavar="TEXT", help="The message of the commit.")
_EXPECT = click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
_OPERATION = click.option(
    "--operation-id",
    metavar="ID",
    help="Repeat a request with the same id; it is done once.",
)


@click.command()
@branch_option
@_MESSAGE
@_EXPECT
@_OPERATION
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

    What breaks a rule of the schema is reported in full, and then nothing is changed. A change
    that finds nothing to do makes no commit.
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


@click.command()
@click.argument("type_name", metavar="TYPE", shell_complete=completing.types)
@click.option("--into", required=True, metavar="ID", help="The node that stays.")
@click.option("--from", "duplicate", required=True, metavar="ID", help="The duplicate, which goes.")
@click.option(
    "--take",
    multiple=True,
    metavar="SIDE|PROPERTY=SIDE",
    help="Whose values are kept where both have one: into or from; repeatable.  [default: into]",
)
@click.option("--aliases", metavar="PROPERTY", help="A [String] that gets the ids of both.")
@click.option("--dry-run", is_flag=True, help="Show what would change; no write.")
@branch_option
@_MESSAGE
@_EXPECT
@_OPERATION
@graph_options
def resolve(session: Session, type_name: str, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Make two nodes of a TYPE one, as one commit.

    The node that stays gets the edges of the other one, and the values that it lacks. Edges that
    would be twins where the schema forbids them become one.
    """
    take, properties = _taken(how["take"])
    notes = {name: how[name] for name in ("message", "expect", "operation_id")}
    graph = session.graph(writing=not how["dry_run"])
    done = graph.branch(session.branch(branch), **notes).resolve(
        type_name,
        into=how["into"],
        duplicate=how["duplicate"],
        take=take,
        properties=properties,
        aliases=how["aliases"],
        dry_run=how["dry_run"],
    )
    session.show(done.to_json(), _line(done, is_tried=how["dry_run"]))


def _taken(given: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return whose values are kept, and those of single properties."""
    take = "into"
    properties: dict[str, str] = {}
    for each in given:
        name, equals, side = each.rpartition("=")
        if side not in _SIDES or (equals and not name):
            raise click.UsageError(f"--take is into or from, or PROPERTY=from, not {each}")
        if equals:
            properties[name] = side
        else:
            take = side
    return take, properties


def _line(done: "Resolved", *, is_tried: bool) -> str:
    """Return what was done, or would be, as a line for people."""
    verb = "would resolve" if is_tried else "resolved"
    found = f"{verb} {done.type} '{done.duplicate}' into '{done.into}' on {done.branch}"
    if done.repointed is not None and done.folded is not None:
        values = ", ".join(done.properties or ()) or "no property"
        edges = f"{counted(done.repointed, 'edge')} repointed, {done.folded:,} folded"
        found = f"{found}: {edges}; {values} changed"
    return found if done.commit is None else f"{found}, commit {done.commit.id}"
