"""Live: the graphs of a deployment as they are, with what they have and the revision has not."""

import shutil
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.deploy.definition import graph_uri
from omnigraph.errors import GraphNotFoundError, OmniGraphError
from omnigraph.evolve.plan import SchemaPlan
from omnigraph.frozen import dataclass
from omnigraph.span import Source
from omnigraph.storage.store import store_at


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """A graph as it is: where `main` stands, its schema, or why it cannot be read."""

    name: str
    uri: str
    head: str | None = None
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
    branch = graph.branch()
    return LiveGraph(name=name, uri=uri, head=branch.commit.id, schema=branch.schema)


def delete_graph(storage: str, name: str, head: str | None) -> bool:
    """Delete a graph if its `main` still stands at a commit; return whether it is gone.

    One that was written to meanwhile, or is another graph by now, is kept.
    """
    live = look_at(storage, name)
    if live.problem is not None or (live.is_there and live.head != head):
        return False
    store = store_at(live.uri)
    if not store.is_local:
        store.objects.delete_many(each.path for each in store.objects.listing())
    elif Path(store.root).exists():
        shutil.rmtree(store.root)
    return True
