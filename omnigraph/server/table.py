"""Table: every route that the server has: those of all operations, and what it tells of itself."""

from dataclasses import replace
from typing import Any

from omnigraph.api.operation import Audience
from omnigraph.api.operations import (
    algorithms,
    branches,
    changes,
    commits,
    editing,
    explore,
    maintenance,
    queries,
    read,
    reviews,
    rights,
    runs,
    schemas,
    write,
)
from omnigraph.server import handlers
from omnigraph.server.agents import speaker
from omnigraph.server.call import Handler
from omnigraph.server.handlers import HANDLERS, GraphsShape, HealthShape, ServerShape, perform
from omnigraph.server.monitoring.metrics import MEDIA_TYPE
from omnigraph.server.routes.route import Route
from omnigraph.server.studio import page

_FAMILIES = (
    read,
    explore,
    algorithms,
    editing,
    write,
    queries,
    schemas,
    changes,
    reviews,
    branches,
    commits,
    runs,
    rights,
    maintenance,
)
_OWN = (
    ("/", "about", Audience.ANYBODY, ServerShape, handlers.about),
    ("/healthz", "health", Audience.ANYBODY, HealthShape, handlers.health),
    ("/livez", "live", Audience.ANYBODY, HealthShape, handlers.health),
    ("/readyz", "ready", Audience.ANYBODY, HealthShape, handlers.ready),
    ("/metrics", "metrics", Audience.ACTORS, MEDIA_TYPE, handlers.metrics),
    ("/openapi.json", "openapi", Audience.ANYBODY, "application/json", handlers.openapi),
)

_GRAPH = "/graphs/{graph}"


def _own(rows: tuple[tuple[str, str, Audience, Any, Handler], ...]) -> tuple[Route, ...]:
    return tuple(
        Route(method="GET", path=path, name=name, guard=guard, answer=answer, handler=handler)
        for path, name, guard, answer, handler in rows
    )


_OPERATIONS = tuple(
    Route.of(operation, HANDLERS.get(operation, perform))
    for family in _FAMILIES
    for operation in family.OPERATIONS
)
# A server of one graph.
TABLE: tuple[Route, ...] = (*_own(_OWN), *page.ROUTES, *_OPERATIONS)
# A server of a deployment: the same operations, below the name of each graph.
FLEET_TABLE: tuple[Route, ...] = (
    *_own((*_OWN, ("/graphs", "graphs", Audience.ACTORS, GraphsShape, handlers.graphs))),
    *page.ROUTES,
    *(replace(route, path=f"{_GRAPH}{route.path}") for route in _OPERATIONS),
)
# Where agents are met; MCP describes itself, so that OpenAPI has nothing to say about it.
AGENTS: tuple[Route, ...] = (speaker.ROUTE,)
FLEET_AGENTS: tuple[Route, ...] = (replace(speaker.ROUTE, path=f"{_GRAPH}{speaker.ROUTE.path}"),)
