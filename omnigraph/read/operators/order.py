"""Order: sorts rows by their columns, and cuts them to the first few."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import Numbers, row_range, take_numbers, to_numbers
from omnigraph.data.derived.sorting import are_apart, sort_places
from omnigraph.data.values.comparison import IDENTITY
from omnigraph.query.checked import OrderKey, RowCount
from omnigraph.query.expr import ColumnRef, SortKey, VariableRef, may_fail
from omnigraph.query.plan import Limit, Order
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation

# Fewer rows are sorted whole, whatever the limit.
_LEAST_CUT = 64
_BLOCK = 512
_NULLS_FIRST = [("", "ascending", "at_start")]


def sort_rows(execution: Execution, rows: Matches, order: Order, limit: Limit | None) -> Matches:
    """Return the rows sorted; rows that `limit` would drop may be missing."""
    keys: list[OrderKey | str] = [*order.keys, *_other_ties(order)]
    if not keys or (rows.count < 2 and not any(may_fail(key.expr) for key in order.keys)):
        return rows
    wanted = None if limit is None else last_row(execution, limit)
    first = _sort_numbers(execution, rows, keys[0])
    # Whether a key has a value for every row must not depend on the limit.
    can_drop = not any(isinstance(key, OrderKey) and may_fail(key.expr) for key in keys[1:])
    if wanted is not None and can_drop:
        hopeful = _find_hopeful(first, wanted)
        rows, first = rows.take(hopeful), take_numbers(first, hopeful)
    # The rows as they are and as they will be, a number of each key, and the places of the rows.
    execution.check_work(rows.count, 2 * (len(rows.codes) + len(rows.columns)) + len(keys) + 1)
    numbers = [first]
    for key in keys[1:]:
        if isinstance(key, str) and are_apart(numbers):
            break
        numbers.append(_sort_numbers(execution, rows, key))
    return rows.take(sort_places(numbers, rows.count))


def _other_ties(order: Order) -> list[str]:
    """Return the ties that are not keys themselves."""
    known = {key.expr.column for key in order.keys if isinstance(key.expr, ColumnRef)}
    return [name for name in order.ties if name not in known]


def _sort_numbers(execution: Execution, rows: Matches, key: OrderKey | str) -> "np.ndarray":
    """Return numbers that sort as a key does, or as the variable or column that breaks ties."""
    return (
        tie_numbers(execution, rows, key)
        if isinstance(key, str)
        else key_numbers(Evaluation(execution, rows), key)
    )


def key_numbers(evaluation: Evaluation, key: OrderKey | SortKey) -> "np.ndarray":
    """Return numbers that sort as a key does; a node or edge sorts by its id."""
    if not isinstance(key.expr, VariableRef):
        return to_sort_key(evaluation.column(key.expr), key.descending)
    name = key.expr.variable
    ranks = evaluation.execution.domains[name].ranks(evaluation.rows.codes[name])
    return ~ranks if key.descending else ranks


def limit_rows(execution: Execution, rows: Matches, limit: Limit) -> Matches:
    """Return the rows that a limit keeps; a row of weight n counts as n."""
    skip = count_of(execution, limit.skip) or 0
    last = last_row(execution, limit)
    if rows.weights is not None:
        last = rows.total if last is None else min(last, rows.total)
        execution.check(last, len(rows.codes) + 1)
        rows = _cut_weights(rows, last).repeat()
    end = rows.count if last is None else min(last, rows.count)
    first = min(skip, end)
    return rows if end - first == rows.count else rows.slice(first, end - first)


def _cut_weights(rows: Matches, last: int) -> Matches:
    """Return the first rows, the last of them with only the weight that is still wanted."""
    assert rows.weights is not None
    before = np.cumsum(rows.weights) - rows.weights
    kept = before < last
    weights = np.minimum(rows.weights, np.maximum(last - before, 0))
    return replace(rows, weights=weights).keep(kept)


def to_sort_key(column: pa.Array, descending: bool) -> "np.ndarray":
    """Return numbers that sort as the column does: null first ascending, last descending.

    A list can only be a literal of the query, so it is the same for all rows.
    """
    if pa.types.is_struct(column.type):
        column = _rank_objects(column)
    if pa.types.is_list(column.type):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(column.type):
        column = _rank_floats(column)
    if column.null_count or not _is_plain(column.type):
        column = pc.rank(column, sort_keys=_NULLS_FIRST, tiebreaker="dense")
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if not descending:
        return values
    return -values if values.dtype.kind == "f" else ~values


def _rank_objects(column: pa.Array) -> pa.Array:
    """Return the rank of each object by its id, then by its type."""
    ids, own = (pc.struct_field(column, name) for name in ("id", IDENTITY))
    order = pa.table([ids, own], names=["id", "own"])
    places = pc.sort_indices(order, [("id", "ascending"), ("own", "ascending")])
    ranks = np.empty(len(column), np.int64)
    identities = to_numbers(own)[to_numbers(places)]
    ranks[to_numbers(places)] = np.cumsum(np.diff(identities, prepend=identities[:1]) != 0)
    return pa.array(ranks, mask=np.asarray(column.is_null(), bool))


def _rank_floats(column: pa.Array) -> pa.Array:
    """Return ranks instead of floats where some are NaN, which sorts last."""
    values = column.to_numpy(zero_copy_only=False)
    is_known = not column.null_count
    if not (np.isnan(values).any() if is_known else pc.any(pc.is_nan(column)).as_py()):
        return column
    return pa.array(np.unique(values, return_inverse=True)[1], mask=np.asarray(column.is_null()))


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def tie_numbers(execution: Execution, rows: Matches, name: str) -> "np.ndarray":
    """Return numbers that sort as the ids of a variable, or as a column."""
    if name in rows.codes:
        return execution.domains[name].ranks(rows.codes[name])
    return to_sort_key(rows.column(name), descending=False)


def _find_hopeful(key: "np.ndarray", wanted: int) -> Numbers:
    """Return the places of rows that include the wanted first ones, without most others."""
    if len(key) <= max(_LEAST_CUT, 4 * wanted) or not wanted:
        return row_range(len(key))
    return np.flatnonzero(key <= _last_wanted(key, wanted))


def _last_wanted(key: "np.ndarray", wanted: int) -> object:
    """Return the greatest of the `wanted` smallest keys.

    The n smallest keys are in the n blocks with the smallest minima, so only these are searched.
    """
    count = len(key) // _BLOCK
    if wanted * 4 > count:
        return np.partition(key, wanted - 1)[wanted - 1]
    blocks, rest = key[: count * _BLOCK].reshape(count, _BLOCK), key[count * _BLOCK :]
    best = np.argpartition(blocks.min(axis=1), wanted - 1)[:wanted]
    candidates = np.concatenate([blocks[best].reshape(-1), rest])
    return np.partition(candidates, wanted - 1)[wanted - 1]


def last_row(execution: Execution, limit: Limit) -> int | None:
    """Return how many first rows a limit needs; None for all."""
    most = count_of(execution, limit.limit)
    return None if most is None else most + (count_of(execution, limit.skip) or 0)


def count_of(execution: Execution, given: RowCount | None) -> int | None:
    """Return a number of rows; None when there is no bound."""
    value = None if given is None else execution.constant(given)
    assert value is None or isinstance(value, int)
    return value
