"""Cache: stores vectors by the content of their texts, so that none is paid for twice."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol

import numpy as np

from omnigraph.embedding.embedder import (
    Embedder,
    EmbeddingTask,
    Vectors,
    batches,
    check_texts,
    stack_vectors,
)
from omnigraph.frozen import dataclass

_STORED = np.dtype("<f4")


class VectorCache(Protocol):
    """Stores encoded vectors by key."""

    def read(self, key: str) -> bytes | None:
        """Return the value under a key, or None."""

    def write(self, key: str, data: bytes) -> None:
        """Store a value under a key; replace a damaged one."""


def with_cache(embedder: Embedder, cache: VectorCache) -> Embedder:
    """Return an embedder that reads the cache first and stores each batch once it is paid for."""
    return _CachedEmbedder(embedder, cache)


@dataclass(frozen=True, slots=True)
class _CachedEmbedder:
    embedder: Embedder
    cache: VectorCache

    @property
    def model(self) -> str:
        return self.embedder.model

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:
        rows = {text: row for row, text in enumerate(dict.fromkeys(check_texts(texts)))}
        parts = [self._batch(each, dimension, task) for each in batches(rows, _is_boundary)]
        return stack_vectors(parts, dimension)[[rows[text] for text in texts]]

    def _batch(self, texts: list[str], dimension: int, task: EmbeddingTask) -> Vectors:
        key = _key(self.model, dimension, task, texts)
        data = self.cache.read(key)
        kept = None if data is None else _vectors(data, (len(texts), dimension))
        if kept is not None:
            return kept
        vectors = self.embedder.embed(texts, dimension, task)
        self.cache.write(key, vectors.astype(_STORED).tobytes())
        return vectors


def _is_boundary(text: bytes) -> bool:
    """Return whether a batch ends after a text.

    The content of the texts decides, so an insertion leaves the later batches unchanged.
    """
    return sha256(text).digest()[-1] % 32 == 0


def _key(model: str, dimension: int, task: EmbeddingTask, texts: list[str]) -> str:
    return sha256(json.dumps([model, dimension, task, texts]).encode()).hexdigest()


def _vectors(data: bytes, shape: tuple[int, int]) -> Vectors | None:
    """Return the vectors of an entry, or None if it is damaged."""
    if len(data) != shape[0] * shape[1] * _STORED.itemsize:
        return None
    vectors = np.frombuffer(data, _STORED).reshape(shape).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
    return vectors if np.all(np.abs(lengths - 1) < 1e-3) else None
