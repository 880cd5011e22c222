"""Opening: makes, opens and connects to graphs, for async handles."""

import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from omnigraph.aio.calls import CONCURRENCY, Calls
from omnigraph.aio.handles import AsyncGraph
from omnigraph.api import graph as blocking
from omnigraph.api.client import Client
from omnigraph.api.graph import Graph
from omnigraph.api.http import HttpBackend
from omnigraph.maintain.reports import Copied
from omnigraph.span import Source

if TYPE_CHECKING:
    from typing import Unpack

    from omnigraph.api.registry import QueryFiles
    from omnigraph.maintain.keywords import BackupKeywords
    from omnigraph.policy.actions import Decider
    from omnigraph.query.stored import StoredQueries


class Opening(Awaitable[AsyncGraph]):
    """A graph that is opened when it is awaited, or for the time of an `async with` block."""

    def __init__(self, open_graph: Callable[[], Graph], concurrency: int) -> None:
        self._open = open_graph
        self._calls = Calls(concurrency)
        self._graph: AsyncGraph | None = None

    def __await__(self) -> Generator[Any, None, AsyncGraph]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncGraph:
        self._graph = await self._opened()
        return self._graph

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._graph is not None
        await self._graph.close()

    async def _opened(self) -> AsyncGraph:
        return AsyncGraph(await self._calls.run(self._cancellable), self._calls)

    def _cancellable(self) -> Graph:
        # A client of a server needs none of what a graph at hand does.
        from omnigraph.aio.backend import CancellableBackend
        from omnigraph.api.local.backend import LocalBackend

        return Graph(CancellableBackend(cast(LocalBackend, self._open().backend)))


def init(
    uri: str | os.PathLike[str],
    schema: str | Path | Source,
    *,
    durable: bool = True,
    concurrency: int = CONCURRENCY,
) -> Opening:
    """Make a new graph; see `omnigraph.init`. So many of its calls run at a time."""
    return Opening(partial(blocking.init, uri, schema, durable=durable), concurrency)


def open(  # noqa: A001 - read as aio.open
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    durable: bool = True,
    keeps_topology: bool | None = None,
    actor: str | None = None,
    policy: "Decider | str | Path | None" = None,
    queries: "StoredQueries | QueryFiles | None" = None,
    environment: Mapping[str, str] | None = None,
    concurrency: int = CONCURRENCY,
) -> Opening:
    """Open a graph; see `omnigraph.open`. So many of its calls run at a time, each in a thread."""
    opened = partial(
        blocking.open,
        uri,
        read_only=read_only,
        durable=durable,
        keeps_topology=keeps_topology,
        actor=actor,
        policy=policy,
        queries=queries,
        environment=environment,
    )
    return Opening(opened, concurrency)


async def restore(
    source: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    durable: bool = True,
    **how: "Unpack[BackupKeywords]",
) -> Copied:
    """Make a graph of a backup, or of another graph, in an empty place; see `omnigraph.restore`."""
    return await Calls(1).run(partial(blocking.restore, source, dest, durable=durable, **how))


def connect(
    url: str,
    *,
    token: str | None = None,
    seconds: float | None = None,
    concurrency: int = CONCURRENCY,
) -> AsyncGraph:
    """Return the graph of a server; nothing is sent before it is asked for something.

    All handles share one pool of connections, of the event loop that uses them first. So many
    requests are on their way at a time; more wait for their turn.
    """
    from omnigraph.aio.transport import LoopTransport

    transport = LoopTransport()
    client = Client(url, token, seconds=seconds, transport=transport)
    return AsyncGraph(Graph(HttpBackend(client)), Calls(concurrency, transport))
