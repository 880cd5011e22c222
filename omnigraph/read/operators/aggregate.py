"""Aggregate: counts, sums, averages and extremes of the rows of each group."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.adjacency import sort_distinct
from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import (
    NO_ROW,
    Numbers,
    are_bound,
    is_row_range,
    row_range,
    to_column,
)
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.data.values.sums import average_floats, sum_floats
from omnigraph.errors import ResultOverflowError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Aggregate, EveryRow, VariableRef
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.schema.arrow import arrow_type

# The places of some rows, or all of them.
_Places = Numbers | slice
_LEAST, _MOST = -(2**63), 2**63 - 1
# Below the first, sums of whole numbers are exact as floats; below the second, in 64 bits.
_EXACT = 2.0**53
_SAFE = 2.0**62
# Pairs of a group and a node are marked, not sorted, if there can be at most as many as the first,
# or as this many times those that there are.
_MARKED = 1 << 17
_MARKED_PART = 16
# Fewer codes than this part of all that there can be are told apart without a mark for each.
_SPARSE_PART = 16


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Rows in groups, numbered from 0; a row of weight n counts n times."""

    execution: Execution
    rows: Matches
    groups: Numbers
    count: int

    def compute(self, expr: Aggregate) -> pa.Array:
        """Return the value of an aggregate for each group; nulls do not take part."""
        if isinstance(expr.argument, VariableRef):
            if expr.argument.variable not in self.rows.codes and not expr.distinct:
                # It was only counted, so it is never null.
                return to_column(self._count_rows())
            codes = self.rows.codes[expr.argument.variable]
            known = None if are_bound(codes) else codes != NO_ROW
            if expr.distinct:
                width = len(self.execution.domains[expr.argument.variable])
                return to_column(self._count_distinct(codes, known, width))
            return to_column(self._count(self._pick_rows(known, None), once=False))
        if isinstance(expr.argument, EveryRow):
            return to_column(self._count_rows())
        column = Evaluation(self.execution, self.rows).column(expr.argument)
        known = np.asarray(column.is_valid(), bool) if column.null_count else None
        present = self._pick_rows(known, encode(column) if expr.distinct else None)
        if expr.function == "count":
            return to_column(self._count(present, expr.distinct))
        return self._compute_values(expr, column, present)

    def _count_rows(self) -> Numbers:
        """Return how many rows each group stands for."""
        weights = self.rows.weights
        if weights is None:
            return np.bincount(self.groups, minlength=self.count)
        is_each = self.count == self.rows.count and is_row_range(self.groups)
        return weights if is_each else self._sum_integers(self.groups, weights, None)

    def _pick_rows(self, known: "np.ndarray | None", once: Numbers | None) -> _Places:
        """Return the places of the known rows; with value numbers, of each value only the first."""
        if known is None and once is None:
            return slice(None)
        present = row_range(self.rows.count) if known is None else np.flatnonzero(known)
        if once is None:
            return present
        first, _ = number_combinations([self.groups[present], once[present]], len(present))
        return present[np.sort(first)]

    def _count_distinct(self, codes: Numbers, known: "np.ndarray | None", width: int) -> Numbers:
        """Return how many different codes, all of them below `width`, each group has."""
        groups, found = self.groups, codes
        if known is not None:
            groups, found = groups[known], codes[known]
        if self.count * width > _MOST:
            first, _ = number_combinations([groups, found], len(found))
            return np.bincount(groups[first], minlength=self.count)
        if self.count == 1 and len(found) * _SPARSE_PART < width <= _MARKED:
            return np.array([_count_apart(found, width)])
        pairs = found if self.count == 1 else groups * width + found
        if self.count * width <= max(_MARKED, len(pairs) * _MARKED_PART):
            return _count_marked(pairs, self.count, width)
        return np.bincount(sort_distinct(pairs) // width, minlength=self.count)

    def _compute_values(self, expr: Aggregate, column: pa.Array, present: _Places) -> pa.Array:
        groups = self.groups[present]
        kept = column if isinstance(present, slice) else column.take(pa.array(present))
        if expr.function in ("min", "max"):
            return _find_extremes(
                unify_zeros(kept), groups, self.count, least=expr.function == "min"
            )
        counts = self._count(present, expr.distinct)
        numbers = kept.to_numpy(zero_copy_only=False)
        weights = None if expr.distinct or self.rows.weights is None else self.rows.weights[present]
        if expr.function == "avg":
            found = self._average(groups, numbers, weights, counts)
        elif arrow_type(expr.type) == pa.int64():
            found = self._sum_integers(groups, numbers, weights)
        else:
            values = numbers.astype(np.float64, copy=False)
            found = sum_floats(values, groups, self.count, weights, int(counts.max(initial=0)))
        return pa.array(found, arrow_type(expr.type), mask=counts == 0)

    def _count(self, places: _Places, once: bool) -> Numbers:
        groups = self.groups[places]
        if once or self.rows.weights is None:
            return np.bincount(groups, minlength=self.count)
        return self._sum_integers(groups, self.rows.weights[places], None)

    def _average(
        self, groups: Numbers, numbers: "np.ndarray", weights: Numbers | None, counts: Numbers
    ) -> "np.ndarray":
        """Return averages of exact sums, so they do not depend on the order of the rows."""
        if np.issubdtype(numbers.dtype, np.floating):
            values = numbers.astype(np.float64, copy=False)
            return average_floats(values, groups, counts, weights)
        with np.errstate(invalid="ignore"):
            return self._sum_exactly(groups, numbers, weights).astype(np.float64) / counts

    def _add(self, groups: Numbers, values: "np.ndarray", weights: Numbers | None) -> "np.ndarray":
        values = values if weights is None else values * weights
        return np.bincount(groups, weights=values, minlength=self.count)

    def _sum_integers(
        self, groups: Numbers, numbers: "np.ndarray", weights: Numbers | None
    ) -> Numbers:
        """Return exact sums of whole numbers; raises when one does not fit 64 bits."""
        found = self._sum_exactly(groups, numbers, weights)
        if any(not _LEAST <= each <= _MOST for each in (found if found.dtype == object else ())):
            raise ResultOverflowError("a sum does not fit I64")
        return found.astype(np.int64)

    def _sum_exactly(
        self, groups: Numbers, numbers: "np.ndarray", weights: Numbers | None
    ) -> "np.ndarray":
        """Return exact sums of whole numbers, of any size."""
        if weights is None and _most_size(numbers) * len(numbers) < _EXACT:
            return self._add(groups, numbers, None).astype(np.int64)
        values = numbers.astype(np.float64)
        sizes = self._add(groups, np.abs(values), weights)
        if sizes.max(initial=0) < _EXACT:
            is_positive = numbers.min(initial=0) >= 0
            exact = sizes if is_positive else self._add(groups, values, weights)
            return exact.astype(np.int64)
        kind = np.int64 if sizes.max(initial=0) < _SAFE else object
        found, values = np.zeros(self.count, kind), numbers.astype(kind)
        np.add.at(found, groups, values if weights is None else values * weights.astype(kind))
        return found


def _count_apart(codes: Numbers, width: int) -> int:
    """Return how many of a few codes are different: those whose last place is their own."""
    places, last = row_range(len(codes)), np.empty(width, np.int64)
    last[codes] = places
    return int(np.count_nonzero(last[codes] == places))


def _count_marked(pairs: Numbers, count: int, width: int) -> Numbers:
    """Return how many different ones of `width` nodes each group is paired with."""
    marks = np.zeros(count * width, bool)
    marks[pairs] = True
    if count == 1:
        return np.array([np.count_nonzero(marks)])
    found: Numbers = marks.reshape(count, width).sum(axis=1)
    return found


def _most_size(numbers: "np.ndarray") -> int:
    """Return the greatest size of a whole number among some."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def _find_extremes(column: pa.Array, groups: Numbers, count: int, *, least: bool) -> pa.Array:
    """Return the least or greatest value of each group; null for a group without any."""
    order = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    ranks = order if least else -order
    best = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(best, groups, ranks)
    winners = np.full(count, NO_ROW)
    at = np.flatnonzero(ranks == best[groups])
    winners[groups[at]] = at
    return column.take(pa.array(winners, mask=winners < 0))
