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
from omnigraph.read.matches import ONE_ROW, Matches
from omnigraph.read.operators.counting import PatternCounter
from omnigraph.read.operators.group import group_rows
from omnigraph.read.operators.order import last_row, limit_rows, sort_rows
from omnigraph.read.operators.project import build_table, drop_duplicates, project_rows
from omnigraph.read.operators.scan import cross_nodes
from omnigraph.read.operators.search import score_rows
from omnigraph.read.operators.traverse import filter_rows, follow_edges

_SEED = "#seed"


def execute_plan(execution: Execution, plan: ReadPlan) -> pa.Table:
    """Return the rows of a plan."""
    rows = execute(execution, ONE_ROW, plan.operators)
    return build_table(rows, plan.columns, execution.reader.snapshot.catalog)


def execute(execution: Execution, rows: Matches, operators: Sequence[Operator]) -> Matches:
    """Return the rows after some operators."""
    counted = PatternCounter(execution)
    for at, operator in enumerate(operators):
        if isinstance(operator, NodeScan | Expand):
            if operator.counted and not (isinstance(operator, Expand) and operator.closes):
                counted.add(operator)
                continue
        elif counted.pending and not isinstance(operator, Filter | AntiJoin | Optional):
            # Only when the whole pattern is known: more may hang from what is counted.
            rows = _multiply(execution, rows, counted)
        following = tuple(operators[at + 1 : at + 3])
        rows = _measure(
            execution, [operator], partial(_execute_operator, execution, rows, operator, following)
        )
        execution.check(rows.count, len(rows.codes) + len(rows.columns))
    return _multiply(execution, rows, counted) if counted.pending else rows


def _multiply(execution: Execution, rows: Matches, counted: PatternCounter) -> Matches:
    """Return the rows multiplied by the operators that were only counted so far."""
    return _measure(execution, counted.pending, partial(counted.apply, rows))


def _measure(
    execution: Execution, operators: Sequence[Operator], make: Callable[[], Matches]
) -> Matches:
    if execution.stopwatch is None:
        return make()
    with execution.stopwatch.measure(operators) as measuring:
        rows = make()
        measuring.rows = rows.count
    return rows


def _execute_operator(
    execution: Execution, rows: Matches, operator: Operator, following: tuple[Operator, ...]
) -> Matches:
    match operator:
        case NodeScan():
            return cross_nodes(execution, rows, operator)
        case Expand():
            return follow_edges(execution, rows, operator)
        case Filter(predicate):
            return filter_rows(execution, rows, (predicate,))
        case AntiJoin(_, inner):
            return rows.keep(~_has_match(execution, rows, inner))
        case Optional():
            return _match_optional(execution, rows, operator)
        case Rank():
            return _rank(execution, rows, operator, _wanted_rows(execution, operator, following))
        case Aggregate():
            return group_rows(execution, rows, operator)
        case Project(columns):
            return project_rows(execution, rows, columns)
        case Distinct():
            return drop_duplicates(rows)
        case Order():
            limit = following[0] if following else None
            return sort_rows(execution, rows, operator, limit if isinstance(limit, Limit) else None)
        case Limit():
            return limit_rows(execution, rows, operator)
        case _:
            assert_never(operator)


def _has_match(execution: Execution, rows: Matches, inner: Sequence[Operator]) -> "np.ndarray":
    """Return for each row whether an inner pattern has a match."""
    seeded = Matches(rows.count, {**rows.codes, _SEED: np.arange(rows.count)})
    found = execute(execution, seeded, inner)
    mask = np.zeros(rows.count, bool)
    mask[found.codes[_SEED]] = True
    return mask


def _match_optional(execution: Execution, rows: Matches, optional: Optional) -> Matches:
    """Return every row with its inner matches, or with the variables of the block unbound."""
    seeded = Matches(rows.count, {**rows.codes, _SEED: np.arange(rows.count)}, columns=rows.columns)
    found = execute(execution, seeded, optional.inner)
    without = np.ones(rows.count, bool)
    without[found.codes[_SEED]] = False
    rest = np.flatnonzero(without)
    seeds = np.concatenate([found.codes[_SEED], rest])
    order = np.argsort(seeds, kind="stable")
    nothing = np.full(len(rest), NO_ROW)
    # Taken from the outer rows, codes keep the seed of a block around this one.
    kept = rows.take(seeds[order])
    for name in optional.binds:
        kept = kept.bind(name, np.concatenate([found.codes[name], nothing])[order])
    return kept


def _wanted_rows(execution: Execution, rank: Rank, following: tuple[Operator, ...]) -> int | None:
    """Return how many of the best-ranked rows the query wants; None for all of them."""
    match following:
        case (Order(keys=(key, *_)), Limit() as limit) if rank.restricts:
            is_by_rank = isinstance(key.expr, ColumnRef) and key.expr.column == rank.column
            return last_row(execution, limit) if is_by_rank and not key.descending else None
        case _:
            return None


def _rank(execution: Execution, rows: Matches, rank: Rank, first: int | None) -> Matches:
    found = score_rows(execution, rank.ranking, rows, first)
    missing = np.isnan(found)
    rows = rows.with_column(rank.column, pa.array(found, mask=missing))
    return rows.keep(~missing) if rank.restricts else rows
