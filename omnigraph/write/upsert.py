"""Upsert: a row that exists keeps what a change does not name."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.equality import Mask, equal_rows, equal_values
from omnigraph.schema.catalog import StoredType


def keep_unnamed(
    stored: StoredType, rows: pa.Table, before: pa.Table, named: Mapping[str, Mask]
) -> pa.Table:
    """Return rows in which those that exist in `before`, by id, have the values they do not name.

    `named` has a mask of the rows that name a column, for each column that some do not. A vector
    whose text changes is not kept: it is null until it is made again.
    """
    places = find_places(rows, before)
    known = places >= 0
    for name, mask in named.items():
        kept = known & ~mask
        if kept.any():
            values = _either(to_array(rows[name]), to_array(before[name]), places, kept)
            rows = with_column(rows, name, values)
    aligned = before.take(pa.array(places, mask=~known))
    return forget_stale(stored, rows, aligned, named)


def forget_stale(
    stored: StoredType, rows: pa.Table, before: pa.Table, named: Mapping[str, Mask]
) -> pa.Table:
    """Return rows without the vectors of texts that differ from those of `before`, row by row.

    A vector that the change names stays.
    """
    for item in stored.properties.values():
        if item.embed is None or item.name not in named:
            continue
        texts = (to_array(each[item.embed.source]) for each in (rows, before))
        stale = ~named[item.name] & ~equal_values(*texts)
        if stale.any():
            places = pa.array(np.arange(rows.num_rows), mask=stale)
            rows = with_column(rows, item.name, to_array(rows[item.name]).take(places))
    return rows


def find_places(rows: pa.Table, before: pa.Table) -> np.ndarray:
    """Return where the row of the same id is in `before`, for each row; -1 when there is none."""
    ids = (to_array(each["id"]) for each in (rows, before))
    found = pc.index_in(next(ids), value_set=next(ids), skip_nulls=True)
    return np.asarray(found.fill_null(-1), np.int64)


def find_unchanged(rows: pa.Table, before: pa.Table) -> pa.Array:
    """Return a mask of the rows that equal the row of the same id in `before`, in all columns."""
    if not before.num_rows:
        return pa.array(np.zeros(rows.num_rows, bool))
    places = find_places(rows, before)
    known = places >= 0
    found = np.zeros(rows.num_rows, bool)
    there = rows.filter(pa.array(known))
    found[known] = equal_rows(there, before.take(pa.array(places[known])))
    return pa.array(found)


def find_changed(rows: pa.Table, before: pa.Table) -> tuple[str, ...]:
    """Return the columns in which one of some rows differs from the row of its id in `before`."""
    aligned = before.take(pa.array(find_places(rows, before)))
    pairs = ((name, to_array(rows[name]), to_array(aligned[name])) for name in rows.column_names)
    return tuple(name for name, one, other in pairs if not equal_values(one, other).all())


def with_column(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Return rows with other values in a column."""
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), values)


def _either(rows: pa.Array, before: pa.Array, places: np.ndarray, kept: Mask) -> pa.Array:
    """Return the values of `rows`, and where they are kept those of `before` at their places."""
    every = pa.concat_arrays([rows, before.cast(rows.type)])
    return every.take(pa.array(np.where(kept, places + len(rows), np.arange(len(rows)))))
