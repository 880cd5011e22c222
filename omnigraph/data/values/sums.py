"""Sums: sums of floats, exactly rounded, so that they do not depend on the order of the rows.

Every float is cut into parts that are multiples of a power of two. Of each power, so many parts are
added exactly by a float; so the sum of a group is a few exact floats, which are rounded once.
"""

from collections.abc import Sequence
from math import isfinite, isnan, ldexp, nan
from typing import Any, TypeAlias

import numpy as np

from omnigraph.frozen import dataclass

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

# The power of two that all floats are multiples of, and the bits of a float's digits.
_LEAST_POWER = -1074
_DIGITS = 53
# Rows that are cut at a time: as many as stay in the processor's cache.
_BLOCK = 1 << 16
# Fewer values than this part of a block are taken out of it.
_SPARSE = 4
# Floats from 2 to this power on, and weights of more bits, are added as Python's integers.
_MOST_POWER = 960
_MOST_WEIGHT_BITS = 40
_MOST_BITS = 40


@dataclass(slots=True)
class ExactSum:
    """A sum to which floats are added without rounding."""

    units: int = 0
    special: float = 0.0

    def add(self, values: Floats, weights: Integers | None = None) -> None:
        """Add values, each as often as its weight says."""
        finite = np.isfinite(values)
        if not finite.all():
            with np.errstate(invalid="ignore"):
                self.special += float(values[~finite].sum())
            values, weights = values[finite], None if weights is None else weights[finite]
        size = _measure(values, weights)
        if size.bits is None:
            own = np.ones(len(values), np.int64) if weights is None else weights
            each = zip(values.tolist(), own.tolist(), strict=True)
            self.units += sum(_to_units(value) * weight for value, weight in each)
            return
        one = np.zeros(len(values), np.int64)
        parts, _ = _cut(values, one, 1, weights, size)
        self.units += sum(_to_units(float(part[0])) for part in parts)

    def round(self, parts: int = 1) -> float:
        """Return the sum, or one of so many equal parts of it, as the nearest float."""
        if self.special:
            return nan if isnan(self.special) else self.special
        try:
            return self.units / (parts << -_LEAST_POWER)
        except OverflowError:
            return float("inf") if self.units > 0 else float("-inf")


def sum_floats(
    values: Floats,
    groups: Integers,
    count: int,
    weights: Integers | None = None,
    most: int | None = None,
) -> Floats:
    """Return the sum of each group as the nearest float; a value counts as its weight says.

    `most` is how often the values of a group count at most, if that is known.
    """
    size = _measure(values, weights, most)
    if size.bits is None:
        return _sum_one_by_one(values, groups, count, weights)
    parts, powers = _cut(values, groups, count, weights, size)
    special = None if size.is_finite else _sum_special(values, groups, count)
    sums = _round_parts(parts, powers, size.bits) if parts else np.zeros(count)
    return sums if special is None else np.where(special == 0, sums, special)


def average_floats(
    values: Floats, groups: Integers, counts: Integers, weights: Integers | None = None
) -> Floats:
    """Return the average of each group, whose values count so often in all; NaN for none.

    The sum is divided after it is rounded, as Spark does, unless it is larger than any float.
    """
    sums = sum_floats(values, groups, len(counts), weights, int(counts.max(initial=0)))
    with np.errstate(invalid="ignore"):
        found = sums / counts
    lost = np.isinf(sums)
    if not lost.any():
        return found
    own = lost[groups]
    weighted = None if weights is None else weights[own]
    exact = _sum_one_by_one(values[own], groups[own], len(counts), weighted, counts.tolist())
    return np.where(lost, exact, found)


@dataclass(frozen=True, slots=True)
class _Size:
    """The power of two above all finite values, and whether all are finite.

    `bits` are those of a part; None when values or weights are too large to be cut.
    """

    power: int
    bits: int | None
    is_finite: bool


def _measure(values: Floats, weights: Integers | None, most_of_group: int | None = None) -> _Size:
    most = _greatest(values)
    is_finite = isfinite(most)
    if not is_finite:
        most = _greatest(values[np.isfinite(values)])
    power = int(np.frexp(most)[1])
    if most_of_group is not None:
        total = float(most_of_group)
    else:
        total = float(len(values) if weights is None else weights.sum(dtype=np.float64))
    weight_bits = int(np.frexp(total)[1])
    if power > _MOST_POWER or weight_bits > _MOST_WEIGHT_BITS:
        return _Size(power, None, is_finite)
    return _Size(power, min(_MOST_BITS, _DIGITS - 1 - weight_bits), is_finite)


def _greatest(values: Floats) -> float:
    """Return the greatest size of a value; NaN when one is NaN."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _cut(
    values: Floats,
    groups: Integers,
    count: int,
    weights: Integers | None,
    size: _Size,
) -> tuple[list[Floats], list[int]]:
    """Return for powers of two, from the greatest down, the exact sums of the groups' parts."""
    bits, is_finite = size.bits, size.is_finite
    assert bits is not None
    first = size.power - bits
    sums: list[Floats] = []
    powers: list[int] = []
    step = max(_BLOCK, count)
    # Memory that is asked for again and again costs more than what is done in it.
    rest, part = (np.empty(min(step, len(values))) for _ in range(2))
    usual = 0
    for start in range(0, len(values), step):
        own = slice(start, start + step)
        mine = values[own]
        np.copyto(rest[: len(mine)], mine if is_finite else np.where(np.isfinite(mine), mine, 0))
        weighted = None if weights is None else weights[own]
        block = _Block(rest[: len(mine)], part, groups[own], weighted)
        at = 0
        # As many parts as most values of the block before had are cut without looking.
        while at < usual or block.drop_empty():
            if at == len(sums):
                sums.append(np.zeros(count))
                powers.append(first - at * bits)
            sums[at] += block.cut(powers[at], count)
            at += 1
            usual = max(usual, at if len(block.rest) == len(mine) else 0)
    return sums, powers


@dataclass(slots=True)
class _Block:
    """What is left of some values, and the groups and weights that they have."""

    rest: Floats
    part: Floats
    groups: Integers
    weights: Integers | None

    def drop_empty(self) -> bool:
        """Return whether anything is left; where it is little, leave the zeros out."""
        there = self.rest != 0
        left = np.count_nonzero(there)
        if left * _SPARSE < len(self.rest):
            kept = np.flatnonzero(there)
            self.rest, self.groups = self.rest[kept], self.groups[kept]
            self.weights = None if self.weights is None else self.weights[kept]
        return bool(left)

    def cut(self, power: int, count: int) -> Floats:
        """Take from each value its multiple of 2 to the power; return their sums by group."""
        # A float that this is added to has no lower digits any more.
        shift = ldexp(1.5, power + _DIGITS - 1)
        part = self.part[: len(self.rest)]
        np.add(self.rest, shift, out=part)
        part -= shift
        self.rest -= part
        if self.weights is not None:
            part *= self.weights
        sums = np.bincount(self.groups, weights=part, minlength=count)
        return np.asarray(sums, np.float64)


def _round_parts(parts: list[Floats], powers: list[int], bits: int) -> Floats:
    """Return the sum of the parts of each group as the nearest float."""
    digits = [
        np.ldexp(part, -power).astype(np.int64) for part, power in zip(parts, powers, strict=True)
    ]
    return _round_digits(*_spread(digits, bits), powers[-1], bits)


def _spread(digits: list[Integers], bits: int) -> tuple["np.ndarray", Integers]:
    """Return the signs, and the digits of the absolute sums: each below 2 to the power of bits."""
    carried = [np.zeros_like(digits[0]), np.zeros_like(digits[0]), *digits]
    _carry(carried, bits)
    negative = carried[0] < 0
    if negative.any():
        carried = [np.where(negative, -each, each) for each in carried]
        _carry(carried, bits)
    return negative, np.stack(carried)


def _carry(digits: list[Integers], bits: int) -> None:
    """Bring all digits but the first between 0 and 2 to the power of bits."""
    for at in range(len(digits) - 1, 0, -1):
        carry = digits[at] >> bits
        digits[at] = digits[at] - (carry << bits)
        digits[at - 1] = digits[at - 1] + carry


def _round_digits(negative: "np.ndarray", digits: Integers, least: int, bits: int) -> Floats:
    """Return numbers, given by their digits from the greatest down, as the nearest floats.

    The bits are gathered from the greatest digit on until there are as many as a float has. Of the
    others it matters whether they are more than half of the last one.
    """
    count = digits.shape[1]
    kept, power = np.zeros(count, np.int64), np.zeros(count, np.int64)
    half, rest, full = np.zeros(count, bool), np.zeros(count, bool), np.zeros(count, bool)
    for at, digit in enumerate(digits):
        place = least + (len(digits) - 1 - at) * bits
        room = np.where(full, 0, np.clip(_DIGITS - _bit_length(kept), 0, bits))
        cut = bits - room
        low = digit & ((np.int64(1) << cut) - 1)
        ends = ~full & (cut > 0)
        half = np.where(ends, (low >> np.maximum(cut - 1, 0)) & 1 == 1, half)
        below = low & ((np.int64(1) << np.maximum(cut - 1, 0)) - 1)
        rest = np.where(ends, below != 0, rest | (full & (digit != 0)))
        kept = np.where(full, kept, (kept << room) | (digit >> cut))
        power = np.where(full, power, place + cut)
        full |= ends
    kept += half & (rest | (kept & 1 == 1))
    sizes = np.ldexp(kept.astype(np.float64), power)
    return np.where(negative, -sizes, sizes)


def _bit_length(numbers: Integers) -> Integers:
    """Return how many bits numbers below 2 to the power of 53 have."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)


def _sum_special(values: Floats, groups: Integers, count: int) -> Floats | None:
    """Return the sums of what is no number: infinity, NaN, or 0; None when there is nothing."""
    finite = np.isfinite(values)
    if finite.all():
        return None
    with np.errstate(invalid="ignore"):
        found = np.bincount(groups[~finite], weights=values[~finite], minlength=count)
    return np.where(np.isnan(found), nan, found)  # of all the bits that mean NaN, the same


def _sum_one_by_one(
    values: Floats,
    groups: Integers,
    count: int,
    weights: Integers | None,
    parts: Sequence[int] | None = None,
) -> Floats:
    """Return the sum of each group, as `sum_floats` does, by Python's integers.

    With `parts` it is one of so many equal parts of the sum, divided before it is rounded.
    """
    found = np.zeros(count)
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(count + 1))
    for group in range(count):
        places = order[bounds[group] : bounds[group + 1]]
        total = ExactSum()
        total.add(values[places], None if weights is None else weights[places])
        found[group] = total.round() if parts is None else total.round(max(parts[group], 1))
    return found


def _to_units(value: float) -> int:
    """Return a float as a multiple of the least one above 0."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << -_LEAST_POWER) // denominator
