"""Type parser: value types of both languages: `String?`, `[I64]`, `Vector(3)`, `enum(a, b)`."""

import re

from omnigraph.frozen import dataclass
from omnigraph.schema.types import (
    BLOB,
    MOST_DIMENSIONS,
    ListType,
    Scalar,
    ScalarType,
    ValueType,
    VectorType,
    enum_of,
)
from omnigraph.syntax.cursor import Cursor
from omnigraph.syntax.problems import suggest

_SCALARS = {scalar.value: ScalarType(scalar) for scalar in Scalar}
_ENUM_VALUE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A value type and whether null is allowed."""

    type: ValueType
    nullable: bool

    def __str__(self) -> str:
        return f"{self.type}?" if self.nullable else str(self.type)


def parse_type(cursor: Cursor) -> TypeRef:
    """Take a value type and the `?` that may follow it."""
    kind = _core(cursor)
    return TypeRef(kind, cursor.accept("?") is not None)


def _core(cursor: Cursor) -> ValueType:
    if cursor.accept("["):
        return _list(cursor)
    if cursor.at_word("enum"):
        cursor.advance()
        cursor.expect("(")
        return enum_of(cursor.comma_list(lambda: _enum_value(cursor), ")"))
    if cursor.at_word("Vector"):
        cursor.advance()
        return _vector(cursor)
    return _scalar(cursor)


def _scalar(cursor: Cursor) -> ScalarType:
    token = cursor.token
    found = _SCALARS.get(token.text) if token.kind == "word" else None
    if found is None:
        known = f"the types are {', '.join(_SCALARS)}, Vector(n), enum(…) and [T]"
        hint = suggest(token.text, [*_SCALARS, "Vector", "enum"]) or known
        cursor.fail_expecting("a type", hint)
    cursor.advance()
    return found


def _list(cursor: Cursor) -> ListType:
    token = cursor.token
    if cursor.at("[") or cursor.at_word("Vector", "enum"):
        cursor.fail(token.span, "a list has items of a base type, not lists, vectors or enums")
    item = _scalar(cursor)
    if item == BLOB:
        cursor.fail(token.span, "a list cannot have Blob items")
    cursor.expect("]")
    return ListType(item.scalar)


def _vector(cursor: Cursor) -> VectorType:
    cursor.expect("(", hint="write the dimension: Vector(384)")
    dimension = cursor.whole("the dimension")
    assert isinstance(dimension.value, int)
    if not 1 <= dimension.value <= MOST_DIMENSIONS:
        cursor.fail(dimension.span, f"a vector must have 1 to {MOST_DIMENSIONS:,} dimensions")
    cursor.expect(")")
    return VectorType(dimension.value)


def _enum_value(cursor: Cursor) -> str:
    """Take letters, digits, `_` and `-` without a gap, or a quoted string of them."""
    first = cursor.token
    text, end = "", first.start
    while cursor.token.start == end and cursor.token.kind in ("word", "int", "float", "-"):
        token = cursor.advance()
        text, end = text + token.text, token.end
    if cursor.at("string") and not text:
        text = str(cursor.string("a value of the enum").value)
    if not text:
        cursor.fail_expecting("a value of the enum")
    if not _ENUM_VALUE.fullmatch(text):
        message = "an enum value consists of letters, digits, '_' and '-'"
        cursor.fail(first.span, message)
    return text
