"""Rows: the matches of a pattern so far: for each variable a column of codes, and a weight."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.adjacency import is_identity
from omnigraph.data.derived.numbering import Numbers
from omnigraph.errors import ResultOverflowError

# A little less than I64 holds, because floats tell whether a count is larger.
_MOST_COUNTED = 9_200_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Late:
    """A column that is computed from other rows, one for each, when it is needed."""

    rows: "Rows"
    make: "Callable[[Rows], pa.Array]"

    def take(self, places: pa.Array) -> "Late":
        """Give the column of the rows at some places."""
        return Late(self.rows.take(places.to_numpy()), self.make)


@dataclass(frozen=True, slots=True)
class Rows:
    """Matches as columns. A row of weight n stands for n equal rows; no weights means 1 each.

    `columns` are those that operators computed, such as scores.
    """

    count: int
    codes: Mapping[str, Numbers] = field(default_factory=dict)
    weights: Numbers | None = None
    columns: Mapping[str, pa.Array | Late] = field(default_factory=dict)

    def column(self, name: str) -> pa.Array:
        """Give a computed column."""
        found = self.columns[name]
        return found.make(found.rows) if isinstance(found, Late) else found

    def take(self, places: Numbers) -> "Rows":
        """Give the rows at some places, in their order."""
        if len(places) == self.count and is_identity(places):
            return self
        at = pa.array(places)
        return Rows(
            len(places),
            {name: codes[places] for name, codes in self.codes.items()},
            None if self.weights is None else self.weights[places],
            {name: column.take(at) for name, column in self.columns.items()},
        )

    def keep(self, mask: "np.ndarray") -> "Rows":
        """Give the rows for which the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def bind(self, variable: str, codes: Numbers) -> "Rows":
        """Give the rows with one more variable."""
        return replace(self, codes={**self.codes, variable: codes})

    def weighted(self, factors: Numbers) -> "Rows":
        """Give the rows multiplied; those that are multiplied by nothing go."""
        weights = factors if self.weights is None else product(self.weights, factors)
        return replace(self, weights=weights).keep(factors > 0)

    @property
    def total(self) -> int:
        """How many rows these stand for."""
        return self.count if self.weights is None else total(self.weights)

    def with_column(self, name: str, values: pa.Array) -> "Rows":
        """Give the rows with one more computed column."""
        return replace(self, columns={**self.columns, name: values})

    def repeated(self) -> "Rows":
        """Give every row as often as it counts."""
        if self.weights is None:
            return self
        return replace(self, weights=None).take(np.repeat(np.arange(self.count), self.weights))

    def slices(self, sizes: "Callable[[], int]") -> "Iterator[Rows]":
        """Give the rows, each as often as it counts, some at a time; `sizes` tells how many."""
        ends = None if self.weights is None else np.cumsum(self.weights)
        plain = replace(self, weights=None)
        at, end = 0, self.total
        while at < end:
            places = np.arange(at, min(at + sizes(), end))
            at += len(places)
            if ends is not None:
                places = np.searchsorted(ends, places, side="right")
            yield plain.take(places)


ONE = Rows(1)


def product(one: Numbers, other: Numbers) -> Numbers:
    """Multiply counts; raises when one does not fit 64 bits."""
    if _most(one) * _most(other) > _MOST_COUNTED:
        _check((one.astype(np.float64) * other).max())
    return one * other


def dot(one: Numbers, other: Numbers) -> int:
    """Multiply counts and add the products up; raises when that does not fit 64 bits."""
    if _most(one) * _most(other) * len(one) <= _MOST_COUNTED:
        return int(np.dot(one, other))
    return total(product(one, other))


def total(counts: Numbers) -> int:
    """Add counts up; raises when the sum does not fit 64 bits."""
    if _most(counts) * len(counts) > _MOST_COUNTED:
        _check(counts.sum(dtype=np.float64))
    return int(counts.sum())


def _most(counts: Numbers) -> int:
    return int(counts.max(initial=0))


def _check(rough: float) -> None:
    if rough > _MOST_COUNTED:
        raise ResultOverflowError("the pattern matches more often than I64 can count")
