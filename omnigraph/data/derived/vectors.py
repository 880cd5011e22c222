"""Vectors: the vectors of a column as a matrix, and their cosine distances to another vector."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.frozen import dataclass

Matrix: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
Distances: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

# Between these lengths a product of 32-bit floats neither overflows nor loses digits.
_LEAST = 1e-30
_MOST = 1e30


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Vectors as the rows of matrices, one after the other, and the length of each vector.

    The length of a missing one is NaN. There are several matrices because a column is read in
    chunks, and to join them would need as much memory again.
    """

    blocks: tuple[Matrix, ...]
    lengths: Distances

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.blocks) + self.lengths.nbytes

    def distances(self, wanted: "np.ndarray[Any, np.dtype[np.float32]]") -> Distances:
        """Return the cosine distance of each vector to `wanted`; NaN where there is no vector.

        The distance of a vector does not depend on the others, nor on its place among them: einsum
        adds up every row by itself, which a BLAS product does not.
        """
        found = np.empty(len(self.lengths))
        lengths = self.lengths * np.linalg.norm(wanted.astype(np.float64))
        first = 0
        for block in self.blocks:
            own = slice(first, first + len(block))
            found[own] = _block_distances(block, lengths[own], wanted)
            first += len(block)
        return found


def _block_distances(
    block: Matrix, lengths: Distances, wanted: "np.ndarray[Any, np.dtype[np.float32]]"
) -> Distances:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = 1.0 - np.einsum("ij,j->i", block, wanted) / lengths
        extreme = np.flatnonzero((lengths <= _LEAST) | (lengths >= _MOST))
        exact = np.einsum("ij,j->i", block[extreme], wanted, dtype=np.float64)
        found[extreme] = 1.0 - exact / lengths[extreme]
    return np.asarray(found)


def build_matrix(column: pa.Array | pa.ChunkedArray) -> VectorMatrix:
    """Return the vectors of a column; without nulls, they are not copied."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    blocks = tuple(map(_build_block, chunks))
    lengths = [np.empty(0), *map(_lengths, blocks, chunks)]
    return VectorMatrix(blocks, np.concatenate(lengths))


def _build_block(chunk: pa.Array) -> Matrix:
    dimension = chunk.type.list_size
    items = chunk.values.slice(chunk.offset * dimension, len(chunk) * dimension)
    return np.asarray(items.to_numpy(zero_copy_only=False).reshape(-1, dimension))


def _lengths(block: Matrix, chunk: pa.Array) -> Distances:
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    lengths[np.asarray(chunk.is_null(), bool)] = np.nan
    return np.asarray(lengths)
