"""Table: every route that the server has: those of all operations, and what it tells of itself."""

from omnigraph.api.operation import Audience
from omnigraph.api.operations import (
    branches,
    changes,
    commits,
    maintenance,
    queries,
    read,
    runs,
    schemas,
    write,
)
from omnigraph.server import handlers
from omnigraph.server.handlers import HANDLERS, HealthShape, ServerShape, perform
from omnigraph.server.metrics import MEDIA_TYPE
from omnigraph.server.route import Route

_FAMILIES = (read, write, queries, schemas, changes, branches, commits, runs, maintenance)
_OWN = (
    ("/", "about", Audience.ANYBODY, ServerShape, handlers.about),
    ("/healthz", "health", Audience.ANYBODY, HealthShape, handlers.health),
    ("/livez", "live", Audience.ANYBODY, HealthShape, handlers.health),
    ("/readyz", "ready", Audience.ANYBODY, HealthShape, handlers.ready),
    ("/metrics", "metrics", Audience.ACTORS, MEDIA_TYPE, handlers.metrics),
    ("/openapi.json", "openapi", Audience.ANYBODY, "application/json", handlers.openapi),
)

TABLE: tuple[Route, ...] = (
    *(
        Route(method="GET", path=path, name=name, guard=guard, answer=answer, handler=handler)
        for path, name, guard, answer, handler in _OWN
    ),
    *(
        Route.of(operation, HANDLERS.get(operation, perform))
        for family in _FAMILIES
        for operation in family.OPERATIONS
    ),
)
