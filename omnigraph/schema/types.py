"""Types: the types of values that a property or a parameter can have."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from omnigraph.frozen import dataclass


class Scalar(StrEnum):
    """The base types, by the names that both languages use."""

    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One value of a base type."""

    scalar: Scalar

    def __str__(self) -> str:
        return str(self.scalar)


@dataclass(frozen=True, slots=True)
class ListType:
    """Any number of values of one base type."""

    item: Scalar

    def __str__(self) -> str:
        return f"[{self.item}]"


@dataclass(frozen=True)
class EnumType:
    """One string out of a closed set, sorted and without duplicates."""

    values: tuple[str, ...]

    @cached_property
    def members(self) -> frozenset[str]:
        """The values, to look one up."""
        return frozenset(self.values)

    def __str__(self) -> str:
        return f"enum({', '.join(self.values)})"


@dataclass(frozen=True, slots=True)
class VectorType:
    """A fixed number of 32-bit floats."""

    dimension: int

    def __str__(self) -> str:
        return f"Vector({self.dimension})"


ValueType: TypeAlias = ScalarType | ListType | EnumType | VectorType

STRING = ScalarType(Scalar.STRING)
BLOB = ScalarType(Scalar.BLOB)
BOOL = ScalarType(Scalar.BOOL)
I32 = ScalarType(Scalar.I32)
I64 = ScalarType(Scalar.I64)
U32 = ScalarType(Scalar.U32)
U64 = ScalarType(Scalar.U64)
F32 = ScalarType(Scalar.F32)
F64 = ScalarType(Scalar.F64)
DATE = ScalarType(Scalar.DATE)
DATETIME = ScalarType(Scalar.DATETIME)

INTEGER_BOUNDS: dict[ValueType, tuple[int, int]] = {
    I32: (-(2**31), 2**31 - 1),
    I64: (-(2**63), 2**63 - 1),
    U32: (0, 2**32 - 1),
    U64: (0, 2**64 - 1),
}
INTEGERS = frozenset(INTEGER_BOUNDS)
FLOATS = frozenset((F32, F64))
NUMBERS = INTEGERS | FLOATS
MOST_DIMENSIONS = 2**31 - 1


def enum_of(values: Iterable[str]) -> EnumType:
    """Return the enum of these values, sorted and without duplicates."""
    return EnumType(tuple(sorted(set(values))))


def is_number(kind: object) -> bool:
    return isinstance(kind, ScalarType) and kind in NUMBERS


def is_integer(kind: object) -> bool:
    return isinstance(kind, ScalarType) and kind in INTEGERS


def is_text(kind: ValueType) -> bool:
    """Return whether values are strings: a String or an enum."""
    return kind == STRING or isinstance(kind, EnumType)


def is_single(kind: ValueType) -> bool:
    """Return whether values are single and comparable: not a list, a vector or a blob."""
    return kind != BLOB and isinstance(kind, ScalarType | EnumType)


def is_ordered(kind: ValueType) -> bool:
    """Return whether values can be compared by `<`."""
    return is_single(kind) and kind != BOOL
