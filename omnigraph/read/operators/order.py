"""Order: sorts rows by their columns, and cuts them to the first few."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import numbers
from omnigraph.data.values.comparison import IDENTITY
from omnigraph.query.checked import OrderKey, RowCount
from omnigraph.query.expr import VariableRef
from omnigraph.query.plan import Limit, Order
from omnigraph.read.execution import Run
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.rows import Rows

# Fewer rows than that are sorted whole, whatever the limit.
_LEAST_CUT = 10_000
_BLOCK = 512
_NULLS_FIRST = [("", "ascending", "at_start")]


def ordered(run: Run, rows: Rows, order: Order, limit: Limit | None) -> Rows:
    """Give the rows in their order; of those that a limit will drop, some may be missing."""
    keys: list[OrderKey | str] = [*order.keys, *order.ties]
    if not keys:
        return rows
    wanted = None if limit is None else last_row(run, limit)
    if wanted is not None:
        rows = _among_first(_sorting(run, rows, keys[0]), wanted, rows)
    # The rows as they are and as they will be, a number of each key, and the places of the rows.
    run.check_work(rows.count, 2 * (len(rows.codes) + len(rows.columns)) + len(keys) + 1)
    return rows.take(np.lexsort([_sorting(run, rows, key) for key in reversed(keys)]))


def _sorting(run: Run, rows: Rows, key: OrderKey | str) -> "np.ndarray":
    """Give numbers that sort as a key does, or as the variable or column of a tie."""
    return _tie(run, rows, key) if isinstance(key, str) else _key(Evaluation(run, rows), key)


def _key(evaluation: Evaluation, key: OrderKey) -> "np.ndarray":
    """Give numbers that sort as a key does; a node or edge sorts by its id."""
    if not isinstance(key.expr, VariableRef):
        return sort_key(evaluation.column(key.expr), key.descending)
    name = key.expr.variable
    ranks = evaluation.run.domains[name].ranks(evaluation.rows.codes[name])
    return ~ranks if key.descending else ranks


def limited(run: Run, rows: Rows, limit: Limit) -> Rows:
    """Give the rows that a limit keeps; a row of weight n counts as n."""
    skip = _count(run, limit.skip) or 0
    last = last_row(run, limit)
    if rows.weights is not None:
        last = rows.total if last is None else min(last, rows.total)
        run.check(last, len(rows.codes) + 1)
        rows = _cut(rows, last).repeated()
    end = rows.count if last is None else min(last, rows.count)
    return rows.take(np.arange(min(skip, end), end))


def _cut(rows: Rows, last: int) -> Rows:
    """Give the first rows, the last of them with no more weight than is wanted."""
    assert rows.weights is not None
    before = np.cumsum(rows.weights) - rows.weights
    kept = before < last
    weights = np.minimum(rows.weights, np.maximum(last - before, 0))
    return replace(rows, weights=weights).keep(kept)


def sort_key(column: pa.Array, descending: bool) -> "np.ndarray":
    """Give numbers that sort as the column does: null first ascending, last descending.

    A list is written in the query and so the same for all rows.
    """
    if pa.types.is_struct(column.type):
        column = _object_ranks(column)
    if pa.types.is_list(column.type):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(column.type):
        column = _float_ranks(column)
    if column.null_count or not _is_plain(column.type):
        column = pc.rank(column, sort_keys=_NULLS_FIRST, tiebreaker="dense")
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if not descending:
        return values
    return -values if values.dtype.kind == "f" else ~values


def _object_ranks(column: pa.Array) -> pa.Array:
    """Give the place of each object by its id, and by its type where ids are the same."""
    ids, own = (pc.struct_field(column, name) for name in ("id", IDENTITY))
    order = pa.table([ids, own], names=["id", "own"])
    places = pc.sort_indices(order, [("id", "ascending"), ("own", "ascending")])
    ranks = np.empty(len(column), np.int64)
    identities = numbers(own)[numbers(places)]
    ranks[numbers(places)] = np.cumsum(np.diff(identities, prepend=identities[:1]) != 0)
    return pa.array(ranks, mask=np.asarray(column.is_null(), bool))


def _float_ranks(column: pa.Array) -> pa.Array:
    """Give places instead of floats where not all are numbers; one that is none comes last."""
    if not pc.any(pc.is_nan(column)).as_py():
        return column
    values = column.to_numpy(zero_copy_only=False)
    return pa.array(np.unique(values, return_inverse=True)[1], mask=np.asarray(column.is_null()))


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _tie(run: Run, rows: Rows, name: str) -> "np.ndarray":
    if name in rows.codes:
        return run.domains[name].ranks(rows.codes[name])
    return sort_key(rows.column(name), descending=False)


def _among_first(key: "np.ndarray", wanted: int, rows: Rows) -> Rows:
    """Give rows among which the wanted first ones are."""
    if len(key) <= max(_LEAST_CUT, 4 * wanted) or not wanted:
        return rows
    bound = _bound(key, wanted)
    return rows.take(np.flatnonzero(key <= bound))


def _bound(key: "np.ndarray", wanted: int) -> object:
    """Give the last of the wanted first keys.

    So many first ones are in as many blocks of the least keys, so that only these are sorted.
    """
    count = len(key) // _BLOCK
    if wanted * 4 > count:
        return np.partition(key, wanted - 1)[wanted - 1]
    blocks, rest = key[: count * _BLOCK].reshape(count, _BLOCK), key[count * _BLOCK :]
    best = np.argpartition(blocks.min(axis=1), wanted - 1)[:wanted]
    candidates = np.concatenate([blocks[best].reshape(-1), rest])
    return np.partition(candidates, wanted - 1)[wanted - 1]


def last_row(run: Run, limit: Limit) -> int | None:
    """Give how many first rows a limit needs; None for all."""
    most = _count(run, limit.limit)
    return None if most is None else most + (_count(run, limit.skip) or 0)


def _count(run: Run, given: RowCount | None) -> int | None:
    value = None if given is None else run.constant(given)
    assert value is None or isinstance(value, int)
    return value
