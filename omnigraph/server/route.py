"""Route: all that is declared about one kind of request: who may send it, and what it holds."""

from dataclasses import dataclass, field
from enum import StrEnum

from starlette.routing import compile_path

from omnigraph.policy.actions import Action
from omnigraph.server.bodies import Body, Nothing
from omnigraph.server.call import JSON, Handler
from omnigraph.server.shapes import Shape


class Access(StrEnum):
    """Who may send requests about which no policy is asked."""

    ANYBODY = "anybody"
    ACTORS = "actors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One line of the table of routes; router, policy, OpenAPI and tests are made from it.

    `lines` is what the query string holds when the body is a stream of JSON lines; without it
    there can be none. `also` are further media types of the answer, for those who accept them.
    Whoever may do one of `suffices` is let through the gate as well: part of what the body can ask
    for needs no more.
    """

    method: str
    path: str
    name: str
    guard: Action | Access
    handler: Handler
    answer: type[Shape] | str
    suffices: tuple[Action, ...] = ()
    query: type[Body] = Nothing
    body: type[Body] | None = None
    needs_body: bool = True
    lines: type[Body] | None = None
    also: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    writes: bool = False
    params: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.guard, Action | Access):
            raise TypeError(f"{self.method} {self.path} does not say who may send it")
        object.__setattr__(self, "params", tuple(compile_path(self.path)[2]))

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
