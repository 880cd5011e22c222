"""The command `change`: runs a mutation and shows its receipt."""

from typing import Any

import click

from omnigraph.cli.output import Document, counted, show_json
from omnigraph.cli.queries import asked, query_options
from omnigraph.cli.session import Session, branch_option
from omnigraph.cli.terms import ChangeTerms, Target


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
    what = asked("change", session, how)
    terms = ChangeTerms(
        branch=what.session.branch(branch, what.branch),
        message=message,
        expect=expect,
        operation_id=operation_id,
    )
    question = what.question(Target(terms.branch))
    receipt = what.session.backend().change(question, terms)
    if session.as_json or what.format == "json":
        show_json(receipt)
    else:
        click.echo(told_change(receipt))


def told_change(receipt: Document) -> str:
    """Give the receipt of a mutation as a line for people."""
    if receipt["commit"] is None:
        return f"nothing to change on {receipt['branch']}; no commit was made"
    nodes = counted(receipt["affected_nodes"], "node")
    edges = counted(receipt["affected_edges"], "edge")
    return f"changed {nodes} and {edges} on {receipt['branch']}, commit {receipt['commit']}"
