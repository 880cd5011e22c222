"""Speaker: speaks MCP over HTTP, with the SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from threading import Event
from typing import Annotated, Any, TypeVar

from msgspec import Meta
from starlette.types import Receive, Scope, Send

from omnigraph.api.operation import Audience, Parts, SentFields
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import Desk
from omnigraph.mcp.stdio import check_extra
from omnigraph.server.agents.visit import Visit
from omnigraph.server.call import Answer, ServerCall
from omnigraph.server.limits import Limits
from omnigraph.server.refusal import refusal_of
from omnigraph.server.routes.route import Route

_Found = TypeVar("_Found")
_VISIT = "omnigraph.visit"


class RunQuery(SentFields, frozen=True, kw_only=True):
    """The run of an agent, which its own branch is named after."""

    run: Annotated[str, Meta(min_length=1, max_length=100)] | None = None


@dataclass(slots=True)
class Speaker:
    """Speaks MCP over HTTP, with the SDK; it is loaded when the first agent comes.

    Nothing is kept between requests: any worker of the server can answer the next one.
    """

    limits: Limits
    _manager: Any = None
    _running: "asyncio.Task[None] | None" = None
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def load(self) -> None:
        """Load the SDK; raise a Refusal where it is not installed."""
        async with self._loading:
            if self._running is not None:
                return
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._import)
            ready = loop.create_future()
            running = self._running = asyncio.create_task(self._run(ready))
            await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                self._running = None
                await running  # which failed

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an agent."""
        await self._manager.handle_request({**scope, _VISIT: visit}, receive, send)

    async def close(self) -> None:
        """End what still runs."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    def desk(self, request: object) -> Desk:
        """Return the desk of who sent a request."""
        return _visit(request).desk()

    def worked(self, request: object, work: Callable[[], _Found]) -> Awaitable[_Found]:
        """Do a piece of work when it is the actor's turn."""
        return _visit(request).worked(work)

    def cancelled(self, request: object) -> Event:
        """Return what is set when the client goes or the server stops."""
        return _visit(request).cancelled

    def note(self, request: object, tool: str) -> None:
        """Note the tool for the log of the request."""
        _visit(request).note(tool)

    def _import(self) -> None:
        try:
            check_extra()
        except OmniGraphError as missing:
            raise refusal_of(missing) from None
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from sse_starlette.sse import AppStatus

        from omnigraph.mcp.protocol import build_server

        # Else all answers break off at the signal to stop, while other requests are finished.
        AppStatus.enable_automatic_graceful_drain = False
        self._manager = StreamableHTTPSessionManager(
            build_server(self),
            stateless=True,
            max_request_body_size=self.limits.body_bytes,
        )

    async def _run(self, ready: "asyncio.Future[None]") -> None:
        async with self._manager.run():
            ready.set_result(None)
            await asyncio.Event().wait()


def speak(_: ServerCall) -> Answer:
    """Speak MCP with an agent."""
    raise AssertionError("requests of agents are not answered by a handler")


def replayed(body: bytes, receive: Receive, gone: Callable[[], None]) -> Receive:
    """Return what hands out a body that was read already, and then waits for the client to go."""
    parts = [body]

    async def next_message() -> Any:  # noqa: ANN401 - a message of ASGI
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        while (message := await receive())["type"] != "http.disconnect":
            pass
        gone()
        return message

    return next_message


ROUTE = Route(
    method="POST",
    path="/mcp",
    name="mcp",
    guard=Audience.ACTORS,
    answer="application/json",
    handler=speak,
    parts=Parts((), RunQuery),
    is_mcp=True,
)


def _visit(request: Any) -> Visit:  # noqa: ANN401 - a Request of starlette
    found: Visit = request.scope[_VISIT]
    return found
