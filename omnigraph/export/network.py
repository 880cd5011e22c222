"""Network: nodes and edges of a snapshot as a graph of networkx."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.data.values.columns import with_timestamps
from omnigraph.errors import InputError, UnavailableError
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType
from omnigraph.schema.types import BLOB
from omnigraph.syntax.problems import nearest_name
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx

# A type, and a row of it with `id`, of an edge also `src` and `dst`, and its properties.
Record: TypeAlias = tuple[StoredType, Mapping[str, Any]]


def build_network(records: Iterable[Record]) -> "networkx.MultiDiGraph":
    """Give nodes and edges as a graph in which a node is `(type, id)`, as is the key of an edge.

    Their properties are their attributes. Nodes come before the edges that join them.
    """
    try:
        import networkx
    except ImportError:
        hint = "pip install omnigraph[frames]"
        raise UnavailableError("this needs the package networkx", hint=hint) from None
    found = networkx.MultiDiGraph()
    for stored, row in records:
        properties = {name: row[name] for name in stored.properties if name in row}
        own = (stored.name, row["id"])
        if isinstance(stored, NodeType):
            found.add_nodes_from([(own, properties)])
        else:
            source, target = (stored.source, row["src"]), (stored.target, row["dst"])
            found.add_edges_from([(source, target, own, properties)])
    return found


def read_records(snapshot: Snapshot, chosen: Iterable[StoredType]) -> Iterator[Record]:
    """Give the rows of types, but for their blobs."""
    for stored in chosen:
        ends = ["src", "dst"] if isinstance(stored, EdgeType) else []
        rows = snapshot.table(stored.identity).scan(["id", *ends, *list_properties(stored)])
        for row in with_timestamps(rows.sort_by("id")).to_pylist():
            yield stored, row


def list_properties(stored: StoredType) -> list[str]:
    """Give the properties of a type that are no blobs."""
    return [name for name, item in stored.properties.items() if item.type != BLOB]


def pick_types(
    catalog: Catalog, types: Sequence[str] | None, edges: Sequence[str] | None
) -> list[StoredType]:
    """Give the types that are meant, nodes first.

    Unless edges are named, those between the nodes that are meant; else both their ends have to
    be among these. Raises InputError for what is not there.
    """
    nodes = [
        _find_type(catalog.nodes, name) for name in (catalog.nodes if types is None else types)
    ]
    names = {each.name for each in nodes}
    joined = [each for each in catalog.edges.values() if {each.source, each.target} <= names]
    if edges is None:
        return [*nodes, *joined]
    for edge in (_find_type(catalog.edges, name) for name in edges):
        if edge not in joined:
            hint = f"it joins {edge.source} and {edge.target}; take both"
            raise InputError(f"'{edge.name}' joins nodes that are left out", hint=hint)
    return [*nodes, *(each for each in joined if each.name in edges)]


def _find_type(types: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - of the type of the mapping
    if name not in types:
        nearest = nearest_name(name, types)
        hint = f"did you mean '{nearest}'?" if nearest else f"there is: {', '.join(types)}"
        raise InputError(f"unknown type '{name}'", hint=hint)
    return types[name]
