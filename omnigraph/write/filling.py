"""Filling: fills `@embed` properties with vectors of the text beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.data.values.rules import has_text
from omnigraph.embedding import EmbeddingTask, embedder_for, with_cache
from omnigraph.schema.catalog import Embed, Property, StoredType
from omnigraph.schema.types import VectorType
from omnigraph.storage import layout
from omnigraph.storage.store import Store

# Numbers (vectors times dimension) that are made at a time.
MOST_NUMBERS = 2 << 20

_VARIABLES = ("OMNIGRAPH_", "NANOGRAPH_", "OPENAI_", "GEMINI_", "HF_")


@dataclass(frozen=True, slots=True)
class VectorFiller:
    """How vectors are made, and the store whose cache saves paying for them twice.

    Blank vectors cost nothing and mean nothing; rows that are only checked get them.
    """

    environment: tuple[tuple[str, str], ...] = field(repr=False)
    store: Store
    blank: bool = False

    @staticmethod
    def of(store: Store, environment: Mapping[str, str] | None = None) -> "VectorFiller":
        """Return the settings of the environment; tasks on other machines use the same."""
        given = store.variables if environment is None else environment
        kept = sorted((key, value) for key, value in given.items() if key.startswith(_VARIABLES))
        return VectorFiller(tuple(kept), store)

    def filled(self, stored: StoredType, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with a vector for every text that has none."""
        for item in stored.properties.values():
            if item.embed is not None:
                at = batch.schema.get_field_index(item.name)
                batch = batch.set_column(at, batch.schema.field(at), self._column(item, batch))
        return batch

    def _column(self, item: Property, batch: pa.RecordBatch) -> pa.Array:
        assert item.embed is not None
        assert isinstance(item.type, VectorType)
        vectors, texts = batch[item.name], batch[item.embed.source]
        given = vectors.is_valid().to_numpy(zero_copy_only=False)
        due = has_text(texts).to_numpy(zero_copy_only=False) & ~given
        if not due.any():
            return vectors
        numbers = np.zeros((len(vectors), item.type.dimension), np.float32)
        numbers[given] = vectors.drop_null().flatten().to_numpy().reshape(-1, item.type.dimension)
        self._fill(numbers, np.flatnonzero(due), texts, item.embed)
        return pa.FixedSizeListArray.from_arrays(
            pa.array(numbers.reshape(-1)), item.type.dimension, mask=pa.array(~(given | due))
        )

    def _fill(self, numbers: np.ndarray, due: np.ndarray, texts: pa.Array, embed: Embed) -> None:
        """Fill in the vectors of the rows that are due, a bounded number at a time."""
        if self.blank:
            return
        embedder = with_cache(
            embedder_for(embed.model, dict(self.environment)), CacheFolder(self.store)
        )
        dimension = numbers.shape[1]
        size = max(1, MOST_NUMBERS // dimension)
        for start in range(0, len(due), size):
            rows = due[start : start + size]
            wanted = texts.take(pa.array(rows)).to_pylist()
            numbers[rows] = embedder.embed(wanted, dimension, EmbeddingTask.DOCUMENT)


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A vector cache in a folder of a store: one object per batch of texts."""

    store: Store
    folder: str = layout.EMBEDDINGS

    def read(self, key: str) -> bytes | None:
        return self.store.objects.read(f"{self.folder}/{key}")

    def write(self, key: str, data: bytes) -> None:
        self.store.objects.write(f"{self.folder}/{key}", data)
