"""Capacity: a column of Arrow holds at most 2 GiB of text; more of it is too much for a query."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.errors import BudgetError

# The bytes that 32 bits count, from the beginning of a column to the end of its last text.
MOST_TEXT = 2**31 - 1
# What Arrow says of columns that it puts together or picks rows of.
_OVERFLOWS = ("offset overflow", "overflowed binary array capacity")


@contextmanager
def within_capacity() -> Iterator[None]:
    """Raise BudgetError where Arrow says that a column has too much text."""
    try:
        yield
    except pa.ArrowCapacityError:
        raise _too_much_text() from None
    except pa.ArrowInvalid as failed:
        if not any(each in str(failed) for each in _OVERFLOWS):
            raise
        raise _too_much_text() from None


def check_repeated(value: pa.Scalar, count: int) -> None:
    """Raise BudgetError if a text is too long to be repeated so often; Arrow does not notice."""
    is_text = pa.types.is_string(value.type) or pa.types.is_binary(value.type)
    if is_text and value.is_valid and value.as_buffer().size * count > MOST_TEXT:
        raise _too_much_text()


def _too_much_text() -> BudgetError:
    message = f"the query needs a column with more than {(MOST_TEXT + 1) >> 30} GiB of text"
    hint = "read fewer rows at a time, or shorter texts"
    return BudgetError(message, limit="bytes", hint=hint)
