"""Lookup: the rows of a table that have certain values in one column."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.storage.indexes import LOOKED_UP
from omnigraph.storage.reading import ADDRESS, any_of, batches_where, one_of
from omnigraph.storage.table import Table

# Values looked up at a time; a table is read whole when that reads less.
_AT_A_TIME = 2_000
_LEAST_OF = 10
_MOST_BYTES = 64 << 20
# Values that are looked up together and remembered, and how many are remembered of one version.
_FEW, _FEW_BYTES, _MOST_KNOWN = 16, 4_096, 256


def look_up_rows(
    table: Table,
    column: str,
    values: pa.Array,
    columns: Sequence[str],
    *,
    packed: bool = False,
    beside: Mapping[str, pa.Array] = MappingProxyType({}),
) -> pa.Table:
    """Return some columns of the rows whose value in `column` is one of `values`.

    Among the columns may be the address of the rows. Packed, blobs are as the table stores them.
    A few values that the table lacks are remembered. `beside` are values of other columns with an
    index that are looked up next: a few are looked for by the same read.
    """
    wanted = pc.unique(values)
    is_few = _are_few(wanted)
    if is_few:
        wanted = _KNOWN.possible(table, column, wanted)
    schema = pa.schema([_field(table, name) for name in columns])
    if not len(wanted):
        return schema.empty_table()
    others = {name: each for name, each in beside.items() if len(each) and _are_few(each)}
    if is_few and others and table.takes_conditions:
        return _read_together(table, {column: wanted, **others}, schema, packed=packed)
    found = _read_rows(table, column, wanted, schema, packed=packed)
    if is_few and not found.num_rows:
        _KNOWN.add(table, column, wanted.to_pylist(), ())
    return found


def _are_few(values: pa.Array) -> bool:
    """Whether values are few and small enough to be looked up together and to be remembered."""
    return values.type in LOOKED_UP and len(values) <= _FEW and values.nbytes <= _FEW_BYTES


def _read_together(
    table: Table, sought: Mapping[str, pa.Array], schema: pa.Schema, *, packed: bool
) -> pa.Table:
    """Return the rows with one of a few values in the first column; note which values are there."""
    names = list(dict.fromkeys([*schema.names, *sought]))
    read = pa.schema([_field(table, name) for name in names])
    batches = batches_where(table, names, any_of(sought), packed=packed)
    found = pa.Table.from_batches(batches, read)
    if found.num_rows <= _MOST_KNOWN:
        for name, values in sought.items():
            _KNOWN.add(table, name, values.to_pylist(), set(found[name].to_pylist()))
    column, wanted = next(iter(sought.items()))
    return found.filter(pc.is_in(found[column], value_set=wanted)).select(schema.names)


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


class _KnownValues:
    """Which of some values a column of a version has, for as long as its handle is in use.

    Versions never change, edges of many changes lead to the same few nodes, and a change asks for
    the ids of its new rows more than once.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Table, dict[tuple[str, object], bool]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self, table: Table, column: str, values: list[str]) -> list[str] | None:
        """Return those that the column has; None when some were not looked up before."""
        with self._lock:
            known = self._known.get(table, {})
            if any((column, each) not in known for each in values):
                return None
            return [each for each in values if known[column, each]]

    def possible(self, table: Table, column: str, values: pa.Array) -> pa.Array:
        """Return the values without those that the column is known to lack."""
        with self._lock:
            known = self._known.get(table)
            if not known:
                return values
            found = [each for each in values.to_pylist() if known.get((column, each), True)]
        return values if len(found) == len(values) else pa.array(found, values.type)

    def add(
        self, table: Table, column: str, values: Iterable[object], found: Collection[object]
    ) -> None:
        """Note which of some values were found."""
        with self._lock:
            known = self._known.setdefault(table, {})
            if len(known) > _MOST_KNOWN:
                known.clear()
            known |= {(column, each): each in found for each in values}


_KNOWN = _KnownValues()


def present_ids(table: Table, ids: pa.Array) -> pa.Array:
    """Return those of some ids that a table has, each once; few are remembered."""
    if not _are_few(ids):
        return to_array(look_up_rows(table, "id", ids, ["id"])["id"])
    wanted: list[str] = pc.unique(ids).drop_null().to_pylist()
    known = _KNOWN.get(table, "id", wanted)
    if known is None:
        known = look_up_rows(table, "id", ids, ["id"])["id"].to_pylist()
        _KNOWN.add(table, "id", wanted, set(known))
    return pa.array(known, ids.type)


def note_absent(table: Table, ids: pa.Array) -> None:
    """Note ids that a table lacks, because they were made a moment ago."""
    if _are_few(ids):
        _KNOWN.add(table, "id", ids.to_pylist(), ())


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
