"""Rewrite: small rules that make a plan cheaper and keep its meaning."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from omnigraph.query.comparing import assignable
from omnigraph.query.expr import (
    Comparison,
    Constant,
    Expr,
    Not,
    ParamRef,
    Predicate,
    PropertyRef,
    TextMatch,
    columns_of,
    conjuncts,
    counts_rows,
    equality,
    may_fail,
    parts,
    path_column,
    shown_variables,
    variables,
)
from omnigraph.query.parsing.ast import Operator as Comparing
from omnigraph.query.plan import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    FromMatch,
    Mark,
    NodeScan,
    Operator,
    Optional,
    Order,
    Path,
    Plan,
    PointRead,
    Project,
    Rank,
    ReadPlan,
    Union,
)
from omnigraph.query.planning.caution import by_caution
from omnigraph.query.planning.explain import predicate_text
from omnigraph.schema.catalog import EDGE_COLUMNS, Catalog, NodeType
from omnigraph.schema.types import BLOB, STRING, ValueType, VectorType
from omnigraph.schema.values import BadValue, coerce

Operators = tuple[Operator, ...]

# Counted links of which each hangs from the one before; counting calls itself for each of them.
MOST_COUNTED_LINKS = 100


def rewrite(plan: Plan, catalog: Catalog) -> Plan:
    """Apply every rule to a plan, in order; of a mutation, to what its statements read."""
    if isinstance(plan, ReadPlan):
        return rewrite_read(plan, catalog)
    statements = (
        replace(each, rows=rewrite_read(each.rows, catalog))
        if isinstance(each, FromMatch)
        else each
        for each in plan.statements
    )
    return replace(plan, statements=tuple(statements))


def rewrite_read(plan: ReadPlan, catalog: Catalog) -> ReadPlan:
    """Apply every rule to a read, in order."""
    operators = tuple(
        Union(tuple(rewrite_read(read, catalog) for read in each.reads))
        if isinstance(each, Union)
        else each
        for each in plan.operators
    )
    for rule in RULES:
        operators = rule(operators, catalog)
    return replace(plan, operators=operators)


def push_filters(operators: Operators, _: Catalog) -> Operators:
    """Test each condition as soon as its variables are bound, inside the scan if possible.

    Of several at one place, those that most likely keep few rows and are quick to test come first;
    the order in which they are written does not matter.
    """
    return _push(operators)


def read_by_key(operators: Operators, catalog: Catalog) -> Operators:
    """Find a node by its id when its whole key, or its id, is given."""
    return _inside(operators, lambda each: _by_key(each, catalog))


def count_unreferenced(operators: Operators, _: Catalog) -> Operators:
    """Count the targets that nothing reads, instead of making a row for each.

    Rows are ordered by the ids of all variables, so a variable can be left out of the order only
    if it comes after all that are not counted: the rows that it multiplies are equal then.
    """
    needed = _references(operators)
    while True:
        found, counted = _mark_counted(operators, set(needed))
        before = _ordering_before_others(operators, counted)
        if not before:
            return _without_ties(found, counted)
        needed |= before


def find_uncountable(operators: Operators) -> frozenset[str]:
    """Return the variables that are read, or that order rows before some that are read."""
    needed = _references(operators)
    bound = {name for each in operators for name in _bound_by(each)}
    while before := _ordering_before_others(operators, bound - needed):
        needed |= before
    return frozenset(needed)


def count_unread(operators: Operators) -> Operators:
    """Count what nothing reads in a block of which only is asked whether it has a match."""
    return tuple(_mark_counted(operators, _references(operators))[0])


def read_inside(operators: Sequence[Operator]) -> set[str]:
    """Return the variables that operators of a block read, or follow edges from or to."""
    ends = (each for each in operators if isinstance(each, Expand))
    return _references(tuple(operators)).union(*((each.source, each.target) for each in ends))


def _ordering_before_others(operators: Operators, counted: set[str]) -> set[str]:
    """Return the counted variables that order rows before some that are not counted."""
    for operator in operators:
        match operator:
            case Aggregate() | Distinct():
                return set()
            case Order(ties=ties):
                last = max((at for at, name in enumerate(ties) if name not in counted), default=0)
                return counted & set(ties[:last])
    return set()


def _mark_counted(operators: Operators, needed: set[str]) -> tuple[list[Operator], set[str]]:
    """Mark operators that bind no needed variable; return all, and what the marked ones bind."""
    kept: list[Operator] = []
    counted: set[str] = set()
    heights: dict[str, int] = {}
    for operator in reversed(operators):
        binds = set(_bound_by(operator))
        unread = bool(binds) and not binds & needed
        if isinstance(operator, Expand) and unread:
            height = heights.get(operator.target, 0) + 1
            unread = height <= MOST_COUNTED_LINKS
            if unread:
                heights[operator.source] = max(height, heights.get(operator.source, 0))
        if isinstance(operator, NodeScan | Expand) and unread:
            kept.append(replace(operator, counted=True))
            counted |= binds
        else:
            kept.append(operator)
        if isinstance(operator, Expand) and (operator.closes or not unread):
            needed |= {operator.source, operator.target}
    kept.reverse()
    return kept, counted


def prune_columns(operators: Operators, catalog: Catalog) -> Operators:
    """Name in each scan and expand the properties that a later operator reads, and no others."""
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    types = _types(operators)
    for node in _expressions(operators):
        for part in parts(node):
            if isinstance(part, PropertyRef) and part.variable is not None:
                wanted[part.variable].add(part.property)
    for operator in operators:
        for name in _objects(operator):
            wanted[name] |= _shown_properties(types.get(name, ()), catalog)
    places = _PropertyOrder(catalog)
    columns = {
        name: places.sorted(properties, types[name])
        for name, properties in wanted.items()
        if name in types
    }
    return _inside(operators, lambda each: _with_columns(each, columns))


RULES: tuple[Callable[[Operators, Catalog], Operators], ...] = (
    push_filters,
    read_by_key,
    count_unreferenced,
    prune_columns,
)


def _inside(operators: Operators, change: Callable[[Operator], Operator]) -> Operators:
    """Change every operator, also those nested in others."""
    return tuple(
        replace(each, inner=_inside(each.inner, change))
        if isinstance(each, AntiJoin | Optional | Mark)
        else change(each)
        for each in operators
    )


def _push(operators: Operators) -> Operators:
    rows = list(takewhile(lambda each: isinstance(each, _ROW_OPERATORS), operators))
    tail = operators[len(rows) :]
    filters = [
        part for each in rows if isinstance(each, Filter) for part in conjuncts(each.predicate)
    ]
    binders: list[Operator] = [each for each in rows if not isinstance(each, Filter)]
    first: dict[str, int] = {}
    for at, operator in enumerate(binders):
        for name in _bound_by(operator):
            first.setdefault(name, at)
        if isinstance(operator, AntiJoin | Optional | Mark):
            binders[at] = replace(operator, inner=_push(operator.inner))
    tests: defaultdict[int, list[Predicate]] = defaultdict(list)
    failing = by_caution(each for each in filters if may_fail(each))
    for predicate in (each for each in filters if each not in failing):
        names = variables(predicate) | (columns_of(predicate) & first.keys())
        # One that reads no variable holds for all rows or for none, so it is tested at once.
        at = max((first.get(name, -1) for name in names), default=min(0, len(binders) - 1))
        tests[at].append(predicate)
    for together in tests.values():
        if len(together) > 1:
            together.sort(key=_effort)
    pushed: list[Operator] = [Filter(each) for each in tests[-1]]
    for at, operator in enumerate(binders):
        pushed += _with_tests(operator, tests[at])
    # What can fail is asked last, about the rows that everything else lets through.
    return (*pushed, *map(Filter, failing), *tail)


def _effort(predicate: Predicate) -> tuple[int, str]:
    """Return how late a condition should be tested: the longer it takes and the more it keeps."""
    inside = list(parts(predicate))
    compared = [each.operator for each in inside if isinstance(each, Comparison)]
    found = [_EFFORTS.get(each, _COMPARING) for each in compared]
    found += [_COMPARING for each in inside if isinstance(each, Not)]
    found += [_SEARCHING for each in inside if isinstance(each, TextMatch)]
    return (max(found, default=_COMPARING), predicate_text(predicate))


def _with_tests(operator: Operator, tests: list[Predicate]) -> list[Operator]:
    """Put conditions on what an operator binds into it, and the others after it."""
    own, edge, rest = [], [], []
    for test in tests:
        match operator, variables(test):
            case NodeScan(variable=name), names if names == {name}:
                own.append(test)
            case Expand(closes=False, target=name), names if names == {name}:
                own.append(test)
            case Expand(edge_variable=name), names if names == {name}:
                edge.append(test)
            case _:
                rest.append(Filter(test))
    if isinstance(operator, NodeScan | Expand) and own:
        operator = replace(operator, filters=(*operator.filters, *own))
    if isinstance(operator, Expand) and edge:
        operator = replace(operator, edge_filters=(*operator.edge_filters, *edge))
    return [operator, *rest]


def _bound_by(operator: Operator) -> list[str]:
    match operator:
        case NodeScan(variable=variable):
            return [variable]
        case Expand():
            names = [] if operator.closes else [operator.target]
            return names if operator.edge_variable is None else [*names, operator.edge_variable]
        case Path(target=target, path=path):
            length = path_column(path.name, "length")
            return [length] if operator.closes else [target, length]
        case Optional(binds=binds):
            return list(binds)
        case Mark(column=column):
            return [column]
        case _:
            return []


def _by_key(operator: Operator, catalog: Catalog) -> Operator:
    if not isinstance(operator, NodeScan):
        return operator
    given: dict[str, tuple[Predicate, Constant | ParamRef]] = {}
    for predicate in operator.filters:
        if (found := equality(predicate)) is not None:
            given.setdefault(found[0].property, (predicate, found[1]))
    node = catalog.nodes[operator.types[0]] if len(operator.types) == 1 else None
    for columns in [("id",), *([node.key] if node is not None and node.key else [])]:
        values = [_key_value(given.get(name), _kind(node, name)) for name in columns]
        point = tuple(value for value in values if value is not None)
        if len(point) == len(columns):
            used = [given[name][0] for name in columns]
            rest = tuple(each for each in operator.filters if each not in used)
            return replace(operator, filters=rest, point=PointRead(columns != ("id",), point))
    return operator


def _kind(node: NodeType | None, name: str) -> ValueType:
    return STRING if node is None or name == "id" else node.properties[name].type


def _key_value(
    given: tuple[Predicate, Constant | ParamRef] | None, kind: ValueType
) -> Constant | ParamRef | None:
    """Return the value as the key stores it; None if it is missing or does not fit exactly."""
    if given is None:
        return None
    value = given[1]
    if isinstance(value, ParamRef):
        return value if assignable(value.type, kind) else None
    try:
        found = coerce(value.value, kind)
    except BadValue:
        return None
    # A float may be only near a whole number.
    return Constant(found, kind) if found == value.value else None


def _references(operators: Operators) -> set[str]:
    """Return the variables whose values are needed, not only how many there are."""
    needed: set[str] = set()
    for operator in operators:
        match operator:
            case AntiJoin(outer=outer) | Optional(outer=outer) | Mark(outer=outer):
                needed |= set(outer)
            case Path():
                needed |= {operator.source, operator.target}
            case Filter(predicate):
                needed |= variables(predicate)
            case Rank(ranking=ranking):
                needed |= variables(ranking)
            case Project(columns):
                needed |= _read_by(column.expr for column in columns)
            case Aggregate(keys, aggregates):
                needed |= _read_by(column.expr for column in (*keys, *aggregates))
            case Order(keys, _):
                needed |= _read_by(key.expr for key in keys)
    return needed


def _read_by(exprs: Iterable[Expr]) -> set[str]:
    return {name for expr in exprs if not counts_rows(expr) for name in variables(expr)}


def _without_ties(operators: Sequence[Operator], counted: set[str]) -> Operators:
    """Leave counted variables out of the order; after groups, ties are the names of columns."""
    found = list(operators)
    for at, operator in enumerate(operators):
        match operator:
            case Aggregate() | Distinct():
                break
            case Order(ties=ties):
                kept = tuple(name for name in ties if name not in counted)
                found[at] = replace(operator, ties=kept)
    return tuple(found)


def _expressions(operators: Operators) -> list[Expr | Predicate]:
    """Return the expressions that operators compute from columns of earlier ones.

    Conditions inside a scan and searches are left out: they read the table themselves.
    """
    found: list[Expr | Predicate] = []
    for operator in operators:
        match operator:
            case Filter(predicate):
                found.append(predicate)
            case AntiJoin(inner=inner) | Optional(inner=inner) | Mark(inner=inner):
                found += _expressions(inner)
            case Aggregate(keys, aggregates):
                found += [column.expr for column in (*keys, *aggregates)]
            case Project(columns):
                found += [column.expr for column in columns]
            case Order(keys, _):
                found += [key.expr for key in keys]
    return found


def _objects(operator: Operator) -> list[str]:
    """Return the variables that the result shows as whole objects."""
    columns: Sequence[Expr] = ()
    if isinstance(operator, Project):
        columns = [column.expr for column in operator.columns]
    elif isinstance(operator, Aggregate):
        columns = [column.expr for column in (*operator.keys, *operator.aggregates)]
    return [found.variable for expr in columns for found in shown_variables(expr)]


def _types(operators: Operators) -> dict[str, tuple[str, ...]]:
    types: dict[str, tuple[str, ...]] = {}
    for operator in operators:
        match operator:
            case NodeScan(variable=variable):
                types[variable] = operator.types
            case Path():
                types.setdefault(operator.target, operator.types)
            case Expand():
                types.setdefault(operator.target, operator.types)
                if operator.edge_variable is not None:
                    types[operator.edge_variable] = tuple(step.edge for step in operator.steps)
            case AntiJoin(inner=inner) | Optional(inner=inner) | Mark(inner=inner):
                types |= {k: v for k, v in _types(inner).items() if k not in types}
    return types


def _shown_properties(types: tuple[str, ...], catalog: Catalog) -> set[str]:
    """Return the columns of an object in a result: all but vectors and blobs."""
    shown = {"id"}
    for name in types:
        stored = catalog.stored(name)
        assert stored is not None
        shown |= {"id"} if isinstance(stored, NodeType) else {"id", "src", "dst"}
        shown |= {
            item.name
            for item in stored.properties.values()
            if item.type != BLOB and not isinstance(item.type, VectorType)
        }
    return shown


def _with_columns(operator: Operator, columns: Mapping[str, tuple[str, ...]]) -> Operator:
    match operator:
        case NodeScan(variable=variable):
            return replace(operator, columns=columns.get(variable, ()))
        case Path(target=target):
            return replace(operator, columns=() if operator.closes else columns.get(target, ()))
        case Expand(target=target, edge_variable=edge):
            read = () if operator.closes else columns.get(target, ())
            return replace(operator, columns=read, edge_columns=columns.get(edge or "", ()))
        case _:
            return operator


class _PropertyOrder:
    """The declared order of properties, looked up once for each type."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._of_type: dict[str, dict[str, int]] = {}

    def sorted(self, names: set[str], types: tuple[str, ...]) -> tuple[str, ...]:
        """Return properties in declared order, after `id`, `src` and `dst`."""
        places = {name: (-1, at) for at, name in enumerate(EDGE_COLUMNS)}
        for number, kind in enumerate(types):
            missing = names - places.keys()
            if not missing:
                break
            known = self._known(kind)
            places |= {name: (number, known[name]) for name in missing if name in known}
        return tuple(sorted(names, key=places.__getitem__))

    def _known(self, kind: str) -> dict[str, int]:
        if kind not in self._of_type:
            stored = self._catalog.stored(kind)
            assert stored is not None
            self._of_type[kind] = {name: at for at, name in enumerate(stored.properties)}
        return self._of_type[kind]


_EFFORTS = {
    Comparing.EQUAL: 0,
    Comparing.IN: 1,
    Comparing.STARTS_WITH: 3,
    Comparing.CONTAINS: 4,
}
_COMPARING, _SEARCHING = 2, 5
_ROW_OPERATORS = (NodeScan, Expand, Path, Filter, AntiJoin, Optional, Mark)
