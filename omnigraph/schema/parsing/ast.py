"""The syntax tree of a `.pg` schema, as written."""

from dataclasses import field
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.schema.types import ValueType
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeBounds:
    """`0..150`, `..1.5` or `0..`: both ends belong to the range."""

    minimum: int | float | None
    maximum: int | float | None
    span: Span = field(compare=False, repr=False)


Argument: TypeAlias = Name | Literal | RangeBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """`@name`, `@name(value)`, `@name(value, option=value)` or `@card(0..1)`."""

    name: str
    value: Argument | None = None
    options: tuple[tuple[str, Literal], ...] = ()
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """`@unique(a, b)`, `@range(age, 0..150)`, `@check(code, "^[A-Z]+$")` in a body."""

    kind: str
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """`name: String? @index`."""

    name: Name
    type: ValueType
    nullable: bool
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """`interface Named { name: String }`."""

    name: Name
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`node Person implements Named { … }`."""

    name: Name
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[Name, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`edge Knows: Person -> Person @card(0..) { … }`."""

    name: Name
    source: Name
    target: Name
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()


Declaration: TypeAlias = Interface | Node | Edge


@dataclass(frozen=True, slots=True)
class Schema:
    """All declarations of a text, in their order."""

    declarations: tuple[Declaration, ...]
