"""The command `resolve`: makes two nodes one, and shows what became of them."""

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted
from omnigraph.cli.session import Session, branch_option, graph_options

if TYPE_CHECKING:
    from omnigraph.write.resolved import Resolved

_SIDES = ("into", "from")


@click.command()
@click.argument("type_name", metavar="TYPE", shell_complete=completing.types)
@click.option("--into", required=True, metavar="ID", help="The node that stays.")
@click.option("--from", "duplicate", required=True, metavar="ID", help="The one that is it, too.")
@click.option(
    "--take",
    multiple=True,
    metavar="SIDE|PROPERTY=SIDE",
    help="Whose values are kept where both have one: into or from.  [default: into]",
)
@click.option("--aliases", metavar="PROPERTY", help="A [String] that gets the ids of both.")
@click.option("--dry-run", is_flag=True, help="Show what would change; no write.")
@branch_option
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
@click.option("--operation-id", metavar="ID", help="Sent again with this id, it is done once.")
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
