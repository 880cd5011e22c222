"""Coded column: a text column of few different values as small numbers, by ordinal."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import NO_ROW, Numbers
from omnigraph.data.values.equality import Mask
from omnigraph.frozen import dataclass

# Columns of more different values stay texts.
MOST_VALUES = 4_096


@dataclass(frozen=True)
class CodedColumn:
    """The different values of a column, and for each ordinal the place of its value among them.

    The place after the last value stands for null.
    """

    values: pa.Array
    places: "np.ndarray"

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.places.nbytes)

    def test(
        self, ordinals: Numbers | None, condition: "Callable[[pa.Array], pa.Array]"
    ) -> pa.Array:
        """Return for some ordinals, or all, whether a condition is true, false or unknown.

        It is tested once per value.
        """
        found = condition(self.values)
        known = np.asarray(found.is_valid(), bool)
        truth, places = _true_or_false(found), self._places_of(ordinals)
        if known.all() and not self._has_nulls(places):
            return pa.array(truth[places])
        unknown = np.append(~known, True)
        return pa.array(truth[places], mask=unknown[places])

    def holds(self, ordinals: Numbers | None, condition: "Callable[[pa.Array], pa.Array]") -> Mask:
        """Return for some ordinals, or all, whether a condition is true."""
        found: Mask = _true_or_false(condition(self.values))[self._places_of(ordinals)]
        return found

    def equals(self, ordinals: Numbers | None, value: str) -> Mask:
        """Return for some ordinals, or all, whether a value is theirs."""
        return np.asarray(self._places_of(ordinals) == self._place_of.get(value, NO_ROW))

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values.to_pylist())}

    def _places_of(self, ordinals: Numbers | None) -> "np.ndarray":
        return self.places if ordinals is None else self.places[ordinals]

    def _has_nulls(self, places: "np.ndarray") -> bool:
        return bool(len(places)) and int(places.max()) == len(self.values)


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
