"""The syntax tree of `.gq` queries, as written: names unresolved, types unknown."""

from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, Name


class Operator(StrEnum):
    """An operator of a comparison."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IN = "in"


# The operator that says the same of a comparison whose sides are exchanged.
TURNED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.LESS_EQUAL: Operator.GREATER_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_EQUAL: Operator.LESS_EQUAL,
}


@dataclass(frozen=True, slots=True)
class Variable:
    """`$p`: a bound variable or a parameter."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    """`$p.name`."""

    variable: Variable
    key: Name

    @property
    def span(self) -> Span:
        return self.variable.span.to(self.key.span)


@dataclass(frozen=True, slots=True)
class AllProperties:
    """`$p.*`: a column for each property."""

    variable: Variable
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Star:
    """The `*` of `count(*)`."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`count(distinct $p)`, `bm25($d.text, $q)`, `now()`: a function and its arguments."""

    function: str
    arguments: tuple["Expr", ...]
    span: Span = field(compare=False, repr=False)
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class ListExpr:
    """`[1, 2, $n]`."""

    items: tuple["Expr", ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ObjectExpr:
    """`{ title: $d.title, words: length($d.text) }`, inside `collect`."""

    fields: tuple[tuple[Name, "Expr"], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """`collect(distinct $d.title order { $d.title desc } limit 3)`: a list for each group."""

    item: "Expr"
    distinct: bool = False
    order: tuple["Ordering", ...] = ()
    limit: "RowBound | None" = None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$p.age + 1`, `$p.first + " " + $p.last`."""

    left: "Expr"
    operator: str
    right: "Expr"
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """`-$p.balance`; a number with its sign is a literal."""

    operand: "Expr"
    span: Span = field(compare=False, repr=False)


# A bare name is an alias in return, having and order, and a property in where and set.
Expr: TypeAlias = (
    Literal
    | Variable
    | PropertyAccess
    | AllProperties
    | Star
    | Name
    | FunctionCall
    | ListExpr
    | ObjectExpr
    | Collect
    | Arithmetic
    | Negative
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`$p.age > 30`."""

    left: Expr
    operator: Operator
    right: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NullTest:
    """`$p.age is null`, `$p.age is not null`."""

    operand: Expr
    negated: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    """All of two or more predicates."""

    items: tuple["Predicate", ...]

    @property
    def span(self) -> Span:
        return self.items[0].span.to(self.items[-1].span)


@dataclass(frozen=True, slots=True)
class Or:
    """Any of two or more predicates."""

    items: tuple["Predicate", ...]

    @property
    def span(self) -> Span:
        return self.items[0].span.to(self.items[-1].span)


@dataclass(frozen=True, slots=True)
class Not:
    """`not` before a predicate."""

    item: "Predicate"
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists { … }`: whether the pattern has a match for a row."""

    clauses: tuple["Clause", ...]
    span: Span = field(compare=False, repr=False)


# A call is a predicate when it is a text search.
Predicate: TypeAlias = Comparison | NullTest | And | Or | Not | Exists | FunctionCall


@dataclass(frozen=True, slots=True)
class Binding:
    """`$p: Person { name: "Alice" }`."""

    variable: Variable
    type: Name
    values: tuple[tuple[Name, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeName:
    """`knows`, or `<knows>` for either direction."""

    name: Name
    undirected: bool = False


@dataclass(frozen=True, slots=True)
class Hops:
    """`{1,3}`: how many edges a traversal follows; no maximum means any number."""

    minimum: int = 1
    maximum: int | None = 1
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_single(self) -> bool:
        """Whether exactly one edge is followed."""
        return self.minimum == 1 and self.maximum == 1


@dataclass(frozen=True, slots=True)
class PathName:
    """`as $path all shortest`, `as $path shortest by $e.weight`: the way that a traversal goes."""

    variable: Variable
    keeps_all: bool
    by: PropertyAccess | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traversal:
    """`$a knows|likes {1,3} $b`: follow edges from one variable to another."""

    source: Variable
    edges: tuple[EdgeName, ...]
    target: Variable
    hops: Hops = Hops()
    edge_variable: Variable | None = None
    path: PathName | None = None

    @property
    def span(self) -> Span:
        return self.source.span.to(self.target.span)


@dataclass(frozen=True, slots=True)
class Filter:
    """A predicate that stands as a clause of its own."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Negation:
    """`not { … }`: keeps the rows for which the pattern has no match."""

    clauses: tuple["Clause", ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OptionalMatch:
    """`optional { … }`: keeps every row, with nulls where the pattern has no match."""

    clauses: tuple["Clause", ...]
    span: Span = field(compare=False, repr=False)


Clause: TypeAlias = Binding | Traversal | Filter | Negation | OptionalMatch


@dataclass(frozen=True, slots=True)
class Projection:
    """`$p.name as name`."""

    expr: Expr
    alias: Name | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """`$p.age desc`; None when no direction is written."""

    expr: Expr
    descending: bool | None = None


RowBound: TypeAlias = Literal | Variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """`match { … } return { … }` and what may follow."""

    match: tuple[Clause, ...]
    projections: tuple[Projection, ...]
    distinct: bool = False
    having: tuple[Predicate, ...] = ()
    order: tuple[Ordering, ...] = ()
    skip: RowBound | None = None
    limit: RowBound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """`match … return … union match … return …`: the rows of several reads.

    Each different row is kept once, or with `union all` as often as it is there.
    """

    reads: tuple[Read, ...]
    keeps_all: bool
    order: tuple[Ordering, ...] = ()
    skip: RowBound | None = None
    limit: RowBound | None = None


Assignments: TypeAlias = tuple[tuple[Name, Expr], ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """`insert Person { name: $name }`."""

    type: Name
    assignments: Assignments


@dataclass(frozen=True, slots=True)
class Replace:
    """`replace Person { name: $name }`."""

    type: Name
    assignments: Assignments


@dataclass(frozen=True, slots=True)
class Update:
    """`update Person set { age: $age } where name = $name`."""

    type: Name
    assignments: Assignments
    where: Predicate


@dataclass(frozen=True, slots=True)
class Delete:
    """`delete Person where name = $name`."""

    type: Name
    where: Predicate


@dataclass(frozen=True, slots=True)
class SetVariable:
    """`set $p { score: $n }`, after a match."""

    variable: Variable
    assignments: Assignments


@dataclass(frozen=True, slots=True)
class FromMatch:
    """`match { … } insert Knows { from: $a, to: $b }`: a change for each match."""

    match: tuple[Clause, ...]
    change: Insert | Replace | SetVariable
    span: Span = field(compare=False, repr=False)


Statement: TypeAlias = Insert | Replace | Update | Delete | FromMatch


@dataclass(frozen=True, slots=True)
class Mutation:
    """One or more statements that become one commit."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Param:
    """`$name: String?`."""

    name: Name
    type: TypeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`query name($p: T) { … }`."""

    name: Name
    params: tuple[Param, ...]
    body: Read | Union | Mutation
    description: str | None = None
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class QueryFile:
    """All queries of a text, in their order."""

    queries: tuple[Query, ...]
