"""Interpreter: runs a plan on a snapshot, operator by operator, and returns Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import assert_never

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import number_combinations
from omnigraph.data.derived.numbering import NO_ROW
from omnigraph.data.result import ResultStream
from omnigraph.data.values.capacity import within_capacity
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column
from omnigraph.query.expr import (
    ColumnRef,
    EntityKind,
    EntityType,
    PropertyRef,
    VariableRef,
    columns_of,
    parts,
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
    Path,
    Project,
    Rank,
    ReadPlan,
    Union,
    can_precede_counting,
)
from omnigraph.query.planning.rewrite import count_unread, read_inside
from omnigraph.read.blocks import KeptRows, count_row_operators, cut_rows
from omnigraph.read.execution import Execution
from omnigraph.read.matches import ONE_ROW, Matches
from omnigraph.read.operators.counting import PatternCounter
from omnigraph.read.operators.intersect import find_closing, intersect_edges
from omnigraph.read.operators.order import last_row, limit_rows, sort_rows
from omnigraph.read.operators.project import (
    ResultShape,
    build_batch,
    drop_duplicates,
    join_columns,
    project_rows,
    project_whole,
    result_shape,
    result_type,
    rows_per_slice,
)
from omnigraph.read.operators.scan import cross_nodes
from omnigraph.read.operators.traverse import filter_rows, follow_edges
from omnigraph.schema.catalog import Catalog
from omnigraph.telemetry.spans import ROWS, Kind, is_watched, span

_SEED = "#seed"
# What follows a block of which only is asked whether it has a match: which rows had one.
_WHICH_SEEDS = (
    Project((Column(_SEED, VariableRef(_SEED, EntityType(EntityKind.NODE, ()))),)),
    Distinct(),
)
_COUNTED = (NodeScan, Expand)
_FIRST_ROWS = 1_024
_SLICE_BYTES = 64 << 20
# As many bytes of numbers are made at a time: how large they are need not be learned.
_NUMBERS_BYTES = 8 << 20
_GROWTH = 8
# Tables of up to this size become one chunk; for larger ones that would take twice the memory.
_MOST_COMBINED = 64 << 20


def execute_plan(execution: Execution, plan: ReadPlan) -> ResultStream:
    """Run a plan up to its last projection, whose columns are made while the rows are taken.

    So a result takes no more memory than the ordinals of its rows, however large its texts are.
    """
    *before, last = plan.operators
    if not isinstance(last, Project):
        with within_capacity():
            rows = execute(execution, ONE_ROW, plan.operators, ())
        return _stream_rows(execution, plan, rows, lambda some: some)
    with within_capacity():
        rows = execute(execution, ONE_ROW, before, (last,))
    execution.check(rows.total, len(last.columns))
    return _stream_rows(
        execution, plan, rows, lambda some: project_rows(execution, some, last.columns)
    )


def collect_table(
    execution: Execution, rows: ResultStream, operators: Sequence[Operator]
) -> pa.Table:
    """Return all rows as one table; raises BudgetError as soon as they are too many bytes."""
    stopwatch = execution.stopwatch
    watch = stopwatch.measure(operators) if stopwatch and operators else nullcontext()
    with watch as measuring:
        batches, size = [], 0
        for batch in rows:
            batches.append(batch)
            size += batch.nbytes
            execution.check(0)
            execution.check_bytes(size)
        if measuring is not None:
            measuring.rows = rows.count or 0
    table = pa.Table.from_batches(batches, rows.schema)
    return table.combine_chunks() if size <= _MOST_COMBINED else table


def _stream_rows(
    execution: Execution, plan: ReadPlan, rows: Matches, make: Callable[[Matches], Matches]
) -> ResultStream:
    shape, first_rows = _shape_of(_Shown(plan, execution.reader.snapshot.catalog))
    total = rows.total

    def made(some: Matches) -> pa.RecordBatch:
        with within_capacity():
            return build_batch(make(some), shape)

    def batches() -> Iterator[pa.RecordBatch]:
        if rows.weights is None and 0 < total <= first_rows:
            execution.check_cancelled()
            yield made(rows)
            return
        most = min(_SLICE_BYTES, execution.budget.bytes // 8)
        size = _SliceSize(total, most, first_rows)
        for some in rows.slices(size.next):
            execution.check_cancelled()
            batch = made(some)
            size.learn(some.count, batch.nbytes)
            yield batch

    commit = execution.reader.snapshot.commit.id
    return ResultStream(plan.name, shape.schema, batches(), total, commit)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A plan whose rows are shown, compared by identity: part by part would take longer."""

    plan: ReadPlan
    catalog: Catalog

    def __hash__(self) -> int:
        return id(self.plan)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Shown):
            return NotImplemented
        return self.plan is other.plan and self.catalog is other.catalog


@lru_cache(maxsize=256)
def _shape_of(shown: _Shown) -> tuple[ResultShape, int]:
    """Return the columns of a plan's rows, and how many rows are made first."""
    shape = result_shape(shown.plan.columns, shown.catalog)
    return shape, _first_rows(shown.plan, shown.catalog, shape.schema)


def _first_rows(plan: ReadPlan, catalog: Catalog, schema: pa.Schema) -> int:
    """Return how many rows are made first: a few, unless they are numbers made of numbers alone."""
    last = plan.operators[-1]
    exprs = [column.expr for column in last.columns] if isinstance(last, Project) else []
    fields = [each for expr in exprs for each in parts(expr) if isinstance(each, PropertyRef)]
    read = [result_type(each.type, catalog) for each in fields]
    if not fields or not all(map(pa.types.is_primitive, (*schema.types, *read))):
        return _FIRST_ROWS
    width: int = sum(each.bit_width for each in schema.types)
    return max(_FIRST_ROWS, _NUMBERS_BYTES * 8 // width)


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
        self.rows = max(1, min(fit, rows_per_slice(self.total), self.rows * _GROWTH))


def execute(
    execution: Execution,
    rows: Matches,
    operators: Sequence[Operator],
    following: Sequence[Operator] | None = None,
    asked: frozenset[str] | None = None,
) -> Matches:
    """Return the rows after some operators.

    When the operators that follow them are given, only what these need is kept of many rows. Of a
    block that is only asked about, for rows with these variables, no row is needed twice.
    """
    counted = PatternCounter(execution, once=asked is not None)
    is_measured = execution.stopwatch is not None or is_watched()
    at = 0
    while at < len(operators):
        operator = operators[at]
        if isinstance(operator, _COUNTED):
            if operator.counted and not (isinstance(operator, Expand) and operator.closes):
                counted.add(operator)
                at += 1
                continue
            if counted.is_pending and not counted.continues_in(operators[at:]):
                # What goes by counting is not followed any further.
                rows = _multiply(execution, rows, counted)
        elif counted.is_pending and not can_precede_counting(operator):
            rows = _multiply(execution, rows, counted)
        # What is counted later may hang from what is counted already.
        kept = None if counted.is_pending else following
        step = _Step(execution, operators[at:], kept, asked)
        if is_measured:
            rows = _measure(execution, step.operators, partial(step.run, rows), step)
        else:
            rows = step.run(rows)
        execution.check(rows.count, len(rows.codes) + len(rows.columns))
        at += step.ran
        if asked is not None and at < len(operators):
            rows = _drop_repeated(rows, asked, (*counted.pending, *operators[at:]))
    return _multiply(execution, rows, counted) if counted.is_pending else rows


@dataclass(slots=True)
class _Step:
    """The first of some operators, with those after it that have to run together with it."""

    execution: Execution
    operators: Sequence[Operator]
    following: Sequence[Operator] | None
    asked: frozenset[str] | None = None
    ran: int = 1

    def run(self, rows: Matches) -> Matches:
        """Return the rows after the operators; `ran` then says how many there were."""
        operator = self.operators[0]
        if isinstance(operator, Expand):
            return self._follow(rows, operator)
        return _execute_operator(self.execution, rows, operator, tuple(self.operators[1:3]))

    def _follow(self, rows: Matches, expand: Expand) -> Matches:
        """Return the rows after an expand, and after those that close a cycle through its target.

        Where it makes many rows, the rest of the pattern is matched some of them at a time.
        """
        execution = self.execution
        closing = find_closing(self.operators) if execution.reader.is_whole else ()
        if closing:
            self.ran = 1 + len(closing)
            return intersect_edges(execution, rows, expand, closing)
        parts = [rows] if self.following is None else cut_rows(execution, rows, expand)
        if len(parts) > 1:
            self.ran = count_row_operators(self.operators)
            following = (*self.operators[self.ran :], *(self.following or ()))
            pattern = self.operators[: self.ran]
            return _in_blocks(execution, parts, pattern, following, self.asked)
        return follow_edges(execution, rows, expand)


def _in_blocks(
    execution: Execution,
    parts: Sequence[Matches],
    pattern: Sequence[Operator],
    following: Sequence[Operator],
    asked: frozenset[str] | None,
) -> Matches:
    """Return what is kept of the rows of a pattern, which is matched one part at a time."""
    optional = frozenset(
        name for each in pattern if isinstance(each, Optional) for name in each.binds
    )
    kept = KeptRows(execution, following, optional)
    for part in parts:
        kept.add(execute(execution, part, pattern, following, asked))
    return kept.rows()


def _multiply(execution: Execution, rows: Matches, counted: PatternCounter) -> Matches:
    """Return the rows multiplied by the operators that were only counted so far."""
    return _measure(execution, counted.pending, partial(counted.apply, rows))


def _measure(
    execution: Execution,
    operators: Sequence[Operator],
    make: Callable[[], Matches],
    step: _Step | None = None,
) -> Matches:
    if not is_watched():
        return make() if execution.stopwatch is None else _timed(execution, operators, make, step)
    with span(Kind.OPERATOR, type(operators[0]).__name__) as watched:
        rows = _timed(execution, operators, make, step)
        ran = operators if step is None else operators[: step.ran]
        names = ", ".join(type(each).__name__ for each in ran)
        watched.note({ROWS: rows.count, "omnigraph.operators": names})
    return rows


def _timed(
    execution: Execution,
    operators: Sequence[Operator],
    make: Callable[[], Matches],
    step: _Step | None,
) -> Matches:
    if execution.stopwatch is None:
        return make()
    with execution.stopwatch.measure(operators) as measuring:
        rows = make()
        measuring.rows = rows.count
        if step is not None:
            measuring.operators = tuple(operators[: step.ran])
    return rows


def _execute_operator(
    execution: Execution, rows: Matches, operator: Operator, following: tuple[Operator, ...]
) -> Matches:
    match operator:
        case NodeScan() | Expand() | Path():
            return _bind(execution, rows, operator)
        case Filter(predicate):
            return filter_rows(execution, rows, (predicate,))
        case AntiJoin():
            return rows.keep(~_has_match(execution, rows, operator))
        case Mark(column=column):
            return rows.with_column(column, pa.array(_has_match(execution, rows, operator)))
        case Optional():
            return _match_optional(execution, rows, operator)
        case Rank():
            return _rank(execution, rows, operator, _wanted_rows(execution, operator, following))
        case Aggregate():
            from omnigraph.read.operators.group import group_rows

            return group_rows(execution, rows, operator)
        case Project(columns):
            # Of equal rows, one is enough when they are made distinct.
            once = replace(rows, weights=None) if isinstance(_first(following), Distinct) else rows
            return project_whole(execution, once, columns)
        case Distinct():
            return drop_duplicates(rows)
        case Order():
            limit = _first(following)
            return sort_rows(execution, rows, operator, limit if isinstance(limit, Limit) else None)
        case Limit():
            return limit_rows(execution, rows, operator)
        case Union(reads):
            return _unite(execution, reads)
        case _:
            assert_never(operator)


def _bind(execution: Execution, rows: Matches, operator: NodeScan | Expand | Path) -> Matches:
    """Return the rows with the variables that an operator binds."""
    match operator:
        case NodeScan():
            return cross_nodes(execution, rows, operator)
        case Expand():
            return follow_edges(execution, rows, operator)
        case Path():
            from omnigraph.read.operators.paths import find_paths

            return find_paths(execution, rows, operator)


def _unite(execution: Execution, reads: Sequence[ReadPlan]) -> Matches:
    """Return the rows of several reads; each has variables of its own."""
    parts = []
    for read in reads:
        own = replace(execution, domains={})
        parts.append(execute(own, ONE_ROW, read.operators, ()))
        execution.check(sum(part.count for part in parts), len(read.columns))
    names = [column.name for column in reads[0].columns]
    columns = {name: join_columns([part.column(name) for part in parts]) for name in names}
    return Matches(sum(part.count for part in parts), columns=columns)


def _first(operators: Sequence[Operator]) -> Operator | None:
    return operators[0] if operators else None


def _has_match(execution: Execution, rows: Matches, block: AntiJoin | Mark) -> "np.ndarray":
    """Return for each row whether a block has a match.

    What nothing in the block reads is counted, so it costs no more than the tables it goes through.
    """
    inner = count_unread(block.inner)
    outer = {name: rows.codes[name] for name in block.outer}
    seeds, numbers = Matches(rows.count, outer), np.arange(rows.count)
    if len(outer) < len(rows.codes) and any(map(_makes_rows, inner)):
        # Rows with the same nodes are one question.
        first, numbers = number_combinations(list(outer.values()), rows.count)
        seeds = seeds.take(first)
    seeds = seeds.bind(_SEED, np.arange(seeds.count))
    found = execute(execution, seeds, inner, _WHICH_SEEDS, frozenset(seeds.codes))
    mask = np.zeros(seeds.count, bool)
    mask[found.codes[_SEED]] = True
    return mask[numbers]


def _makes_rows(operator: Operator) -> bool:
    """Return whether an operator takes longer than it takes to see which of its rows are equal."""
    if isinstance(operator, NodeScan | Expand):
        return not (operator.counted or (isinstance(operator, Expand) and operator.closes))
    return not isinstance(operator, Filter)


def _drop_repeated(rows: Matches, asked: frozenset[str], operators: Sequence[Operator]) -> Matches:
    """Return each row once that differs in what operators read, or in what is asked about."""
    read = asked | read_inside(operators)
    codes = {name: each for name, each in rows.codes.items() if name in read}
    tests = (each.predicate for each in operators if isinstance(each, Filter))
    if len(codes) == len(rows.codes) or any(map(columns_of, tests)):
        return rows
    # The number of a question stands for all of its variables.
    told_apart = [each for name, each in codes.items() if name == _SEED or name not in asked]
    first, _ = number_combinations(told_apart, rows.count)
    return Matches(rows.count, codes).take(np.sort(first))


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
    from omnigraph.read.operators.search import score_rows

    found = score_rows(execution, rank.ranking, rows, first)
    missing = np.isnan(found)
    rows = rows.with_column(rank.column, pa.array(found, mask=missing))
    return rows.keep(~missing) if rank.restricts else rows
