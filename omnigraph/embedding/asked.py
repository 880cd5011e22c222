"""Asked: the vectors of texts that queries search with, kept by this process."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import field
from functools import partial
from threading import Event, Lock, Thread

from omnigraph.embedding.embedder import Embedder, EmbeddingTask, Vectors
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import CancelledError
from omnigraph.frozen import dataclass

MOST_BYTES = 32 << 20

# How long a query that was cancelled, or whose time is over, may wait on.
_POLL_SECONDS = 0.05

_Key = tuple[Embedder, str, int]


@dataclass(slots=True)
class _Promise:
    """A vector that is being made, and how many queries wait for it."""

    future: "Future[Vectors]" = field(default_factory=Future)
    askers: int = 0
    unwanted: Event = field(default_factory=Event)

    def result(self, check: Callable[[], None]) -> Vectors:
        """Return the vector; raise what `check` raises meanwhile."""
        check()
        while not wait([self.future], _POLL_SECONDS).done:
            check()
        return self.future.result()


@dataclass(slots=True)
class AskedTexts:
    """Vectors by embedder, text and dimension; those asked for longest ago make room for new ones.

    A text that several queries ask for at once is embedded once, and they wait for it. A thread of
    its own makes the vector, so that a query can give up while the others wait on.
    """

    most_bytes: int = MOST_BYTES
    _known: "OrderedDict[_Key, Vectors]" = field(default_factory=OrderedDict)
    _pending: dict[_Key, _Promise] = field(default_factory=dict)
    _size: int = 0
    _lock: Lock = field(default_factory=Lock)

    def vector(
        self, embedder: Embedder, text: str, dimension: int, check: Callable[[], None]
    ) -> Vectors:
        """Return the vector of a text; raises EmbeddingError, which is not kept.

        Raises what `check` raises, which is asked again and again while the vector is made.
        """
        key = (embedder, text, dimension)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
            promise = self._pending.get(key) or self._begin(key)
            promise.askers += 1
            promise.unwanted.clear()
        try:
            return promise.result(check)
        finally:
            self._leave(promise)

    def _begin(self, key: _Key) -> _Promise:
        promise = _Promise()
        run = copy_context().run
        Thread(
            target=run, args=(self._make, key, promise), name="omnigraph-embed", daemon=True
        ).start()
        self._pending[key] = promise
        return promise

    def _leave(self, promise: _Promise) -> None:
        """Wait for a vector no longer; whoever asks while it is being made joins it again."""
        with self._lock:
            promise.askers -= 1
            if not promise.askers:
                promise.unwanted.set()

    def _pause(self, key: _Key, promise: _Promise, seconds: float) -> None:
        """Wait before the provider is asked again; raise CancelledError if nobody waits for it."""
        promise.unwanted.wait(seconds)
        with self._lock:
            if promise.askers:
                return
            self._drop(key, promise)
        raise CancelledError("no query waits for the vector any more")

    def _make(self, key: _Key, promise: _Promise) -> None:
        embedder, text, dimension = key
        if isinstance(embedder, HttpEmbedder):
            embedder = embedder.pausing(partial(self._pause, key, promise))
        try:
            vector: Vectors = embedder.embed([text], dimension, EmbeddingTask.QUERY)[0]
            vector.flags.writeable = False
        except BaseException as failed:
            with self._lock:
                self._drop(key, promise)
            promise.future.set_exception(failed)
            return
        with self._lock:
            self._drop(key, promise)
            self._keep(key, vector)
        promise.future.set_result(vector)

    def _drop(self, key: _Key, promise: _Promise) -> None:
        if self._pending.get(key) is promise:
            del self._pending[key]

    def _keep(self, key: _Key, vector: Vectors) -> None:
        self._known[key] = vector
        self._size += _size(key, vector)
        while self._size > self.most_bytes:
            self._size -= _size(*self._known.popitem(last=False))


def _size(key: _Key, vector: Vectors) -> int:
    return vector.nbytes + 4 * len(key[1])


_ASKED = AskedTexts()


def query_vector(
    embedder: Embedder, text: str, dimension: int, check: Callable[[], None]
) -> Vectors:
    """Return the vector of a text to search with; each text is embedded once in this process.

    Raises what `check` raises while the vector is made.
    """
    return _ASKED.vector(embedder, text, dimension, check)
