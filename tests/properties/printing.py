"""Printing: parsed queries as canonical `.gq` text that parses back to them."""

from collections.abc import Iterable

from omnigraph.query.parsing import ast
from omnigraph.query.parsing.printer import expr_text, hops_text
from omnigraph.syntax.literal import Name, quote

_INDENT = "  "


def print_queries(file: ast.QueryFile) -> str:
    """Return all queries as text, a blank line between them."""
    return "\n".join(map(_query, file.queries))


def _predicate(predicate: ast.Predicate) -> str:
    """Return a predicate as the language writes it, in parentheses only where they are needed."""
    match predicate:
        case ast.Comparison(left, operator, right, _):
            return f"{expr_text(left)} {operator} {expr_text(right)}"
        case ast.NullTest(operand, negated, _):
            return f"{expr_text(operand)} is {'not ' if negated else ''}null"
        case ast.And(items):
            return " and ".join(_grouped(item, ast.And, ast.Or) for item in items)
        case ast.Or(items):
            return " or ".join(_grouped(item, ast.Or) for item in items)
        case ast.Not(item, _):
            return f"not {_grouped(item, ast.And, ast.Or)}"
        case ast.Exists(clauses, _):
            return f"exists {{ {'  '.join(_clauses(clauses))} }}"
        case ast.FunctionCall():
            return expr_text(predicate)


def _grouped(predicate: ast.Predicate, *kinds: type) -> str:
    text = _predicate(predicate)
    return f"({text})" if isinstance(predicate, kinds) else text


def _query(query: ast.Query) -> str:
    params = ", ".join(f"${param.name.text}: {param.type}" for param in query.params)
    head = [f"query {query.name.text}({params})"]
    if query.description is not None:
        head.append(f"@description({quote(query.description)})")
    if query.instruction is not None:
        head.append(f"@instruction({quote(query.instruction)})")
    body = _body(query.body)
    return "\n".join([f"{' '.join(head)} {{", *_indented(body), "}"]) + "\n"


def _body(body: ast.Read | ast.Union | ast.Mutation) -> list[str]:
    match body:
        case ast.Read():
            return [*_read(body), *_rest(body)]
        case ast.Mutation():
            return _mutation(body)
        case ast.Union(reads=reads):
            first, *others = map(_read, reads)
            word = "union all" if body.keeps_all else "union"
            return [*first, *(line for each in others for line in (word, *each)), *_rest(body)]


def _read(read: ast.Read) -> list[str]:
    lines = ["match {", *_indented(_clauses(read.match)), "}"]
    projections = [
        expr_text(each.expr) + (f" as {each.alias.text}" if each.alias else "") + ","
        for each in read.projections
    ]
    lines += [f"return {'distinct ' if read.distinct else ''}{{", *_indented(projections), "}"]
    if read.having:
        lines += ["having {", *_indented(_having(read.having)), "}"]
    return lines


def _rest(read: ast.Read | ast.Union) -> list[str]:
    lines = []
    if read.order:
        lines.append(
            f"order {{ {', '.join(_ordering(o.expr, o.descending) for o in read.order)} }}"
        )
    if read.skip is not None:
        lines.append(f"skip {expr_text(read.skip)}")
    if read.limit is not None:
        lines.append(f"limit {expr_text(read.limit)}")
    return lines


def _having(predicates: tuple[ast.Predicate, ...]) -> list[str]:
    """Return predicates that cannot run into each other, whatever their aliases are called."""
    texts = [_predicate(each) for each in predicates]
    return texts if len(texts) == 1 else [f"({text})" for text in texts]


def _ordering(expr: ast.Expr, descending: bool | None) -> str:
    direction = {None: "", True: " desc", False: " asc"}[descending]
    return expr_text(expr) + direction


def _clauses(clauses: Iterable[ast.Clause]) -> list[str]:
    lines: list[str] = []
    for clause in clauses:
        match clause:
            case ast.Negation(inner, _):
                lines += ["not {", *_indented(_clauses(inner)), "}"]
            case ast.OptionalMatch(inner, _):
                lines += ["optional {", *_indented(_clauses(inner)), "}"]
            case ast.Binding():
                lines.append(_binding(clause))
            case ast.Traversal():
                lines.append(_traversal(clause))
            case ast.Filter(predicate):
                lines.append(_predicate(predicate))
    return lines


def _binding(binding: ast.Binding) -> str:
    text = f"${binding.variable.name}: {binding.type.text}"
    if not binding.values:
        return text
    values = ", ".join(f"{name.text}: {expr_text(value)}" for name, value in binding.values)
    return f"{text} {{ {values} }}"


def _traversal(traversal: ast.Traversal) -> str:
    edges = "|".join(map(_edge, traversal.edges))
    named = f"${traversal.edge_variable.name}:" if traversal.edge_variable else ""
    hops = "" if traversal.hops == ast.Hops() else f" {hops_text(traversal.hops)}"
    text = f"${traversal.source.name} {named}{edges}{hops} ${traversal.target.name}"
    if (path := traversal.path) is None:
        return text
    by = "" if path.by is None else f" by {expr_text(path.by)}"
    return f"{text} as ${path.variable.name} {'all ' if path.keeps_all else ''}shortest{by}"


def _edge(edge: ast.EdgeName) -> str:
    return f"<{edge.name.text}>" if edge.undirected else edge.name.text


def _mutation(mutation: ast.Mutation) -> list[str]:
    return [line for statement in mutation.statements for line in _statement(statement)]


def _statement(statement: ast.Statement) -> list[str]:
    match statement:
        case ast.Insert(kind, assignments):
            return [f"insert {kind.text} {{", *_indented(_assignments(assignments)), "}"]
        case ast.Replace(kind, assignments):
            return [f"replace {kind.text} {{", *_indented(_assignments(assignments)), "}"]
        case ast.Update(kind, assignments, where):
            body = _indented(_assignments(assignments))
            return [f"update {kind.text} set {{", *body, f"}} where {_predicate(where)}"]
        case ast.Delete(kind, where):
            return [f"delete {kind.text} where {_predicate(where)}"]
        case ast.FromMatch(clauses, change, _):
            return ["match {", *_indented(_clauses(clauses)), "}", *_change(change)]


def _change(change: ast.Insert | ast.Replace | ast.SetVariable) -> list[str]:
    if not isinstance(change, ast.SetVariable):
        return _statement(change)
    body = _indented(_assignments(change.assignments))
    return [f"set ${change.variable.name} {{", *body, "}"]


def _assignments(assignments: Iterable[tuple[Name, ast.Expr]]) -> list[str]:
    return [f"{name.text}: {expr_text(value)}," for name, value in assignments]


def _indented(lines: Iterable[str]) -> list[str]:
    return [_INDENT + line for line in lines]
