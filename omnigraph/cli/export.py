"""The command `export`: the rows of a branch or commit, as lines or as files."""

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.spark import spark_options, spark_settings

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.pipeline.export import Exported

_FORMATS = ("jsonl", "parquet")
_ENGINES = ("auto", "spark", "inline")


@click.command()
@click.argument("uri")
@click.option("--branch", metavar="NAME", help="The branch to export.  [default: main]")
@click.option("--snapshot", metavar="COMMIT", help="The commit to export instead.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type; repeatable.")
@click.option(
    "--table", "tables", multiple=True, metavar="KEY", help="Only this table, such as node:Person."
)
@click.option("--output", metavar="FOLDER", help="Write files there; it has to be empty or new.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="jsonl", show_default=True)
@click.option("--engine", type=click.Choice(_ENGINES), default="auto", show_default=True)
@spark_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document about the files.")
def export(
    uri: str,
    branch: str | None,
    snapshot: str | None,
    output: str | None,
    as_json: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Write the rows of the graph at URI.

    They go to standard output, as JSON lines: nodes, then edges, by type and by id. With --output
    they go to files of a folder, which many tasks write at the same time.
    """
    if branch is not None and snapshot is not None:
        raise click.UsageError("--branch and --snapshot exclude each other")
    if output is None:
        _refuse_for_lines(how)
    from omnigraph.cli.progress import shown_progress
    from omnigraph.graph import open as open_graph

    graph = open_graph(uri, read_only=True)
    target = snapshot or branch or "main"
    if output is None:
        _print_lines(graph, target, how)
        return
    with shown_progress() as progress:
        exported = graph.export_to(
            output,
            target,
            format=how["form"],
            types=how["types"],
            tables=how["tables"],
            engine=how["engine"],
            spark=spark_settings(how["spark_master"], how["spark_remote"], how["spark_conf"]),
            progress=progress,
        )
    if as_json:
        show_json(exported.to_json(graph.uri))
    else:
        click.echo(_told(exported))


def _print_lines(graph: "Graph", target: str, how: dict[str, Any]) -> None:
    """Print all rows; with a bar on stderr, unless the rows themselves go to the terminal."""
    from omnigraph.cli.progress import shown_progress
    from omnigraph.pipeline.export import Selection, export_lines
    from omnigraph.pipeline.progress import NO_PROGRESS

    bar = nullcontext(NO_PROGRESS) if sys.stdout.isatty() else shown_progress()
    selection = Selection(how["types"], how["tables"])
    with bar as progress:
        for lines in export_lines(graph.snapshot(target), selection, progress):
            rest = memoryview(lines)
            while rest:  # an unbuffered stream may take a part only
                rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()


def _refuse_for_lines(how: dict[str, Any]) -> None:
    if how["form"] != "jsonl":
        raise click.UsageError(f"--format {how['form']} needs --output")
    if how["engine"] == "spark":
        raise click.UsageError(
            "--engine spark needs --output; lines are put in order by one process"
        )


def _told(exported: "Exported") -> str:
    nodes = counted(sum(exported.nodes.values()), "node")
    edges = counted(sum(exported.edges.values()), "edge")
    files = counted(len(exported.files), "file")
    return f"exported {nodes} and {edges} to {files} in {exported.folder} ({exported.engine})"
