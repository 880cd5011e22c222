"""Blocks: a pattern that makes many rows is matched some of them at a time.

What follows the pattern says what has to be kept of each block: of rows that are grouped, each
combination of the nodes that the groups read, with how often it occurs, and of nodes of which only
the keys are read one for all with the same keys; of rows that are sorted and limited, the first
ones; else all. So a budget limits what is kept, not what passes by.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise
from math import prod

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import number_combinations
from omnigraph.data.derived.numbering import Numbers, are_bound, take_numbers
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column
from omnigraph.query.expr import (
    MARK,
    counts_rows,
    variables,
)
from omnigraph.query.plan import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Limit,
    Mark,
    NodeScan,
    Operator,
    Optional,
    Order,
    Project,
)
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Execution
from omnigraph.read.matches import AlikeNodes, Matches, sum_counts
from omnigraph.read.operators.order import last_row, sort_rows

# More rows than the first are made in blocks of the second.
_MOST_AT_ONCE = 1 << 22
_BLOCK = 1 << 20
# Nodes of a variable with more of them are not numbered by what their keys say.
_MOST_NUMBERED = 1 << 22
# Sums of whole numbers below this are exact as floats.
_EXACT = 2**53

_ROW_OPERATORS = (NodeScan, Expand, Filter, AntiJoin, Optional, Mark)


def count_row_operators(operators: Sequence[Operator]) -> int:
    """Return how many operators there are before rows are grouped, sorted or shown."""
    for at, operator in enumerate(operators):
        if not isinstance(operator, _ROW_OPERATORS):
            return at
    return len(operators)


def cut_rows(execution: Execution, rows: Matches, operator: Expand) -> list[Matches]:
    """Return rows in parts of which an expand makes blocks; one part when they make few rows."""
    reader = execution.reader
    if rows.count < 2 or not isinstance(reader, DenseReader):
        return [rows]
    if operator.closes or not operator.hops.is_single or operator.edge_variable is not None:
        return [rows]
    domain = execution.bind(operator.target, operator.types)
    if rows.count * len(domain) <= _MOST_AT_ONCE:
        return [rows]
    adjacency = reader.adjacency(execution.leg_of(operator))
    if rows.count * adjacency.most_degree <= _MOST_AT_ONCE:
        return [rows]
    kept = rows.where_bound(operator.source)
    degrees = adjacency.degrees[kept.codes[operator.source]]
    if int(degrees.sum()) <= _MOST_AT_ONCE:
        return [rows]
    return list(_cut_by_size(kept, degrees))


def _cut_by_size(rows: Matches, sizes: Numbers) -> Iterator[Matches]:
    """Yield consecutive rows, as many at a time as make about a block."""
    filled = np.cumsum(sizes) // _BLOCK
    bounds = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), rows.count]
    for first, last in pairwise(bounds):
        yield rows.take(np.arange(first, last))


@dataclass(slots=True)
class KeptRows:
    """What is kept of the blocks of a pattern; `following` are the operators after it.

    In place of a variable's nodes the numbers of those that are `alike` are kept.
    """

    execution: Execution
    following: Sequence[Operator]
    nullable: frozenset[str]
    parts: list[Matches] = field(default_factory=list)
    alike: dict[str, AlikeNodes] | None = None

    def add(self, rows: Matches) -> None:
        """Keep of some rows what the operators after the pattern need."""
        # Whether a pattern has a match is read by the pattern's own conditions alone.
        columns = {name: each for name, each in rows.columns.items() if not name.startswith(MARK)}
        numbered = self._number_alike(replace(rows, columns=columns))
        self.parts.append(self._reduce(numbered))
        count = sum(part.count for part in self.parts)
        if count > _MOST_AT_ONCE:
            self.parts = [self._reduce(join_matches(self.parts))]
            count = self.parts[0].count
        self.execution.check(count, len(rows.codes) + len(rows.columns))

    def rows(self) -> Matches:
        """Return all that was kept."""
        found = self._reduce(join_matches(self.parts))
        alike = self.alike or {}
        nodes = {name: _look_up(each.nodes, found.codes[name]) for name, each in alike.items()}
        return replace(found, codes={**found.codes, **nodes})

    def _number_alike(self, rows: Matches) -> Matches:
        """Return rows with the numbers of those that are alike in place of some nodes."""
        if self.alike is None:
            self.alike = {} if rows.columns else dict(self._find_alike(rows))
        numbers = {
            name: _look_up(each.numbers, rows.codes[name]) for name, each in self.alike.items()
        }
        return replace(rows, codes={**rows.codes, **numbers})

    def _find_alike(self, rows: Matches) -> Iterator[tuple[str, AlikeNodes]]:
        """Yield the variables of which only keys are read, with the nodes that share all keys."""
        from omnigraph.read.operators.group import find_alike

        keys, others = self._columns_read() or ((), ())
        for name in self._names_read(keys) - self._names_read(others):
            domain = self.execution.domains.get(name) if name in rows.codes else None
            if domain is not None and len(domain) <= _MOST_NUMBERED:
                found = find_alike(self.execution, name, keys)
                if found is not None:
                    yield name, found

    def _columns_read(self) -> tuple[Sequence[Column], Sequence[Column]] | None:
        """Return the columns by which rows are told apart and the others; None if it is by all."""
        match self.following:
            case [Aggregate(keys, aggregates), *_]:
                return keys, aggregates
            case [Project(columns), Distinct(), *_]:
                return columns, ()
            case _:
                return None

    def _reduce(self, rows: Matches) -> Matches:
        read = self._columns_read()
        if read is not None:
            return rows if rows.columns else self._combine(rows, [*read[0], *read[1]])
        match self.following:
            case [Order() as order, Limit() as limit, *_]:
                first = last_row(self.execution, limit)
                if first is None:
                    return rows
                ordered = sort_rows(self.execution, rows, order, limit)
                return ordered.take(np.arange(min(first, ordered.count)))
            case _:
                return rows

    def _combine(self, rows: Matches, columns: Sequence[Column]) -> Matches:
        """Return each combination of what is read once, with how often it occurs."""
        names = self._names_read(columns)
        kept = {name: codes for name, codes in rows.codes.items() if name in names}
        is_each = len(kept) == len(rows.codes) and rows.weights is None and not self.alike
        if is_each or not rows.count:
            return replace(rows, codes=kept)
        return _count_combinations(replace(rows, codes=kept))

    def _names_read(self, columns: Sequence[Column]) -> frozenset[str]:
        """Return the variables that are read; how many there are of one is known without it."""
        exprs = [column.expr for column in columns]
        return frozenset(
            name
            for expr in exprs
            if not (counts_rows(expr) and self.nullable.isdisjoint(variables(expr)))
            for name in variables(expr)
        )


def join_matches(parts: Sequence[Matches]) -> Matches:
    """Return the rows of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    weights = None
    if any(part.weights is not None for part in parts):
        ones = (np.ones(part.count, np.int64) for part in parts)
        weights = np.concatenate(
            [
                one if part.weights is None else part.weights
                for part, one in zip(parts, ones, strict=True)
            ]
        )
    return Matches(
        sum(part.count for part in parts),
        {name: np.concatenate([part.codes[name] for part in parts]) for name in parts[0].codes},
        weights,
        {name: pa.concat_arrays([p.column(name) for p in parts]) for name in parts[0].columns},
    )


def _look_up(found: Numbers, codes: Numbers) -> Numbers:
    """Return what is found for each code; NO_ROW stays."""
    if are_bound(codes):
        return take_numbers(found, codes)
    taken, bound = codes.copy(), codes >= 0
    taken[bound] = found[codes[bound]]
    return taken


def _count_combinations(rows: Matches) -> Matches:
    """Return each different combination of nodes once, with how often it occurs."""
    widths = [int(codes.max()) + 1 for codes in rows.codes.values()]
    is_small = bool(widths) and 0 < prod(widths) <= _MOST_AT_ONCE
    if is_small and rows.total < _EXACT and all(map(are_bound, rows.codes.values())):
        return _count_packed(rows, widths)
    first, groups = number_combinations(list(rows.codes.values()), rows.count)
    if rows.weights is None:
        weights = np.bincount(groups, minlength=len(first))
    else:
        sum_counts(rows.weights)  # raises when a sum would overflow
        weights = np.zeros(len(first), np.int64)
        np.add.at(weights, groups, rows.weights)
    return replace(Matches(rows.count, rows.codes).take(first), weights=weights)


def _count_packed(rows: Matches, widths: Sequence[int]) -> Matches:
    """Return each combination once; as single numbers, they are few enough to be counted."""
    packed = np.zeros(1, np.int64)
    for codes, width in zip(rows.codes.values(), widths, strict=True):
        packed = packed * width + codes
    counts = np.bincount(packed, rows.weights)
    distinct = np.flatnonzero(counts)
    found = dict(zip(rows.codes, np.unravel_index(distinct, widths), strict=True))
    return Matches(len(distinct), found, counts[distinct].astype(np.int64))
