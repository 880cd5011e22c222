"""Plan: a query as data: a pipeline of operators that can be printed and rewritten."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.query.checked import (
    Column,
    Delete,
    Insert,
    LinkPath,
    OrderKey,
    ParamDecl,
    Replace,
    RowCount,
    SetRows,
    Step,
    Update,
)
from omnigraph.query.expr import Constant, ParamRef, Predicate, Ranking, ResultType, may_fail
from omnigraph.query.parsing.ast import Hops


@dataclass(frozen=True, slots=True)
class PointRead:
    """One row, found by its id; the id is given, or made from the values of the key."""

    by_key: bool
    values: tuple[Constant | ParamRef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScan:
    """Binds a variable to the nodes of its types; beside other variables, a cross product.

    `columns` are the properties that later operators read. Of a counted variable nothing is read,
    except by expands that are counted too: only how many there are matters, so that the rows can
    be multiplied instead of made.
    """

    variable: str
    types: tuple[str, ...]
    filters: tuple[Predicate, ...] = ()
    point: PointRead | None = None
    columns: tuple[str, ...] = ()
    counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand:
    """Follows edges from a bound variable to another.

    When it closes, the target is bound already and the rows without such a path go. Counted means
    the same as in a scan.
    """

    source: str
    target: str
    types: tuple[str, ...]
    steps: tuple[Step, ...]
    hops: Hops
    closes: bool = False
    filters: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()
    edge_variable: str | None = None
    edge_filters: tuple[Predicate, ...] = ()
    edge_columns: tuple[str, ...] = ()
    counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Finds the shortest paths from a bound variable to another, and names them.

    When it closes, the target is bound already. Backwards means that the path is found from its
    end, so that `source` is its last node. Each row has the path in columns of its own.
    """

    source: str
    target: str
    types: tuple[str, ...]
    steps: tuple[Step, ...]
    hops: Hops
    path: LinkPath
    closes: bool
    backwards: bool
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which the predicate is true."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """Keeps the rows for which the inner pipeline, seeded with them, has no match."""

    outer: tuple[str, ...]
    inner: tuple["Operator", ...]


@dataclass(frozen=True, slots=True)
class Optional:
    """Keeps every row, with the matches of the inner pipeline or with nulls."""

    outer: tuple[str, ...]
    binds: tuple[str, ...]
    inner: tuple["Operator", ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Adds a column that says whether the inner pipeline, seeded with a row, has a match."""

    column: str
    outer: tuple[str, ...]
    inner: tuple["Operator", ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """Adds a column of scores; rows without a score go when it restricts, else have null."""

    column: str
    ranking: Ranking
    restricts: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Makes one row for each different set of keys; without keys, exactly one."""

    keys: tuple[Column, ...]
    aggregates: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """Computes the named columns, in this order."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Keeps each different row once."""


@dataclass(frozen=True, slots=True)
class Order:
    """Sorts by the keys; ties are broken by the ids of these variables, or by these columns."""

    keys: tuple[OrderKey, ...]
    ties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """Drops the first `skip` rows and keeps `limit` of the others."""

    skip: RowCount | None
    limit: RowCount | None


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of several reads of the same columns, those of the first one first."""

    reads: tuple["ReadPlan", ...]


Operator: TypeAlias = (
    NodeScan
    | Expand
    | Path
    | Filter
    | AntiJoin
    | Optional
    | Mark
    | Rank
    | Aggregate
    | Project
    | Distinct
    | Order
    | Limit
    | Union
)


def flatten(operators: Iterable[Operator]) -> Iterator[Operator]:
    """Yield operators and those nested in them; the reads of a union are plans of their own."""
    for operator in operators:
        yield operator
        if isinstance(operator, AntiJoin | Optional | Mark):
            yield from flatten(operator.inner)


def types_gone_through(operators: Iterable[Operator]) -> set[str]:
    """Return the node and edge types whose tables operators go through."""
    found: set[str] = set()
    for operator in flatten(operators):
        if isinstance(operator, Union):
            found = found.union(*(types_gone_through(read.operators) for read in operator.reads))
        if isinstance(operator, NodeScan | Expand | Path):
            found |= set(operator.types)
        if isinstance(operator, Expand | Path):
            found |= {step.edge for step in operator.steps}
    return found


def can_precede_counting(operator: Operator) -> bool:
    """Return whether an operator can work on rows that are still to be multiplied, or dropped.

    A condition that can fail has to be asked about the rows of the pattern alone.
    """
    return isinstance(operator, Filter | AntiJoin | Optional | Mark) and not any(
        isinstance(each, Filter) and may_fail(each.predicate) for each in flatten((operator,))
    )


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the result and its type."""

    name: str
    type: ResultType


@dataclass(frozen=True, kw_only=True)
class ReadPlan:
    """A read as a pipeline; each operator works on the rows of the one before."""

    name: str
    params: tuple[ParamDecl, ...]
    operators: tuple[Operator, ...]
    columns: tuple[ResultColumn, ...]
    description: str | None = None
    instruction: str | None = None

    @cached_property
    def follows_edges(self) -> bool:
        """Whether an operator goes along edges, so that patterns can be matched in other orders."""
        return any(isinstance(each, Expand) for each in flatten(self.operators))


def reads_of(plan: ReadPlan) -> tuple[ReadPlan, ...]:
    """Return a read, and those that it is a union of."""
    united = (read for each in plan.operators if isinstance(each, Union) for read in each.reads)
    return (plan, *united)


@dataclass(frozen=True, slots=True)
class FromMatch:
    """A change for each row of a read; its values are columns of the row, or known beforehand.

    Of rows to set, the read has their id in the column `ROW_ID`.
    """

    rows: ReadPlan
    change: Insert | Replace | SetRows


ROW_ID = "#id"
PlannedStatement: TypeAlias = Insert | Replace | Update | Delete | FromMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationPlan:
    """A mutation as statements; each sees what the earlier ones wrote."""

    name: str
    params: tuple[ParamDecl, ...]
    statements: tuple[PlannedStatement, ...]
    description: str | None = None
    instruction: str | None = None


Plan: TypeAlias = ReadPlan | MutationPlan
