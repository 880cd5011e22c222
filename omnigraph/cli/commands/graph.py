"""The commands `init` and `snapshot`, and the families `branch` and `commit`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted
from omnigraph.cli.session import Session, branch_option, graph_options, read_schema


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
    found = session.backend().snapshot(session.branch(branch))
    tables = found["tables"]
    width = max((len(each["table_key"]) for each in tables), default=0)
    session.show(
        found,
        f"{found['branch']} at version {found['manifest_version']}, commit {found['commit']}",
        *(
            f"  {each['table_key'].ljust(width)}  {counted(each['row_count'], 'row')}"
            for each in tables
        ),
    )


@click.group()
def branch() -> None:
    """Make, list, rename, merge and delete branches."""


@branch.command("list")
@graph_options
def list_branches(session: Session) -> None:
    """List the branches, main first."""
    found = session.backend().branches()
    session.show(found, *found["branches"])


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
    made = session.backend().create_branch(name, session.branch(source))
    session.show(made, f"made branch {made['name']} from {made['from']}")


@branch.command()
@click.argument("name", shell_complete=completing.branches)
@graph_options
def delete(session: Session, name: str) -> None:
    """Delete the branch NAME."""
    session.show(session.backend().delete_branch(name), f"deleted branch {name}")


@branch.command()
@click.argument("name", shell_complete=completing.branches)
@click.argument("new_name")
@graph_options
def rename(session: Session, name: str, new_name: str) -> None:
    """Give the branch NAME the name NEW_NAME."""
    done = session.backend().rename_branch(name, new_name)
    session.show(done, f"renamed branch {name} to {done['name']}")


@click.group()
def commit() -> None:
    """Look at the history."""


@commit.command("list")
@branch_option
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, newest first.")
@click.option("--after", metavar="COMMIT", help="Go on behind this commit.")
@graph_options
def list_commits(
    session: Session, branch: str | None, limit: int | None, after: str | None
) -> None:
    """List the commits of a branch, newest first."""
    found = session.backend().commits(session.branch(branch), limit, after)
    session.show(
        found,
        *(
            f"{each['graph_commit_id']}  {_when(each['created_at'])}  {each['kind']:8}  "
            f"{each['message'] or ''}".rstrip()
            for each in found["commits"]
        ),
    )


@commit.command()
@click.argument("commit_id")
@graph_options
def show(session: Session, commit_id: str) -> None:
    """Show the commit COMMIT_ID."""
    session.show_fields(session.backend().commit(commit_id))


def _when(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
