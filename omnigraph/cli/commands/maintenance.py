"""The commands `optimize`, `coverage`, `cleanup` and `fsck`: how a graph is kept in good order."""

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, shown_bytes
from omnigraph.cli.session import (
    Session,
    branch_option,
    graph_options,
    target_options,
    types_option,
    yes_option,
)
from omnigraph.cli.spark import engine_option, spark_options

if TYPE_CHECKING:
    from omnigraph.maintain.reports import Checkup, Cleaned, Coverage, Optimized, OptimizedTable
    from omnigraph.spark.progress import Progress

_branches_option = click.option(
    "--branch",
    "branches",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.branches,
    help="Only this branch; repeatable.",
)


@click.command()
@branch_option
@click.option("--indexes-only", is_flag=True, help="Complete the indexes and join no fragments.")
@types_option
@click.option(
    "--exclude",
    multiple=True,
    metavar="TYPE",
    shell_complete=completing.types,
    help="Leave this type as it is; repeatable.",
)
@engine_option
@spark_options
@graph_options
def optimize(session: Session, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Write a branch anew in few large files, all indexed.

    No content changes, and writers are not held up. Tables are worked on side by side, as many
    as OMNIGRAPH_MAINTENANCE_CONCURRENCY says (8). With --type, only these types are written anew.
    """
    from omnigraph.cli.progress import shown_progress

    graph = session.graph(writing=True)
    with shown_progress() as progress:
        work = session.work_options(how, progress)
        done = graph.optimize(
            session.branch(branch),
            indexes_only=how["indexes_only"],
            types=how["types"],
            exclude=how["exclude"],
            **work,
        )
    session.show(done.to_json(graph.uri), *_optimize_lines(done))


@click.command()
@target_options
@graph_options
def coverage(session: Session, branch: str | None, snapshot: str | None) -> None:
    """Show for each index how many rows are in it, how many are not yet, and why.

    Every search finds the rows that are not in an index, too.
    """
    graph = session.graph()
    found = graph.coverage(session.to_read(branch, snapshot).name)
    indexes = [each.to_json() for each in found]
    session.show({"uri": graph.uri, "indexes": indexes}, *map(_coverage_line, found))


@click.command()
@click.option("--keep", type=click.IntRange(min=1), help="Keep this many commits of each branch.")
@click.option(
    "--older-than", metavar="AGE", help="Keep what a branch stood at within this time, as 7d."
)
@click.option("--grace", metavar="AGE", default="24h", show_default=True, help="Always keep this.")
@_branches_option
@types_option
@click.option("--confirm", is_flag=True, help="Really remove it.")
@yes_option
@graph_options
def cleanup(session: Session, confirm: bool, yes: bool, **rule: Any) -> None:  # noqa: ANN401
    """Remove the rows that only old commits have, and what crashed writers left.

    At least one of --keep and --older-than says what stays; what either of them keeps stays.
    Branches, tags and runs always keep what they stand at. Without --confirm it only shows what
    it would remove. AGE is a number and s, m, h, d or w. With --branch or --type, only what the
    commits of these branches and the tables of these types have goes.
    """
    from omnigraph.cli.progress import shown_progress

    if rule["keep"] is None and rule["older_than"] is None:
        raise click.UsageError("say what to keep, with --keep or --older-than")
    if confirm:
        session.confirm("a cleanup", yes=yes)
    graph = session.graph(writing=confirm)
    with shown_progress() as progress:
        done = graph.cleanup(confirm=confirm, progress=progress, **rule)
    session.show(done.to_json(graph.uri), *_cleanup_lines(done))


@click.command()
@_branches_option
@types_option
@graph_options
def fsck(session: Session, branches: tuple[str, ...], types: tuple[str, ...]) -> None:
    """Check everything that a graph is made of; exits with 1 when something is damaged.

    Nothing is changed. With --branch or --type, only their versions and rows are read.
    """
    from omnigraph.cli.progress import shown_progress

    with shown_progress() as progress:
        uri, found = _checkup(session, branches, types, progress)
    session.show(found.to_json(uri), *_checkup_lines(found))
    if not found.is_sound:
        click.get_current_context().exit(1)


def _checkup(
    session: Session, branches: tuple[str, ...], types: tuple[str, ...], progress: "Progress"
) -> "tuple[str, Checkup]":
    """Check the files themselves, because a damaged graph may not open; an actor is asked first."""
    if session.address.is_remote or session.actor is not None:
        graph = session.graph()
        return graph.uri, graph.fsck(branches=branches, types=types, progress=progress)
    from omnigraph.maintain.fsck import fsck as check
    from omnigraph.maintain.scope import Scope
    from omnigraph.storage.store import store_at

    scope = Scope.of(branches, types)
    return session.local_uri, check(store_at(session.local_uri), scope, progress)


def _optimize_lines(done: "Optimized") -> list[str]:
    lines = [line for table in done.tables for line in _table_lines(table)]
    if done.commit is None:
        return [*lines, "nothing had to be done"]
    return [*lines, f"commit {done.commit.id}"]


def _table_lines(table: "OptimizedTable") -> list[str]:
    lines = []
    if table.yielded:
        lines.append(f"{table.table_key}: left as it is, others were writing to it")
    elif table.committed:
        removed, added = table.fragments_removed, table.fragments_added
        joined = (
            f"{counted(removed, 'fragment')} became {added}" if removed else "indexes completed"
        )
        lines.append(f"{table.table_key}: {joined}")
    measured = (each for each in table.indexes if each.recall is not None)
    lines += [
        f"  {each.column}: finds {each.recall:.1%} of the nearest vectors" for each in measured
    ]
    return lines


def _coverage_line(each: "Coverage") -> str:
    name = f"{each.table_key}.{each.column} {each.kind}"
    waiting = f", {each.pending:,} pending: {each.reason}" if each.pending else ""
    return f"{name}: {each.indexed:,} indexed{waiting}"


def _cleanup_lines(done: "Cleaned") -> list[str]:
    every = [*done.tables, *done.others]
    lines = [
        f"{each.table_key}: {counted(each.old_versions_removed, 'version')}, "
        f"{shown_bytes(each.bytes_removed)}"
        for each in every
    ]
    versions = counted(sum(each.old_versions_removed for each in every), "version")
    verb = "removed" if done.confirmed else "would remove"
    lines.append(f"{verb} {versions}, {shown_bytes(done.bytes_removed)}")
    return lines if done.confirmed else [*lines, "nothing was removed; --confirm does it"]


def _checkup_lines(found: "Checkup") -> list[str]:
    lines = [f"{each.kind}: {each.where}: {each.message}" for each in found.findings]
    versions = counted(found.versions, "table version")
    looked = f"{counted(found.commits, 'commit')}, {versions}"
    verdict = "sound" if found.is_sound else counted(len(found.findings), "finding")
    return [*lines, f"{verdict}; looked at {looked} and {counted(found.files, 'file')}"]
