"""The commands `init` and `snapshot`, and the families `branch` and `commit`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.commands.merge import merge
from omnigraph.cli.output import counted
from omnigraph.cli.session import Session, branch_option, graph_options, read_schema, yes_option

if TYPE_CHECKING:
    from omnigraph.versioning.commit import Commit


@click.command()
@click.option(
    "--schema",
    "schema_path",
    required=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="The .pg file.",
)
@graph_options
def init(session: Session, schema_path: str) -> None:
    """Make a new graph at URI.

    An existing graph is refused and not touched. A first omnigraph.yaml is written into this
    folder, unless there is one.
    """
    from omnigraph.api.graph import init as init_graph
    from omnigraph.server.config import FILE_NAME, write_scaffold

    uri = session.local_uri
    graph = init_graph(uri, read_schema(schema_path))
    wrote = write_scaffold(Path.cwd(), uri)
    nodes = counted(len(graph.catalog.nodes), "node type")
    edges = counted(len(graph.catalog.edges), "edge type")
    session.show(
        {"uri": graph.uri, "schema_hash": graph.schema_hash},
        f"made {graph.uri} with {nodes} and {edges}",
        *([f"wrote {FILE_NAME}"] if wrote else []),
    )


@click.command()
@branch_option
@graph_options
def snapshot(session: Session, branch: str | None) -> None:
    """Show what a branch holds.

    Prints the version and commit of the branch and the number of rows of every table.
    """
    name = session.branch(branch)
    found = session.graph().snapshot(name)
    tables = found.commit.tables
    width = max(map(len, tables), default=0)
    session.show(
        found.to_json(name),
        f"{name} at version {found.version}, commit {found.commit.id}",
        *(
            f"  {key.ljust(width)}  {counted(each.row_count, 'row')}"
            for key, each in tables.items()
        ),
    )


@click.group()
def branch() -> None:
    """Make, list, rename, merge and delete branches."""


branch.add_command(merge)


@branch.command("list")
@graph_options
def list_branches(session: Session) -> None:
    """List the branches, main first."""
    found = session.graph().branches()
    session.show({"branches": found}, *found)


@branch.command()
@click.argument("name")
@click.option(
    "--from",
    "source",
    metavar="PLACE",
    shell_complete=completing.places,
    help="A branch or a commit.  [default: cli.branch, or main]",
)
@graph_options
def create(session: Session, name: str, source: str | None) -> None:
    """Make the branch NAME where another branch or a commit stands."""
    from omnigraph.api.operations.branches import CreateBranch

    # The document names the actor, whom of a server's graph the server alone knows.
    create_branch = CreateBranch(name=name, base=session.branch(source))
    graph = session.graph(writing=True)
    made = {**graph.backend.document(create_branch), "uri": graph.uri}
    session.show(made, f"made branch {name} from {made['from']}")


@branch.command()
@click.argument("name", shell_complete=completing.branches)
@click.option("--expect", metavar="COMMIT", help="Only if the branch still stands there.")
@yes_option
@graph_options
def delete(session: Session, name: str, expect: str | None, yes: bool) -> None:
    """Delete the branch NAME."""
    session.confirm(f"deleting branch {name}", yes=yes)
    graph = session.graph(writing=True)
    graph.delete_branch(name, expect=expect)
    session.show({"uri": graph.uri, "name": name}, f"deleted branch {name}")


@branch.command()
@click.argument("name", shell_complete=completing.branches)
@click.argument("new_name")
@graph_options
def rename(session: Session, name: str, new_name: str) -> None:
    """Rename the branch NAME to NEW_NAME."""
    graph = session.graph(writing=True)
    graph.rename_branch(name, new_name)
    session.show({"uri": graph.uri, "name": new_name}, f"renamed branch {name} to {new_name}")


@click.group()
def commit() -> None:
    """Look at the history."""


@commit.command("list")
@branch_option
@click.option("--limit", type=click.IntRange(min=1), help="Show at most this many, newest first.")
@click.option("--after", metavar="COMMIT", help="Start after this commit.")
@graph_options
def list_commits(
    session: Session, branch: str | None, limit: int | None, after: str | None
) -> None:
    """List the commits of a branch, newest first."""
    found = list(session.graph().log(session.branch(branch), limit=limit, after=after))
    session.show(
        {"commits": [each.to_json() for each in found]},
        *map(_log_line, found),
    )


@commit.command()
@click.argument("commit_id")
@graph_options
def show(session: Session, commit_id: str) -> None:
    """Show the commit COMMIT_ID."""
    session.show_fields(session.graph().commit(commit_id).to_json())


def _log_line(each: "Commit") -> str:
    who = "" if each.actor is None else f"  {click.style(each.actor, fg='cyan')}"
    said = (each.message or "").partition("\n")[0]
    about = f"{_when(each.created_at)}  {each.kind:8}{who}  {said}"
    return f"{click.style(each.id, fg='yellow')}  {about}".rstrip()


def _when(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
