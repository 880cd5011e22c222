"""The commands `init` and `snapshot`, and the families `branch` and `commit`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.session import read_schema

if TYPE_CHECKING:
    from omnigraph.graph import Graph

_URI = click.argument("uri")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_BRANCH = click.option("--branch", default="main", show_default=True, help="The branch.")


@click.command()
@click.option("--schema", "schema_path", required=True, metavar="FILE", help="The .pg file.")
@_URI
@_JSON
def init(schema_path: str, uri: str, as_json: bool) -> None:
    """Make a new graph at URI.

    An existing graph is refused and not touched. A first omnigraph.yaml is written into this
    folder, unless there is one.
    """
    from omnigraph.config import FILE_NAME, write_scaffold
    from omnigraph.graph import init as init_graph

    graph = init_graph(uri, read_schema(schema_path))
    wrote = write_scaffold(Path.cwd(), uri)
    if as_json:
        show_json({"uri": graph.uri, "schema_hash": graph.schema_hash})
    else:
        nodes = counted(len(graph.catalog.nodes), "node type")
        edges = counted(len(graph.catalog.edges), "edge type")
        click.echo(f"made {graph.uri} with {nodes} and {edges}")
        if wrote:
            click.echo(f"wrote {FILE_NAME}")


@click.command()
@_URI
@_BRANCH
@_JSON
def snapshot(uri: str, branch: str, as_json: bool) -> None:
    """Show what a branch holds.

    Prints the version and commit of the branch and the number of rows of every table.
    """
    pinned = opened(uri).snapshot(branch)
    if as_json:
        show_json(pinned.to_json(branch))
        return
    click.echo(f"{branch} at version {pinned.version}, commit {pinned.commit.id}")
    width = max((len(key) for key in pinned.commit.tables), default=0)
    for key, state in pinned.commit.tables.items():
        click.echo(f"  {key.ljust(width)}  {counted(state.row_count, 'row')}")


@click.group()
def branch() -> None:
    """Make, list, rename, merge and delete branches."""


@branch.command("list")
@_URI
@_JSON
def list_branches(uri: str, as_json: bool) -> None:
    """List the branches, main first."""
    names = opened(uri).branches()
    if as_json:
        show_json({"branches": [*names]})
    else:
        click.echo("\n".join(names))


@branch.command()
@click.argument("name")
@_URI
@click.option("--from", "source", default="main", show_default=True, help="A branch or a commit.")
@_JSON
def create(name: str, uri: str, source: str, as_json: bool) -> None:
    """Make the branch NAME where another branch or a commit stands."""
    graph = opened(uri, writing=True)
    graph.create_branch(name, source)
    if as_json:
        show_json({"uri": graph.uri, "from": source, "name": name, "actor_id": None})
    else:
        click.echo(f"made branch {name} from {source}")


@branch.command()
@click.argument("name")
@_URI
@_JSON
def delete(name: str, uri: str, as_json: bool) -> None:
    """Delete the branch NAME."""
    graph = opened(uri, writing=True)
    graph.delete_branch(name)
    if as_json:
        show_json({"uri": graph.uri, "name": name})
    else:
        click.echo(f"deleted branch {name}")


@branch.command()
@click.argument("name")
@click.argument("new_name")
@_URI
@_JSON
def rename(name: str, new_name: str, uri: str, as_json: bool) -> None:
    """Give the branch NAME the name NEW_NAME."""
    graph = opened(uri, writing=True)
    graph.rename_branch(name, new_name)
    if as_json:
        show_json({"uri": graph.uri, "name": new_name})
    else:
        click.echo(f"renamed branch {name} to {new_name}")


@click.group()
def commit() -> None:
    """Look at the history."""


@commit.command("list")
@_URI
@_BRANCH
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, newest first.")
@click.option("--after", metavar="COMMIT", help="Go on behind this commit.")
@_JSON
def list_commits(
    uri: str, branch: str, limit: int | None, after: str | None, as_json: bool
) -> None:
    """List the commits of a branch, newest first."""
    commits = opened(uri).log(branch, limit=limit, after=after)
    if as_json:
        show_json({"commits": [each.to_json() for each in commits]})
        return
    for each in commits:
        message = each.message or ""
        click.echo(f"{each.id}  {_when(each.created_at)}  {each.kind}  {message}".rstrip())


@commit.command()
@click.argument("commit_id")
@_URI
@_JSON
def show(commit_id: str, uri: str, as_json: bool) -> None:
    """Show the commit COMMIT_ID."""
    found = opened(uri).commit(commit_id).to_json()
    if as_json:
        show_json(found)
        return
    for name, value in found.items():
        if value is not None:
            click.echo(f"{name}: {value}")


def opened(uri: str, *, writing: bool = False) -> "Graph":
    """Open a graph for a command."""
    from omnigraph.graph import open as open_graph

    return open_graph(uri, read_only=not writing)


def _when(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
