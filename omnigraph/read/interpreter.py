"""Interpreter: runs a plan on a snapshot, operator by operator, and returns Arrow."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NO_ROW
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
from omnigraph.read.execution import Execution
from omnigraph.read.operators.counting import PatternCounter
from omnigraph.read.operators.group import group_rows
from omnigraph.read.operators.order import last_row, limit_rows, sort_rows
from omnigraph.read.operators.project import build_table, drop_duplicates, project_rows
from omnigraph.read.operators.scan import cross_nodes
from omnigraph.read.operators.search import score_rows
from omnigraph.read.operators.traverse import filter_rows, follow_edges
from omnigraph.read.rows import ONE_ROW, Rows

_SEED = "#seed"


def execute_plan(run: Execution, plan: ReadPlan) -> pa.Table:
    """Give the rows of a plan."""
    rows = execute(run, ONE_ROW, plan.operators)
    return build_table(rows, plan.columns, run.reader.snapshot.catalog)


def execute(run: Execution, rows: Rows, operators: Sequence[Operator]) -> Rows:
    """Give the rows after some operators."""
    counted = PatternCounter(run)
    for at, operator in enumerate(operators):
        if isinstance(operator, NodeScan | Expand):
            if operator.counted and not (isinstance(operator, Expand) and operator.closes):
                counted.add(operator)
                continue
        elif counted.pending and not isinstance(operator, Filter | AntiJoin | Optional):
            # Not before all of the pattern is known: more may hang from what is counted.
            rows = _multiply(run, rows, counted)
        following = tuple(operators[at + 1 : at + 3])
        rows = _measure(run, [operator], partial(_execute_operator, run, rows, operator, following))
        run.check(rows.count, len(rows.codes) + len(rows.columns))
    return _multiply(run, rows, counted) if counted.pending else rows


def _multiply(run: Execution, rows: Rows, counted: PatternCounter) -> Rows:
    """Give the rows multiplied by the counted operators so far."""
    return _measure(run, counted.pending, partial(counted.apply, rows))


def _measure(run: Execution, operators: Sequence[Operator], make: Callable[[], Rows]) -> Rows:
    if run.stopwatch is None:
        return make()
    with run.stopwatch.measure(operators) as measuring:
        rows = make()
        measuring.rows = rows.count
    return rows


def _execute_operator(
    run: Execution, rows: Rows, operator: Operator, following: tuple[Operator, ...]
) -> Rows:
    match operator:
        case NodeScan():
            return cross_nodes(run, rows, operator)
        case Expand():
            return follow_edges(run, rows, operator)
        case Filter(predicate):
            return filter_rows(run, rows, (predicate,))
        case AntiJoin(_, inner):
            return rows.keep(~_has_match(run, rows, inner))
        case Optional():
            return _match_optional(run, rows, operator)
        case Rank():
            return _rank(run, rows, operator, _wanted_rows(run, operator, following))
        case Aggregate():
            return group_rows(run, rows, operator)
        case Project(columns):
            return project_rows(run, rows, columns)
        case Distinct():
            return drop_duplicates(rows)
        case Order():
            limit = following[0] if following else None
            return sort_rows(run, rows, operator, limit if isinstance(limit, Limit) else None)
        case Limit():
            return limit_rows(run, rows, operator)
        case _:
            assert_never(operator)


def _has_match(run: Execution, rows: Rows, inner: Sequence[Operator]) -> "np.ndarray":
    """Tell for which rows an inner pattern has a match."""
    seeded = Rows(rows.count, {**rows.codes, _SEED: np.arange(rows.count)})
    found = execute(run, seeded, inner)
    mask = np.zeros(rows.count, bool)
    mask[found.codes[_SEED]] = True
    return mask


def _match_optional(run: Execution, rows: Rows, optional: Optional) -> Rows:
    """Give every row with its inner matches, or with none of the variables that they bind."""
    seeded = Rows(rows.count, {**rows.codes, _SEED: np.arange(rows.count)}, columns=rows.columns)
    found = execute(run, seeded, optional.inner)
    without = np.ones(rows.count, bool)
    without[found.codes[_SEED]] = False
    rest = np.flatnonzero(without)
    seeds = np.concatenate([found.codes[_SEED], rest])
    order = np.argsort(seeds, kind="stable")
    nothing = np.full(len(rest), NO_ROW)
    # Taken from the rows themselves, codes keep the seed of a block around this one.
    kept = rows.take(seeds[order])
    for name in optional.binds:
        kept = kept.bind(name, np.concatenate([found.codes[name], nothing])[order])
    return kept


def _wanted_rows(run: Execution, rank: Rank, following: tuple[Operator, ...]) -> int | None:
    """Give how many rows are wanted of those that rank first; None for all, or if others are."""
    match following:
        case (Order(keys=(key, *_)), Limit() as limit) if rank.restricts:
            is_by_rank = isinstance(key.expr, ColumnRef) and key.expr.column == rank.column
            return last_row(run, limit) if is_by_rank and not key.descending else None
        case _:
            return None


def _rank(run: Execution, rows: Rows, rank: Rank, first: int | None) -> Rows:
    found = score_rows(run, rank.ranking, rows, first)
    missing = np.isnan(found)
    rows = rows.with_column(rank.column, pa.array(found, mask=missing))
    return rows.keep(~missing) if rank.restricts else rows
