"""Importing: a graph from data that nobody described."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.output import counted, write_text
from omnigraph.cli.session import Session, graph_options
from omnigraph.errors import OmniGraphError, OutcomeUnknownError
from omnigraph.storage import layout

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.storage.store import Store


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
    uri = session.address.uri
    with _made(uri, found.schema) as graph:
        loaded = graph.branch(message=f"import {Path(place).name}").load(dict(found.frames))
    nodes = counted(sum(loaded.nodes.values()), "node")
    edges = counted(sum(loaded.edges.values()), "edge")
    commit = None if loaded.commit is None else loaded.commit.id
    session.show(
        {**document, "uri": graph.uri, "commit": commit},
        str(found).rstrip("\n"),
        f"made {uri} with {nodes} and {edges}",
    )


@contextmanager
def _made(uri: str, schema: str) -> "Iterator[Graph]":
    """Yield a new graph; it is removed again if the block raises before anything is committed."""
    from omnigraph.api.graph import init
    from omnigraph.storage.store import store_at

    store = store_at(uri)
    had_folder = store.is_local and Path(store.root).exists()
    before = _files(store)
    with init(uri, schema) as graph:
        first = graph.branch().commit.id
        try:
            yield graph
        except OutcomeUnknownError:
            raise
        except BaseException:
            with suppress(OmniGraphError):  # the error of the load is the one to show
                if graph.branch().commit.id == first:
                    _remove(store, before)
            if store.is_local and not had_folder:
                with suppress(OSError):  # somebody else has files there
                    Path(store.root).rmdir()
            raise


def _files(store: "Store") -> list[str]:
    """Return the files at a place that are called like those of a graph."""
    folders = (layout.MANIFEST, layout.ASIDE, layout.SCHEMAS, *layout.TABLES)
    found = [f"{folder}/{name}" for folder in folders for name in store.objects.names(folder)]
    shown = (layout.SCHEMA_SOURCE, layout.SCHEMA_IR)
    return [*found, *(each for each in shown if store.objects.find(each) is not None)]


def _remove(store: "Store", kept: list[str]) -> None:
    """Remove the files of a graph that were not there before it."""
    gone = [each for each in _files(store) if each not in kept]
    # Without these it is no graph any more, whatever happens to the others.
    versions = [each for each in gone if each.startswith(f"{layout.MANIFEST}/_versions/")]
    store.objects.delete_many(versions)
    store.objects.delete_many(each for each in gone if each not in versions)
    store.objects.drop_empty({each.partition("/")[0] for each in gone})
