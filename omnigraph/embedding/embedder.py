"""Embedder: the interface that turns texts into vectors, and the checks that all share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from omnigraph.errors import EmbeddingError

Vectors: TypeAlias = npt.NDArray[np.float32]

MOST_TEXTS = 96

# A text has at most as many tokens as bytes, and OpenAI takes 300,000 tokens in a request.
MOST_BYTES = 250_000


class EmbeddingTask(StrEnum):
    """Whether a vector is made to be found, or to search with."""

    DOCUMENT = "RETRIEVAL_DOCUMENT"
    QUERY = "RETRIEVAL_QUERY"


class Embedder(Protocol):
    """Turns texts into vectors by one model; can be pickled."""

    @property
    def model(self) -> str:
        """The name that selects this model again."""

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:
        """Return one row of length 1 for each text; raise EmbeddingError."""


def check_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts; raise EmbeddingError if one of them cannot be embedded."""
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise EmbeddingError(
                f"text {number} of {len(texts)} is empty",
                hint="leave out the vector of an empty text",
            )
        if not _encodes(text):
            raise EmbeddingError(f"text {number} of {len(texts)} is not valid Unicode")
    return texts


def batches(
    texts: Iterable[str], ends: Callable[[bytes], bool] = lambda _: False
) -> Iterator[list[str]]:
    """Cut texts into batches that fit a request; `ends` may end one early, after a text."""
    batch: list[str] = []
    size = 0
    for text in texts:
        data = text.encode()
        if batch and size + len(data) > MOST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(data)
        if len(batch) == MOST_TEXTS or ends(data):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def unit_vectors(
    rows: Sequence[Sequence[float]] | npt.NDArray[np.floating], shape: tuple[int, int], model: str
) -> Vectors:
    """Normalize a model's answer to rows of length 1; raise EmbeddingError if that fails."""
    count, dimension = shape
    if len(rows) != count:
        raise EmbeddingError(f"{model} returned {len(rows)} vectors for {count} texts")
    for row in rows:
        if len(row) != dimension:
            raise EmbeddingError(
                f"{model} returned a vector of {len(row)} numbers instead of {dimension}",
                hint=f"declare the property as Vector({len(row)}), or choose another model",
            )
    table = np.asarray(rows, dtype=np.float64).reshape(shape)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        raise EmbeddingError(f"{model} returned a vector that is zero or not finite")
    vectors: Vectors = (table / lengths).astype(np.float32)
    return vectors


def stack_vectors(parts: Iterable[Vectors], dimension: int) -> Vectors:
    """Stack the rows of all parts; without parts, return a table without rows."""
    return np.concatenate([np.empty((0, dimension), np.float32), *parts])


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
