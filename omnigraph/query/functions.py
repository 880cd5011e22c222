"""Functions: what can be computed from values, on which types, and the type of the result.

An operator is a function with a sign for a name. Null in any argument makes the result null, except
in `coalesce`.
"""

from collections.abc import Callable, Sequence

from omnigraph.frozen import dataclass
from omnigraph.schema.types import (
    DATE,
    DATETIME,
    F32,
    F64,
    FLOATS,
    I64,
    STRING,
    U64,
    ListType,
    ValueType,
    is_integer,
    is_number,
    is_text,
)

Types = Sequence[ValueType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of values: how it is written, what it takes, and the type of what it returns.

    `type_of` returns None for arguments that it does not take. One that can fail has arguments
    without a result: the sum of two large numbers, for instance.
    """

    name: str
    arguments: str
    summary: str
    takes: str
    least: int
    most: int
    type_of: Callable[[Types], ValueType | None]
    can_fail: bool = False

    @property
    def form(self) -> str:
        """The function as a query writes it."""
        return f"{self.name}({self.arguments})"


def common_number(types: Types) -> ValueType | None:
    """Return the type in which numbers of some types are computed."""
    if not all(map(is_number, types)):
        return None
    if any(kind in FLOATS for kind in types):
        return F32 if all(kind == F32 for kind in types) else F64
    return U64 if U64 in types else I64


def operation_type(operator: str, left: ValueType, right: ValueType) -> ValueType | None:
    """Return the type of `left operator right`, or None if there is no such operation."""
    if is_number(left) and is_number(right):
        return common_number((left, right))
    if operator == "+" and is_text(left) and is_text(right):
        return STRING
    if left in (DATE, DATETIME) and is_integer(right) and operator in ("+", "-"):
        return left
    if is_integer(left) and right in (DATE, DATETIME) and operator == "+":
        return right
    if operator == "-" and left == right == DATE:
        return I64
    return None


def _text(types: Types) -> ValueType | None:
    return STRING if is_text(types[0]) else None


def _length(types: Types) -> ValueType | None:
    return I64 if is_text(types[0]) or isinstance(types[0], ListType) else None


def _part(types: Types) -> ValueType | None:
    return STRING if is_text(types[0]) and all(map(is_integer, types[1:])) else None


def _first(types: Types) -> ValueType | None:
    if len(set(types)) == 1:
        return types[0]
    if all(map(is_text, types)):
        return STRING
    return common_number(types)


def _whole(types: Types) -> ValueType | None:
    """Return the type of a number of the same size: floats stay floats."""
    return types[0] if types[0] in FLOATS else common_number(types)


def _signed(types: Types) -> ValueType | None:
    kind = _whole(types)
    return I64 if kind == U64 else kind


def _calendar(types: Types) -> ValueType | None:
    return I64 if types[0] in (DATE, DATETIME) else None


def _one(
    name: str,
    argument: str,
    takes: str,
    summary: str,
    type_of: Callable[[Types], ValueType | None],
    *,
    can_fail: bool = False,
) -> Function:
    return Function(
        name=name,
        arguments=argument,
        summary=summary,
        takes=takes,
        least=1,
        most=1,
        type_of=type_of,
        can_fail=can_fail,
    )


_TEXT, _NUMBER, _DAY = "a String", "a number", "a Date or DateTime"
FUNCTIONS = {
    each.name: each
    for each in (
        _one("lower", "text", _TEXT, "the text in lower case", _text),
        _one("upper", "text", _TEXT, "the text in upper case", _text),
        _one("trim", "text", _TEXT, "the text without white space at its ends", _text),
        _one("length", "text", "a String or a list", "how many characters or items", _length),
        Function(
            name="substring",
            arguments="text, start, count",
            summary="the characters from `start`, counted from 0; `count` of them, or all",
            takes="a String and one or two whole numbers",
            least=2,
            most=3,
            type_of=_part,
            can_fail=True,
        ),
        Function(
            name="coalesce",
            arguments="value, other, …",
            summary="the first of the values that is not null",
            takes="values of one type",
            least=2,
            most=20,
            type_of=_first,
        ),
        _one("abs", "number", _NUMBER, "the number without its sign", _whole, can_fail=True),
        _one("round", "number", _NUMBER, "the nearest whole number, halves away from 0", _whole),
        _one("floor", "number", _NUMBER, "the nearest whole number below", _whole),
        _one("ceil", "number", _NUMBER, "the nearest whole number above", _whole),
        _one("year", "date", _DAY, "the year", _calendar),
        _one("month", "date", _DAY, "the month, from 1 to 12", _calendar),
        _one("day", "date", _DAY, "the day of the month, from 1 to 31", _calendar),
    )
}
SCALAR_FUNCTIONS = tuple(FUNCTIONS)


def negative_type(kind: ValueType) -> ValueType | None:
    """Return the type of `-value`, or None if the value is no number."""
    return _signed((kind,)) if is_number(kind) else None


def can_fail(function: str, kind: ValueType) -> bool:
    """Return whether some arguments of a function have no result, when it is of this type."""
    if function == "coalesce":
        # A whole number may be none of the floats, and a negative one no U64.
        return is_number(kind) and kind != I64
    if function in FUNCTIONS:
        return FUNCTIONS[function].can_fail
    return kind != STRING
