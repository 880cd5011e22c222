"""Printer: expressions and hops of a parsed query, as the language writes them."""

from omnigraph.query.ast import Expr, FunctionCall, Hops, ListExpr, PropertyAccess, Variable
from omnigraph.syntax.literal import Literal, Name, literal_text


def expr_text(expr: Expr) -> str:
    """Return an expression as the language writes it."""
    match expr:
        case Literal(value, _):
            return literal_text(value)
        case Variable(name, _):
            return f"${name}"
        case PropertyAccess(variable, name):
            return f"${variable.name}.{name.text}"
        case Name(text, _):
            return text
        case ListExpr(items, _):
            return f"[{', '.join(map(expr_text, items))}]"
        case FunctionCall(function, arguments, _, distinct):
            inside = ", ".join(map(expr_text, arguments))
            return f"{function}({'distinct ' if distinct else ''}{inside})"


def hops_text(hops: Hops) -> str:
    """Return hops as the language writes them."""
    if hops.maximum == hops.minimum:
        return f"{{{hops.minimum}}}"
    return f"{{{hops.minimum},{'' if hops.maximum is None else hops.maximum}}}"
