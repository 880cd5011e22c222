"""Interpreter: runs a plan on a snapshot, operator by operator, and returns Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NONE
from omnigraph.data.result import ResultStream
from omnigraph.query.expr import ColumnRef
from omnigraph.query.plan import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Limit,
    NodeScan,
    Operator,
    Optional,
    Order,
    Project,
    Rank,
    ReadPlan,
)
from omnigraph.read.execution import Run
from omnigraph.read.operators.counting import Counted
from omnigraph.read.operators.group import grouped
from omnigraph.read.operators.order import last_row, limited, ordered
from omnigraph.read.operators.project import (
    distinct,
    projected,
    projected_whole,
    result_schema,
    result_table,
    slice_rows,
)
from omnigraph.read.operators.scan import crossed
from omnigraph.read.operators.search import scores
from omnigraph.read.operators.traverse import expanded, filtered
from omnigraph.read.rows import ONE, Rows

_SEED = "#seed"
_FIRST_ROWS = 1_024
_SLICE_BYTES = 64 << 20
_GROWTH = 8
# Tables of so many bytes are made one chunk; of larger ones that would take twice the memory.
_MOST_COMBINED = 64 << 20


def read(run: Run, plan: ReadPlan) -> ResultStream:
    """Run a plan up to its last projection; the columns are made while the rows are taken.

    So a result takes no more memory than the ordinals of its rows, however large its texts are.
    """
    *before, last = plan.operators
    if not isinstance(last, Project):
        rows = executed(run, ONE, plan.operators)
        return _streamed(run, plan, rows, lambda some: some)
    rows = executed(run, ONE, before)
    run.check(rows.total, len(last.columns))
    return _streamed(run, plan, rows, lambda some: projected(run, some, last.columns))


def held(run: Run, found: ResultStream, operators: Sequence[Operator]) -> pa.Table:
    """Make all rows; raises BudgetError as soon as they are too many bytes."""
    watch = run.stopwatch.over(operators) if run.stopwatch and operators else nullcontext()
    with watch as measuring:
        batches, size = [], 0
        for batch in found:
            batches.append(batch)
            size += batch.nbytes
            run.check(0)
            run.check_bytes(size)
        if measuring is not None:
            measuring.rows = found.count or 0
    table = pa.Table.from_batches(batches, found.schema)
    return table.combine_chunks() if size <= _MOST_COMBINED else table


def _streamed(run: Run, plan: ReadPlan, rows: Rows, make: Callable[[Rows], Rows]) -> ResultStream:
    catalog = run.reader.snapshot.catalog
    total = rows.total
    size = _SliceSize(total, min(_SLICE_BYTES, run.budget.bytes // 8))

    def batches() -> Iterator[pa.RecordBatch]:
        for some in rows.slices(size.next):
            run.check_cancelled()
            table = result_table(make(some), plan.columns, catalog)
            size.learn(some.count, table.nbytes)
            yield from table.to_batches()

    return ResultStream(plan.name, result_schema(plan.columns, catalog), batches(), total)


@dataclass(slots=True)
class _SliceSize:
    """How many rows of a result are made at a time: a few first, to learn how large they are.

    There are never many slices, because each of them may read whole columns.
    """

    total: int
    most_bytes: int
    rows: int = _FIRST_ROWS

    def next(self) -> int:
        return self.rows

    def learn(self, rows: int, size: int) -> None:
        """Take note of how many bytes a slice had."""
        fit = self.most_bytes * max(rows, 1) // max(size, 1)
        self.rows = max(1, min(fit, slice_rows(self.total), self.rows * _GROWTH))


def executed(run: Run, rows: Rows, operators: Sequence[Operator]) -> Rows:
    """Give the rows after some operators."""
    counted = Counted(run)
    for at, operator in enumerate(operators):
        if isinstance(operator, NodeScan | Expand):
            if operator.counted and not (isinstance(operator, Expand) and operator.closes):
                counted.add(operator)
                continue
        elif counted.pending and not isinstance(operator, Filter | AntiJoin | Optional):
            # Not before all of the pattern is known: more may hang from what is counted.
            rows = _multiplied(run, rows, counted)
        following = tuple(operators[at + 1 : at + 3])
        rows = _measured(run, [operator], partial(_executed, run, rows, operator, following))
        run.check(rows.count, len(rows.codes) + len(rows.columns))
    return _multiplied(run, rows, counted) if counted.pending else rows


def _multiplied(run: Run, rows: Rows, counted: Counted) -> Rows:
    """Give the rows multiplied by the counted operators so far."""
    return _measured(run, counted.pending, partial(counted.applied, rows))


def _measured(run: Run, operators: Sequence[Operator], make: Callable[[], Rows]) -> Rows:
    if run.stopwatch is None:
        return make()
    with run.stopwatch.over(operators) as measuring:
        rows = make()
        measuring.rows = rows.count
    return rows


def _executed(run: Run, rows: Rows, operator: Operator, following: tuple[Operator, ...]) -> Rows:
    match operator:
        case NodeScan():
            return crossed(run, rows, operator)
        case Expand():
            return expanded(run, rows, operator)
        case Filter(predicate):
            return filtered(run, rows, (predicate,))
        case AntiJoin(_, inner):
            return rows.keep(~_matched(run, rows, inner))
        case Optional():
            return _optional(run, rows, operator)
        case Rank():
            return _ranked(run, rows, operator, _first(run, operator, following))
        case Aggregate():
            return grouped(run, rows, operator)
        case Project(columns):
            return projected_whole(run, rows, columns)
        case Distinct():
            return distinct(rows)
        case Order():
            limit = following[0] if following else None
            return ordered(run, rows, operator, limit if isinstance(limit, Limit) else None)
        case Limit():
            return limited(run, rows, operator)
        case _:
            assert_never(operator)


def _matched(run: Run, rows: Rows, inner: Sequence[Operator]) -> "np.ndarray":
    """Tell for which rows an inner pattern has a match."""
    seeded = Rows(rows.count, {**rows.codes, _SEED: np.arange(rows.count)})
    found = executed(run, seeded, inner)
    mask = np.zeros(rows.count, bool)
    mask[found.codes[_SEED]] = True
    return mask


def _optional(run: Run, rows: Rows, optional: Optional) -> Rows:
    """Give every row with its inner matches, or with none of the variables that they bind."""
    seeded = Rows(rows.count, {**rows.codes, _SEED: np.arange(rows.count)}, columns=rows.columns)
    found = executed(run, seeded, optional.inner)
    without = np.ones(rows.count, bool)
    without[found.codes[_SEED]] = False
    rest = np.flatnonzero(without)
    seeds = np.concatenate([found.codes[_SEED], rest])
    order = np.argsort(seeds, kind="stable")
    nothing = np.full(len(rest), NONE)
    # Taken from the rows themselves, codes keep the seed of a block around this one.
    kept = rows.take(seeds[order])
    for name in optional.binds:
        kept = kept.bind(name, np.concatenate([found.codes[name], nothing])[order])
    return kept


def _first(run: Run, rank: Rank, following: tuple[Operator, ...]) -> int | None:
    """Give how many rows are wanted of those that rank first; None for all, or if others are."""
    match following:
        case (Order(keys=(key, *_)), Limit() as limit) if rank.restricts:
            is_by_rank = isinstance(key.expr, ColumnRef) and key.expr.column == rank.column
            return last_row(run, limit) if is_by_rank and not key.descending else None
        case _:
            return None


def _ranked(run: Run, rows: Rows, rank: Rank, first: int | None) -> Rows:
    found = scores(run, rank.ranking, rows, first)
    missing = np.isnan(found)
    rows = rows.with_column(rank.column, pa.array(found, mask=missing))
    return rows.keep(~missing) if rank.restricts else rows
