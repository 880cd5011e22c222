"""Row place: where a version stores a row, and where the version before it stored the row."""

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.storage.finding.delta import delta_between
from omnigraph.storage.reading import (
    ADDRESS,
    OFFSET_BITS,
    Addresses,
    read_with_addresses,
    rows_at,
    rows_where,
)
from omnigraph.storage.table import Table

# Rows in which two versions differ that are all read to find one of them; an index finds it among
# more.
_MOST_READ = 16


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The fragment of a row, by number and files, and the address that it gives the row.

    Files never change, so all versions that have the fragment and did not delete the row have the
    same values there.
    """

    fragment: tuple[int, tuple[str, ...]]
    address: int


# A row and where it is stored.
PlacedRow: TypeAlias = tuple[RowPlace, pa.Table]


def find_row(table: Table, row_id: str, columns: list[str]) -> PlacedRow | None:
    """Return some columns of the row of an id, and where it is stored."""
    if table.takes_conditions:
        found = rows_where(table, columns, pc.field("id") == row_id, 1)
    else:
        ids = read_with_addresses(table, ["id"])
        at = ids[ADDRESS].filter(pc.equal(ids["id"], row_id))
        rows = rows_at(table, np.asarray(at, np.uint64), columns)
        found = rows.append_column(ADDRESS, at)
    if not found.num_rows:
        return None
    return _place(table, found[ADDRESS][0].as_py()), found.select(columns)


def is_stored_at(table: Table, place: RowPlace) -> bool:
    """Whether a version has a row where another version has it."""
    fragment = table.fragments.get(place.fragment)
    if fragment is None:
        return False
    if not fragment.num_deletions:
        return True
    return bool(rows_at(table, _addresses(place.address), ["id"]).num_rows)


def row_before(old: Table, new: Table, row_id: str, columns: list[str]) -> PlacedRow | None:
    """Return the row of an id in an older version, which stores it elsewhere or does not have it.

    Then the row is among those that only the older version has, and when these are few they are
    read without an index.
    """
    delta = delta_between(old, new, _MOST_READ)
    if delta is None or not old.dataset.get_fragments():
        return find_row(old, row_id, columns)
    for address in delta.removed.tolist():
        row = rows_at(old, _addresses(address), columns)
        if row["id"][0].as_py() == row_id:
            return _place(old, address), row
    return None


def _place(table: Table, address: int) -> RowPlace:
    number = address >> OFFSET_BITS
    return RowPlace(next(each for each in table.fragments if each[0] == number), address)


def _addresses(address: int) -> Addresses:
    return np.array([address], np.uint64)
