"""Comparing: which types an operator takes on its two sides."""

from collections.abc import Sequence

from omnigraph.errors import Code
from omnigraph.query.expr import (
    CollectedType,
    Constant,
    EntityType,
    Expr,
    ListOf,
    ObjectType,
    ParamRef,
    ResultType,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.types import (
    F32,
    F64,
    FLOATS,
    I32,
    I64,
    STRING,
    U32,
    U64,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    ValueType,
    is_number,
    is_ordered,
    is_single,
    is_text,
)
from omnigraph.schema.values import BadValue, coerce

_ORDERING = (Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL)
_WIDER = {
    I32: {I64, F64},
    U32: {I64, U64, F64},
    F32: {F64},
}


def type_of(expr: Expr) -> "ValueType | EntityType | None":
    """Return the type of an expression that has one value for a row; None for an empty list."""
    found = result_type_of(expr)
    assert not isinstance(found, CollectedType | ObjectType), "a list that is made is only shown"
    return found


def result_type_of(expr: Expr) -> ResultType | None:
    """Return the type of anything that a result can show; None for an empty list."""
    if isinstance(expr, ListOf):
        return None if expr.item is None else ListType(expr.item)
    return expr.type


def type_name(expr: Expr) -> str:
    """Return the type of an expression as messages name it."""
    kind = type_of(expr)
    if isinstance(kind, EntityType):
        return f"a {kind} {kind.kind}"
    return "an empty list" if kind is None else str(kind)


def compatible(left: ValueType, right: ValueType) -> bool:
    """Return whether values of two types can be equal: numbers, the same type, enum and String."""
    if left == right or (is_number(left) and is_number(right)):
        return True
    return STRING in (left, right) and is_text(left) and is_text(right)


def operator_problem(left: Expr, operator: Operator, right: Expr) -> tuple[Code, str] | None:
    """Return code and reason if an operator does not take these two sides, or None."""
    left_type, right_type = type_of(left), type_of(right)
    if isinstance(left_type, EntityType) or isinstance(right_type, EntityType):
        return _entity_problem(left_type, operator, right_type)
    match operator:
        case Operator.IN:
            return _member_problem(left_type, right_type, "in")
        case Operator.CONTAINS if left_type is None or isinstance(left_type, ListType):
            return _member_problem(right_type, left_type, "contains")
        case Operator.CONTAINS | Operator.STARTS_WITH:
            return _text_problem(left_type, operator, right_type)
        case _:
            return _plain_problem(left_type, operator, right_type)


def enum_outsider(one: Expr, other: Expr) -> tuple[str, EnumType] | None:
    """Return a string constant that is compared with an enum without that value, or None."""
    kind = type_of(one)
    if not isinstance(kind, EnumType):
        return None
    constants = other.items if isinstance(other, ListOf) else (other,)
    for constant in constants:
        value = constant.value if isinstance(constant, Constant) else None
        if isinstance(value, str) and value not in kind.members:
            return value, kind
    return None


def match_width(one: Expr, other: Expr) -> Expr:
    """Return a number of the query as an F32 if it is compared with one.

    `0.1` would equal no F32 otherwise, because none of them is 0.1 to 64 bits. A whole number
    is exact, so one that no F32 equals stays as it is.
    """
    if type_of(other) not in (F32, ListType(Scalar.F32)):
        return one
    if isinstance(one, ListOf):
        items = tuple(match_width(item, other) for item in one.items)
        return ListOf(
            tuple(each for each in items if isinstance(each, Constant | ParamRef)), one.item
        )
    if not isinstance(one, Constant) or not is_number(one.type):
        return one
    try:
        narrow = coerce(one.value, F32)
    except BadValue:
        return one
    return Constant(narrow, F32) if isinstance(one.value, float) or narrow == one.value else one


def common_type(items: Sequence[Constant | ParamRef]) -> ValueType | None:
    """Return the type that holds every item of a list exactly, or None."""
    kinds = {item.type for item in items}
    if len(kinds) < 2:
        return next(iter(kinds), None)
    wide = (F64,) if kinds & FLOATS else (I64, U64)
    return next((kind for kind in wide if all(_holds(kind, item) for item in items)), None)


def _holds(kind: ScalarType, item: Constant | ParamRef) -> bool:
    """Return whether a type of numbers holds a value, or every value of a parameter."""
    if isinstance(item, ParamRef):
        return item.type == kind or assignable(item.type, kind)
    try:
        return bool(coerce(item.value, kind) == item.value)
    except BadValue:
        return False


def assignable(source: ValueType, target: ValueType) -> bool:
    """Return whether a parameter of one type can be stored in a property of another, unchanged."""
    if source == target or (is_text(target) and source == STRING):
        return True
    if isinstance(source, EnumType):
        return target == STRING
    return isinstance(source, ScalarType) and target in _WIDER.get(source, ())


def integer_type(value: int) -> ValueType:
    """Return the type of an integer literal."""
    return I64 if value < 2**63 else U64


def _entity_problem(
    left: "ValueType | EntityType | None",
    operator: Operator,
    right: "ValueType | EntityType | None",
) -> tuple[Code, str] | None:
    if not isinstance(left, EntityType) or not isinstance(right, EntityType):
        return _unsuitable(
            "a node or edge cannot be compared with a value; compare one of its properties"
        )
    if operator not in (Operator.EQUAL, Operator.NOT_EQUAL):
        return _unsuitable(f"'{operator}' does not compare nodes or edges; '=' and '!=' do")
    if left.kind != right.kind or not set(left.types) & set(right.types):
        return _mismatch(f"{left} and {right} are different types and never equal")
    return None


def _plain_problem(
    left: ValueType | None, operator: Operator, right: ValueType | None
) -> tuple[Code, str] | None:
    for kind in (left, right):
        if kind is None or isinstance(kind, ListType):
            return _unsuitable(f"'{operator}' does not compare lists; use 'contains' or 'in'")
        if not is_single(kind):
            return _unsuitable(f"'{operator}' does not compare {kind} values")
    assert left is not None
    assert right is not None
    if operator in _ORDERING and not (is_ordered(left) and is_ordered(right)):
        return _unsuitable(f"'{operator}' needs ordered values; Bool has no order")
    if compatible(left, right):
        return None
    return _mismatch(f"{left} and {right} cannot be compared")


def _member_problem(
    item: ValueType | None, members: ValueType | None, word: str
) -> tuple[Code, str] | None:
    if members is None:
        return None
    if not isinstance(members, ListType):
        return _unsuitable(f"'{word}' needs a list, not {members}")
    if item is None or not is_single(item):
        return _unsuitable(f"'{word}' looks for one value in a list, not for {item or 'a list'}")
    kind = ScalarType(members.item)
    return None if compatible(item, kind) else _mismatch(f"{item} cannot be in a list of {kind}")


def _text_problem(
    left: ValueType | None, operator: Operator, right: ValueType | None
) -> tuple[Code, str] | None:
    if left is None or right is None or not (is_text(left) and is_text(right)):
        return _unsuitable(f"'{operator}' needs a String on both sides")
    return None


def _mismatch(reason: str) -> tuple[Code, str]:
    return Code.TYPE_MISMATCH, reason


def _unsuitable(reason: str) -> tuple[Code, str]:
    return Code.UNSUITABLE_OPERATOR, reason
