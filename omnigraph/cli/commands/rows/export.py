"""The command `export`: the rows of a branch or commit, as lines or as files."""

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.output import counted, write_bytes
from omnigraph.cli.session import Session, graph_options, target_options, types_option
from omnigraph.cli.spark import engine_option, spark_options, spark_settings

if TYPE_CHECKING:
    from omnigraph.cli.session import ReadTarget
    from omnigraph.export.export import ExportResult

_FORMATS = ("jsonl", "parquet")


@click.command()
@target_options
@types_option
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="KEY",
    help="Only this table, such as node:Person; repeatable.",
)
@click.option("--output", metavar="FOLDER", help="Write files there; it has to be empty or new.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="jsonl",
    show_default=True,
    help="What the files hold.",
)
@engine_option
@spark_options
@graph_options
def export(
    session: Session,
    branch: str | None,
    snapshot: str | None,
    output: str | None,
    **how: Any,  # noqa: ANN401
) -> None:
    """Write the rows of a graph.

    They go to standard output, as JSON lines: nodes, then edges, by type and by id. With --output
    many tasks write them to files in a folder at the same time, and --json prints a summary.
    """
    target = session.to_read(branch, snapshot)
    if output is None:
        _refuse_for_lines(how)
        _print_lines(session, target, how)
        return
    from omnigraph.cli.progress import shown_progress

    graph = session.open()
    with shown_progress() as progress:
        exported = graph.export_to(
            output,
            target.name,
            format=how["form"],
            types=how["types"],
            tables=how["tables"],
            engine=how["engine"],
            spark=spark_settings(session.config, how),
            progress=progress,
        )
    session.show(exported.to_json(graph.uri), _exported_line(exported))


def _print_lines(session: Session, target: "ReadTarget", how: dict[str, Any]) -> None:
    """Print all rows; with a bar on stderr, unless the rows themselves go to the terminal."""
    from omnigraph.cli.progress import shown_progress
    from omnigraph.spark.progress import NO_PROGRESS

    bar = nullcontext(NO_PROGRESS) if sys.stdout.isatty() else shown_progress()
    with bar as progress:
        view = target.view(session.graph())
        write_bytes(view.export(types=how["types"], tables=how["tables"], progress=progress))


def _refuse_for_lines(how: dict[str, Any]) -> None:
    if how["form"] != "jsonl":
        raise click.UsageError(f"--format {how['form']} needs --output")
    if how["engine"] == "spark":
        raise click.UsageError(
            "--engine spark needs --output; lines are put in order by one process"
        )


def _exported_line(exported: "ExportResult") -> str:
    nodes = counted(sum(exported.nodes.values()), "node")
    edges = counted(sum(exported.edges.values()), "edge")
    files = counted(len(exported.files), "file")
    return f"exported {nodes} and {edges} to {files} in {exported.folder} ({exported.engine})"
