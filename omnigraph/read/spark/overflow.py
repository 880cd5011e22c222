"""Overflow: numbers of a query on Spark that do not fit their type, which is an error."""

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


def check_count(number: "Column") -> "Column":
    """Give a count as a whole number of 64 bits; raises in the job when it does not fit."""
    fits = number <= fn.lit(str(_MOST_COUNTED)).cast("decimal(38,0)")
    return fn.when(fits, number.cast("bigint")).when(number.isNotNull(), _raise(_COUNT))


def check_sum(number: "Column") -> "Column":
    """Tell that a sum fits 64 bits; raises in the job when it does not."""
    least, most = (fn.lit(str(bound)).cast("decimal(38,0)") for bound in (_LEAST, _MOST))
    inside = number.isNull() | number.between(least, most)
    return fn.when(inside, fn.lit(col=True)).otherwise(_raise(_SUM).cast("boolean"))


def find_overflow(failed: Exception) -> ResultOverflowError | None:
    """Give the error that a failed job tells of, if it is that a number does not fit."""
    text = str(failed)
    return next(
        (ResultOverflowError(each) for each in (_SUM, _COUNT) if f"{_MARK}{each}" in text), None
    )


def _raise(message: str) -> "Column":
    return fn.raise_error(fn.lit(f"{_MARK}{message}")).cast("bigint")
