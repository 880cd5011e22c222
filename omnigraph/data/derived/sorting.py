"""Sorting: the places of rows in the order of their keys, found without a sort where they have it.

Whole numbers are sorted as one number together with the place of their row, as many keys at a time
as fit 63 bits: NumPy sorts single numbers many times faster than it sorts by several keys.
"""

from collections.abc import Sequence

import numpy as np

from omnigraph.data.derived.numbering import Numbers, is_row_range, row_range, take_numbers
from omnigraph.frozen import dataclass

# So few rows are sorted as fast as it is found out how.
_FEW = 1_024
_MOST_BITS = 63


@dataclass(frozen=True, slots=True)
class _Key:
    """A key, and the bits that tell its values apart once `least` is taken from them."""

    values: "np.ndarray"
    least: int
    bits: int


def sort_places(keys: "Sequence[np.ndarray]", count: int) -> Numbers:
    """Return the places of `count` rows sorted by keys, of which the first decides first.

    Rows of equal keys stay in their order; rows that are sorted already get `row_range`.
    """
    places = row_range(count)
    if not keys:
        return places
    if count <= _FEW:
        return np.lexsort(keys[::-1])
    if are_sorted(keys):
        return places
    width = (count - 1).bit_length()
    # The keys that decide last come first: what they sort stays so among equals of the others.
    for part in reversed(_divide(keys, _MOST_BITS - width)):
        found = [take_numbers(key.values, places) for key in part]
        if part[0].bits > _MOST_BITS - width:
            order = np.argsort(found[0], kind="stable")
        else:
            order = _sort_packed(part, found, width)
        places = order if is_row_range(places) else places[order]
    return places


def are_sorted(keys: "Sequence[np.ndarray]") -> bool:
    """Return whether rows are in the order of their keys; the first few rows tell most of it."""
    return _are_sorted([key[:_FEW] for key in keys]) and _are_sorted(keys)


def are_apart(keys: "Sequence[np.ndarray]") -> bool:
    """Return whether no two of a few rows have equal keys; of many rows that is not found out."""
    if len(keys[0]) > _FEW:
        return False
    order = np.lexsort(keys[::-1])
    ordered = [key[order] for key in keys]
    return not np.logical_and.reduce([key[1:] == key[:-1] for key in ordered]).any()


def _are_sorted(keys: "Sequence[np.ndarray]") -> bool:
    tied: np.ndarray | None = None
    for key in keys:
        if is_row_range(key):
            return True
        follows = key[1:] >= key[:-1]
        if not (follows if tied is None else follows | ~tied).all():
            return False
        same = key[1:] == key[:-1]
        tied = same if tied is None else tied & same
        if not tied.any():
            return True
    return True


def _divide(keys: "Sequence[np.ndarray]", room: int) -> list[list[_Key]]:
    """Return the keys in parts of as many bits as there is room for; one with more is alone."""
    parts: list[list[_Key]] = []
    left = -1
    for key in map(_measure, keys):
        if key.bits > left:
            parts.append([])
            left = room
        parts[-1].append(key)
        left -= key.bits
    return parts


def _measure(values: "np.ndarray") -> _Key:
    """Return the key of some values; for those that are not whole numbers no bits are enough."""
    if values.dtype.kind not in "iu":
        return _Key(values, 0, _MOST_BITS + 1)
    least = int(values.min())
    return _Key(values, least, (int(values.max()) - least).bit_length())


def _sort_packed(part: list[_Key], found: "list[np.ndarray]", width: int) -> Numbers:
    """Return the order of rows by keys that fit one number together with the place of a row."""
    packed = np.zeros(len(found[0]), np.int64)
    for key, values in zip(part, found, strict=True):
        # A difference of signed numbers may not fit their type, one of unsigned numbers does.
        wide = values.astype(np.int64, copy=False) if values.dtype.kind == "i" else values
        packed <<= key.bits
        packed |= (wide - wide.dtype.type(key.least)).astype(np.int64, copy=False)
    packed <<= width
    packed |= row_range(len(packed))
    packed.sort()
    packed &= (1 << width) - 1
    return packed
