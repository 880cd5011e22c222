"""Importing: a graph from data that nobody described."""

from pathlib import Path

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, write_text
from omnigraph.cli.session import Session, graph_options


@click.command("import")
@click.argument("place", metavar="FILE|FOLDER", shell_complete=completing.files)
@click.option("--yes", is_flag=True, help="Make the graph at URI and load the data.")
@click.option("--out", metavar="FILE", help="Write the schema there.")
@graph_options
def import_data(session: Session, place: str, yes: bool, out: str | None) -> None:
    """Infer a schema from data, and make a graph of both.

    CSV, Parquet, JSON, JSON lines and GraphML files are read whole: types, keys, nullability,
    enums, and edges for columns that point at keys. The schema is shown; with --yes the graph is
    made and the data loaded.
    """
    from omnigraph.write.infer.inferred import infer

    found = infer(place)
    if out is not None:
        write_text(out, found.schema)
    document = {**found.to_json(), "uri": None, "commit": None}
    if not yes:
        hint = "// add --yes and the URI of a new graph to make it"
        session.show(document, str(found).rstrip("\n"), hint)
        return
    from omnigraph.api.graph import init

    uri = session.address.uri
    with init(uri, found.schema) as graph:
        loaded = graph.branch(message=f"import {Path(place).name}").load(dict(found.frames))
    nodes = counted(sum(loaded.nodes.values()), "node")
    edges = counted(sum(loaded.edges.values()), "edge")
    commit = None if loaded.commit is None else loaded.commit.id
    session.show(
        {**document, "uri": graph.uri, "commit": commit},
        str(found).rstrip("\n"),
        f"made {uri} with {nodes} and {edges}",
    )
