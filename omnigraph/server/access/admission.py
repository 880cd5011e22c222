"""Admission: who is worked for next; no actor can take the turns of the others."""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from omnigraph.server.limits import Limits
from omnigraph.server.process.shared import SharedTurns
from omnigraph.server.refusal import Refusal

_Turn = asyncio.Future[None]


# So long after its last request an actor is still counted on.
_LATELY = 1.0
_POLL_SECONDS = 0.005


class Admission:
    """Turns for a bounded number of requests, given to actors one after another.

    An actor that is alone may have all turns but one; beside others each has its share.
    """

    def __init__(self, limits: Limits, shared: SharedTurns | None = None) -> None:
        self._limits = limits
        self._shared = shared
        self._begun: dict[object, float] = {}
        self._is_polling = False
        self._entered: Counter[str] = Counter()
        self._seen: dict[str, float] = {}
        self._running: Counter[str] = Counter()
        self._streaming: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[_Turn]] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running.total()

    def entered_by(self, actor: str) -> int:
        """Return how many requests of an actor are here, running or not."""
        return self._entered[actor]

    @contextmanager
    def entered(self, actor: str) -> Iterator[None]:
        """Count a request from its headers to its answer; too many of an actor are a Refusal."""
        if self._entered[actor] >= self._limits.threads + self._limits.waiting:
            message = "too many requests of this actor are waiting already"
            raise Refusal(429, "too_many_requests", message, {"Retry-After": "1"})
        self._entered[actor] += 1
        self._seen[actor] = begun = time.monotonic()
        if self._shared is not None:
            self._shared.saw(actor)
        try:
            yield
        finally:
            _less(self._entered, actor)
            if self._shared is not None:
                self._shared.left(actor, time.monotonic() - begun)

    @contextmanager
    def streaming(self, actor: str) -> Iterator[None]:
        """Count a large answer until it was sent; too many of an actor are a Refusal."""
        if self._streaming[actor] >= self._limits.streams:
            message = "too many large answers to this actor are being sent already"
            raise Refusal(429, "too_many_requests", message, {"Retry-After": "1"})
        self._streaming[actor] += 1
        try:
            yield
        finally:
            _less(self._streaming, actor)

    @asynccontextmanager
    async def turn(self, actor: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        await self._begin(actor)
        self._note(key := object(), time.monotonic())
        try:
            yield
        finally:
            self._note(key, None)
            self._end(actor)

    @property
    def yields(self) -> bool:
        """Whether another worker is idle and this one is not, so that clients better go there."""
        return self._shared is not None and self._shared.yields()

    def _note(self, key: object, begun: float | None) -> None:
        """Keep since when the longest request is worked on."""
        if begun is None:
            self._begun.pop(key, None)
        else:
            self._begun[key] = begun
        if self._shared is not None:
            self._shared.note_busy(min(self._begun.values(), default=None))

    async def _begin(self, actor: str) -> None:
        queue = self._waiting.get(actor, deque())
        if not queue and self._take(actor):
            return
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(actor, queue).append(turn)
        self._poll()
        try:
            # Shielded, so that a turn is never given to somebody who has gone.
            await asyncio.shield(turn)
        except asyncio.CancelledError:
            if turn.done():
                self._end(actor)
            else:
                self._forget(actor, turn)
            raise

    def _end(self, actor: str) -> None:
        _less(self._running, actor)
        if self._shared is not None:
            self._shared.count(actor, self._running[actor])
        self._next()

    def _take(self, actor: str) -> bool:
        """Count one more running request of an actor, if there is a turn for it."""
        with nullcontext() if self._shared is None else self._shared.locked(actor):
            if not self._is_free(actor):
                return False
            self._running[actor] += 1
            if self._shared is not None:
                self._shared.count(actor, self._running[actor])
            return True

    def _poll(self) -> None:
        """Look for turns that other workers freed, for as long as somebody waits here."""
        if self._shared is None or self._is_polling:
            return
        self._is_polling = True

        def look() -> None:
            self._next()
            if self._waiting:
                loop.call_later(_POLL_SECONDS, look)
            else:
                self._is_polling = False

        loop = asyncio.get_running_loop()
        loop.call_later(_POLL_SECONDS, look)

    def _is_free(self, actor: str) -> bool:
        limits, shared = self._limits, self._shared
        workers = 1 if shared is None else shared.workers
        most = workers * limits.threads - 1 if self._is_alone(actor) else limits.share
        running = self._running[actor] + (0 if shared is None else shared.elsewhere(actor))
        return self.running < limits.threads and running < max(1, most)

    def _is_alone(self, actor: str) -> bool:
        if self._shared is not None and self._shared.has_others(actor):
            return False
        lately = time.monotonic() - _LATELY
        return not any(
            self._entered[other] or seen > lately
            for other, seen in self._seen.items()
            if other != actor
        )

    def _next(self) -> None:
        """Hand out the free turns, to each waiting actor once before any gets a second."""
        for actor in list(self._waiting):
            if not self._take(actor):
                continue
            queue = self._waiting.pop(actor)
            turn = queue.popleft()
            if queue:
                self._waiting[actor] = queue  # behind all others
            turn.set_result(None)

    def _forget(self, actor: str, turn: _Turn) -> None:
        queue = self._waiting.get(actor, deque())
        queue.remove(turn)
        if not queue:
            self._waiting.pop(actor, None)


def _less(counts: Counter[str], name: str) -> None:
    """Count one less, and forget who has none."""
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
