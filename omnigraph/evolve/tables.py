"""Tables: a table with the columns and indexes of another version of its type."""

from itertools import groupby

from omnigraph.evolve.lens import fill_value
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.evolve import add_columns, fill_column, rename_columns
from omnigraph.storage.indexes import indexes_of
from omnigraph.storage.table import Table


def is_touched(before: StoredType, after: StoredType) -> bool:
    """Whether the table of a type has to change."""
    same_columns = arrow_schema(before).equals(arrow_schema(after))
    return not same_columns or indexes_of(before) != indexes_of(after)


def evolve_table(table: Table, before: StoredType, after: StoredType, deadline: Deadline) -> Table:
    """Return the table with the columns that its type has afterwards, and all its indexes.

    Rows are written only for a new required property; they get its default. Raises CancelledError
    or BudgetError when the deadline is over before that.
    """
    known = {item.identity: item.name for item in before.properties.values()}
    names = {
        known[item.identity]: item.name
        for item in after.properties.values()
        if known.get(item.identity, item.name) != item.name
    }
    if names:
        table = rename_columns(table, names)
    schema = arrow_schema(after)
    added = [item for item in after.properties.values() if item.identity not in known]
    for is_filled, items in groupby(added, lambda item: not item.nullable):
        if not is_filled:
            table = add_columns(table, [schema.field(item.name) for item in items])
            continue
        for item in items:
            table = fill_column(table, schema.field(item.name), fill_value(item), deadline.check)
    return table.with_indexes(indexes_of(after), deadline.check)
