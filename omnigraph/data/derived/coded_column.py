"""Coded column: a text column of few different values as small numbers, by ordinal."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import Numbers
from omnigraph.frozen import dataclass

# Columns of more different values stay texts.
MOST_VALUES = 4_096


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """The different values of a column, and for each ordinal the place of its value among them.

    The place after the last value stands for null.
    """

    values: pa.Array
    places: "np.ndarray"

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.places.nbytes)

    def test(self, ordinals: Numbers | None, holds: "Callable[[pa.Array], pa.Array]") -> pa.Array:
        """Return for some ordinals, or all, whether a condition holds, tested once per value."""
        found = holds(self.values)
        known = np.asarray(found.is_valid(), bool)
        truth = np.append(np.asarray(found.fill_null(False), bool), False)  # noqa: FBT003
        places = self.places if ordinals is None else self.places[ordinals]
        if known.all() and not self._has_nulls(places):
            return pa.array(truth[places])
        unknown = np.append(~known, True)
        return pa.array(truth[places], mask=unknown[places])

    def _has_nulls(self, places: "np.ndarray") -> bool:
        return bool(len(places)) and int(places.max()) == len(self.values)


def code_column(values: pa.Array) -> CodedColumn | None:
    """Return a column coded; None when it has too many different values."""
    coded = values.dictionary_encode()
    if len(coded.dictionary) > MOST_VALUES:
        return None
    kind = np.uint8 if len(coded.dictionary) < 255 else np.uint16
    places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return CodedColumn(coded.dictionary, places.astype(kind))
