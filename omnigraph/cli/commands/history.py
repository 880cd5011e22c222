"""The commands `changes` and `blame`, and the families `tag` and `run`."""

import json

import click

from omnigraph.cli import completing
from omnigraph.cli.output import cell
from omnigraph.cli.session import Session, branch_option, graph_options, types_option, yes_option


@click.command()
@branch_option
@click.option("--since", metavar="COMMIT", help="Start after this commit.")
@click.option("--follow", "follows", is_flag=True, help="Wait for more, until Ctrl-C.")
@types_option
@graph_options
def changes(
    session: Session, branch: str | None, since: str | None, follows: bool, types: tuple[str, ...]
) -> None:
    """Follow what the commits of a branch changed, oldest first.

    Prints a JSON line for each change, with its commit, or with --json one document with all of
    them. To continue later, pass the commit of the last change you processed as --since. With
    --follow it begins where the branch stands, or behind --since, and prints changes as they come.
    """
    if follows and session.as_json:
        raise click.UsageError("--follow has no end, and --json prints one document; leave one out")
    target = session.graph().branch(session.branch(branch))
    commits = (target.watch if follows else target.changes)(since=since, types=types)
    found = (
        {"commit": each.cursor, "actor_id": each.commit.actor, **change}
        for each in commits
        for change in each.changes.documents()
    )
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
    found = session.graph().blame(type_name, row_id, session.branch(branch))
    rows = [each.to_json() for each in found]
    actors = [each.commit.actor or "-" for each in found]
    width = max((len(each.property) for each in found), default=0)
    broad = max(map(len, actors), default=0)
    session.show(
        {"type_name": type_name, "id": row_id, "blame": rows},
        *(
            f"{each.commit.id}  {actor.ljust(broad)}  {each.property.ljust(width)}  "
            f"{cell(row['value'])}{'  (or earlier)' if each.or_earlier else ''}"
            for each, actor, row in zip(found, actors, rows, strict=True)
        ),
    )


@click.group()
def tag() -> None:
    """Name commits."""


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
    """Name a commit NAME."""
    commit = session.graph(writing=True).create_tag(name, session.branch(place))
    session.show({"name": name, "commit": commit}, f"{name} is commit {commit}")


@tag.command("list")
@graph_options
def list_tags(session: Session) -> None:
    """List the tags and their commits."""
    found = session.graph().tags().items()
    rows = [{"name": name, "commit": commit} for name, commit in found]
    session.show({"tags": rows}, *(f"{commit}  {name}" for name, commit in found))


@tag.command("delete")
@click.argument("name", shell_complete=completing.tags)
@yes_option
@graph_options
def delete_tag(session: Session, name: str, yes: bool) -> None:
    """Delete the tag NAME; its commit stays."""
    session.confirm(f"deleting tag {name}", yes=yes)
    session.graph(writing=True).delete_tag(name)
    session.show({"name": name}, f"deleted tag {name}")


@click.group()
def run() -> None:
    """Collect changes aside, and publish them together."""


@run.command("begin")
@click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch to publish to.  [default: cli.branch, or main]",
)
@click.option(
    "--operation-hash", metavar="HASH", help="Return the live run that has it, if there is one."
)
@graph_options
def begin_run(session: Session, branch: str | None, operation_hash: str | None) -> None:
    """Begin a run; write to its branch with --branch."""
    graph = session.graph(writing=True)
    record = graph.begin_run(session.branch(branch), operation_hash=operation_hash)
    session.show_fields(record.to_json())


@run.command("list")
@graph_options
def list_runs(session: Session) -> None:
    """List the runs, newest first."""
    from omnigraph.versioning.commit import time_text

    found = session.graph().runs()
    lines = (
        f"{each.run_id}  {time_text(each.created_at)}  {each.status}  into {each.target_branch}"
        f"{'' if each.actor_id is None else f'  {each.actor_id}'}"
        for each in found
    )
    session.show({"runs": [each.to_json() for each in found]}, *lines)


@run.command("show")
@click.argument("run_id")
@graph_options
def show_run(session: Session, run_id: str) -> None:
    """Show the run RUN_ID."""
    session.show_fields(session.graph().run_record(run_id).to_json())


@run.command("publish")
@click.argument("run_id")
@graph_options
def publish_run(session: Session, run_id: str) -> None:
    """Merge what the run RUN_ID wrote into its target."""
    session.show_fields(session.graph(writing=True).publish_run(run_id).to_json())


@run.command("abort")
@click.argument("run_id")
@graph_options
def abort_run(session: Session, run_id: str) -> None:
    """Abort the run RUN_ID."""
    session.show_fields(session.graph(writing=True).abort_run(run_id).to_json())


@run.command("fail")
@click.argument("run_id")
@graph_options
def fail_run(session: Session, run_id: str) -> None:
    """Note that the run RUN_ID failed."""
    session.show_fields(session.graph(writing=True).fail_run(run_id).to_json())
