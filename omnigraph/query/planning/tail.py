"""Tail: lowers the part after the match: ranking, grouping, order, limit, projection."""

from dataclasses import field, replace

from omnigraph.frozen import dataclass
from omnigraph.query import plan
from omnigraph.query.checked import CheckedRead, Column, OrderKey, Pattern
from omnigraph.query.comparing import result_type_of
from omnigraph.query.expr import (
    Aggregate,
    Bm25,
    Call,
    Collect,
    ColumnRef,
    Expr,
    Known,
    Nearest,
    Predicate,
    Ranking,
    Rrf,
    map_operands,
    may_fail,
    parts,
    path_column,
    reads_rows,
)
from omnigraph.query.planning.caution import by_caution
from omnigraph.schema.types import F64


def lower_tail(read: CheckedRead) -> list[plan.Operator]:
    """Return the operators that turn matches into the rows of the result."""
    if read.grouped:
        return _grouped(read)
    ranks = _Ranks({key.expr for key in read.order})
    columns = [Column(each.name, ranks.column(each.expr)) for each in read.columns]
    having = [plan.Filter(map_operands(each, ranks.column)) for each in _tests(read)]
    keys = [OrderKey(ranks.column(key.expr), key.descending) for key in read.order]
    before: list[plan.Operator] = [*ranks.operators, *having]
    if read.distinct:
        return [*before, *_distinct(read, columns, keys)]
    order = plan.Order(tuple(keys), (*binds(read.pattern), *_numbered_paths(read.pattern)))
    return [*before, order, *_limit(read), plan.Project(tuple(columns))]


def binds(pattern: Pattern) -> tuple[str, ...]:
    """Return the variables that a pattern binds for what follows it."""
    names = [each.name for each in pattern.bound]
    for optional in pattern.optionals:
        names += binds(optional)
    return tuple(names)


def _numbered_paths(pattern: Pattern) -> list[str]:
    """Return the columns by which several paths between the same nodes are ordered."""
    paths = (link.path for link in pattern.links if link.path is not None)
    return [path_column(each.name, "number") for each in paths if each.keeps_all]


def _distinct(
    read: CheckedRead, columns: list[Column], keys: list[OrderKey]
) -> list[plan.Operator]:
    """Remove duplicates first, then order by the columns that are left."""
    names = _ResultColumns(list(columns))
    by_column = tuple(OrderKey(names.column(key.expr), key.descending) for key in keys)
    order = plan.Order(by_column, tuple(each.name for each in columns))
    tail: list[plan.Operator] = [plan.Project(tuple(names.columns)), plan.Distinct(), order]
    hidden = len(names.columns) > len(columns)
    return [*tail, *_limit(read), *([_visible(columns)] if hidden else [])]


def _grouped(read: CheckedRead) -> list[plan.Operator]:
    """Group by the projections without aggregates; groups are distinct already."""
    names = _ResultColumns([each for each in read.columns if not _is_of_groups(each.expr)])
    visible = tuple(
        Column(
            each.name, names.of_groups(each.expr) if _is_of_groups(each.expr) else _as_column(each)
        )
        for each in read.columns
    )
    having = [plan.Filter(map_operands(each, names.of_groups)) for each in _tests(read)]
    keys = tuple(OrderKey(names.of_groups(key.expr), key.descending) for key in read.order)
    groups = tuple(
        each for each in names.columns if not isinstance(each.expr, Aggregate | Collect | Known)
    )
    aggregates = tuple(each for each in names.columns if isinstance(each.expr, Aggregate | Collect))
    # One row needs no order, but whatever has no value is an error.
    needs_order = groups or any(may_fail(key.expr) for key in keys)
    order = [plan.Order(keys, tuple(each.name for each in groups))] if needs_order else []
    tail: list[plan.Operator] = [plan.Aggregate(groups, aggregates), *having, *order]
    return [*tail, *_limit(read), plan.Project(visible)]


def _is_of_groups(expr: Expr) -> bool:
    """Return whether something is computed from groups: from aggregates, or from nothing else."""
    return isinstance(expr, Call) and (
        not reads_rows(expr) or any(isinstance(part, Aggregate) for part in parts(expr))
    )


def _tests(read: CheckedRead) -> list[Predicate]:
    """Return the conditions on the result; what can fail is asked about what the others keep."""
    return by_caution(read.having)


def _limit(read: CheckedRead) -> list[plan.Operator]:
    if read.skip is None and read.limit is None:
        return []
    return [plan.Limit(read.skip, read.limit)]


def _visible(columns: tuple[Column, ...] | list[Column]) -> plan.Project:
    return plan.Project(tuple(Column(each.name, _as_column(each)) for each in columns))


def _as_column(column: Column) -> Expr:
    """Return the reference to a column; a value known beforehand stays itself."""
    if isinstance(column.expr, Known):
        return column.expr
    kind = result_type_of(column.expr)
    assert kind is not None
    return ColumnRef(column.name, kind)


@dataclass(slots=True)
class _ResultColumns:
    """The columns of grouped or distinct rows, with hidden ones for what only order reads."""

    columns: list[Column]
    known: dict[Expr, Column] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {column.expr: column for column in reversed(self.columns)}

    def column(self, expr: Expr) -> Expr:
        """Return the column of an expression; a value known beforehand stays itself."""
        if isinstance(expr, Known):
            return expr
        if expr not in self.known:
            self.known[expr] = Column(f"#{len(self.columns)}", expr)
            self.columns.append(self.known[expr])
        return _as_column(self.known[expr])

    def of_groups(self, expr: Expr) -> Expr:
        """Return an expression over the columns that groups have."""
        if not isinstance(expr, Call) or expr in self.known:
            return self.column(expr)
        return replace(expr, arguments=tuple(map(self.of_groups, expr.arguments)))


@dataclass(slots=True)
class _Ranks:
    """The rankings of a query, each computed once into a column of its own.

    A ranking that orders the rows restricts them to those it can score; one that is only shown
    does not.
    """

    ordering: set[Expr]
    columns: dict[Ranking, ColumnRef] = field(default_factory=dict)

    @property
    def operators(self) -> list[plan.Operator]:
        return [
            plan.Rank(column.column, ranking, ranking in self.ordering)
            for ranking, column in self.columns.items()
        ]

    def column(self, expr: Expr) -> Expr:
        """Return the column of a ranking; any other expression stays itself."""
        if not isinstance(expr, Bm25 | Nearest | Rrf):
            return expr
        return self.columns.setdefault(expr, ColumnRef(f"#rank{len(self.columns)}", F64))
