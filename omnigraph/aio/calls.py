"""Calls: runs what blocks in threads; a task that is cancelled cancels what it waits for."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Event, Lock, Timer
from typing import Any, ParamSpec, Protocol, TypeVar

from omnigraph.errors import CancelledError, InputError

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# So many calls of a graph are on their way at a time; more wait for their turn. A server takes
# fewer requests of one actor at a time than a program has tasks.
CONCURRENCY = 32
# A call that completes waits no longer for its turn once it is cancelled, and as long again for
# each of its answers. A run is published in less, unless it has very many rows.
_SECONDS_TO_END = 10.0

_CURRENT: ContextVar["Call | None"] = ContextVar("omnigraph_call", default=None)


class Call:
    """A call on its way: what ends when its task is cancelled.

    Engines look at `cancelled`; a request that a server is answering is a future. A call that
    `completes` begins all the same, and breaks a request off only when it was waited for a while.
    """

    def __init__(self) -> None:
        self.cancelled = Event()
        self.completes = False
        self._lock = Lock()
        self._awaited: Future[Any] | None = None

    def cancel(self) -> None:
        """End the call: an engine stops soon, and a request is broken off."""
        with self._lock:
            self.cancelled.set()
            awaited = self._awaited
        if awaited is not None:
            self._break_off(awaited)

    def result(self, future: "Future[T]") -> T:
        """Wait for a future in the thread of the call; raise CancelledError when it is ended."""
        with self._lock:
            self._awaited = future
            is_over = self.cancelled.is_set()
        if is_over:
            self._break_off(future)
        try:
            return future.result()
        finally:
            with self._lock:
                self._awaited = None

    def _break_off(self, future: "Future[Any]") -> None:
        """End a request of a call that was cancelled: at once, or soon if the call completes."""
        if not self.completes:
            future.cancel()
            return
        timer = Timer(_SECONDS_TO_END, future.cancel)
        timer.daemon = True
        timer.start()
        future.add_done_callback(lambda _: timer.cancel())

    def carry(self, work: Callable[[], T]) -> T:
        """Run some work as part of this call."""
        _CURRENT.set(self)
        if self.cancelled.is_set() and not self.completes:
            raise CancelledError("the call was cancelled")
        return work()


def current_call() -> Call | None:
    """Return the call that this thread works for."""
    return _CURRENT.get()


class Connections(Protocol):
    """The connections to a server, of one event loop."""

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use an event loop; raise InputError when connections of another one are open."""

    async def aclose(self) -> None:
        """End the connections."""


class Calls:
    """The threads that work for the handles of one graph, and the connections of a server's."""

    def __init__(
        self, concurrency: int = CONCURRENCY, connections: Connections | None = None
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise InputError(f"'concurrency' is a whole number of calls, not {concurrency!r}")
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="omnigraph-aio")
        self._connections = connections

    async def run(self, method: Callable[P, T], /, *args: P.args, **keywords: P.kwargs) -> T:
        """Return what a blocking method returns."""
        return await self.run_in(Call(), partial(method, *args, **keywords))

    async def run_in(self, call: Call, work: Callable[[], T]) -> T:
        """Return what some blocking work returns, as part of a call.

        When the task is cancelled, the call is, and nothing of it runs any more afterwards.
        """
        if self._connections is not None:
            self._connections.bind(asyncio.get_running_loop())
        carried = partial(copy_context().run, call.carry, work)
        begun = self._threads.submit(carried)
        done = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            call.cancel()
            if call.completes:
                await _end_of(done, _SECONDS_TO_END)
            if not begun.cancel():
                await _end_of(done)
                done.exception()
            raise

    async def close(self, close: Callable[[], None]) -> None:
        """Close a graph, and the connections of a server's."""
        await self.run(close)
        if self._connections is not None:
            await self._connections.aclose()


async def _end_of(done: "asyncio.Future[Any]", seconds: float = math.inf) -> None:
    """Wait so long for the end of a call, also when its task is cancelled once more meanwhile."""
    end = time.monotonic() + seconds
    while not done.done() and (left := end - time.monotonic()) > 0:
        with suppress(asyncio.CancelledError):
            await asyncio.wait([done], timeout=None if math.isinf(left) else left)


class Pending(Awaitable[T_co]):
    """A value that is read when it is awaited."""

    __slots__ = ("_calls", "_read")

    def __init__(self, calls: Calls, read: Callable[[], T_co]) -> None:
        self._calls = calls
        self._read = read

    def __await__(self) -> Generator[Any, None, T_co]:
        return self._calls.run(self._read).__await__()
