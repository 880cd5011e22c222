"""Filling: fills `@embed` properties with vectors of the text beside them."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from omnigraph.data.values.rules import has_text
from omnigraph.embedding import Embedder, EmbeddingTask, embedder_for, with_cache
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.schema.types import VectorType
from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.versioning.commit import Models
from omnigraph.versioning.snapshot import Snapshot

# Numbers (vectors times dimension) that are made at a time.
MOST_NUMBERS = 2 << 20

_VARIABLES = ("OMNIGRAPH_", "NANOGRAPH_", "OPENAI_", "GEMINI_", "HF_")


@dataclass(frozen=True, slots=True)
class VectorFiller:
    """How vectors are made, and the store whose cache saves paying for them twice.

    Blank vectors cost nothing and mean nothing; rows that are only checked get them. `models` has
    the models of the vectors that are there, by table.
    """

    environment: tuple[tuple[str, str], ...] = field(repr=False)
    store: Store
    models: Mapping[str, Models] = field(default_factory=dict)
    blank: bool = False

    @staticmethod
    def of(store: Store, environment: Mapping[str, str] | None = None) -> "VectorFiller":
        """Return the settings of the environment; tasks on other machines use the same."""
        given = store.variables if environment is None else environment
        kept = sorted((key, given[key]) for key in given if key.startswith(_VARIABLES))
        return VectorFiller(tuple(kept), store)

    @staticmethod
    def on(snapshot: Snapshot, environment: Mapping[str, str] | None = None) -> "VectorFiller":
        """Return the settings for rows that join those of a snapshot."""
        known = {key: each.models for key, each in snapshot.commit.tables.items() if each.models}
        return replace(VectorFiller.of(snapshot.tables.store, environment), models=known)

    def filled(self, stored: StoredType, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Models]:
        """Return the batch with a vector for every text that has none, and the models of these."""
        used: list[tuple[str, str]] = []
        for item in stored.properties.values():
            if item.embed is None:
                continue
            due = _due(batch[item.name], batch[item.embed.source])
            if due.any():
                known = dict(self.models.get(stored.identity, ()))
                numbers, model = self._vectors(item, batch, due, known.get(item.identity))
                at = batch.schema.get_field_index(item.name)
                batch = batch.set_column(at, batch.schema.field(at), numbers)
                used += [] if model is None else [(item.identity, model)]
        return batch, tuple(used)

    def filled_rows(self, stored: StoredType, rows: pa.Table) -> tuple[pa.Table, Models]:
        """Return some rows with a vector for every text that has none, and the models of these."""
        batches = rows.combine_chunks().to_batches()
        filled = [self.filled(stored, batch) for batch in batches]
        made = [batch for batch, _ in filled]
        models = join_models((), *(used for _, used in filled))
        return pa.Table.from_batches(made) if made else rows, models

    def _vectors(
        self, item: Property, batch: pa.RecordBatch, due: np.ndarray, known: str | None
    ) -> tuple[pa.Array, str | None]:
        """Return the vectors of a property, those that are due made, and the model that did."""
        assert item.embed is not None
        assert isinstance(item.type, VectorType)
        vectors, dimension = batch[item.name], item.type.dimension
        given = vectors.is_valid().to_numpy(zero_copy_only=False)
        numbers = np.zeros((len(vectors), dimension), np.float32)
        numbers[given] = vectors.drop_null().flatten().to_numpy().reshape(-1, dimension)
        model = None
        if not self.blank:
            embedder = embedder_for(item.embed.model, dict(self.environment), filled_by=known)
            self._fill(numbers, np.flatnonzero(due), batch[item.embed.source], embedder)
            model = embedder.model
        found = pa.FixedSizeListArray.from_arrays(
            pa.array(numbers.reshape(-1)), dimension, mask=pa.array(~(given | due))
        )
        return found, model

    def _fill(
        self, numbers: np.ndarray, due: np.ndarray, texts: pa.Array, embedder: Embedder
    ) -> None:
        """Fill in the vectors of the rows that are due, a bounded number at a time."""
        embedder = with_cache(embedder, CacheFolder(self.store))
        dimension = numbers.shape[1]
        size = max(1, MOST_NUMBERS // dimension)
        for start in range(0, len(due), size):
            rows = due[start : start + size]
            wanted = texts.take(pa.array(rows)).to_pylist()
            numbers[rows] = embedder.embed(wanted, dimension, EmbeddingTask.DOCUMENT)


def _due(vectors: pa.Array, texts: pa.Array) -> np.ndarray:
    """Return a mask of the rows that have a text and no vector."""
    has_vector = vectors.is_valid().to_numpy(zero_copy_only=False)
    due: np.ndarray = has_text(texts).to_numpy(zero_copy_only=False) & ~has_vector
    return due


def join_models(before: Models, *used: Iterable[tuple[str, str]]) -> Models:
    """Return the models of a table after vectors were made in it."""
    found = dict(before)
    for each in used:
        found.update(each)
    return tuple(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A vector cache in a folder of a store: one object per batch of texts."""

    store: Store
    folder: str = layout.EMBEDDINGS

    def read(self, key: str) -> bytes | None:
        return self.store.objects.read(f"{self.folder}/{key}")

    def write(self, key: str, data: bytes) -> None:
        self.store.objects.write(f"{self.folder}/{key}", data)
