"""Mock: vectors from a hash of the text; needs no network and is the same everywhere."""

from collections.abc import Sequence

import numpy as np

from omnigraph.embedding.embedder import EmbeddingTask, Vectors, check_texts, unit_vectors
from omnigraph.frozen import dataclass
from omnigraph.schema.identity import fnv1a64


@dataclass(frozen=True, slots=True)
class MockEmbedder:
    """Makes equal vectors of equal texts; their meaning plays no part."""

    @property
    def model(self) -> str:
        return "mock"

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:  # noqa: ARG002 - a hash has no task
        """Return vectors that xorshift64 draws from the FNV-1a hash of each text."""
        state = np.array([fnv1a64(text) for text in check_texts(texts)], dtype=np.uint64)
        rows = np.empty((len(texts), dimension))
        for column in range(dimension):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            rows[:, column] = state / float(2**64 - 1) * 2 - 1
        return unit_vectors(rows, rows.shape, self.model)
