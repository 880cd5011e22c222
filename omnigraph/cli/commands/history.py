"""The commands `changes` and `blame`, and the families `tag` and `run`."""

import json

import click

from omnigraph.cli import completing
from omnigraph.cli.output import Document, cell
from omnigraph.cli.session import Session, branch_option, graph_options, types_option
from omnigraph.cli.terms import DiffTerms


@click.command()
@branch_option
@click.option("--since", metavar="COMMIT", help="Go on behind this commit.")
@types_option
@graph_options
def changes(
    session: Session, branch: str | None, since: str | None, types: tuple[str, ...]
) -> None:
    """Follow what the commits of a branch changed, oldest first.

    Prints a JSON line for each change, with its commit, or with --json one document with all of
    them. The commit of the last change that was dealt with is where to go on from.
    """
    found = session.backend().changes(session.branch(branch), since, DiffTerms(types=types))
    if session.as_json:
        session.show({"changes": list(found)})
        return
    for change in found:
        click.echo(json.dumps(change, ensure_ascii=False))


@click.command()
@click.argument("type_name", metavar="TYPE", shell_complete=completing.types)
@click.argument("row_id", metavar="ID")
@click.option(
    "--branch",
    metavar="PLACE",
    shell_complete=completing.places,
    help="A branch, tag or commit.  [default: cli.branch, or main]",
)
@graph_options
def blame(session: Session, type_name: str, row_id: str, branch: str | None) -> None:
    """Show which commit gave each property of a node or edge its value."""
    found = session.backend().blame(type_name, row_id, session.branch(branch))
    width = max((len(each["property"]) for each in found["blame"]), default=0)
    session.show(
        found,
        *(
            f"{each['commit']}  {each['actor_id'] or '-'}  {each['property'].ljust(width)}  "
            f"{cell(each['value'])}"
            for each in found["blame"]
        ),
    )


@click.group()
def tag() -> None:
    """Give names to commits."""


@tag.command("create")
@click.argument("name")
@click.option(
    "--at",
    "place",
    metavar="PLACE",
    shell_complete=completing.branches,
    help="A branch or a commit.  [default: cli.branch, or main]",
)
@graph_options
def create_tag(session: Session, name: str, place: str | None) -> None:
    """Give the name NAME to a commit."""
    made = session.backend().create_tag(name, session.branch(place))
    session.show(made, f"{made['name']} is commit {made['commit']}")


@tag.command("list")
@graph_options
def list_tags(session: Session) -> None:
    """List the tags and their commits."""
    found = session.backend().tags()
    session.show(found, *(f"{each['commit']}  {each['name']}" for each in found["tags"]))


@tag.command("delete")
@click.argument("name", shell_complete=completing.tags)
@graph_options
def delete_tag(session: Session, name: str) -> None:
    """Take the name NAME away; its commit stays."""
    session.show(session.backend().delete_tag(name), f"deleted tag {name}")


@click.group()
def run() -> None:
    """Change a graph aside, and publish it at once."""


@run.command("begin")
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch to publish to.  [default: cli.branch, or main]",
)
@click.option("--operation-hash", metavar="HASH", help="A live run that has it is given again.")
@graph_options
def begin_run(session: Session, branch: str | None, operation_hash: str | None) -> None:
    """Begin a run; write to its branch with --branch."""
    session.show_fields(session.backend().begin_run(session.branch(branch), operation_hash))


@run.command("list")
@graph_options
def list_runs(session: Session) -> None:
    """List the runs, newest first."""
    found = session.backend().runs()
    session.show(found, *map(_told, found["runs"]))


@run.command("show")
@click.argument("run_id")
@graph_options
def show_run(session: Session, run_id: str) -> None:
    """Show the run RUN_ID."""
    session.show_fields(session.backend().run(run_id))


@run.command("publish")
@click.argument("run_id")
@graph_options
def publish_run(session: Session, run_id: str) -> None:
    """Merge what the run RUN_ID wrote into its target."""
    session.show_fields(session.backend().publish_run(run_id))


@run.command("abort")
@click.argument("run_id")
@graph_options
def abort_run(session: Session, run_id: str) -> None:
    """Give the run RUN_ID up."""
    session.show_fields(session.backend().abort_run(run_id))


@run.command("fail")
@click.argument("run_id")
@graph_options
def fail_run(session: Session, run_id: str) -> None:
    """Note that the run RUN_ID failed."""
    session.show_fields(session.backend().fail_run(run_id))


def _told(found: Document) -> str:
    return f"{found['run_id']}  {found['status']}  into {found['target_branch']}"
