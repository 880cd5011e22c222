"""Lookup: the rows of a table that have certain values in one column."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.storage.indexes import LOOKED_UP
from omnigraph.storage.reading import ADDRESS, batches_where
from omnigraph.storage.table import Table

# Values looked up at a time; a table is read whole when that reads less.
_AT_A_TIME = 2_000
_LEAST_OF = 10
_MOST_BYTES = 64 << 20


def look_up_rows(
    table: Table,
    column: str,
    values: pa.Array,
    columns: Sequence[str],
    *,
    packed: bool = False,
) -> pa.Table:
    """Return some columns of the rows whose value in `column` is one of `values`.

    Among the columns may be the address of the rows. Packed, blobs are as the table stores them.
    """
    wanted = pc.unique(values)
    schema = pa.schema([_field(table, name) for name in columns])
    if not len(wanted):
        return schema.empty_table()
    many = len(wanted) > _AT_A_TIME and len(wanted) * _LEAST_OF > table.count()
    if many or not table.takes_conditions or wanted.type not in LOOKED_UP:
        return _read_whole(table, column, wanted, schema, packed=packed)
    batches: list[pa.RecordBatch] = []
    for first in range(0, len(wanted), _AT_A_TIME):
        some = wanted.slice(first, _AT_A_TIME)
        batches += batches_where(table, columns, pc.field(column).isin(some), packed=packed)
    return pa.Table.from_batches(batches, schema)


def _field(table: Table, name: str) -> pa.Field:
    return pa.field(ADDRESS, pa.uint64()) if name == ADDRESS else table.schema.field(name)


def _read_whole(
    table: Table, column: str, wanted: pa.Array, schema: pa.Schema, *, packed: bool
) -> pa.Table:
    names, sought = list(dict.fromkeys([*schema.names, column])), unify_zeros(wanted)
    found = [schema.empty_table()]
    batches = batches_where(table, names, None, packed=packed)
    for rows in _gathered(batches, len(sought)):
        own = unify_zeros(to_array(rows[column]))
        found.append(rows.filter(pc.is_in(own, value_set=sought)).select(schema.names))
    return pa.concat_tables(found)


def _gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield batches together, about so many rows at a time but no more than some bytes.

    The values that are looked for are hashed once for each of them.
    """
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        held.append(batch)
        count, size = count + len(batch), size + batch.nbytes
        if count >= rows or size >= _MOST_BYTES:
            yield pa.Table.from_batches(held)
            held, count, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
