"""Virtual base: merges several bases with each other first, row by row.

A value that one side reset after the sides had merged each other looks untouched from one base and
changed from another. Merging the two bases from their own base decides which it is; only where that
is ambiguous too, the row is left to the user.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import pyarrow as pa

from omnigraph.data.values.equality import equal_rows, equal_values
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.frozen import dataclass
from omnigraph.merge.vectors import join_vectors
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.storage.table import Table

# One row as a table of one row; None where there is no such row.
Row: TypeAlias = pa.Table | None


class Ambiguous(Exception):
    """Two sides changed the same value of a row in different ways."""


@dataclass(frozen=True, slots=True)
class VirtualBase:
    """The tables of one type at the root, at the two bases from it, and on both sides."""

    stored: StoredType
    root: Table
    bases: tuple[Table, Table]
    ours: Table
    theirs: Table

    def merge(self, ids: Iterable[str]) -> Mapping[str, tuple[Row, Row, bool]]:
        """Return our row and the merged one, for the rows among `ids` that merge without doubt.

        And whether the merged one needs a vector that no side made.
        """
        wanted = pa.array(sorted(ids), pa.utf8())
        tables = (self.root, *self.bases, self.ours, self.theirs)
        root, one, other, ours, theirs = (self._rows(each, wanted) for each in tables)
        found: dict[str, tuple[Row, Row, bool]] = {}
        for row_id in wanted.to_pylist():
            mine, yours = ours.get(row_id), theirs.get(row_id)
            try:
                base = merge_row(root.get(row_id), one.get(row_id), other.get(row_id))
                merged, due = merge_row(base, mine, yours), False
            except Ambiguous:
                continue
            if merged is not None and mine is not None and yours is not None:
                merged, lacking = join_vectors(self.stored, merged, (mine, yours))
                due = bool(lacking.any())
            found[row_id] = mine, merged, due
        return found

    def _rows(self, table: Table, ids: pa.Array) -> dict[str, pa.Table]:
        schema = arrow_schema(self.stored)
        found = look_up_rows(table, "id", ids, schema.names).cast(schema)
        return {row_id: found.slice(at, 1) for at, row_id in enumerate(found["id"].to_pylist())}


def merge_row(base: Row, one: Row, other: Row) -> Row:
    """Return what two sides made of a row; raises Ambiguous where both changed the same."""
    if is_same(one, other) or is_same(base, other):
        return one
    if is_same(base, one):
        return other
    if base is None or one is None or other is None:
        raise Ambiguous
    columns = [_merge_value(base, one, other, name) for name in one.column_names]
    return pa.Table.from_arrays(columns, schema=one.schema)


def is_same(one: Row, other: Row) -> bool:
    """Whether two rows are equal, or both are absent."""
    if one is None or other is None:
        return one is other
    return bool(equal_rows(one, other).all())


def _merge_value(base: pa.Table, one: pa.Table, other: pa.Table, name: str) -> pa.Array:
    values = [each[name].combine_chunks() for each in (base, one, other)]
    if equal_values(values[1], values[2])[0] or equal_values(values[0], values[2])[0]:
        return values[1]
    if equal_values(values[0], values[1])[0]:
        return values[2]
    raise Ambiguous
