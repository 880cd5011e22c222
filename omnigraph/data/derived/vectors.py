"""Vectors: the vectors of a column as a matrix, and their cosine distances to another vector."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.frozen import dataclass

Matrix: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
Distances: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

# Between these lengths a product of 32-bit floats neither overflows nor loses digits.
_LEAST = 1e-30
_MOST = 1e30
# One matrix is scanned a sixth quicker than many small ones; a larger one is not copied for that.
_JOINED_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Vectors as the rows of matrices, one after the other, and the length of each vector.

    The length of a missing one is NaN. There are several matrices where a column is large: it is
    read in chunks, and to join them would need as much memory again.
    """

    blocks: tuple[Matrix, ...]
    lengths: Distances

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.blocks) + self.lengths.nbytes

    def distances(self, wanted: Matrix) -> Distances:
        """Return the cosine distance of each vector to `wanted`; NaN where there is no vector.

        The distance of a vector does not depend on the others, nor on its place among them: einsum
        adds up every row by itself, which a BLAS product does not.
        """
        lengths = self.lengths * np.linalg.norm(wanted.astype(np.float64))
        extreme = np.flatnonzero((lengths <= _LEAST) | (lengths >= _MOST))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = 1.0 - self._products(wanted) / lengths
            if len(extreme):
                found[extreme] = 1.0 - self._exact_products(extreme, wanted) / lengths[extreme]
        return np.asarray(found)

    def _products(self, wanted: Matrix) -> Matrix:
        found = np.empty(len(self.lengths), np.float32)
        for first, block in self._placed():
            np.einsum("ij,j->i", block, wanted, out=found[first : first + len(block)])
        return found

    def _exact_products(self, places: "np.ndarray[Any, Any]", wanted: Matrix) -> Distances:
        """Return the products of the vectors at ascending places, in 64 bits."""
        found = []
        for first, block in self._placed():
            start, end = np.searchsorted(places, (first, first + len(block)))
            own = block[places[start:end] - first]
            found.append(np.einsum("ij,j->i", own, wanted, dtype=np.float64))
        return np.concatenate(found)

    def _placed(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the blocks, each after the place of its first vector."""
        first = 0
        for block in self.blocks:
            yield first, block
            first += len(block)


def build_matrix(column: pa.Array | pa.ChunkedArray) -> VectorMatrix:
    """Return the vectors of a column; those of a large column without nulls are not copied."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    blocks = tuple(map(_build_block, chunks))
    lengths = [np.empty(0), *map(_lengths, blocks, chunks)]
    if len(blocks) > 1 and sum(each.nbytes for each in blocks) <= _JOINED_BYTES:
        blocks = (np.concatenate(blocks),)
    return VectorMatrix(blocks, np.concatenate(lengths))


def _build_block(chunk: pa.Array) -> Matrix:
    dimension = chunk.type.list_size
    items = chunk.values.slice(chunk.offset * dimension, len(chunk) * dimension)
    return np.asarray(items.to_numpy(zero_copy_only=False).reshape(-1, dimension))


def _lengths(block: Matrix, chunk: pa.Array) -> Distances:
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    lengths[np.asarray(chunk.is_null(), bool)] = np.nan
    return np.asarray(lengths)
