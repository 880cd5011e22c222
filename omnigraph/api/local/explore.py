"""Explore: nodes that a text means, and the nodes around one, of a graph at hand."""

from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operations.explore import GetNeighbors, SearchNodes

if TYPE_CHECKING:
    from omnigraph.read.hits import Hits
    from omnigraph.read.neighbors import Neighborhood


def search_nodes(access: Access, operation: SearchNodes, options: CallOptions) -> "Hits":
    """Return the nodes that a text may mean, best first."""
    from omnigraph.read.execution import Budget
    from omnigraph.read.hits import SearchQuestion, search
    from omnigraph.spark.deadline import deadline_of

    snapshot = snapshot_of(access, operation.place, options)
    types = tuple(operation.types or ())
    question = SearchQuestion(text=operation.text, types=types, limit=operation.limit)
    seconds = (options.budget or Budget()).seconds
    deadline = deadline_of("search", seconds, options.cancelled)
    return search(snapshot, question, access.repository.store.variables, deadline)


def get_neighbors(access: Access, operation: GetNeighbors, options: CallOptions) -> "Neighborhood":
    """Return the groups of the edges of a node, or a page of one group."""
    from omnigraph.read.neighbors import NeighborPage, count_neighbors, page_neighbors

    snapshot = snapshot_of(access, operation.place, options)
    if operation.edge is None:
        return count_neighbors(snapshot, operation.type, operation.id)
    page = NeighborPage(operation.edge, operation.direction, operation.limit, operation.cursor)
    return page_neighbors(snapshot, operation.type, operation.id, page)


FUNCTIONS: Functions = {SearchNodes: search_nodes, GetNeighbors: get_neighbors}
