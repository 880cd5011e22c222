"""Explain: a plan as text for people and as JSON for programs."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from itertools import zip_longest

from omnigraph.errors import Json
from omnigraph.query import checked, expr, plan
from omnigraph.query.checked import Direction
from omnigraph.query.functions import FUNCTIONS
from omnigraph.query.parsing.printer import hops_text
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import ValueType
from omnigraph.schema.values import JS_SAFE_INTEGER, Value
from omnigraph.syntax.literal import datetime_text, literal_text

_ARROWS = {Direction.OUT: ("-", "->"), Direction.IN: ("<-", "-"), Direction.BOTH: ("<-", "->")}
_LABEL = 10
_SHOWN_ITEMS = 8
_NOTES = ("description", "instruction")


def explain_text(query: plan.Plan, expected: Sequence[int] = ()) -> str:
    """Return the plan as indented lines, one for each operator.

    `expected` has for each operator of a read about how many rows there will be after it.
    """
    params = ", ".join(f"${param.name}: {param.type}" for param in query.params)
    head = f"query {query.name}({params})"
    notes = [f"{name}: {note}" for name in _NOTES if (note := getattr(query, name)) is not None]
    if isinstance(query, plan.MutationPlan):
        body = [line for each in query.statements for line in _statement_lines(each)]
    else:
        body = _operators(query.operators, expected)
    return "\n".join([head, *(f"  {line}" for line in (*notes, *body))]) + "\n"


def explain_json(query: plan.Plan) -> dict[str, Json]:
    """Return the plan as JSON; every object names its kind in `op`."""
    encoded = _json(query)
    assert isinstance(encoded, dict)
    return {name: each for name, each in encoded.items() if name not in _NOTES or each is not None}


def operator_text(operator: plan.Operator) -> str:
    """Return the line of one operator."""
    return _line(*_operator(operator))


def predicate_text(node: expr.Predicate) -> str:
    """Return a typed predicate as the language writes it."""
    match node:
        case expr.Comparison(expr.ColumnRef(name, _)) if name.startswith(expr.MARK):
            return name
        case expr.Comparison(left, operator, right):
            return f"{expr_text(left)} {operator} {expr_text(right)}"
        case expr.NullTest(operand, negated):
            return f"{expr_text(operand)} is {'not ' if negated else ''}null"
        case expr.And(items):
            return " and ".join(map(_grouped, items))
        case expr.Or(items):
            return " or ".join(map(_grouped, items))
        case expr.Not(item):
            return f"not {_grouped(item)}"
        case expr.TextMatch():
            return expr_text(node)


def expr_text(node: expr.Expr) -> str:
    """Return a typed expression as the language writes it."""
    match node:
        case expr.Constant(value, _):
            return _value(value)
        case expr.ParamRef(name, _) | expr.VariableRef(name, _):
            return _variable(name)
        case expr.Now():
            return "now()"
        case expr.ListOf(items, _):
            return f"[{', '.join(map(expr_text, items))}]"
        case expr.EveryRow():
            return "*"
        case expr.ColumnRef(name, _):
            return f"length(${name[1:-7]})" if _is_length(name) else name
        case expr.PropertyRef():
            return _property(node)
        case expr.TextMatch() | expr.Bm25() | expr.Nearest() | expr.Rrf():
            return _search(node)
        case expr.Aggregate(function, argument, distinct, _):
            return f"{function}({'distinct ' if distinct else ''}{expr_text(argument)})"
        case expr.Call():
            return _call_text(node)
        case expr.ObjectOf() | expr.Collect():
            return _collected(node)
        case expr.PathPart(path, part, _):
            return f"{part}(${path})"


def _is_length(column: str) -> bool:
    """Return whether a column holds the length of a path."""
    return column.startswith("#") and column.endswith(".length")


def _property(ref: expr.PropertyRef) -> str:
    """Return a property; that of the row that is changed has no variable."""
    is_own = ref.variable is None or ref.variable.startswith("#")
    return ref.property if is_own else f"{_variable(ref.variable or '')}.{ref.property}"


def _collected(node: expr.ObjectOf | expr.Collect) -> str:
    if isinstance(node, expr.ObjectOf):
        inside = ", ".join(f"{name}: {expr_text(value)}" for name, value in node.fields)
        return f"{{ {inside} }}"
    text = ("distinct " if node.distinct else "") + expr_text(node.item)
    if node.order:
        keys = [f"{expr_text(k.expr)} {'desc' if k.descending else 'asc'}" for k in node.order]
        text += f" order {{ {', '.join(keys)} }}"
    if node.limit is not None:
        text += f" limit {expr_text(node.limit)}"
    return f"collect({text})"


def _search(node: expr.TextMatch | expr.Ranking) -> str:
    match node:
        case expr.TextMatch(function, field, query, edits):
            return _call(function, [field, query, *([edits] if edits is not None else [])])
        case expr.Bm25(field, query):
            return _call("bm25", [field, query])
        case expr.Nearest(field, query):
            return _call("nearest", [field, query])
        case expr.Rrf(rankings, k):
            return _call("rrf", [*rankings, k])


def _call_text(call: expr.Call) -> str:
    """Return a function as it is written, an operator between its sides."""
    match call:
        case expr.Call(function, arguments, _) if function in FUNCTIONS:
            return _call(function, arguments)
        case expr.Call(function, (operand,), _):
            return f"{function}{_side(operand)}"
        case expr.Call(function, (left, right), _):
            return f"{_side(left)} {function} {_side(right)}"
        case _:
            raise AssertionError(f"{call.function} has one or two sides")


def _side(node: expr.Expr) -> str:
    text = expr_text(node)
    is_operation = isinstance(node, expr.Call) and node.function not in FUNCTIONS
    return f"({text})" if is_operation else text


def _call(function: str, arguments: Iterable[expr.Expr]) -> str:
    return f"{function}({', '.join(map(expr_text, arguments))})"


def _grouped(node: expr.Predicate) -> str:
    text = predicate_text(node)
    return f"({text})" if isinstance(node, expr.And | expr.Or) else text


def _value(value: Value) -> str:
    match value:
        case tuple():
            shown = [_value(each) for each in value[:_SHOWN_ITEMS]]
            return f"[{', '.join(shown)}{', …' if len(value) > _SHOWN_ITEMS else ''}]"
        case bytes():
            return f"<{len(value)} bytes>"
        case _:
            return literal_text(value)


def _variable(name: str) -> str:
    return "$_" if name.startswith("_#") else f"${name}"


def _operators(operators: Iterable[plan.Operator], expected: Sequence[int] = ()) -> list[str]:
    lines = []
    for operator, rows in zip_longest(operators, expected):
        about = "" if rows is None else f"  ~{rows:,} {'row' if rows == 1 else 'rows'}"
        lines.append(f"{operator_text(operator)}{about}")
        if isinstance(operator, plan.AntiJoin | plan.Optional | plan.Mark):
            lines += [f"  {line}" for line in _operators(operator.inner)]
        elif isinstance(operator, plan.Union):
            for at, read in enumerate(operator.reads):
                lines += ["  and"] if at else []
                lines += [f"  {line}" for line in _operators(read.operators)]
    return lines


def _line(label: str, *parts: str) -> str:
    return "  ".join([label.ljust(_LABEL), *(part for part in parts if part)]).rstrip()


def _operator(operator: plan.Operator) -> list[str]:
    match operator:
        case plan.NodeScan():
            return _scan(operator)
        case plan.Expand():
            return _expand(operator)
        case plan.Path():
            return _path(operator)
        case plan.Filter(predicate):
            return ["Filter", predicate_text(predicate)]
        case plan.AntiJoin() | plan.Mark() | plan.Optional():
            return _block(operator)
        case plan.Rank(column, ranking, restricts):
            return ["Rank", f"{column} = {expr_text(ranking)}", "only ranked" if restricts else ""]
        case plan.Aggregate(keys, aggregates):
            by = f"by {_columns(keys)}" if keys else "all rows"
            return ["Aggregate", by, _columns(aggregates)]
        case plan.Project(columns):
            return ["Project", _columns(columns)]
        case plan.Distinct():
            return ["Distinct"]
        case plan.Order(keys, ties):
            return ["Order", _order(keys), f"ties by {', '.join(ties)}" if ties else ""]
        case plan.Union(reads):
            return ["Union", f"of {len(reads)} reads"]
        case plan.Limit(skip, limit):
            skipped = "" if skip is None else f"skip {expr_text(skip)}"
            return ["Limit", skipped, "" if limit is None else expr_text(limit)]


def _block(block: plan.AntiJoin | plan.Mark | plan.Optional) -> list[str]:
    on = f"on {', '.join(map(_variable, block.outer))}" if block.outer else ""
    column = [block.column] if isinstance(block, plan.Mark) else []
    return [type(block).__name__, *column, on]


def _scan(scan: plan.NodeScan) -> list[str]:
    point = ""
    if scan.point is not None:
        values = ", ".join(map(expr_text, scan.point.values))
        point = f"{'key' if scan.point.by_key else 'id'} = {values}"
    target = f"{_variable(scan.variable)}: {_types(scan.types)}"
    return ["NodeScan", target, point, *_details(scan.filters, scan.columns, scan.counted)]


def _expand(expand: plan.Expand) -> list[str]:
    edges = "|".join(
        f"{_ARROWS[s.direction][0]}{s.edge}{_ARROWS[s.direction][1]}" for s in expand.steps
    )
    hops = "" if expand.hops.is_single else hops_text(expand.hops)
    target = _variable(expand.target)
    if not expand.closes:
        target += f": {_types(expand.types)}"
    road = " ".join(part for part in (_variable(expand.source), edges, hops, target) if part)
    named = [] if expand.edge_variable is None else [f"as {_variable(expand.edge_variable)}"]
    edge_details = _details(expand.edge_filters, expand.edge_columns, counted=False, of="edge ")
    closes = ["closes"] if expand.closes else []
    details = _details(expand.filters, expand.columns, expand.counted)
    return ["Expand", road, *named, *edge_details, *closes, *details]


def _path(found: plan.Path) -> list[str]:
    edges = "|".join(
        f"{_ARROWS[s.direction][0]}{s.edge}{_ARROWS[s.direction][1]}" for s in found.steps
    )
    target = _variable(found.target) + ("" if found.closes else f": {_types(found.types)}")
    road = f"{_variable(found.source)} {edges} {hops_text(found.hops)} {target}"
    named = f"{'all ' if found.path.keeps_all else ''}shortest as {_variable(found.path.name)}"
    by = "" if found.path.weight is None else f"by {found.path.weight}"
    from_end = "from its end" if found.backwards else ""
    closes = ["closes"] if found.closes else []
    return ["Path", road, named, by, from_end, *closes, *_details((), found.columns, counted=False)]


def _types(types: tuple[str, ...]) -> str:
    shown = "|".join(types[:_SHOWN_ITEMS])
    return shown if len(types) <= _SHOWN_ITEMS else f"{shown}|… ({len(types)} types)"


def _details(
    filters: Iterable[expr.Predicate], columns: Iterable[str], counted: bool, of: str = ""
) -> list[str]:
    where = " and ".join(map(_grouped, filters))
    read = ", ".join(columns)
    return [
        f"{of}where {where}" if where else "",
        f"{of}reads {read}" if read else "",
        "counted" if counted else "",
    ]


def _columns(columns: Iterable[checked.Column]) -> str:
    return ", ".join(_column(column) for column in columns)


def _column(column: checked.Column) -> str:
    text = expr_text(column.expr)
    return column.name if text.replace("$", "") == column.name else f"{text} as {column.name}"


def _order(keys: Iterable[checked.OrderKey]) -> str:
    return ", ".join(f"{expr_text(key.expr)} {'desc' if key.descending else 'asc'}" for key in keys)


def _statement_lines(statement: plan.PlannedStatement) -> list[str]:
    if not isinstance(statement, plan.FromMatch):
        return [_line(*_statement(statement))]
    rows = [f"  {line}" for line in _operators(statement.rows.operators)]
    return [_line(*_statement(statement.change), "for each of"), *rows]


def _statement(
    statement: checked.Insert | checked.Replace | checked.Update | checked.Delete | checked.SetRows,
) -> list[str]:
    match statement:
        case checked.Insert(_, name, values):
            return ["Insert", name, _assignments(values)]
        case checked.Replace(_, name, values):
            return ["Replace", name, _assignments(values)]
        case checked.Update(_, name, values, where):
            return ["Update", name, _assignments(values), f"where {predicate_text(where)}"]
        case checked.SetRows(_, name, variable, values):
            return ["Set", f"{_variable(variable)}: {name}", _assignments(values)]
        case checked.Delete(kind, name, where):
            cascade = "with their edges" if kind is expr.EntityKind.NODE else ""
            return ["Delete", name, f"where {predicate_text(where)}", cascade]


def _assignments(values: Iterable[tuple[str, checked.Assigned]]) -> str:
    """Return what is set, without what is a column of the same name."""
    shown = (each for each in values if not isinstance(each[1], expr.ColumnRef))
    return ", ".join(f"{name}: {expr_text(value)}" for name, value in shown)


def _json(value: object) -> Json:
    match value:
        case None | bool() | str() | float():
            return str(value) if isinstance(value, Enum) else value
        case int():
            return value if abs(value) <= JS_SAFE_INTEGER else str(value)
        case datetime():
            return datetime_text(value)
        case date():
            return value.isoformat()
        case bytes():
            return f"{len(value)} bytes"
        case tuple():
            return [_json(item) for item in value]
        case TypeRef() | expr.EntityType() | expr.ObjectType() | expr.CollectedType():
            return str(value)
        case _ if isinstance(value, ValueType):
            return str(value)
    if not is_dataclass(value):
        raise TypeError(f"a plan holds no {type(value).__name__}")
    names = [item.name for item in fields(value) if item.name != "span"]
    return {"op": type(value).__name__, **{name: _json(getattr(value, name)) for name in names}}
