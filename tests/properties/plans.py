"""Invariants of read plans: what every operator reads, an earlier one gives."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from omnigraph.query import expr, plan
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.types import BLOB, VectorType

Node = expr.Expr | expr.Predicate


@dataclass(slots=True)
class Rows:
    """The variables and columns that the rows between two operators have."""

    variables: set[str] = field(default_factory=set)
    columns: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)


def check_flow(read_plan: plan.ReadPlan) -> None:
    """Assert that variables and columns are there before they are read."""
    rows = Rows()
    _flow(read_plan.operators, rows)
    assert {column.name for column in read_plan.columns} == rows.columns


def check_columns(read_plan: plan.ReadPlan, catalog: Catalog) -> None:
    """Assert that each scan and expand lists exactly the properties that operators read."""
    types: dict[str, tuple[str, ...]] = {}
    for operator in _all(read_plan.operators):
        if isinstance(operator, plan.NodeScan):
            types[operator.variable] = operator.types
        elif isinstance(operator, plan.Expand):
            if not operator.closes:
                types[operator.target] = operator.types
            if operator.edge_variable is not None:
                types[operator.edge_variable] = tuple(step.edge for step in operator.steps)
    wanted = _wanted(read_plan, types, catalog)
    for operator in _all(read_plan.operators):
        if isinstance(operator, plan.NodeScan):
            assert set(operator.columns) == wanted[operator.variable]
        elif isinstance(operator, plan.Expand):
            if not operator.closes:
                assert set(operator.columns) == wanted[operator.target]
            if operator.edge_variable is not None:
                assert set(operator.edge_columns) == wanted[operator.edge_variable]


def _flow(operators: Iterable[plan.Operator], rows: Rows) -> None:
    for operator in operators:
        _step(operator, rows)


def _step(operator: plan.Operator, rows: Rows) -> None:
    match operator:
        case plan.NodeScan():
            assert operator.variable not in rows.variables
            _own(operator.filters, operator.variable)
            _bind(rows, operator.variable, counted=operator.counted)
        case plan.Expand():
            _expand(operator, rows)
        case plan.Filter(predicate):
            _reads([predicate], rows)
        case plan.AntiJoin(outer, inner):
            assert outer
            assert set(outer) <= rows.variables
            _flow(inner, Rows(set(rows.variables), set(), set(rows.counted)))
        case plan.Mark(column, outer, inner):
            assert outer
            assert set(outer) <= rows.variables
            _flow(inner, Rows(set(rows.variables), set(), set(rows.counted)))
            rows.columns.add(column)
        case plan.Optional(outer, binds, inner):
            assert set(outer) <= rows.variables
            within = Rows(set(rows.variables), set(), set(rows.counted))
            _flow(inner, within)
            assert set(binds) == within.variables - rows.variables
            rows.variables |= set(binds)
        case _:
            _tail(operator, rows)


def _tail(operator: plan.Operator, rows: Rows) -> None:
    match operator:
        case plan.Rank(column, ranking, _):
            _reads([ranking], rows)
            rows.columns.add(column)
        case plan.Aggregate(keys, aggregates):
            _reads([each.expr for each in (*keys, *aggregates)], rows)
            rows.variables, rows.columns = set(), {each.name for each in (*keys, *aggregates)}
        case plan.Project(columns):
            _reads([each.expr for each in columns], rows)
            rows.variables, rows.columns = set(), {each.name for each in columns}
        case plan.Order(keys, ties):
            _reads([key.expr for key in keys], rows)
            assert set(ties) <= rows.variables | rows.columns
        case plan.Distinct():
            assert not rows.variables
        case plan.Limit():
            assert operator.skip is not None or operator.limit is not None


def _expand(operator: plan.Expand, rows: Rows) -> None:
    of_counted = operator.counted and operator.source in rows.counted
    assert operator.source in rows.variables or of_counted
    assert (operator.target in rows.variables) == operator.closes
    _own(operator.filters, operator.target)
    if not operator.closes:
        _bind(rows, operator.target, counted=operator.counted)
    if operator.edge_variable is not None:
        _own(operator.edge_filters, operator.edge_variable)
        _bind(rows, operator.edge_variable, counted=operator.counted)


def _bind(rows: Rows, name: str, *, counted: bool) -> None:
    (rows.counted if counted else rows.variables).add(name)


def _own(filters: Iterable[expr.Predicate], name: str) -> None:
    """Assert that conditions inside a scan read nothing but what it binds."""
    for each in filters:
        assert expr.variables(each) == {name}


def _reads(nodes: Iterable[Node], rows: Rows) -> None:
    for node in nodes:
        names = expr.variables(node)
        if _counts_rows(node):
            names -= rows.counted
        assert names <= rows.variables
        columns = {part.column for part in expr.parts(node) if isinstance(part, expr.ColumnRef)}
        assert columns <= rows.columns


def _counts_rows(node: Node) -> bool:
    return isinstance(node, expr.Aggregate) and node.function == "count" and not node.distinct


def _wanted(
    read_plan: plan.ReadPlan, types: dict[str, tuple[str, ...]], catalog: Catalog
) -> defaultdict[str, set[str]]:
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for node in _read(read_plan.operators):
        for part in expr.parts(node):
            if isinstance(part, expr.PropertyRef) and part.variable is not None:
                wanted[part.variable].add(part.property)
    for name in _shown(read_plan.operators):
        for kind in types[name]:
            wanted[name] |= _object(kind, catalog)
    return wanted


def _read(operators: Iterable[plan.Operator]) -> Iterator[Node]:
    """Return what is computed from the columns of rows; scans and searches read the table."""
    for operator in _all(operators):
        match operator:
            case plan.Filter(predicate):
                yield predicate
            case plan.Aggregate(keys, aggregates):
                yield from (column.expr for column in (*keys, *aggregates))
            case plan.Project(columns):
                yield from (column.expr for column in columns)
            case plan.Order(keys, _):
                yield from (key.expr for key in keys)


def _shown(operators: Iterable[plan.Operator]) -> Iterator[str]:
    """Return the variables that a result shows as whole objects."""
    for operator in operators:
        columns = operator.columns if isinstance(operator, plan.Project) else ()
        keys = operator.keys if isinstance(operator, plan.Aggregate) else ()
        for column in (*columns, *keys):
            if isinstance(column.expr, expr.VariableRef):
                yield column.expr.variable


def _object(kind: str, catalog: Catalog) -> set[str]:
    stored = catalog.stored(kind)
    assert stored is not None
    system = {"id"} if isinstance(stored, NodeType) else {"id", "src", "dst"}
    return system | {
        item.name
        for item in stored.properties.values()
        if item.type != BLOB and not isinstance(item.type, VectorType)
    }


def _all(operators: Iterable[plan.Operator]) -> Iterator[plan.Operator]:
    for operator in operators:
        yield operator
        if isinstance(operator, plan.AntiJoin | plan.Optional | plan.Mark):
            yield from _all(operator.inner)
