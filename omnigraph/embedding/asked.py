"""Asked: the vectors of texts that queries search with, kept by this process."""

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import field
from threading import Lock

from omnigraph.embedding.embedder import Embedder, EmbeddingTask, Vectors
from omnigraph.frozen import dataclass

MOST_BYTES = 32 << 20

_Key = tuple[Embedder, str, int]


@dataclass(slots=True)
class AskedTexts:
    """Vectors by embedder, text and dimension; those asked for longest ago make room for new ones.

    A text that several threads ask for at once is embedded once, and they wait for it.
    """

    most_bytes: int = MOST_BYTES
    _known: "OrderedDict[_Key, Vectors]" = field(default_factory=OrderedDict)
    _pending: "dict[_Key, Future[Vectors]]" = field(default_factory=dict)
    _size: int = 0
    _lock: Lock = field(default_factory=Lock)

    def vector(self, embedder: Embedder, text: str, dimension: int) -> Vectors:
        """Return the vector of a text; raises EmbeddingError, which is not kept."""
        key = (embedder, text, dimension)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
            waits = self._pending.get(key)
            if waits is None:
                self._pending[key] = Future()
        return waits.result() if waits is not None else self._made(key)

    def _made(self, key: _Key) -> Vectors:
        embedder, text, dimension = key
        promised = self._pending[key]
        try:
            vector: Vectors = embedder.embed([text], dimension, EmbeddingTask.QUERY)[0]
            vector.flags.writeable = False
        except BaseException as failed:
            with self._lock:
                del self._pending[key]
            promised.set_exception(failed)
            raise
        with self._lock:
            del self._pending[key]
            self._keep(key, vector)
        promised.set_result(vector)
        return vector

    def _keep(self, key: _Key, vector: Vectors) -> None:
        self._known[key] = vector
        self._size += _size(key, vector)
        while self._size > self.most_bytes:
            self._size -= _size(*self._known.popitem(last=False))


def _size(key: _Key, vector: Vectors) -> int:
    return vector.nbytes + 4 * len(key[1])


_ASKED = AskedTexts()


def query_vector(embedder: Embedder, text: str, dimension: int) -> Vectors:
    """Return the vector of a text to search with; each text is embedded once in this process."""
    return _ASKED.vector(embedder, text, dimension)
