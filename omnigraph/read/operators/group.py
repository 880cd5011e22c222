"""Group: rows with the same keys become one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers, is_row_range, row_range
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import Aggregate as AggregateExpr
from omnigraph.query.expr import (
    Collect,
    ColumnRef,
    Expr,
    PropertyRef,
    SortKey,
    VariableRef,
    may_fail,
    parts,
    variables,
)
from omnigraph.query.plan import Aggregate
from omnigraph.read.execution import Execution
from omnigraph.read.matches import AlikeNodes, LateColumn, Matches
from omnigraph.read.operators.aggregate import Aggregation
from omnigraph.read.operators.collect import collect_items
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.operators.order import count_of, key_numbers, tie_numbers
from omnigraph.read.operators.project import compute_column, result_type
from omnigraph.schema.types import FLOATS


def _number_keys(rows: Matches, expr: Expr, column: pa.Array) -> Numbers:
    """Return numbers that are equal where a key is; a node or edge equals only itself."""
    return rows.codes[expr.variable] if isinstance(expr, VariableRef) else encode(column)


def _same_nodes(rows: Matches, names: list[str]) -> tuple[Numbers, Numbers]:
    """Return the first row of every different combination of nodes, and each row's combination."""
    if set(names) == set(rows.codes) and not rows.columns:
        # No two rows have the same nodes and edges, unless they have paths.
        every = row_range(rows.count)
        return every, every
    return number_combinations([rows.codes[name] for name in names], rows.count)


def _identifies(execution: Execution, keys: Sequence[Column], name: str) -> bool:
    """Return whether different nodes of a variable always have different group keys."""
    exprs = [key.expr for key in keys]
    if any(isinstance(expr, VariableRef) and expr.variable == name for expr in exprs):
        return True
    types = execution.domains[name].types
    if len(types) != 1:
        return False
    read = {
        expr.property for expr in exprs if isinstance(expr, PropertyRef) and expr.variable == name
    }
    key = execution.reader.stored(types[0]).key
    kinds = [execution.reader.type_of(types[0], column) for column in key]
    by_key = bool(key) and read.issuperset(key) and not FLOATS.intersection(kinds)
    return by_key or "id" in read


def find_alike(execution: Execution, name: str, keys: Sequence[Column]) -> AlikeNodes | None:
    """Return the nodes of a variable by their keys.

    None when a key reads other variables as well, may fail, or tells all nodes apart.
    """
    exprs = [key.expr for key in keys if name in variables(key.expr)]
    if any(len(variables(expr)) > 1 or may_fail(expr) for expr in exprs):
        return None
    if _identifies(execution, keys, name):
        return None
    every = row_range(len(execution.domains[name]))
    rows = Matches(len(every), {name: every})
    columns = [encode(_compute_key(execution, rows, expr)) for expr in exprs]
    first, of_row = number_combinations(columns, rows.count)
    return AlikeNodes(of_row, first)


def _late_key(execution: Execution, known: Matches, expr: Expr) -> LateColumn:
    return LateColumn(known, lambda rows: _compute_key(execution, rows, expr))


def _compute_key(execution: Execution, rows: Matches, expr: Expr) -> pa.Array:
    """Return a key for each row; groups show 0.0 for both zeros."""
    return unify_zeros(compute_column(execution, rows, expr))


@dataclass(frozen=True, slots=True)
class MatchedItems:
    """The rows of a pattern, as lists are made of them."""

    execution: Execution
    rows: Matches

    @property
    def count(self) -> int:
        return self.rows.count

    def values(self, expr: Expr, places: Numbers) -> pa.Array:
        kind = type_of(expr)
        assert kind is not None
        shown = result_type(kind, self.execution.reader.snapshot.catalog)
        found = compute_column(self.execution, self.rows.take(places), expr).cast(shown)
        self.execution.check_bytes(found.nbytes)
        return found

    def identities(self, variable: str) -> Numbers:
        codes = self.rows.codes[variable]
        return np.where(codes < 0, -1, self.execution.domains[variable].identities(codes))

    def sort_numbers(self, key: SortKey) -> "np.ndarray":
        return key_numbers(Evaluation(self.execution, self.rows), key)

    def tie_numbers(self, variable: str) -> "np.ndarray":
        return tie_numbers(self.execution, self.rows, variable)

    def limit(self, collect: Collect) -> int | None:
        return count_of(self.execution, collect.limit)


def group_rows(execution: Execution, rows: Matches, aggregate: Aggregate) -> Matches:
    """Return one row for each different set of keys; without keys exactly one."""
    if not aggregate.keys:
        columns: dict[str, pa.Array | LateColumn] = {}
        # One row is its own group, so that what is known of it need not be added up.
        groups = row_range(1) if rows.count == 1 else np.zeros(rows.count, np.int64)
        count = 1
    else:
        names = sorted({name for key in aggregate.keys for name in variables(key.expr)})
        # Rows of the same nodes have the same keys, which are therefore computed once.
        first, of_row = _same_nodes(rows, names)
        known = Matches(rows.count, {name: rows.codes[name] for name in names}).take(first)
        is_safe = not any(may_fail(key.expr) for key in aggregate.keys)
        if any(isinstance(part, ColumnRef) for key in aggregate.keys for part in parts(key.expr)):
            of_row, known, is_safe = row_range(rows.count), replace(rows, weights=None), False
        if is_safe and all(_identifies(execution, aggregate.keys, name) for name in names):
            columns = {key.name: _late_key(execution, known, key.expr) for key in aggregate.keys}
            groups, count = of_row, known.count
        else:
            values = {key.name: _compute_key(execution, known, key.expr) for key in aggregate.keys}
            same = [_number_keys(known, key.expr, values[key.name]) for key in aggregate.keys]
            firsts, of_known = number_combinations(same, known.count)
            columns = {name: column.take(pa.array(firsts)) for name, column in values.items()}
            groups = of_known if is_row_range(of_row) else of_known[of_row]
            count = len(firsts)
    aggregation = Aggregation(execution, rows, groups, count)
    for column in aggregate.aggregates:
        if isinstance(column.expr, Collect):
            items = MatchedItems(execution, rows)
            ties = {each.variable for each in column.expr.ties}
            fixed = {name for name in ties if _identifies(execution, aggregate.keys, name)}
            columns[column.name] = collect_items(items, groups, count, column.expr, fixed)
            continue
        assert isinstance(column.expr, AggregateExpr)
        columns[column.name] = aggregation.compute(column.expr)
    return Matches(count, columns=columns)
