"""Usage: which properties a plan reads, which variables a block shares, and what can fail."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from omnigraph.query.expr import Aggregate as AggregateExpr
from omnigraph.query.expr import (
    Expr,
    PathPart,
    Predicate,
    PropertyRef,
    VariableRef,
    may_fail,
    parts,
    shown_variables,
    variables,
)
from omnigraph.query.plan import (
    Aggregate,
    Expand,
    Filter,
    NodeScan,
    Operator,
    Order,
    Project,
    flatten,
)
from omnigraph.read.operators.project import object_fields
from omnigraph.read.road import pattern_expressions
from omnigraph.read.spark.matches import TypedProperty
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import is_integer


def find_properties(
    operators: Sequence[Operator], catalog: Catalog
) -> Mapping[str, list[TypedProperty]]:
    """Return for each variable the properties that operators read; searches read their own."""
    found: defaultdict[str, dict[TypedProperty, None]] = defaultdict(dict)
    for operator in flatten(operators):
        for expr in _expressions(operator):
            for part in parts(expr):
                if isinstance(part, PropertyRef) and part.variable is not None:
                    found[part.variable][part.property, part.type] = None
        for shown in _objects(operator):
            found[shown.variable] |= dict.fromkeys(object_fields(shown.type, catalog).items())
    return {name: list(fields) for name, fields in found.items()}


def find_path_parts(operators: Sequence[Operator]) -> Mapping[str, list[PathPart]]:
    """Return for each path the parts of it that are shown."""
    found: defaultdict[str, dict[PathPart, None]] = defaultdict(dict)
    for operator in operators:
        for expr in _expressions(operator):
            if isinstance(expr, PathPart):
                found[expr.path][expr] = None
    return {name: list(shown) for name, shown in found.items()}


def find_variables(operators: Sequence[Operator]) -> set[str]:
    """Return the variables that the operators of a block name."""
    found: set[str] = set()
    for operator in flatten(operators):
        if isinstance(operator, Expand):
            found |= {operator.source, operator.target}
        for expr in _expressions(operator):
            found |= variables(expr)
    return found


def is_led_on(scan: NodeScan, following: Operator | None) -> bool:
    """Return whether an expand leads on by one edge from all nodes of a scan, or from a point."""
    return (
        not scan.filters
        and isinstance(following, Expand)
        and not following.closes
        and following.source == scan.variable
        and following.hops.is_single
    )


def can_fail(operator: Operator) -> bool:
    """Return whether an operator itself computes something that has no result for some rows.

    A sum of whole numbers is among it; blocks see to what is inside them.
    """
    nodes = _expressions(operator)
    return any(map(may_fail, nodes)) or any(map(_can_overflow, nodes))


def _can_overflow(node: Expr | Predicate) -> bool:
    return isinstance(node, AggregateExpr) and node.function == "sum" and is_integer(node.type)


def _expressions(operator: Operator) -> Sequence[Expr | Predicate]:
    match operator:
        case NodeScan() | Expand() | Filter():
            return pattern_expressions(operator)
        case Aggregate(keys, aggregates):
            return [column.expr for column in (*keys, *aggregates)]
        case Project(columns):
            return [column.expr for column in columns]
        case Order(keys, _):
            return [key.expr for key in keys]
        case _:
            return ()


def _objects(operator: Operator) -> list[VariableRef]:
    """Return the variables that become whole objects."""
    match operator:
        case Project(columns):
            exprs = [column.expr for column in columns]
        case Aggregate(keys, aggregates):
            exprs = [column.expr for column in (*keys, *aggregates)]
        case _:
            exprs = []
    return [found for expr in exprs for found in shown_variables(expr)]
