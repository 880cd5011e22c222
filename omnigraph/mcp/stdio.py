"""Stdio: one agent over standard input and output."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field
from threading import Event
from typing import TypeVar

from omnigraph.errors import UnavailableError, hint_install
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import Desk

_Found = TypeVar("_Found")
_THREADS = 8


@dataclass(frozen=True, slots=True)
class OneAgent:
    """Serves the only agent of a process."""

    at: Callable[[], Desk]
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_THREADS, "omnigraph-agent")
    )

    def desk(self, request: object) -> Desk:
        """Return the desk of the agent."""
        del request
        return self.at()

    def worked(self, request: object, work: Callable[[], _Found]) -> Awaitable[_Found]:
        """Do a piece of work on a thread."""
        del request
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    def cancelled(self, request: object) -> Event:
        """Return what is set when a call is to end."""
        del request
        return Event()

    def note(self, request: object, tool: str) -> None:
        """Note nothing: nobody reads a log here."""


def missing_extra() -> UnavailableError:
    """Return the error for an installation without the SDK."""
    return UnavailableError("the package mcp is not installed", hint=hint_install("mcp"))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Collect no garbage meanwhile: hundreds of modules make none, and looking takes a tenth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def check_extra() -> None:
    """Import the SDK; raise UnavailableError where it is not installed."""
    try:
        with _without_collecting():
            import mcp.server.stdio  # noqa: F401

            import omnigraph.mcp.protocol  # noqa: F401
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "mcp":
            raise
        raise missing_extra() from None


def serve_stdio(desk: Callable[[], Desk]) -> None:
    """Serve an agent until it closes standard input."""
    from mcp.server.stdio import stdio_server

    from omnigraph.mcp.protocol import build_server

    async def serve() -> None:
        server = build_server(OneAgent(desk))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    asyncio.run(serve())
