"""Transport: requests of threads, sent on the connections of one event loop."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError as FutureCancelled
from typing import Any, TypeVar, cast

import httpx

from omnigraph.aio.calls import Call, current_call
from omnigraph.errors import CancelledError, InputError

_T = TypeVar("_T")
_END = b""


class LoopTransport(httpx.BaseTransport):
    """One pool of connections of an event loop, for requests that threads send.

    A request that is broken off ends its connection, by which a server knows that nobody waits.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: httpx.AsyncHTTPTransport | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use an event loop; raise InputError when connections of another one are open."""
        if self._loop is loop:
            return
        if self._pool is not None:
            hint = "connect in each event loop, or close the graph in the loop that used it"
            raise InputError("this graph is used by another event loop", hint=hint)
        self._loop = loop
        # The number of calls is bounded, and that of open answers is the caller's choice.
        self._pool = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on the loop and wait for the head of its answer."""
        assert self._pool is not None
        answer = self._wait(self._pool.handle_async_request(_sendable(request)))
        stream = _Pieces(self, cast(httpx.AsyncByteStream, answer.stream))
        return httpx.Response(answer.status_code, headers=answer.headers, stream=stream)

    def close(self) -> None:
        """Leave the connections to `aclose`, which the loop awaits."""

    async def aclose(self) -> None:
        """End the connections."""
        pool, self._pool, self._loop = self._pool, None, None
        if pool is not None:
            await pool.aclose()

    def read(self, pieces: AsyncIterator[bytes]) -> bytes:
        """Return the next bytes of an answer; none at its end."""
        return self._wait(_next(pieces))

    def end(self, stream: httpx.AsyncByteStream) -> None:
        """Close an answer, whoever lets go of it."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if _is_running(loop):  # a generator that nobody finished, and the loop's thread collects
            loop.create_task(stream.aclose())
            return
        # Also when the call was cancelled: the connection goes back to the pool, or ends.
        asyncio.run_coroutine_threadsafe(stream.aclose(), loop).result()

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        loop = self._loop
        if loop is None or loop.is_closed():
            work.close()
            raise InputError("the event loop of this graph has ended", hint="connect again")
        call = current_call() or Call()
        try:
            return call.result(asyncio.run_coroutine_threadsafe(work, loop))
        except FutureCancelled:
            raise CancelledError("the call was cancelled") from None


class _Pieces(httpx.SyncByteStream):
    """The content of an answer, of which each piece is awaited on the loop."""

    def __init__(self, transport: LoopTransport, stream: httpx.AsyncByteStream) -> None:
        self._transport = transport
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        pieces = aiter(self._stream)
        while piece := self._transport.read(pieces):
            yield piece

    def close(self) -> None:
        self._transport.end(self._stream)


class _Upload(httpx.AsyncByteStream):
    """The content of a request, which is read in threads: it may come from files."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self._stream)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    # Nothing is the end; a piece without bytes is none.
    async for piece in pieces:
        if piece:
            return piece
    return _END


def _sendable(request: httpx.Request) -> httpx.Request:
    """Return a request whose content an event loop can send."""
    stream = request.stream
    if isinstance(stream, httpx.AsyncByteStream):
        return request
    return httpx.Request(
        request.method,
        request.url,
        headers=request.headers,
        stream=_Upload(stream),
        extensions=request.extensions,
    )


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether this thread is that of a loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
