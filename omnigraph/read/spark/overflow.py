"""Overflow: counts and sums of a query on Spark that do not fit 64 bits, which is an error."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.errors import ResultOverflowError

if TYPE_CHECKING:
    from pyspark.sql import Column

_SUM = "a sum does not fit I64"
_COUNT = "the pattern matches more often than I64 can count"
_MARK = "omnigraph overflow: "
# A little less than I64 holds, as in the engine.
_MOST_COUNTED = 9_200_000_000_000_000_000
_LEAST, _MOST = -(2**63), 2**63 - 1
# What Spark says of 64-bit integers. Only counts are added and multiplied as such.
_LONG = "ARITHMETIC_OVERFLOW"


def check_count(number: "Column") -> "Column":
    """Return a count, which is a 64-bit integer; the job fails when it is more than we count."""
    fits = number <= fn.lit(_MOST_COUNTED)
    return fn.when(fits, number).when(number.isNotNull(), _raise(_COUNT))


def sum_counts(counts: "Column") -> "Column":
    """Return the sum of counts as a 64-bit integer; the job fails when it does not fit."""
    return check_count(fn.sum(counts))


def check_sum(number: "Column") -> "Column":
    """Return true for a sum that fits 64 bits; the job fails when it does not fit."""
    least, most = (fn.lit(str(bound)).cast("decimal(38,0)") for bound in (_LEAST, _MOST))
    inside = number.isNull() | number.between(least, most)
    return fn.when(inside, fn.lit(col=True)).otherwise(_raise(_SUM).cast("boolean"))


def find_overflow(failed: Exception) -> ResultOverflowError | None:
    """Return the overflow that made a job fail, or None if something else did."""
    text = str(failed)
    if _LONG in text:
        return ResultOverflowError(_COUNT)
    return next(
        (ResultOverflowError(each) for each in (_SUM, _COUNT) if f"{_MARK}{each}" in text), None
    )


def _raise(message: str) -> "Column":
    return fn.raise_error(fn.lit(f"{_MARK}{message}")).cast("bigint")
