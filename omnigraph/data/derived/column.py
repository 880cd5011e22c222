"""Column: one column of a table in memory, by the ordinals of its rows."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NONE, Numbering, Numbers, taken


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one version of a table: by ordinal, but for some that were changed since.

    `changed` are the ordinals of those, in their order.
    """

    numbering: Numbering
    values: pa.Array
    changed: Numbers
    fresh: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.changed.nbytes + self.fresh.nbytes)

    def take(self, ordinals: Numbers) -> pa.Array:
        """Give the values of rows by their ordinals; null for NONE."""
        if not len(self.changed):
            return taken(self.values, ordinals)
        at = np.minimum(np.searchsorted(self.changed, ordinals), len(self.changed) - 1)
        is_fresh = self.changed[at] == ordinals
        if not is_fresh.any():
            return taken(self.values, np.where(ordinals < len(self.values), ordinals, NONE))
        old = np.where(ordinals < len(self.values), ordinals, NONE)
        both = pa.chunked_array([self.values, self.fresh])
        places = np.where(is_fresh, at + len(self.values), old)
        return both.take(pa.array(places, mask=places < 0)).combine_chunks()

    def with_changes(self, numbering: Numbering, ordinals: Numbers, values: pa.Array) -> "Column":
        """Give the column of another version, in which some rows have other values."""
        kept = np.flatnonzero(~np.isin(self.changed, ordinals))
        changed = np.concatenate([self.changed[kept], ordinals])
        order = np.argsort(changed)
        fresh = pa.concat_arrays([self.fresh.take(pa.array(kept)), values])
        return Column(numbering, self.values, changed[order], fresh.take(pa.array(order)))
