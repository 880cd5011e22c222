"""Evolve: versions of a table with columns renamed or added."""

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
from lance import LanceOperation
from lance.schema import LanceSchema

from omnigraph.errors import StorageError
from omnigraph.storage.failures import report_as
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table


def rename_columns(table: Table, names: Mapping[str, str]) -> Table:
    """Return the table with columns renamed; no row is read or written."""
    schema = pa.schema(
        [field.with_name(names.get(field.name, field.name)) for field in table.schema]
    )
    with report_as(f"cannot rename columns of {table.path}"):
        return table._detached(LanceOperation.Project(_numbered(table, schema)))


def add_columns(table: Table, fields: Iterable[pa.Field]) -> Table:
    """Return the table with more columns, null in every row; no row is read or written."""
    schema = pa.schema([*table.schema, *fields])
    with report_as(f"cannot add columns to {table.path}"):
        fragments = [each.metadata for each in table.dataset.get_fragments()]
        return table._detached(LanceOperation.Merge(fragments, _numbered(table, schema)))


def fill_column(
    table: Table, field: pa.Field, value: pa.Scalar, check: Callable[[], None]
) -> Table:
    """Return the table with one more column, filled with a value; only this column is written.

    `check` is called before each fragment, and raises to stop.
    """
    schema = pa.schema([field])

    def made(batch: pa.RecordBatch) -> pa.RecordBatch:
        values = pa.repeat(value, batch.num_rows)
        return pa.RecordBatch.from_arrays([values], schema=schema)

    with report_as(f"cannot add columns to {table.path}"):
        fragments = []
        for each in table.dataset.get_fragments():
            check()
            fragments.append(each.merge_columns(made, columns=["id"])[0])
        reached("column written")
        wide = pa.schema([*table.schema, field])
        return table._detached(LanceOperation.Merge(fragments, _numbered(table, wide)))


def _numbered(table: Table, schema: pa.Schema) -> LanceSchema:
    """Return a schema whose columns have the field ids that they have in the files of the table.

    Lance numbers fields in the order in which columns were added; none was ever removed or moved.
    """
    numbered = LanceSchema.from_pyarrow(schema)
    before = [each.id() for each in table.dataset.lance_schema.fields()]
    after = [each.id() for each in numbered.fields()]
    if after[: len(before)] != before:
        raise StorageError(f"{table.path}: the columns are not in the order of their files")
    return numbered
