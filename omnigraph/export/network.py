"""Network: nodes and edges of a snapshot as a networkx graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.data.result import missing_package
from omnigraph.data.values.columns import with_timestamps
from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType
from omnigraph.schema.types import BLOB
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx

# A type and one of its rows: `id`, the properties and, for an edge, `src` and `dst`.
Record: TypeAlias = tuple[StoredType, Mapping[str, Any]]
# Rows that are made objects of at a time.
_ROWS = 10_000


def build_network(records: Iterable[Record]) -> "networkx.MultiDiGraph":
    """Return nodes and edges as a graph; a node is `(type, id)`, and so is the key of an edge.

    Properties become attributes. Records of nodes must come before those of the edges that join
    them.
    """
    try:
        import networkx
    except ImportError:
        raise missing_package("networkx") from None
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


def read_records(
    snapshot: Snapshot, types: Iterable[StoredType], deadline: Deadline = NO_DEADLINE
) -> Iterator[Record]:
    """Yield the rows of types, without their blobs.

    Raises CancelledError or BudgetError when the deadline is over.
    """
    for stored in types:
        deadline.check()
        ends = ["src", "dst"] if isinstance(stored, EdgeType) else []
        rows = snapshot.table(stored.identity).scan(["id", *ends, *list_properties(stored)])
        for batch in with_timestamps(rows.sort_by("id")).to_batches(max_chunksize=_ROWS):
            deadline.check()
            for row in batch.to_pylist():
                yield stored, row


def list_properties(stored: StoredType) -> list[str]:
    """Return the names of a type's properties, without its blobs."""
    return [name for name, item in stored.properties.items() if item.type != BLOB]


def pick_types(
    catalog: Catalog, types: Sequence[str] | None, edges: Sequence[str] | None
) -> list[StoredType]:
    """Return the selected types, nodes first.

    Without `edges`, these are all edge types between the selected nodes; an edge type that is named
    must have both ends among them. Raises InputError for an unknown type.
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
            hint = f"select both {edge.source} and {edge.target}"
            raise InputError(f"'{edge.name}' joins types that are not selected", hint=hint)
    return [*nodes, *(each for each in joined if each.name in edges)]


def _find_type(types: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - of the type of the mapping
    if name not in types:
        hint = suggest(name, types) or f"the types are {', '.join(types)}"
        raise InputError(f"unknown type '{name}'", hint=hint)
    return types[name]
