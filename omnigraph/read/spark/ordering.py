"""Ordering: the rows of a frame are sorted, and the first of them are taken."""

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.query.checked import OrderKey
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import EntityType
from omnigraph.query.plan import Limit, Order
from omnigraph.read.execution import Execution
from omnigraph.read.operators.order import last_row
from omnigraph.read.spark.expressions import FrameExpressions, unify_zeros
from omnigraph.read.spark.grouping import FIXED
from omnigraph.read.spark.matches import ID, TYPE, FrameMatches

if TYPE_CHECKING:
    from pyspark.sql import Column

# Up to this many first rows are gathered by one task; of more, the rest is cut off on arrival.
_MOST_GATHERED = 100_000
# The read of a union that a row is of, and its place among the rows of that read.
PLACES = ("#read", "#row")


class FrameOrdering:
    """The order of one plan's rows, sorted into `slices` slices.

    Of all rows that come out sorted, the result is those from `cut[0]` up to `cut[1]`, or to the
    last one if that is None.
    """

    def __init__(self, execution: Execution, slices: int) -> None:
        self.cut: tuple[int, int | None] = (0, None)
        self._execution = execution
        self._slices = slices
        self._order = Order((), ())

    def sort(self, matches: FrameMatches, order: Order, limit: Limit | None) -> FrameMatches:
        """Return the rows sorted by keys that are columns, as far as a limit asks for them."""
        self._order = order
        keys = self._sort_keys(matches)
        if not keys:
            return matches
        if limit is not None and self._is_gathered(limit):
            return replace(matches, frame=matches.frame.orderBy(*keys))
        if is_gathered(matches):
            assert matches.most is not None
            return replace(matches, frame=matches.frame.orderBy(*keys).limit(matches.most))
        sliced = matches.frame.repartitionByRange(self._slices, *keys)
        return replace(matches, frame=sliced.sortWithinPartitions(*keys))

    def sort_again(self, matches: FrameMatches, most: int) -> FrameMatches:
        """Return at most so many rows in the order in which they were before they were joined."""
        keys = self._sort_keys(matches)
        frame = matches.frame.orderBy(*keys).limit(most) if keys else matches.frame
        return replace(matches, frame=frame, most=most)

    def take(self, matches: FrameMatches, limit: Limit) -> FrameMatches:
        """Return the rows that a limit keeps, or note where it cuts them."""
        first, last = self._first_row(limit), last_row(self._execution, limit)
        if not self._is_gathered(limit):
            self.cut = (first, last)
            return matches
        assert last is not None
        frame = matches.frame.limit(last)
        return replace(matches, frame=frame.offset(first) if first else frame, most=last)

    def count_taken(self, limit: Limit) -> int | None:
        """Return up to which row a limit takes them, if one task gathers them; else None."""
        return last_row(self._execution, limit) if self._is_gathered(limit) else None

    def _is_gathered(self, limit: Limit) -> bool:
        """Return whether one task sorts what a limit keeps.

        Spark computes nothing for a limit that keeps no row, and would not find what has no value.
        """
        last = last_row(self._execution, limit)
        return last is not None and self._first_row(limit) < last <= _MOST_GATHERED

    def _first_row(self, limit: Limit) -> int:
        first = 0 if limit.skip is None else self._execution.constant(limit.skip)
        assert isinstance(first, int)
        return first

    def _sort_keys(self, matches: FrameMatches) -> "list[Column]":
        keys = [column for key in self._order.keys for column in self._key_columns(matches, key)]
        ties = (*self._order.ties, *(place for place in PLACES if place in matches.columns))
        return keys + [column for name in ties for column in _tie_columns(matches, name)]

    def _key_columns(self, matches: FrameMatches, key: OrderKey) -> "list[Column]":
        """Return the columns of a sort key: null first ascending, last descending."""
        if isinstance(key.expr, FIXED):
            return []
        value = FrameExpressions(self._execution, matches).value(key.expr)
        columns = _sortable(value, type_of(key.expr))
        return [column.desc() if key.descending else column.asc() for column in columns]


def is_gathered(matches: FrameMatches) -> bool:
    """Return whether the rows are so few that one task sorts them."""
    return matches.most is not None and matches.most <= _MOST_GATHERED


def _tie_columns(matches: FrameMatches, name: str) -> "list[Column]":
    if name in matches.entities:
        return [fn.col(column).asc() for column in matches.entities[name].identity]
    computed = matches.columns[name]
    if computed.fixed is not None:
        return []
    return [column.asc() for column in _sortable(fn.col(computed.column), computed.kind)]


def _sortable(value: "Column", kind: object) -> "list[Column]":
    if isinstance(kind, EntityType):
        return [value[ID], value[TYPE]]
    return [unify_zeros(value, kind)]
