"""Vectors: lets each vector of a merged row go with the text that it was made from."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.equality import Mask, equal_values
from omnigraph.data.values.rules import has_text
from omnigraph.schema.catalog import StoredType
from omnigraph.write.upsert import with_column


def join_vectors(
    stored: StoredType, rows: pa.Table, sides: Sequence[pa.Table]
) -> tuple[pa.Table, Mask]:
    """Return merged rows with the vectors that belong to their texts, and which need a new one.

    `sides` have the same rows, in the same order. Where a row has the text of one side and the
    vector of another, it gets the vector of the former. That may be null: a side has none whose
    schema lacks the property.
    """
    due = np.zeros(rows.num_rows, bool)
    for item in stored.properties.values():
        if item.embed is None or not rows.num_rows:
            continue
        texts = [_same(rows, each, item.embed.source) for each in sides]
        vectors = [_same(rows, each, item.name) for each in sides]
        astray = ~np.any([text & vector for text, vector in zip(texts, vectors, strict=True)], 0)
        if not astray.any():
            continue
        every = pa.concat_arrays([to_array(each[item.name]) for each in (*sides, rows)])
        origins = np.where(astray, np.argmax(texts, 0), len(sides))
        places = origins * rows.num_rows + np.arange(rows.num_rows)
        rows = with_column(rows, item.name, every.take(pa.array(places)))
        is_null = np.asarray(to_array(rows[item.name]).is_null(), bool)
        due |= astray & is_null & np.asarray(has_text(to_array(rows[item.embed.source])), bool)
    return rows, due


def _same(one: pa.Table, other: pa.Table, name: str) -> Mask:
    return equal_values(to_array(one[name]), to_array(other[name]))
