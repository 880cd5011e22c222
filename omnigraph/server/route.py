"""Route: all that is declared about one kind of request: who may send it, and what it holds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from starlette.routing import compile_path

from omnigraph.api.operation import (
    JSON,
    NO_PARTS,
    Fields,
    Operation,
    Parts,
    Shape,
    parts_of,
    served,
)
from omnigraph.policy.actions import Action
from omnigraph.server.call import Handler


class Access(StrEnum):
    """Who may send requests about which no policy is asked."""

    ANYBODY = "anybody"
    ACTORS = "actors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One line of the table of routes; router, policy, OpenAPI and tests are made from it.

    Most serve an operation and say what its endpoint says; see `Endpoint`.
    """

    method: str
    path: str
    name: str
    guard: Action | Access
    answer: type[Shape] | str
    handler: Handler
    operation: type[Operation[Any]] | None = None
    parts: Parts = NO_PARTS
    needs_body: bool = True
    also: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    writes: bool = False
    suffices: tuple[Action, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.guard, Action | Access):
            raise TypeError(f"{self.method} {self.path} does not say who may send it")

    @classmethod
    def of(cls, operation: type[Operation[Any]], handler: Handler) -> "Route":
        """Return the route of an operation."""
        endpoint = served(operation)
        return cls(
            method=endpoint.method,
            path=endpoint.path,
            name=endpoint.name,
            guard=endpoint.guard,
            answer=endpoint.answer,
            handler=handler,
            operation=operation,
            parts=parts_of(operation),
            needs_body=endpoint.needs_body,
            also=endpoint.also,
            errors=endpoint.errors,
            writes=endpoint.writes,
            suffices=endpoint.suffices,
        )

    @property
    def params(self) -> tuple[str, ...]:
        """The names in the path."""
        return self.parts.path

    @property
    def query(self) -> type[Fields]:
        """What the query string holds."""
        return self.parts.query

    @property
    def body(self) -> type[Fields] | None:
        """What the body holds, if there is one."""
        return self.parts.body

    @property
    def lines(self) -> type[Fields] | None:
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
        if self.guard is not Access.ANYBODY:
            found |= {401, 429}
        if isinstance(self.guard, Action):
            found |= {403}
        if self.body is not None:
            found |= {413, 415}
        return tuple(sorted(found))
