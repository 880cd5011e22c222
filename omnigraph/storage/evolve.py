"""Evolve: versions of a table with columns arranged anew or added, and without some indexes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceOperation
from lance.schema import LanceSchema

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.schema.blobs import pack
from omnigraph.storage.failures import report_as
from omnigraph.storage.indexes import IndexSpec, undeclared_segments
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table


def arrange_columns(table: Table, names: Mapping[str, str]) -> Table:
    """Return the table with these columns only, renamed, in this order; `names` has old by new.

    No row is read or written: the files keep what is left out, and older versions show it.
    """
    schema = pa.schema([table.schema.field(old).with_name(new) for new, old in names.items()])
    with report_as(f"cannot arrange the columns of {table.path}"):
        numbered = _numbered(
            table, schema, {new: table.numbers[old][0] for new, old in names.items()}
        )
        return table._detached(LanceOperation.Project(numbered))


def add_columns(table: Table, fields: Iterable[pa.Field]) -> Table:
    """Return the table with more columns, null in every row; no row is read or written."""
    with report_as(f"cannot add columns to {table.path}"):
        fragments = [each.metadata for each in table.dataset.get_fragments()]
        return table._detached(LanceOperation.Merge(fragments, _widened(table, fields)))


def fill_column(
    table: Table,
    field: pa.Field,
    values: pa.Scalar | Callable[[pa.Table], pa.Array],
    check: Callable[[], None],
    read: Sequence[str] = ("id",),
) -> Table:
    """Return the table with one more column, of one value or of the values for its rows.

    These are given with the columns to `read`, of which one is the id. Only the new column is
    written. `check` is called before each fragment, and raises to stop.
    """
    schema = pa.schema([field])
    with report_as(f"cannot add columns to {table.path}"):
        fragments = []
        for each in table.dataset.get_fragments():
            check()
            if isinstance(values, pa.Scalar):
                found: _Constant | _Column = _Constant(values, schema)
            else:
                # Lance calls back from its own threads, on which no table can be read.
                rows = each.to_table(columns=list(read))
                found = _Column(rows["id"].combine_chunks(), _stored(values(rows)), schema)
            fragments.append(each.merge_columns(found.of, columns=["id"])[0])
        reached("column written")
        return table._detached(LanceOperation.Merge(fragments, _widened(table, [field])))


def _stored(values: pa.Array) -> pa.Array:
    return pack(values) if pa.types.is_large_binary(values.type) else values


@dataclass(frozen=True, slots=True)
class _Constant:
    """A new column with one value in all rows."""

    value: pa.Scalar
    schema: pa.Schema

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the column of some rows."""
        values = _stored(pa.repeat(self.value, len(batch)))
        return pa.RecordBatch.from_arrays([values], schema=self.schema)


@dataclass(slots=True)
class _Column:
    """The values of a new column for the ids of a fragment.

    Lance asks for them by batches of rows, most often in the order in which the ids were read. To
    look a batch up among all ids takes as long as it takes to hash these.
    """

    ids: pa.Array
    values: pa.Array
    schema: pa.Schema
    _next: int = 0

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the column of some rows; null for those that are deleted."""
        return pa.RecordBatch.from_arrays([self._values_of(batch["id"])], schema=self.schema)

    def _values_of(self, ids: pa.Array) -> pa.Array:
        for first in (self._next, 0):  # Lance asks for the first row alone before all others
            found = slice(first, first + len(ids))
            if self.ids[found].equals(ids):
                self._next = found.stop
                return self.values[found]
        places = pc.index_in(ids, value_set=self.ids)
        last = pc.max(places).as_py()
        self._next = 0 if last is None else last + 1
        return self.values.take(places)


def drop_indexes(table: Table, declared: Iterable[IndexSpec]) -> Table:
    """Return the table without the indexes that are not declared; no row is read or written."""
    with report_as(f"cannot drop indexes of {table.path}"):
        gone = undeclared_segments(table.dataset, declared)
        return table._detached(LanceOperation.CreateIndex([], gone)) if gone else table


def _widened(table: Table, fields: Iterable[pa.Field]) -> LanceSchema:
    """Return the columns of a table and new ones, whose numbers no column ever had."""
    added = list(fields)
    numbers = {name: number for name, (number, _) in table.numbers.items()}
    free = _last_number(table) + 1
    for each in added:
        numbers[each.name] = free
        free += _width(each)
    return _numbered(table, pa.schema([*table.schema, *added]), numbers)


def _numbered(table: Table, schema: pa.Schema, numbers: Mapping[str, int]) -> LanceSchema:
    """Return a schema whose columns have these numbers, which are field ids in the files.

    Lance numbers the fields of a schema one after the other, so numbers that are not used stand in
    the schema that it numbers, and are taken out of the result.
    """
    padded: list[pa.Field] = []
    free = 0
    for name, number in sorted(numbers.items(), key=lambda each: each[1]):
        padded += [pa.field(f" {each}", pa.bool_()) for each in range(free, number)]
        padded.append(schema.field(name))
        free = number + _width(padded[-1])
    reduced: tuple[Any, ...] = tuple(LanceSchema.from_pyarrow(pa.schema(padded)).__reduce__())
    made, (metadata, *protos) = reduced
    parts, first = {}, 0
    for each in padded:
        parts[each.name] = protos[first : first + _width(each)]
        first += _width(each)
    found: LanceSchema = made(metadata, *(part for name in schema.names for part in parts[name]))
    if {each.name(): each.id() for each in found.fields()} != numbers:
        raise StorageError(f"{table.path}: the columns do not have the numbers of their files")
    return found


def _last_number(table: Table) -> int:
    """Return the greatest number that a column of the schema or of the files has."""
    used = [
        number + _width(table.schema.field(name)) - 1 for name, (number, _) in table.numbers.items()
    ]
    for fragment in table.dataset.get_fragments():
        for file in fragment.metadata.files:
            used += file.fields
    return max(used)


def _width(field: pa.Field) -> int:
    """Return how many fields Lance numbers for a column: a list has one for its items."""
    return 1 + sum(_width(field.type.field(each)) for each in range(_parts(field.type)))


def _parts(kind: pa.DataType) -> int:
    return 0 if pa.types.is_fixed_size_list(kind) else int(kind.num_fields)
