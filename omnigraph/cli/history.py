"""The commands `changes` and `blame`, and the families `tag` and `run`."""

import json
from typing import TYPE_CHECKING

import click

from omnigraph.cli.graph import opened
from omnigraph.cli.output import show_json

if TYPE_CHECKING:
    from omnigraph.engine.runs import RunRecord

_URI = click.argument("uri")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_BRANCH = click.option("--branch", default="main", show_default=True, help="The branch.")
_ACTOR = click.option("--as", "actor", metavar="ACTOR", help="Who does it.")


@click.command()
@_URI
@_BRANCH
@click.option("--since", metavar="COMMIT", help="Go on behind this commit.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type; repeatable.")
def changes(uri: str, branch: str, since: str | None, types: tuple[str, ...]) -> None:
    """Follow what the commits of a branch changed, oldest first.

    Prints a JSON line for each change, with its commit. The commit of the last line that was
    dealt with is where to go on from.
    """
    for each in opened(uri).changes(branch, since=since, types=types):
        for change in each.changes:
            line = {"commit": each.cursor, "actor_id": each.commit.actor, **change.to_json()}
            click.echo(json.dumps(line, ensure_ascii=False))


@click.command()
@click.argument("type_name", metavar="TYPE")
@click.argument("row_id", metavar="ID")
@_URI
@click.option("--branch", default="main", show_default=True, help="A branch, tag or commit.")
@_JSON
def blame(type_name: str, row_id: str, uri: str, branch: str, as_json: bool) -> None:
    """Show which commit gave each property of a node or edge its value."""
    found = opened(uri).blame(type_name, row_id, branch)
    if as_json:
        show_json({"type_name": type_name, "id": row_id, "blame": [b.to_json() for b in found]})
        return
    width = max(len(each.property) for each in found)
    for each in found:
        who = each.commit.actor or "-"
        click.echo(f"{each.commit.id}  {who}  {each.property.ljust(width)}  {each.value}")


@click.group()
def tag() -> None:
    """Give names to commits."""


@tag.command("create")
@click.argument("name")
@_URI
@click.option("--at", "target", default="main", show_default=True, help="A branch or a commit.")
@_JSON
def create_tag(name: str, uri: str, target: str, as_json: bool) -> None:
    """Give the name NAME to a commit."""
    commit = opened(uri, writing=True).create_tag(name, target)
    if as_json:
        show_json({"name": name, "commit": commit})
    else:
        click.echo(f"{name} is commit {commit}")


@tag.command("list")
@_URI
@_JSON
def list_tags(uri: str, as_json: bool) -> None:
    """List the tags and their commits."""
    found = opened(uri).tags()
    if as_json:
        show_json({"tags": [{"name": name, "commit": commit} for name, commit in found.items()]})
        return
    for name, commit in found.items():
        click.echo(f"{commit}  {name}")


@tag.command("delete")
@click.argument("name")
@_URI
@_JSON
def delete_tag(name: str, uri: str, as_json: bool) -> None:
    """Take the name NAME away; its commit stays."""
    opened(uri, writing=True).delete_tag(name)
    if as_json:
        show_json({"name": name})
    else:
        click.echo(f"deleted tag {name}")


@click.group()
def run() -> None:
    """Change a graph aside, and publish it at once."""


@run.command("begin")
@_URI
@click.option("--branch", default="main", show_default=True, help="The branch to publish to.")
@click.option("--operation-hash", metavar="HASH", help="A live run that has it is given again.")
@_ACTOR
@_JSON
def begin_run(
    uri: str, branch: str, operation_hash: str | None, actor: str | None, as_json: bool
) -> None:
    """Begin a run; write to its branch with --branch."""
    graph = opened(uri, writing=True)
    _show(graph.begin_run(branch, operation_hash=operation_hash, actor=actor), as_json)


@run.command("list")
@_URI
@_JSON
def list_runs(uri: str, as_json: bool) -> None:
    """List the runs, newest first."""
    found = opened(uri).runs()
    if as_json:
        show_json({"runs": [each.to_json() for each in found]})
        return
    for each in found:
        click.echo(f"{each.run_id}  {each.status}  into {each.target_branch}")


@run.command("show")
@click.argument("run_id")
@_URI
@_JSON
def show_run(run_id: str, uri: str, as_json: bool) -> None:
    """Show the run RUN_ID."""
    _show(opened(uri).run(run_id), as_json)


@run.command("publish")
@click.argument("run_id")
@_URI
@_ACTOR
@_JSON
def publish_run(run_id: str, uri: str, actor: str | None, as_json: bool) -> None:
    """Merge what the run RUN_ID wrote into its target."""
    _show(opened(uri, writing=True).publish_run(run_id, actor=actor), as_json)


@run.command("abort")
@click.argument("run_id")
@_URI
@_JSON
def abort_run(run_id: str, uri: str, as_json: bool) -> None:
    """Give the run RUN_ID up."""
    _show(opened(uri, writing=True).abort_run(run_id), as_json)


@run.command("fail")
@click.argument("run_id")
@_URI
@_JSON
def fail_run(run_id: str, uri: str, as_json: bool) -> None:
    """Note that the run RUN_ID failed."""
    _show(opened(uri, writing=True).fail_run(run_id), as_json)


def _show(record: "RunRecord", as_json: bool) -> None:
    if as_json:
        show_json(record.to_json())
        return
    for name, value in record.to_json().items():
        if value is not None:
            click.echo(f"{name}: {value}")
