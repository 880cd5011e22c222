"""Protocol: HTTP on one connection, within limits of size and time that hold before any request."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, ClassVar

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from omnigraph.server.limits import Limits
from omnigraph.server.monitoring.metrics import Metrics
from omnigraph.server.process.moves import Moves
from omnigraph.server.refusal import kind_of

# Stands in the scope of a request whose token was right.
KNOWN = "omnigraph.known"
# Whose request it is, for workers that share connections by actor.
ACTOR = "omnigraph.actor"
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 64 << 20


class Guarded(HttpToolsProtocol):
    """HTTP/1.1 with capped headers, deadlines, and connections that are closed politely.

    One request is answered at a time: what a client sends before it has its answer is not read,
    and the connection ends with that answer.
    """

    limits: ClassVar[Limits] = Limits()
    metrics: ClassVar[Metrics] = Metrics()
    moves: ClassVar[Moves | None] = None

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - those of uvicorn
        super().__init__(*given, **named)
        self._header_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._last_timer: asyncio.TimerHandle | None = None
        self._head = 0
        self._unread = 0
        self._is_reading_head = True
        self._is_reading_body = False
        self._is_over_limit = False
        self._is_kept_alive = False
        self._is_ahead = False
        self._is_leaving = False
        self._is_known = False
        self._was_moved = False
        self._address: str | None = None
        self._idle_since = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read beyond its head, or answered."""
        is_running = self.cycle is not None and not self.cycle.response_complete
        return not is_running and not self._is_leaving and not self._transport.is_closing()

    @property
    def is_known(self) -> bool:
        """Whether a request came on the connection whose token was right."""
        return self._is_known or (self.scope is not None and KNOWN in self.scope)

    def evict(self) -> None:
        """Close an idle connection at once, in favour of another one."""
        self.metrics.evicted += 1
        self._disarm()
        self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_Leaving(transport, self))  # type: ignore[arg-type]
        self._count()
        self._address = None if self.client is None else self.client[0]
        if not self._has_room():
            self._refuse(503, "overloaded", "too many connections")
            return
        if self._was_moved:
            self._wait_for_next()
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        for timer in (self._linger_timer, self._last_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._count()

    def data_received(self, data: bytes) -> None:
        if self._is_leaving:
            self._discard(data)
            return
        if self._is_waiting_for_answer():
            self._end_after_answer()
            return
        self._unread += len(data)
        if not self._is_reading_body:
            self._head += len(data)
            self._arm()
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            if self._is_ahead:
                self._end_after_answer()
            else:
                self._refuse_unreadable()
        except httptools.HttpParserUpgrade:
            self._refuse(400, "bad_request", "the connection cannot be upgraded")
        else:
            self._check_progress()

    def eof_received(self) -> None:
        if self._is_leaving:
            self._close()

    def on_message_begin(self) -> None:
        if self._is_waiting_for_answer():
            self._is_ahead = True
            raise ValueError("another request came before the answer")
        self._is_known = self.is_known
        super().on_message_begin()
        self._is_reading_head = True

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._check_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_reading_head:
            raise ValueError("headers after a body are not accepted")
        super().on_header(name, value)
        self._check_head()

    def on_headers_complete(self) -> None:
        self._is_reading_head, self._head = False, 0
        self._is_reading_body, self._unread = True, 0
        self._disarm()
        if self.parser.get_http_version() != "1.1":
            raise ValueError("only HTTP/1.1 is supported")
        super().on_headers_complete()
        # An answer that is begun before the body has come ends the connection, and says so.
        self._is_kept_alive, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_reading_body, self._head = False, 0
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._is_kept_alive
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle_since = time.monotonic()
        super().on_response_complete()
        self._move()

    def shutdown(self) -> None:
        self._is_kept_alive = False
        super().shutdown()

    def leave(self) -> None:
        """Close the connection; a client that is still sending gets to read its answer first.

        To close a socket on which something is unread resets it, and the answer is lost.
        """
        if self._is_leaving:
            return
        is_unread = self._is_reading_body or self._is_ahead
        if not is_unread or not self._transport.can_write_eof():
            self._close()
            return
        self._is_leaving, self._unread = True, 0
        try:
            self._transport.write_eof()
        except OSError:  # the client was quicker
            self._close()
            return
        self.flow.resume_reading()
        self._linger_timer = self.loop.call_later(_LINGER_SECONDS, self._close)

    def came(self, *, is_known: bool) -> None:
        """Begin as a connection that another worker had, and that waits for its next request."""
        self._was_moved, self._is_known = True, is_known

    def _wait_for_next(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _count(self) -> None:
        self.metrics.connections = len(self.connections)
        if self.moves is not None:
            self.moves.count(len(self.connections))

    def _move(self) -> None:
        """Send the connection to the worker that had better serve its next request, if any."""
        if self.moves is None or self.scope is None or not self.is_idle or self._is_ahead:
            return
        actor = self.scope.get(ACTOR)
        target = self.moves.target(actor) if isinstance(actor, str) else None
        if target is None or self._transport.get_write_buffer_size():
            return
        connection = self._transport.get_extra_info("socket")
        if self.moves.send(connection, target, is_known=self.is_known):
            self._disarm()
            self._transport.abort()  # only of this process: the other one has it open

    def _has_room(self) -> bool:
        """Return whether one more connection may stay; an idle one goes for it if need be."""
        known = (each for each in self.connections if isinstance(each, Guarded))
        others = [each for each in known if each is not self and each.has_room]
        same = [each for each in others if each._address == self._address]
        for crowd, most in (
            (same, self.limits.address_connections),
            (others, self.limits.connections),
        ):
            if sum(each.has_room for each in crowd) >= most and not evict_idle(crowd):
                return False
        return True

    @property
    def is_open(self) -> bool:
        return not self._is_leaving and not self._transport.is_closing()

    @property
    def has_room(self) -> bool:
        """Whether the connection is one of those that are counted.

        One that is closing goes at once, unless its client does not take what was sent.
        """
        return self.is_open or self._transport.get_write_buffer_size() > 0

    @property
    def is_leaving(self) -> bool:
        return self._is_leaving

    @property
    def _transport(self) -> asyncio.Transport:
        found = self.transport
        return found.inner if isinstance(found, _Leaving) else found

    def _close(self) -> None:
        """Close the connection; what was sent has to be taken in time, which asyncio waits for."""
        self._transport.close()
        if self._transport.get_write_buffer_size() and self._last_timer is None:
            seconds = self.limits.send_seconds
            self._last_timer = self.loop.call_later(seconds, self._transport.abort)

    def _is_waiting_for_answer(self) -> bool:
        """Return whether a request is complete and its answer is not."""
        is_running = self.cycle is not None and not self.cycle.response_complete
        return is_running and not self._is_reading_body

    def _end_after_answer(self) -> None:
        """Read no more, and close the connection when the request at hand is answered."""
        self._is_ahead = True
        self.cycle.keep_alive = False
        self.flow.pause_reading()

    def _discard(self, data: bytes) -> None:
        self._unread += len(data)
        if self._unread > _LINGER_BYTES:
            self._transport.abort()

    def _check_head(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.header_bytes or len(self.headers) > self.limits.header_count:
            self._is_over_limit = True
            raise ValueError("the headers are too large")

    def _check_progress(self) -> None:
        """Refuse what has grown too long without becoming a header or a part of a body."""
        if self._is_reading_head and self._head > self.limits.header_bytes:
            self._is_over_limit = True
            self._refuse_unreadable()
        elif self._is_reading_body and self._unread > self.limits.header_bytes:
            self._refuse_unreadable()

    def _refuse_unreadable(self) -> None:
        if self._is_over_limit:
            self._refuse(431, "headers_too_large", "the headers are too many or too large")
        else:
            self._refuse(400, "bad_request", "this is not HTTP as it should be")

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer without any application, and end the connection."""
        self._disarm()
        self._is_reading_body = True  # whatever else comes is read and dropped
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self._transport.abort()
                return
        body = msgspec.json.encode({"error": message, "code": code, "kind": kind_of(status)})
        head = [
            STATUS_LINE[status],
            b"content-type: application/json\r\n",
            b"content-length: %d\r\n" % len(body),
            b"connection: close\r\n\r\n",
        ]
        self._transport.write(b"".join([*head, body]))
        self.leave()

    def _arm(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.limits.header_seconds, self._late)

    def _disarm(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _late(self) -> None:
        self._header_timer = None
        if self._head:
            self._refuse(408, "timeout", "the headers did not come in time")
        else:
            self._close()


def evict_idle(crowd: "Iterable[Guarded]") -> bool:
    """Close one idle connection; return whether there was one.

    It is the one that is idle for longest, and one on which nobody showed a token, if there is any.
    """
    idle = [each for each in crowd if each.is_idle]
    if not idle:
        return False
    min(idle, key=lambda each: (each.is_known, each._idle_since)).evict()
    return True


class _Leaving:
    """A transport whose `close` lets the protocol decide how."""

    def __init__(self, inner: asyncio.Transport, protocol: Guarded) -> None:
        self.inner = inner
        self._protocol = protocol

    def close(self) -> None:
        self._protocol.leave()

    def is_closing(self) -> bool:
        return self._protocol.is_leaving or self.inner.is_closing()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.inner, name)
