"""Expr: typed expressions, which check makes of the text and the engine computes."""

from collections.abc import Callable
from dataclasses import field, replace
from enum import StrEnum
from typing import ClassVar, TypeAlias, TypeGuard

from omnigraph.frozen import dataclass
from omnigraph.query.functions import can_fail
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.types import BOOL, DATETIME, F64, Scalar, ValueType
from omnigraph.schema.values import Value
from omnigraph.span import Span


class EntityKind(StrEnum):
    """Whether a variable stands for nodes or for edges."""

    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class EntityType:
    """A row of one of these node or edge types."""

    kind: EntityKind
    types: tuple[str, ...]

    def __str__(self) -> str:
        return "|".join(self.types)


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Named values, each of its own type."""

    fields: tuple[tuple[str, "ResultType"], ...]

    def __str__(self) -> str:
        return f"{{ {', '.join(f'{name}: {kind}' for name, kind in self.fields)} }}"


@dataclass(frozen=True, slots=True)
class CollectedType:
    """A list that a query makes, of anything that a result can hold."""

    item: "ResultType"

    def __str__(self) -> str:
        return f"[{self.item}]"


ResultType: TypeAlias = ValueType | EntityType | ObjectType | CollectedType


@dataclass(frozen=True, slots=True)
class Constant:
    """A value written in the query."""

    value: Value
    type: ValueType


@dataclass(frozen=True, slots=True)
class ParamRef:
    """A parameter, bound before anything is read."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Now:
    """The instant of the query, one for all its rows."""

    type: ClassVar[ValueType] = DATETIME


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are known before anything is read; of no type when it is empty."""

    items: tuple["Constant | ParamRef", ...]
    item: Scalar | None


@dataclass(frozen=True, slots=True)
class VariableRef:
    """A whole node or edge."""

    variable: str
    type: EntityType


@dataclass(frozen=True, slots=True)
class PropertyRef:
    """A property of a bound variable; in a mutation, of the row itself (no variable)."""

    variable: str | None
    property: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column that an earlier operator of the plan made."""

    column: str
    type: "ResultType"


def path_column(path: str, part: str) -> str:
    """Return the column that holds the nodes, the edges or the length of a path."""
    return f"#{path}.{part}"


# The beginning of the names of columns that say whether `exists { … }` has a match.
MARK = "#exists"


@dataclass(frozen=True, slots=True)
class EveryRow:
    """What `count(*)` counts: no row lacks it."""

    type: ClassVar[ValueType] = BOOL


class TextFunction(StrEnum):
    """How a text predicate matches."""

    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"


@dataclass(frozen=True, slots=True)
class TextMatch:
    """True for rows whose text matches the query."""

    function: TextFunction
    field: PropertyRef
    query: "Constant | ParamRef"
    edits: "Constant | ParamRef | None" = None

    type: ClassVar[ValueType] = BOOL


@dataclass(frozen=True, slots=True)
class Bm25:
    """The BM25 score of a text; only rows that match have one, a higher one is better."""

    field: PropertyRef
    query: "Constant | ParamRef"

    type: ClassVar[ValueType] = F64


@dataclass(frozen=True, slots=True)
class Nearest:
    """The cosine distance to a vector, or to the embedding of a text; a lower one is better."""

    field: PropertyRef
    query: "Constant | ParamRef"

    type: ClassVar[ValueType] = F64


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion of two or more rankings; a higher score is better."""

    rankings: tuple["Bm25 | Nearest", ...]
    k: "Constant | ParamRef"

    type: ClassVar[ValueType] = F64


Ranking: TypeAlias = Bm25 | Nearest | Rrf


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count`, `sum`, `avg`, `min` or `max` over the rows of a group; nulls do not count."""

    function: str
    argument: "VariableRef | PropertyRef | ColumnRef | Call | EveryRow"
    distinct: bool
    type: ValueType


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object of a list: the names and values of its fields."""

    fields: tuple[tuple[str, "Expr"], ...]
    type: ObjectType


@dataclass(frozen=True, slots=True)
class SortKey:
    """An expression to sort the items of a list by."""

    expr: "Expr"
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """The items of a group's rows as a list, in order; those without any value are left out.

    Items of equal keys are in the order of the ids of `ties`. With lists in its objects, an item
    stands for all rows of the same nodes and edges in its other fields.
    """

    item: "Expr"
    distinct: bool
    order: tuple[SortKey, ...]
    ties: tuple[VariableRef, ...]
    limit: "Constant | ParamRef | None"
    type: CollectedType


@dataclass(frozen=True, slots=True)
class PathPart:
    """The nodes or the edges of a path, as a list."""

    path: str
    part: str
    type: CollectedType


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator of values, computed for each row."""

    function: str
    arguments: tuple["Expr", ...]
    type: ValueType
    span: Span = field(compare=False, repr=False)

    @property
    def can_fail(self) -> bool:
        """Whether some arguments have no result."""
        return can_fail(self.function, self.type)


@dataclass(frozen=True, slots=True)
class Comparison:
    """True when both sides are not null and compare as the operator says."""

    left: "Expr"
    operator: Operator
    right: "Expr"


@dataclass(frozen=True, slots=True)
class NullTest:
    """True when the operand is null, or is not when negated."""

    operand: "Expr"
    negated: bool


@dataclass(frozen=True, slots=True)
class And:
    """True when all items are."""

    items: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when any item is."""

    items: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True when the item is false; a comparison with null is neither."""

    item: "Predicate"


# Known before anything is read, and the same for all rows.
Known: TypeAlias = Constant | ParamRef | Now | ListOf
Expr: TypeAlias = (
    Known
    | VariableRef
    | PropertyRef
    | ColumnRef
    | EveryRow
    | TextMatch
    | Bm25
    | Nearest
    | Rrf
    | Aggregate
    | ObjectOf
    | Collect
    | PathPart
    | Call
)
Predicate: TypeAlias = Comparison | NullTest | And | Or | Not | TextMatch


_LEAVES = {Constant, ParamRef, Now, VariableRef, PropertyRef, ColumnRef, EveryRow, PathPart}


def parts(node: "Expr | Predicate") -> "list[Expr | Predicate]":
    """Return a node and everything inside it, from the outside in."""
    found = [node]
    if type(node) not in _LEAVES:
        for child in children(node):
            found += parts(child)
    return found


def children(node: "Expr | Predicate") -> "tuple[Expr | Predicate, ...]":
    """Return the direct parts of a node."""
    match node:
        case Comparison(left, _, right):
            return (left, right)
        case NullTest(operand, _):
            return (operand,)
        case And(items) | Or(items):
            return items
        case Not(item):
            return (item,)
        case TextMatch(_, field, query, edits):
            return (field, query) if edits is None else (field, query, edits)
        case Bm25(field, query) | Nearest(field, query):
            return (field, query)
        case Rrf(rankings, k):
            return (*rankings, k)
        case Aggregate(argument=argument):
            return (argument,)
        case Call(arguments=arguments):
            return arguments
        case ObjectOf(fields):
            return tuple(value for _, value in fields)
        case Collect(item=item, order=order, ties=ties):
            return (item, *(key.expr for key in order), *ties)
        case ListOf(items, _):
            return items
        case _:
            return ()


def calls_more(node: "Expr | Predicate", most: int) -> bool:
    """Return whether a node has more operators and functions inside it than so many.

    It stops counting there: shared parts count as often as they occur, which may be millions of
    times.
    """
    waiting, calls = [node], 0
    while waiting and calls <= most:
        each = waiting.pop()
        calls += isinstance(each, Call)
        waiting += children(each)
    return calls > most


def shown_variables(expr: "Expr") -> "list[VariableRef]":
    """Return the variables that an expression shows as whole objects."""
    match expr:
        case VariableRef():
            return [expr]
        case Collect(item=item):
            return shown_variables(item)
        case ObjectOf(fields):
            return [found for _, value in fields for found in shown_variables(value)]
        case _:
            return []


def counts_rows(node: "Expr | Predicate") -> "TypeGuard[Aggregate]":
    """Return whether a node counts the rows of a variable, of which nothing else is read."""
    match node:
        case Aggregate("count", VariableRef(), distinct=False):
            return True
        case _:
            return False


def may_fail(node: "Expr | Predicate") -> bool:
    """Return whether a node computes something that has no result for some rows."""
    return any(isinstance(part, Call) and part.can_fail for part in parts(node))


def variables(node: "Expr | Predicate") -> set[str]:
    """Return the names of the variables that a node reads."""
    found: set[str] = set()
    for part in parts(node):
        if isinstance(part, VariableRef) or (isinstance(part, PropertyRef) and part.variable):
            assert part.variable is not None
            found.add(part.variable)
    return found


def reads_rows(node: "Expr | Predicate") -> bool:
    """Return whether a node reads something that each row has a value of its own for."""
    return bool(variables(node) or columns_of(node))


def columns_of(node: "Expr | Predicate") -> set[str]:
    """Return the columns of earlier operators that a node reads."""
    return {part.column for part in parts(node) if isinstance(part, ColumnRef)}


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the parts of a conjunction, nested ones flattened."""
    if isinstance(predicate, And):
        return tuple(part for item in predicate.items for part in conjuncts(item))
    return (predicate,)


def equality(predicate: Predicate) -> tuple[PropertyRef, Constant | ParamRef] | None:
    """Return the property and the value of `property = value`, or None for other predicates."""
    if not isinstance(predicate, Comparison) or predicate.operator is not Operator.EQUAL:
        return None
    match (predicate.left, predicate.right):
        case (PropertyRef() as found, Constant() | ParamRef() as value):
            return found, value
        case (Constant() | ParamRef() as value, PropertyRef() as found):
            return found, value
        case _:
            return None


def map_leaves(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with `change` applied to everything that it is computed from."""
    if not isinstance(expr, Call):
        return change(expr)
    return replace(expr, arguments=tuple(map_leaves(each, change) for each in expr.arguments))


def map_operands(predicate: Predicate, change: Callable[[Expr], Expr]) -> Predicate:
    """Return the predicate with `change` applied to every expression in it."""
    match predicate:
        case Comparison(left, operator, right):
            return Comparison(change(left), operator, change(right))
        case NullTest(operand, negated):
            return NullTest(change(operand), negated)
        case And(items):
            return And(tuple(map_operands(item, change) for item in items))
        case Or(items):
            return Or(tuple(map_operands(item, change) for item in items))
        case Not(item):
            return Not(map_operands(item, change))
        case TextMatch():
            found = change(predicate)
            if isinstance(found, TextMatch):
                return found
            return Comparison(found, Operator.EQUAL, Constant(value=True, type=BOOL))
