"""Table column: one column of a table in memory, by the ordinals of its rows."""

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NO_ROW, Lineage, Numbers, take_or_null
from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One version of a column: `values` by ordinal, overlaid by the values that changed since.

    `changed` holds the sorted ordinals of the changed rows, `new_values` their values.
    """

    lineage: Lineage
    values: pa.Array
    changed: Numbers
    new_values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.changed.nbytes + self.new_values.nbytes)

    def take(self, ordinals: Numbers) -> pa.Array:
        """Return the values of rows by their ordinals; null for NO_ROW."""
        if not len(self.changed):
            return take_or_null(self.values, ordinals)
        at = np.minimum(np.searchsorted(self.changed, ordinals), len(self.changed) - 1)
        is_changed = self.changed[at] == ordinals
        if not is_changed.any():
            return take_or_null(
                self.values, np.where(ordinals < len(self.values), ordinals, NO_ROW)
            )
        old = np.where(ordinals < len(self.values), ordinals, NO_ROW)
        both = pa.chunked_array([self.values, self.new_values])
        places = np.where(is_changed, at + len(self.values), old)
        return both.take(pa.array(places, mask=places < 0)).combine_chunks()

    def change(self, lineage: Lineage, ordinals: Numbers, values: pa.Array) -> "TableColumn":
        """Return the column of a later version, in which some rows have other values."""
        kept = np.flatnonzero(~np.isin(self.changed, ordinals))
        changed = np.concatenate([self.changed[kept], ordinals])
        order = np.argsort(changed)
        new_values = pa.concat_arrays([self.new_values.take(pa.array(kept)), values])
        return TableColumn(lineage, self.values, changed[order], new_values.take(pa.array(order)))
