"""Explore: operations that find nodes: those that a text means, and those around one."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, Key, PlaceOperation, Shape, Work, get

if TYPE_CHECKING:
    from omnigraph.read.hits import Hits
    from omnigraph.read.neighbors import Neighborhood

DirectionName = Literal["out", "in"]
MOST_HITS = 5_000
MOST_NEIGHBORS = 1_000


class MatchShape(Shape, frozen=True, kw_only=True):
    """The property by which a node was found, and the part of it that shows why."""

    property: str
    excerpt: str


class HitShape(Shape, frozen=True, kw_only=True):
    """A node that was found; `key` has the properties of its key, and is null without one."""

    type: str
    id: str
    key: dict[str, Any] | None
    label: str
    score: float
    matched: MatchShape


class HitsShape(Shape, frozen=True, kw_only=True):
    """What was found, best first; `notes` say what could not be searched, and why."""

    hits: list[HitShape]
    notes: list[str]


class NodeShape(Shape, frozen=True, kw_only=True):
    """A node with its properties, but for blobs and vectors."""

    type: str
    id: str
    label: str
    properties: dict[str, Any]


class GroupShape(Shape, frozen=True, kw_only=True):
    """How many edges of a type leave a node, or reach it; `type` is that of their other ends."""

    edge: str
    direction: DirectionName
    type: str
    count: int


class NeighborShape(Shape, frozen=True, kw_only=True):
    """An edge with its properties, and the node at its other end with those of its own."""

    edge_id: str
    edge: dict[str, Any]
    type: str
    id: str
    label: str
    node: dict[str, Any]


class NeighborsShape(Shape, frozen=True, kw_only=True):
    """A node and the groups of its edges; or a page of one group, and where it goes on."""

    node: NodeShape
    groups: list[GroupShape]
    neighbors: list[NeighborShape]
    cursor: str | None


class SearchNodes(PlaceOperation["Hits"], frozen=True, kw_only=True):
    """Return the nodes that a text may mean, best first: by key, by words and by meaning."""

    work = Work.QUERY
    endpoint = get("/search", "search", HitsShape)

    text: str
    types: list[str] | None = field(name="type", default=None)
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = 20

    def result(self, answer: Document, backend: Backend) -> "Hits":
        from omnigraph.read.hits import Hits

        return Hits.from_json(answer)


class GetNeighbors(PlaceOperation["Neighborhood"], frozen=True, kw_only=True):
    """Return how many edges of each type a node has; with `edge`, a page of them."""

    work = Work.QUERY
    endpoint = get("/neighbors", "neighbors", NeighborsShape)

    type: Key
    id: Key
    edge: Key | None = None
    direction: DirectionName | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST_NEIGHBORS)] = 50
    cursor: Key | None = None

    def result(self, answer: Document, backend: Backend) -> "Neighborhood":
        from omnigraph.read.neighbors import Neighborhood

        return Neighborhood.from_json(answer)


OPERATIONS = (SearchNodes, GetNeighbors)
