"""Coded column: a text column of few different values as small numbers, by ordinal."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.values.equality import Mask
from omnigraph.frozen import dataclass

# Columns of more different values stay texts.
MOST_VALUES = 4_096


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """The different values of a column, and for each row the place of its value among them.

    The place after the last value stands for null.
    """

    values: pa.Array
    places: "np.ndarray"

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.places.nbytes)

    def take(self, ordinals: Numbers) -> "CodedColumn":
        """Return the column of some ordinals."""
        return CodedColumn(self.values, self.places[ordinals])

    def test(self, condition: "Callable[[pa.Array], pa.Array]") -> pa.Array:
        """Return for each row whether a condition is true, false or unknown, by its value."""
        found = condition(self.values)
        known = np.asarray(found.is_valid(), bool)
        truth = _true_or_false(found)
        if known.all() and not self._has_nulls:
            return pa.array(truth[self.places])
        unknown = np.append(~known, True)
        return pa.array(truth[self.places], mask=unknown[self.places])

    def holds(self, condition: "Callable[[pa.Array], pa.Array]") -> Mask:
        """Return for each row whether a condition is true, which is tested once per value."""
        found: Mask = _true_or_false(condition(self.values))[self.places]
        return found

    @property
    def _has_nulls(self) -> bool:
        return bool(len(self.places)) and int(self.places.max()) == len(self.values)


def _true_or_false(found: pa.Array) -> Mask:
    """Return what is true of each value and, at the place of null, that nothing is."""
    return np.append(np.asarray(found.fill_null(False), bool), False)  # noqa: FBT003


def code_column(values: pa.Array) -> CodedColumn | None:
    """Return a column coded; None when it has too many different values."""
    coded = values.dictionary_encode()
    if len(coded.dictionary) > MOST_VALUES:
        return None
    kind = np.uint8 if len(coded.dictionary) < 255 else np.uint16
    places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return CodedColumn(coded.dictionary, places.astype(kind))
