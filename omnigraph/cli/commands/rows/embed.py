"""The command `embed`: vectors for the records of a file, or of a graph anew."""

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from omnigraph.cli.address import given_config
from omnigraph.cli.output import counted
from omnigraph.cli.session import Session, branch_option, graph_options
from omnigraph.cli.spark import engine_option, spark_options, spark_settings
from omnigraph.errors import InputError

if TYPE_CHECKING:
    from omnigraph.spark.progress import Progress
    from omnigraph.write.embed.embed import Embedded, EmbedKeywords
    from omnigraph.write.embed.row_filter import Select
    from omnigraph.write.load.loaded import Loaded

_FILES = ("input", "output", "spec")


def _selects(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> "list[Select]":
    from omnigraph.write.embed.row_filter import Select

    try:
        return [Select.parsed(text) for text in texts]
    except InputError as bad:
        raise click.BadParameter(f"{bad.message}; {bad.hint}") from None


@click.command()
@click.option("--again", is_flag=True, help="Make the vectors of a graph anew, instead of a file.")
@branch_option
@click.option("--seed", metavar="FILE", help="A YAML file with input, output and spec.")
@click.option("--input", metavar="FILE", help="JSON lines (also .gz), or - for standard input.")
@click.option("--output", metavar="FILE", help="The file to write (also .gz).")
@click.option("--spec", metavar="FILE", help="A JSON or YAML file: dimension, types and model.")
@click.option(
    "--reembed-all", is_flag=True, help="Also replace the vectors that rows already have."
)
@click.option("--clean", is_flag=True, help="Remove the vectors instead.")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Only rows of this type; repeatable."
)
@click.option(
    "--select",
    multiple=True,
    callback=_selects,
    metavar="TYPE:FIELD=VALUE",
    help="Only rows whose field has this value; repeatable.",
)
@engine_option
@spark_options
@graph_options
def embed(
    session: Session,
    again: bool,
    branch: str | None,
    seed: str | None,
    **how: Any,  # noqa: ANN401
) -> None:
    """Make vectors for the records of a file, or for a graph anew.

    Rows without a vector get one, and no other byte of the file changes. Give --seed, or --input,
    --output and --spec. The output appears whole or not at all.

    With --again, all vectors of a graph's types that have @embed are made anew, by the model that
    is chosen now, as one commit. --type limits it to some types.
    """
    if again:
        _embed_again(session, branch, seed, how)
        return
    _check_usage(seed, how)
    _refuse_graph(session, branch)
    from omnigraph.cli.progress import shown_progress
    from omnigraph.write.embed.embed import embed_file
    from omnigraph.write.embed.seed import read_seed

    with shown_progress() as progress:
        if seed is None:
            embedded = embed_file(
                _input(how["input"]), how["output"], how["spec"], **_how(progress, how)
            )
        else:
            read = read_seed(seed)
            embedded = embed_file(read.input, read.output, read.spec, **_how(progress, how))
    session.show(embedded.to_json(), _told(embedded))


def _embed_again(
    session: Session, branch: str | None, seed: str | None, how: dict[str, Any]
) -> None:
    """Make the vectors of a graph anew."""
    from omnigraph.cli.progress import shown_progress

    given = [name for name in (*_FILES, "reembed_all", "clean", "select") if how[name]]
    if seed is not None or given:
        name = "seed" if seed is not None else given[0].replace("_", "-")
        raise click.UsageError(f"--again and --{name} exclude each other")
    graph = session.graph(writing=True)
    with shown_progress() as progress:
        work = session.work_options(how, progress)
        done = graph.embed_again(*how["types"], branch=session.branch(branch), **work)
    session.show(done.to_json(graph.uri), _again_line(done))


def _again_line(done: "Loaded") -> str:
    rows = counted(sum(done.nodes.values()), "row")
    if done.commit is None:
        return f"the vectors of {rows} are the same as before"
    return f"made the vectors of {rows} anew (commit {done.commit.id})"


def _check_usage(seed: str | None, how: dict[str, Any]) -> None:
    given = [name for name in _FILES if how[name] is not None]
    if seed is not None and given:
        raise click.UsageError(f"--seed and --{given[0]} exclude each other")
    missing = [f"--{name}" for name in _FILES if name not in given]
    if seed is None and missing:
        raise click.UsageError(f"give --seed, or also {' and '.join(missing)}")
    if how["reembed_all"] and how["clean"]:
        raise click.UsageError("--reembed-all and --clean exclude each other")


def _refuse_graph(session: Session, branch: str | None) -> None:
    """Raise for what names a graph, its branch or an actor: a file has none of them."""
    given = (session.word, session.uri, session.target, session.actor, branch)
    profile = None if session.gives_way else session.profile_name
    if any(each is not None for each in (*given, profile)):
        raise click.UsageError("a graph, its branch and an actor are for --again, not for a file")


def _input(name: str) -> str | BinaryIO:
    return sys.stdin.buffer if name == "-" else name


def _how(progress: "Progress", how: dict[str, Any]) -> "EmbedKeywords":
    wanted = [mode for mode in ("reembed_all", "clean") if how[mode]]
    return {
        "mode": wanted[0] if wanted else "fill_missing",
        "types": how["types"],
        "select": how["select"],
        "engine": how["engine"],
        "spark": spark_settings(given_config(), how),
        "progress": progress,
    }


def _told(embedded: "Embedded") -> str:
    rows = f"of {counted(embedded.selected_rows, 'selected row')} into {embedded.output}"
    if embedded.mode == "clean":
        return f"cleaned {embedded.cleaned_rows} {rows} ({embedded.engine})"
    model = "" if embedded.model is None else f"{embedded.model}, "
    return f"embedded {embedded.embedded_rows} {rows} ({model}{embedded.engine})"
