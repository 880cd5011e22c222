"""Matches: the matches of a pattern so far: for each variable a column of codes, and a weight."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import Numbers, are_bound, is_row_range
from omnigraph.data.values.equality import Mask
from omnigraph.errors import ResultOverflowError
from omnigraph.frozen import dataclass

# A little less than I64 holds, because floats are used to see whether a count is larger.
_MOST_COUNTED = 9_200_000_000_000_000_000
# Columns of as many rows are kept beside what they are made of.
_FEW = 1_024


@dataclass(slots=True)
class LateColumn:
    """A column that is computed, one value for each row, only when it is needed.

    Of a few rows it is kept then: what they were sorted by is often shown as well.
    """

    rows: "Matches"
    make: "Callable[[Matches], pa.Array]"
    made: pa.Array | None = None

    def get(self) -> pa.Array:
        """Return the column."""
        if self.made is not None:
            return self.made
        found = self.make(self.rows)
        self.made = found if self.rows.count <= _FEW else None
        return found

    def slice(self, first: int, count: int) -> "LateColumn":
        """Return the column of some rows that follow each other."""
        made = None if self.made is None else self.made.slice(first, count)
        return LateColumn(self.rows.slice(first, count), self.make, made)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches as columns. A row of weight n stands for n equal rows; no weights means 1 each.

    `columns` holds what operators computed, such as scores.
    """

    count: int
    codes: Mapping[str, Numbers] = field(default_factory=dict)
    weights: Numbers | None = None
    columns: Mapping[str, pa.Array | LateColumn] = field(default_factory=dict)

    def column(self, name: str) -> pa.Array:
        """Return a computed column."""
        found = self.columns[name]
        return found.get() if isinstance(found, LateColumn) else found

    def take(self, places: Numbers) -> "Matches":
        """Return the rows at some places, in that order."""
        if len(places) == self.count and is_row_range(places):
            return self
        return Matches(
            len(places),
            {
                name: places if is_row_range(codes) else codes[places]
                for name, codes in self.codes.items()
            },
            None if self.weights is None else self.weights[places],
            self._take_columns(places) if self.columns else {},
        )

    def _take_columns(self, places: Numbers) -> "dict[str, pa.Array | LateColumn]":
        """Return the columns at some places; what late ones are made of is taken once for all."""
        found: dict[str, pa.Array | LateColumn] = {}
        taken: dict[int, Matches] = {}
        at = pa.array(places)
        for name, column in self.columns.items():
            if isinstance(column, LateColumn):
                own = id(column.rows)
                if own not in taken:
                    taken[own] = column.rows.take(places)
                made = None if column.made is None else column.made.take(at)
                found[name] = LateColumn(taken[own], column.make, made)
            else:
                found[name] = column.take(at)
        return found

    def slice(self, first: int, count: int) -> "Matches":
        """Return some rows that follow each other, without copying them."""
        last = first + count
        return Matches(
            count,
            {name: codes[first:last] for name, codes in self.codes.items()},
            None if self.weights is None else self.weights[first:last],
            {name: column.slice(first, count) for name, column in self.columns.items()},
        )

    def keep(self, mask: "np.ndarray") -> "Matches":
        """Return the rows for which the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def where_bound(self, variable: str) -> "Matches":
        """Return the rows in which a variable stands for something, as most often in all."""
        codes = self.codes[variable]
        if is_row_range(codes) or are_bound(codes):
            return self
        return self.take(np.flatnonzero(codes >= 0))

    def bind(self, variable: str, codes: Numbers) -> "Matches":
        """Return the rows with one more variable."""
        named = {**self.codes, variable: codes}
        return Matches(self.count, named, self.weights, self.columns)

    def multiply(self, factors: Numbers) -> "Matches":
        """Return the rows with their weights multiplied; rows multiplied by 0 go."""
        weights = factors if self.weights is None else multiply_counts(self.weights, factors)
        return Matches(self.count, self.codes, weights, self.columns).keep(factors > 0)

    @property
    def total(self) -> int:
        """The number of rows these stand for."""
        return self.count if self.weights is None else sum_counts(self.weights)

    def with_column(self, name: str, values: pa.Array) -> "Matches":
        """Return the rows with one more computed column."""
        named = {**self.columns, name: values}
        return Matches(self.count, self.codes, self.weights, named)

    def repeat(self) -> "Matches":
        """Return every row as often as its weight says."""
        if self.weights is None:
            return self
        return replace(self, weights=None).take(np.repeat(np.arange(self.count), self.weights))

    def slices(self, sizes: "Callable[[], int]") -> "Iterator[Matches]":
        """Yield the rows, each as often as it counts, as many at a time as `sizes` returns."""
        at, end = 0, self.total
        ends = None if self.weights is None else np.cumsum(self.weights)
        plain = replace(self, weights=None)
        while at < end:
            count = min(sizes(), end - at)
            if ends is None:
                yield plain.slice(at, count)
            else:
                places = np.searchsorted(ends, np.arange(at, at + count), side="right")
                yield plain.take(places)
            at += count


ONE_ROW = Matches(1)


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """The nodes of a variable by what they share: the number of each, and a node of each number."""

    numbers: Numbers
    nodes: Numbers


def multiply_counts(one: Numbers, other: Numbers | Mask) -> Numbers:
    """Multiply counts; raises ResultOverflowError when a product does not fit 64 bits."""
    if _greatest(one) * _greatest(other) > _MOST_COUNTED:
        _check_countable((one.astype(np.float64) * other).max())
    return one * other


def can_add(counts: Numbers | Mask, times: int) -> bool:
    """Return whether so many of some counts, whichever they are, certainly fit 64 bits."""
    return _greatest(counts) * times <= _MOST_COUNTED


def sum_products(one: Numbers, other: Numbers | Mask) -> int:
    """Return the sum of the products of two columns; raises when it does not fit 64 bits."""
    if _greatest(one) * _greatest(other) * len(one) <= _MOST_COUNTED:
        return int(np.dot(one, other))
    return sum_counts(multiply_counts(one, other))


def sum_counts(counts: Numbers | Mask) -> int:
    """Return the sum of counts; raises ResultOverflowError when it does not fit 64 bits."""
    if _greatest(counts) * len(counts) > _MOST_COUNTED:
        _check_countable(counts.sum(dtype=np.float64))
    return int(counts.sum())


def _greatest(counts: Numbers | Mask) -> int:
    return int(counts.max(initial=0))


def _check_countable(rough: float) -> None:
    if rough > _MOST_COUNTED:
        raise ResultOverflowError("the pattern matches more often than I64 can count")
