"""Blocks: a pattern that makes many rows is matched some of them at a time.

What follows the pattern says what has to be kept of each block: of rows that are grouped, each
combination of the nodes that the groups read, with how often it occurs; of rows that are sorted and
limited, the first ones; else all. So a budget limits what is kept, not what passes by.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import number_combinations
from omnigraph.data.derived.numbering import Numbers
from omnigraph.frozen import dataclass
from omnigraph.query.expr import (
    MARK,
    EntityKind,
    EntityType,
    Expr,
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
from omnigraph.read.matches import Matches, sum_counts
from omnigraph.read.operators.order import last_row, sort_rows

# More rows than the first are made in blocks of the second.
_MOST_AT_ONCE = 1 << 22
_BLOCK = 1 << 20

_ROW_OPERATORS = (NodeScan, Expand, Filter, AntiJoin, Optional, Mark)


def count_row_operators(operators: Sequence[Operator]) -> int:
    """Return how many operators there are before rows are grouped, sorted or shown."""
    for at, operator in enumerate(operators):
        if not isinstance(operator, _ROW_OPERATORS):
            return at
    return len(operators)


def cut_rows(execution: Execution, rows: Matches, operator: Operator) -> list[Matches]:
    """Return rows in parts of which an expand makes blocks; one part when they make few rows."""
    reader = execution.reader
    if not isinstance(operator, Expand) or not isinstance(reader, DenseReader):
        return [rows]
    one = operator.hops.minimum == 1 and operator.hops.maximum == 1
    if operator.closes or not one or operator.edge_variable is not None or rows.count < 2:
        return [rows]
    execution.bind(operator.target, EntityType(EntityKind.NODE, operator.types))
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
    """What is kept of the blocks of a pattern; `following` are the operators after it."""

    execution: Execution
    following: Sequence[Operator]
    nullable: frozenset[str]
    parts: list[Matches] = field(default_factory=list)

    def add(self, rows: Matches) -> None:
        """Keep of some rows what the operators after the pattern need."""
        # Whether a pattern has a match is read by the pattern's own conditions alone.
        columns = {name: each for name, each in rows.columns.items() if not name.startswith(MARK)}
        self.parts.append(self._reduce(replace(rows, columns=columns)))
        count = sum(part.count for part in self.parts)
        if count > _MOST_AT_ONCE:
            self.parts = [self._reduce(join_matches(self.parts))]
            count = self.parts[0].count
        self.execution.check(count, len(rows.codes) + len(rows.columns))

    def rows(self) -> Matches:
        """Return all that was kept."""
        return self._reduce(join_matches(self.parts))

    def _reduce(self, rows: Matches) -> Matches:
        match self.following:
            case [Aggregate(keys, aggregates), *_] if not rows.columns:
                exprs = [column.expr for column in (*keys, *aggregates)]
                return _combine(rows, self._names_read(exprs))
            case [Project(columns), Distinct(), *_] if not rows.columns:
                return _combine(rows, self._names_read([column.expr for column in columns]))
            case [Order() as order, Limit() as limit, *_]:
                first = last_row(self.execution, limit)
                if first is None:
                    return rows
                ordered = sort_rows(self.execution, rows, order, limit)
                return ordered.take(np.arange(min(first, ordered.count)))
            case _:
                return rows

    def _names_read(self, exprs: Sequence[Expr]) -> frozenset[str]:
        """Return the variables that are read; how many there are of one is known without it."""
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


def _combine(rows: Matches, names: frozenset[str]) -> Matches:
    """Return each different combination of some variables once, with how often it occurs."""
    kept = {name: codes for name, codes in rows.codes.items() if name in names}
    if not rows.count or (len(kept) == len(rows.codes) and rows.weights is None):
        return replace(rows, codes=kept)
    first, groups = number_combinations(list(kept.values()), rows.count)
    if rows.weights is None:
        weights = np.bincount(groups, minlength=len(first))
    else:
        sum_counts(rows.weights)  # raises when a sum would overflow
        weights = np.zeros(len(first), np.int64)
        np.add.at(weights, groups, rows.weights)
    return replace(Matches(rows.count, kept).take(first), weights=weights)
