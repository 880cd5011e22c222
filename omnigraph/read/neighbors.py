"""Neighbors: the nodes around one node: how many by each edge type, and a page of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_timestamps
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import InputError, Json, RowNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType
from omnigraph.schema.labels import label_of, shown_columns
from omnigraph.schema.values import to_json_value
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.snapshot import Snapshot

Direction: TypeAlias = Literal["out", "in"]


@dataclass(frozen=True, slots=True)
class NodeCard:
    """A node as a page shows it; its values are those of JSON, without blobs and vectors."""

    type: str
    id: str
    label: str
    properties: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """Return the node as JSON."""
        about: dict[str, Json] = {"type": self.type, "id": self.id, "label": self.label}
        return {**about, "properties": dict(self.properties)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the node that `to_json` wrote."""
        return cls(**document)


@dataclass(frozen=True, slots=True)
class NeighborGroup:
    """The edges of one type that leave a node, or reach it, and what is at their other ends."""

    edge: str
    direction: Direction
    type: str
    count: int

    def to_json(self) -> dict[str, Json]:
        """Return the group as JSON."""
        about: dict[str, Json] = {"edge": self.edge, "direction": self.direction}
        return {**about, "type": self.type, "count": self.count}


@dataclass(frozen=True, slots=True)
class Neighbor:
    """An edge of a node with the node at its other end."""

    edge_id: str
    edge: Mapping[str, Json]
    node: NodeCard

    def to_json(self) -> dict[str, Json]:
        """Return the edge and the node as JSON."""
        node = self.node
        return {
            "edge_id": self.edge_id,
            "edge": dict(self.edge),
            "type": node.type,
            "id": node.id,
            "label": node.label,
            "node": dict(node.properties),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the neighbour that `to_json` wrote."""
        about = (document[name] for name in ("type", "id", "label", "node"))
        return cls(document["edge_id"], document["edge"], NodeCard(*about))


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """A node, how many edges of each type it has, or a page of one of these groups.

    `cursor` is where the page goes on; None at the end.
    """

    node: NodeCard
    groups: tuple[NeighborGroup, ...] = ()
    neighbors: tuple[Neighbor, ...] = ()
    cursor: str | None = None

    def __iter__(self) -> Iterator[Neighbor]:
        return iter(self.neighbors)

    def to_json(self) -> dict[str, Json]:
        """Return the neighbourhood as JSON."""
        return {
            "node": self.node.to_json(),
            "groups": [each.to_json() for each in self.groups],
            "neighbors": [each.to_json() for each in self.neighbors],
            "cursor": self.cursor,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the neighbourhood that `to_json` wrote."""
        return cls(
            NodeCard.from_json(document["node"]),
            tuple(NeighborGroup(**each) for each in document["groups"]),
            tuple(Neighbor.from_json(each) for each in document["neighbors"]),
            document["cursor"],
        )


@dataclass(frozen=True, slots=True)
class NeighborPage:
    """Which edges of a node are asked for: a type, a direction, how many, and behind which."""

    edge: str
    direction: Direction | None = None
    limit: int = 50
    after: str | None = None


def count_neighbors(snapshot: Snapshot, type_name: str, node_id: str) -> Neighborhood:
    """Return a node with the number of its edges by type and direction; raise RowNotFoundError."""
    node = find_node(snapshot, type_name, node_id)
    groups = (
        NeighborGroup(edge.name, direction, other, _count(snapshot, edge, direction, node_id))
        for edge, direction, other in _ways(snapshot.catalog, type_name)
    )
    return Neighborhood(node, tuple(each for each in groups if each.count))


def page_neighbors(
    snapshot: Snapshot, type_name: str, node_id: str, page: NeighborPage
) -> Neighborhood:
    """Return a node with some of its edges of one type, by their ids, and their other ends."""
    node = find_node(snapshot, type_name, node_id)
    edge, direction, other = _way(snapshot.catalog, type_name, page)
    own, far = _ends(direction)
    table = snapshot.table(edge.identity)
    # Of 100,000 edges only the ids are read; the rows of a page are looked up.
    ids = table.scan(["id"], pc.field(own) == node_id)["id"].combine_chunks()
    if page.after is not None:
        ids = ids.filter(pc.greater(ids, page.after))
    ids = ids.take(pc.sort_indices(ids)[: page.limit + 1])
    shown = ids[: page.limit]
    edges = _rows(snapshot, edge, shown, far)
    ends = pa.array([each[far] for each in edges], pa.utf8())
    nodes = {str(each["id"]): each for each in _rows(snapshot, other, ends)}
    neighbors = tuple(
        Neighbor(
            str(each["id"]),
            _properties(edge, each),
            _card(other, nodes[str(each[far])]),
        )
        for each in edges
    )
    cursor = str(shown[-1]) if len(ids) > len(shown) else None
    return Neighborhood(node, neighbors=neighbors, cursor=cursor)


def find_node(snapshot: Snapshot, type_name: str, node_id: str) -> NodeCard:
    """Return a node by its type and id; raise InputError or RowNotFoundError."""
    stored = snapshot.catalog.nodes.get(type_name)
    if stored is None:
        hint = suggest(type_name, snapshot.catalog.nodes)
        raise InputError(f"no node type '{type_name}'", hint=hint)
    found = _rows(snapshot, stored, pa.array([node_id], pa.utf8()))
    if not found:
        raise RowNotFoundError(f"no {type_name} '{node_id}'")
    return _card(stored, found[0])


def _ways(catalog: Catalog, type_name: str) -> Iterator[tuple[EdgeType, Direction, str]]:
    """Yield the edge types that leave or reach a node type, with the type of the other end."""
    for edge in catalog.edges.values():
        if edge.source == type_name:
            yield edge, "out", edge.target
        if edge.target == type_name:
            yield edge, "in", edge.source


def _way(
    catalog: Catalog, type_name: str, page: NeighborPage
) -> tuple[EdgeType, Direction, NodeType]:
    ways = [each for each in _ways(catalog, type_name) if each[0].name == page.edge]
    found = next((each for each in ways if page.direction in (None, each[1])), None)
    if found is None:
        known = [edge.name for edge, _, _ in _ways(catalog, type_name)]
        hint = suggest(page.edge, known) if not ways else f"it goes {ways[0][1]}"
        way = f" that goes {page.direction}" if ways else ""
        raise InputError(f"{type_name} has no edge '{page.edge}'{way}", hint=hint)
    edge, direction, other = found
    return edge, direction, catalog.nodes[other]


def _ends(direction: Direction) -> tuple[str, str]:
    """Return the columns of an edge's end at the node, and of the other."""
    return ("src", "dst") if direction == "out" else ("dst", "src")


def _count(snapshot: Snapshot, edge: EdgeType, direction: Direction, node_id: str) -> int:
    where = pc.field(_ends(direction)[0]) == node_id
    table = snapshot.table(edge.identity)
    return table.count_where(where) if table.takes_conditions else len(table.scan(["id"], where))


def _rows(
    snapshot: Snapshot, stored: StoredType, ids: pa.Array, *more: str
) -> list[dict[str, Any]]:
    """Return the rows with some ids, by id, with what can be shown of them."""
    columns = ["id", *more, *shown_columns(stored)]
    found = look_up_rows(snapshot.table(stored.identity), "id", ids, columns)
    rows: list[dict[str, Any]] = with_timestamps(found.sort_by("id")).to_pylist()
    return rows


def _card(stored: NodeType, row: Mapping[str, object]) -> NodeCard:
    return NodeCard(stored.name, str(row["id"]), label_of(stored, row), _properties(stored, row))


def _properties(stored: StoredType, row: Mapping[str, object]) -> dict[str, Json]:
    return {name: to_json_value(row[name]) for name in shown_columns(stored)}
