"""Tables: a table with the columns and indexes of another version of its type."""

from collections.abc import Mapping
from itertools import groupby

import pyarrow as pa

from omnigraph.evolve.lens import fill_value
from omnigraph.evolve.past import PastColumn
from omnigraph.schema.arrow import arrow_schema, arrow_type
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.evolve import add_columns, arrange_columns, drop_indexes, fill_column
from omnigraph.storage.indexes import indexes_of, vector_indexes_of
from omnigraph.storage.table import Table


def is_touched(before: StoredType, after: StoredType) -> bool:
    """Whether the table of a type has to change."""
    same_columns = arrow_schema(before).equals(arrow_schema(after))
    gone = {*vector_indexes_of(before)} - {*vector_indexes_of(after)}
    return not same_columns or indexes_of(before) != indexes_of(after) or bool(gone)


def evolve_table(
    table: Table,
    before: StoredType,
    after: StoredType,
    past: Mapping[str, PastColumn],
    deadline: Deadline,
) -> Table:
    """Return the table with the columns that its type has afterwards, and only its indexes.

    Values are written only for a new required property, which gets its default, and for one that
    was dropped before, whose values `past` has by its name. Raises CancelledError or BudgetError
    when the deadline is over before that.
    """
    known = {item.identity: item.name for item in before.properties.values()}
    wanted = {item.identity: item.name for item in after.properties.values()}
    kept = {name: name for name in table.schema.names if name not in before.properties}
    kept |= {
        wanted[item.identity]: item.name
        for item in before.properties.values()
        if item.identity in wanted
    }
    table = _arranged(table, kept)
    schema = arrow_schema(after)
    added = [item for item in after.properties.values() if item.identity not in known]
    # Which vectors come back depends on the texts, so these are filled first.
    added.sort(key=lambda item: item.embed is not None)
    for is_filled, items in groupby(added, lambda item: not item.nullable or item.name in past):
        if not is_filled:
            table = add_columns(table, [schema.field(item.name) for item in items])
            continue
        for item in items:
            table = _filled(table, item, past.get(item.name), deadline)
    table = _arranged(table, {name: name for name in schema.names})
    table = drop_indexes(table, (*indexes_of(after), *vector_indexes_of(after)))
    return table.with_indexes(indexes_of(after), deadline.check)


def _arranged(table: Table, names: Mapping[str, str]) -> Table:
    is_same = [*names] == [*names.values()] == table.schema.names
    return table if is_same else arrange_columns(table, names)


def _filled(table: Table, item: Property, past: PastColumn | None, deadline: Deadline) -> Table:
    otherwise = fill_value(item)
    text = None if item.embed is None else item.embed.source
    field = pa.field(item.name, arrow_type(item.type), nullable=item.nullable)
    if past is None:
        return fill_column(table, field, otherwise, deadline.check)

    def values(rows: pa.Table) -> pa.Array:
        return past.values(rows["id"], otherwise, None if text is None else rows[text])

    read = ["id"] if text is None else ["id", text]
    return fill_column(table, field, values, deadline.check, read)
