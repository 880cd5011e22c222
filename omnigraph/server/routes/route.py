"""Route: an endpoint with its handler; router, gate, OpenAPI and tests are made from it."""

from dataclasses import asdict
from typing import Any

from starlette.routing import compile_path

from omnigraph.api.operation import (
    JSON,
    NO_PARTS,
    Audience,
    Endpoint,
    Operation,
    Parts,
    SentFields,
    parts_of,
    served,
)
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.server.call import Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Endpoint):
    """One line of the table of routes; most serve an operation."""

    handler: Handler
    operation: type[Operation[Any]] | None = None
    parts: Parts = NO_PARTS
    # Pages have their own query strings, which mean nothing to the server.
    is_page: bool = False
    # Agents speak a protocol of their own inside of it.
    is_mcp: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.guard, Action | Audience):
            raise TypeError(f"{self.method} {self.path} does not say who may send it")

    @classmethod
    def of(cls, operation: type[Operation[Any]], handler: Handler) -> "Route":
        """Return the route of an operation."""
        about = asdict(served(operation))
        return cls(**about, handler=handler, operation=operation, parts=parts_of(operation))

    @property
    def is_about_graph(self) -> bool:
        """Whether it is about a graph, and not about the server."""
        return self.operation is not None or self.is_mcp

    @property
    def query(self) -> type[SentFields]:
        """What the query string holds."""
        return self.parts.query

    @property
    def fields(self) -> type[SentFields] | None:
        """What the body holds, if there is one."""
        return self.parts.body

    @property
    def lines(self) -> type[SentFields] | None:
        """What the query string holds when the body is lines; None when it cannot be."""
        return self.parts.lines

    @property
    def template(self) -> str:
        """The path as OpenAPI, logs and metrics have it."""
        return compile_path(self.path)[1]

    @property
    def media_type(self) -> str:
        """The media type of a usual answer."""
        return self.answer if isinstance(self.answer, str) else JSON

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status with which the request can be refused."""
        found = {*self.errors, 400, 408, 431, 500, 503}
        if self.guard is not Audience.ANYBODY:
            found |= {401, 429}
        if isinstance(self.guard, Action):
            found |= {403}
        if self.fields is not None:
            found |= {413, 415}
        return tuple(sorted(found))
