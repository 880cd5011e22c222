"""Floats: nested operators of floats over columns, a block of rows at a time.

What is between two operators then stays in the processor's cache, and arguments of other types are
converted on the way. Where a result is not finite nothing is returned: whoever asks then computes
operator by operator and finds the row.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import Operand, is_array
from omnigraph.frozen import dataclass

# Rows of a block; some columns of it fit the second level of a cache.
_BLOCK = 1 << 15
_OPERATORS: dict[str, "np.ufunc"] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
FLOAT_OPERATORS = frozenset(_OPERATORS)


@dataclass(frozen=True, slots=True)
class FloatOperation:
    """An operator of `FLOAT_OPERATORS` and its two arguments, with a result of an Arrow type."""

    sign: str
    left: "FloatOperation | Operand"
    right: "FloatOperation | Operand"
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation as NumPy runs it; an argument is a step, an array without nulls or a number."""

    operator: "np.ufunc"
    type: "np.dtype[Any]"
    left: "_Argument"
    right: "_Argument"


_Argument: TypeAlias = "_Step | np.ndarray | float"


def operate(operation: FloatOperation) -> pa.Array | None:
    """Return the result for each row, null where a column is; None unless all are finite."""
    leaves = _leaves(operation)
    columns = [each for each in leaves if is_array(each)]
    if not columns or not all(is_array(each) or each.is_valid for each in leaves):
        return None
    count, step = len(columns[0]), _prepare(operation)
    found = np.empty(count, step.type)
    with np.errstate(all="ignore"):
        for first in range(0, count, _BLOCK):
            rows = slice(first, first + _BLOCK)
            if not np.isfinite(_compute(step, rows, found[rows])).all():
                return None
    missing = [np.asarray(each.is_null(), bool) for each in columns if each.null_count]
    return pa.array(found, mask=reduce(np.logical_or, missing) if missing else None)


def _leaves(of: "FloatOperation | Operand") -> "Sequence[Operand]":
    return [*_leaves(of.left), *_leaves(of.right)] if isinstance(of, FloatOperation) else [of]


def _prepare(operation: FloatOperation) -> _Step:
    kind = operation.type
    left, right = (_argument(each, kind) for each in (operation.left, operation.right))
    return _Step(_OPERATORS[operation.sign], np.dtype(kind.to_pandas_dtype()), left, right)


def _argument(of: "FloatOperation | Operand", kind: pa.DataType) -> _Argument:
    if isinstance(of, FloatOperation):
        return _prepare(of)
    if not is_array(of):
        number: float = of.cast(kind, safe=False).as_py()
        return number
    # Where there is no number any does, and dividing by this one is finite.
    known: np.ndarray = (
        pc.fill_null(of, pa.scalar(1, of.type)) if of.null_count else of
    ).to_numpy()
    return known


def _compute(of: _Argument, rows: slice, into: "np.ndarray | None" = None) -> "np.ndarray | float":
    """Return an argument for some rows; what is not finite in between is not so in the end."""
    if not isinstance(of, _Step):
        return of[rows] if isinstance(of, np.ndarray) else of
    left, right = _compute(of.left, rows), _compute(of.right, rows)
    found: np.ndarray = of.operator(left, right, out=into, dtype=of.type, casting="unsafe")
    if of.operator is np.divide and isinstance(of.right, _Step) and not np.isfinite(right).all():
        # A quotient by infinity would be a number.
        found = np.multiply(found, np.nan, out=into)
    return found
