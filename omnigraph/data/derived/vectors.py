"""Vectors: the vectors of a column as a matrix, and their cosine distances to another vector."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Distances: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

# Between these lengths a product of 32-bit floats neither overflows nor loses digits.
_LEAST = 1e-30
_MOST = 1e30


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Vectors as the rows of a matrix, and the length of each; NaN for a missing one."""

    matrix: "np.ndarray[Any, np.dtype[np.float32]]"
    lengths: Distances

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes + self.lengths.nbytes

    def distances(self, wanted: "np.ndarray[Any, np.dtype[np.float32]]") -> Distances:
        """Return the cosine distance of each vector to `wanted`; NaN where there is no vector.

        The distance of a vector does not depend on the others, nor on its place among them: einsum
        adds up every row by itself, which a BLAS product does not.
        """
        lengths = self.lengths * np.linalg.norm(wanted.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = 1.0 - np.einsum("ij,j->i", self.matrix, wanted) / lengths
            extreme = np.flatnonzero((lengths <= _LEAST) | (lengths >= _MOST))
            exact = np.einsum("ij,j->i", self.matrix[extreme], wanted, dtype=np.float64)
            found[extreme] = 1.0 - exact / lengths[extreme]
        return np.asarray(found)


def build_matrix(column: pa.Array) -> VectorMatrix:
    """Return the vectors of a column; without nulls, they are not copied."""
    dimension = column.type.list_size
    items = column.values.slice(column.offset * dimension, len(column) * dimension)
    matrix = items.to_numpy(zero_copy_only=False).reshape(-1, dimension)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    lengths[np.asarray(column.is_null(), bool)] = np.nan
    return VectorMatrix(matrix, lengths)
