"""Lookup: the rows of a table that have certain values in one column."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.storage.indexes import LOOKED_UP
from omnigraph.storage.reading import ADDRESS, batches_where, one_of
from omnigraph.storage.table import Table

# Values looked up at a time; a table is read whole when that reads less.
_AT_A_TIME = 2_000
_LEAST_OF = 10
_MOST_BYTES = 64 << 20
# Ids that are looked up together and remembered, and how many are remembered of one version.
_FEW_IDS, _MOST_KNOWN = 16, 256


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
    A few ids that the table lacks are remembered.
    """
    wanted = pc.unique(values)
    few_ids = column == "id" and len(wanted) <= _FEW_IDS
    if few_ids:
        wanted = _KNOWN_IDS.possible(table, wanted)
    schema = pa.schema([_field(table, name) for name in columns])
    if not len(wanted):
        return schema.empty_table()
    found = _read_rows(table, column, wanted, schema, packed=packed)
    if few_ids and not found.num_rows:
        _KNOWN_IDS.add(table, wanted.to_pylist(), set())
    return found


def _read_rows(
    table: Table, column: str, wanted: pa.Array, schema: pa.Schema, *, packed: bool
) -> pa.Table:
    many = len(wanted) > _AT_A_TIME and len(wanted) * _LEAST_OF > table.count()
    if many or not table.takes_conditions or wanted.type not in LOOKED_UP:
        return _read_whole(table, column, wanted, schema, packed=packed)
    batches: list[pa.RecordBatch] = []
    if len(wanted) > _AT_A_TIME:
        wanted = wanted.take(pc.sort_indices(wanted))  # neighbours are on one page of an index
    for first in range(0, len(wanted), _AT_A_TIME):
        some = wanted.slice(first, _AT_A_TIME)
        batches += batches_where(table, schema.names, one_of(column, some), packed=packed)
    return pa.Table.from_batches(batches, schema)


class _KnownIds:
    """Which of some ids a version of a table has, for as long as its handle is in use.

    Versions never change, edges of many changes lead to the same few nodes, and a change asks for
    the ids of its new rows more than once.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Table, dict[str, bool]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self, table: Table, ids: list[str]) -> list[str] | None:
        """Return those that the table has; None when some were not looked up before."""
        with self._lock:
            known = self._known.get(table, {})
            if any(each not in known for each in ids):
                return None
            return [each for each in ids if known[each]]

    def possible(self, table: Table, ids: pa.Array) -> pa.Array:
        """Return the ids without those that the table is known to lack."""
        with self._lock:
            known = self._known.get(table)
            if not known:
                return ids
            return pa.array([each for each in ids.to_pylist() if known.get(each, True)], ids.type)

    def add(self, table: Table, ids: list[str], found: set[str]) -> None:
        """Note which of some ids were found."""
        with self._lock:
            known = self._known.setdefault(table, {})
            if len(known) > _MOST_KNOWN:
                known.clear()
            known |= {each: each in found for each in ids}


_KNOWN_IDS = _KnownIds()


def present_ids(table: Table, ids: pa.Array) -> pa.Array:
    """Return those of some ids that a table has, each once; few are remembered."""
    if len(ids) > _FEW_IDS:
        return to_array(look_up_rows(table, "id", ids, ["id"])["id"])
    wanted: list[str] = pc.unique(ids).drop_null().to_pylist()
    known = _KNOWN_IDS.get(table, wanted)
    if known is None:
        known = look_up_rows(table, "id", ids, ["id"])["id"].to_pylist()
        _KNOWN_IDS.add(table, wanted, set(known))
    return pa.array(known, ids.type)


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
