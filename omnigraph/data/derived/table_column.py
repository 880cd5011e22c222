"""Column: one column of a table in memory, by the ordinals of its rows."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NO_ROW, Lineage, Numbers, take_or_null


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The values of one version of a table: by ordinal, but for some that were changed since.

    `changed` are the ordinals of those, in their order.
    """

    lineage: Lineage
    values: pa.Array
    changed: Numbers
    new_values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.changed.nbytes + self.new_values.nbytes)

    def take(self, ordinals: Numbers) -> pa.Array:
        """Give the values of rows by their ordinals; null for NONE."""
        if not len(self.changed):
            return take_or_null(self.values, ordinals)
        at = np.minimum(np.searchsorted(self.changed, ordinals), len(self.changed) - 1)
        is_fresh = self.changed[at] == ordinals
        if not is_fresh.any():
            return take_or_null(
                self.values, np.where(ordinals < len(self.values), ordinals, NO_ROW)
            )
        old = np.where(ordinals < len(self.values), ordinals, NO_ROW)
        both = pa.chunked_array([self.values, self.new_values])
        places = np.where(is_fresh, at + len(self.values), old)
        return both.take(pa.array(places, mask=places < 0)).combine_chunks()

    def change(self, numbering: Lineage, ordinals: Numbers, values: pa.Array) -> "TableColumn":
        """Give the column of another version, in which some rows have other values."""
        kept = np.flatnonzero(~np.isin(self.changed, ordinals))
        changed = np.concatenate([self.changed[kept], ordinals])
        order = np.argsort(changed)
        fresh = pa.concat_arrays([self.new_values.take(pa.array(kept)), values])
        return TableColumn(numbering, self.values, changed[order], fresh.take(pa.array(order)))
