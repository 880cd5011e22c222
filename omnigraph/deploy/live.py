"""Live: the graphs of a deployment as they are, with what they have and the revision has not."""

import shutil
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.deploy.definition import graph_uri
from omnigraph.deploy.revision import canonical, digest_of
from omnigraph.errors import GraphNotFoundError, Json, OmniGraphError, StorageError
from omnigraph.evolve.plan import SchemaPlan
from omnigraph.frozen import dataclass
from omnigraph.span import Source
from omnigraph.storage import layout
from omnigraph.storage.failures import report_as
from omnigraph.storage.forward import newest_named
from omnigraph.storage.store import Store, store_at


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """A graph as it is: where `main` stands, its schema, or why it cannot be read.

    `heads` stands for where all branches, tags and runs stand.
    """

    name: str
    uri: str
    head: str | None = None
    heads: str | None = None
    schema: str | None = None
    problem: str | None = None

    @property
    def is_there(self) -> bool:
        return self.head is not None

    def plan(self, schema: Source) -> SchemaPlan:
        """Return what another schema would change."""
        with open_graph(self.uri, read_only=True) as graph:
            return graph.plan_schema(schema)

    def differs(self, schema: Source) -> bool:
        """Return whether the graph has another schema than this, not only in another writing."""
        return self.schema != schema.text and bool(self.plan(schema).steps)


def look_at(storage: str, name: str) -> LiveGraph:
    """Return a graph as it is; one that cannot be read has its problem."""
    uri = graph_uri(storage, name)
    try:
        with open_graph(uri, read_only=True) as graph:
            return _seen(name, uri, graph)
    except GraphNotFoundError:
        return LiveGraph(name=name, uri=uri)
    except OmniGraphError as failed:
        return LiveGraph(name=name, uri=uri, problem=failed.message)


def _seen(name: str, uri: str, graph: Graph) -> LiveGraph:
    manifest = graph.repository.manifest
    every = manifest.heads(manifest.newest()).values()
    heads: dict[str, Json] = {each.name: each.commit for each in every}
    branch = graph.branch()
    return LiveGraph(
        name=name,
        uri=uri,
        head=branch.commit.id,
        heads=digest_of(canonical(heads)),
        schema=branch.schema,
    )


def delete_graph(storage: str, name: str, heads: str | None) -> bool:
    """Delete a graph if all of it still stands as it did; return whether it is gone.

    One that was written to meanwhile, or is another graph by now, is kept. Raises StorageError
    for one that cannot be looked at.
    """
    live = look_at(storage, name)
    if live.problem is not None:
        raise StorageError(
            f"graph.{name} is to be deleted but cannot be read: {live.problem}",
            hint=f"apply again; if it stays so, remove {live.uri} yourself",
        )
    if live.is_there and live.heads != heads:
        return False
    store = store_at(live.uri)
    _unmake(store)
    if not store.is_local:
        store.objects.delete_many(each.path for each in store.objects.listing())
    elif Path(store.root).exists():
        with report_as(f"cannot delete {store.root}"):
            shutil.rmtree(store.root)
    return True


def _unmake(store: Store) -> None:
    """Remove what makes a place a graph, so that one that is half deleted is none.

    The newest version of the manifest goes last: until then it is the graph that it was.
    """
    folder = f"{layout.MANIFEST}/_versions"
    names = store.objects.names(folder)
    newest = newest_named(names)
    last = None if newest is None else layout.manifest_path(layout.MANIFEST, newest)
    store.objects.delete_many(path for each in names if (path := f"{folder}/{each}") != last)
    if last is not None:
        store.objects.delete(last)
