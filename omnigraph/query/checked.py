"""Checked: a query with every name resolved and every expression typed, not yet ordered."""

from enum import StrEnum
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.query.expr import (
    Call,
    ColumnRef,
    Constant,
    EntityKind,
    EntityType,
    Expr,
    Known,
    ParamRef,
    Predicate,
    PropertyRef,
)
from omnigraph.query.parsing.ast import Hops
from omnigraph.schema.parsing.type_parser import TypeRef


class Direction(StrEnum):
    """How an edge is followed from the source variable to the target variable."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


_FLIPPED = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundVariable:
    """A variable that a pattern binds; `interface` is the one it was declared with, if any.

    A variable without any type is one whose problem was reported already.
    """

    name: str
    type: EntityType
    interface: str | None = None
    optional: bool = False

    @property
    def is_node(self) -> bool:
        return self.type.kind is EntityKind.NODE


@dataclass(frozen=True, slots=True)
class Step:
    """One edge type and the direction in which it is followed."""

    edge: str
    direction: Direction

    def flipped(self) -> "Step":
        """Return the step as it is followed from its other end."""
        return Step(self.edge, _FLIPPED.get(self.direction, self.direction))


@dataclass(frozen=True, slots=True)
class LinkPath:
    """The shortest paths of a traversal: one for each pair of nodes, or all.

    With a `weight`, a property of the edges, the shortest path is that of the least sum.
    """

    name: str
    keeps_all: bool
    weight: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A traversal with its edges and directions resolved."""

    source: str
    target: str
    steps: tuple[Step, ...]
    hops: Hops
    edge_variable: str | None = None
    path: LinkPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A match block, or the inside of `not`, `optional` or `exists`.

    `marks` are the patterns of `exists { … }`, by the columns that filters read of them.
    """

    bound: tuple[BoundVariable, ...] = ()
    outer: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    filters: tuple[Predicate, ...] = ()
    negations: tuple["Pattern", ...] = ()
    optionals: tuple["Pattern", ...] = ()
    marks: tuple[tuple[str, "Pattern"], ...] = ()


def types_read(pattern: Pattern) -> set[str]:
    """Return the node and edge types that a pattern reads."""
    found = {name for each in pattern.bound for name in each.type.types}
    found |= {step.edge for link in pattern.links for step in link.steps}
    for inner in (*pattern.negations, *pattern.optionals, *(each for _, each in pattern.marks)):
        found |= types_read(inner)
    return found


@dataclass(frozen=True, slots=True)
class Column:
    """A named expression of the result."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class OrderKey:
    """An expression to sort by; nulls come first ascending and last descending."""

    expr: Expr
    descending: bool


RowCount: TypeAlias = Constant | ParamRef
# Known beforehand, or computed from the row that is changed or from what is matched.
Assigned: TypeAlias = Known | PropertyRef | Call | ColumnRef


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRead:
    """A read that was checked against the catalog."""

    pattern: Pattern
    columns: tuple[Column, ...]
    grouped: bool
    distinct: bool
    having: tuple[Predicate, ...]
    order: tuple[OrderKey, ...]
    skip: RowCount | None
    limit: RowCount | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedUnion:
    """Reads of the same columns; the keys of the order are columns, or computed from them."""

    reads: tuple[CheckedRead, ...]
    keeps_all: bool
    order: tuple[OrderKey, ...]
    skip: RowCount | None
    limit: RowCount | None


@dataclass(frozen=True, slots=True)
class Insert:
    """A new row, or new values for the row with the same key, which keeps its others."""

    kind: EntityKind
    type: str
    values: tuple[tuple[str, Assigned], ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """A whole row: a new one, or in place of the row with the same key."""

    kind: EntityKind
    type: str
    values: tuple[tuple[str, Assigned], ...]


@dataclass(frozen=True, slots=True)
class Update:
    """New values for some properties of the rows that match."""

    kind: EntityKind
    type: str
    values: tuple[tuple[str, Assigned], ...]
    where: Predicate


@dataclass(frozen=True, slots=True)
class Delete:
    """Removal of the rows that match; for nodes, also of the edges that touch them."""

    kind: EntityKind
    type: str
    where: Predicate


@dataclass(frozen=True, slots=True)
class SetRows:
    """New values for some properties of the rows that a variable of a pattern stands for."""

    kind: EntityKind
    type: str
    variable: str
    values: tuple[tuple[str, Assigned], ...]


@dataclass(frozen=True, slots=True)
class FromMatch:
    """A change for each different set of values that the matches of a pattern have."""

    pattern: Pattern
    change: Insert | Replace | SetRows


CheckedStatement: TypeAlias = Insert | Replace | Update | Delete | FromMatch


@dataclass(frozen=True, slots=True)
class CheckedMutation:
    """Statements that were checked against the catalog."""

    statements: tuple[CheckedStatement, ...]


@dataclass(frozen=True, slots=True)
class ParamDecl:
    """A parameter that the query declares."""

    name: str
    type: TypeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuery:
    """A query that was checked against the catalog."""

    name: str
    params: tuple[ParamDecl, ...]
    body: CheckedRead | CheckedUnion | CheckedMutation
    description: str | None = None
    instruction: str | None = None
