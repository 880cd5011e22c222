"""Printer: expressions and hops of a parsed query, as the language writes them."""

from omnigraph.query.parsing.ast import (
    AllProperties,
    Arithmetic,
    Collect,
    Expr,
    FunctionCall,
    Hops,
    ListExpr,
    Negative,
    ObjectExpr,
    Ordering,
    PropertyAccess,
    Star,
    Variable,
)
from omnigraph.syntax.literal import Literal, Name, literal_text

_PRODUCTS = ("*", "/", "%")


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
        case AllProperties(variable, _):
            return f"${variable.name}.*"
        case Star():
            return "*"
        case ObjectExpr(fields, _):
            inside = ", ".join(f"{name.text}: {expr_text(value)}" for name, value in fields)
            return f"{{ {inside} }}"
        case Collect():
            return _collect_text(expr)
        case FunctionCall(function, arguments, _, distinct):
            inside = ", ".join(map(expr_text, arguments))
            return f"{function}({'distinct ' if distinct else ''}{inside})"
        case Arithmetic(left, operator, right, _):
            return f"{_operand(left, operator)} {operator} {_operand(right, operator, right=True)}"
        case Negative(operand, _):
            is_plain = not isinstance(operand, Literal | Arithmetic)
            return f"-{expr_text(operand)}" if is_plain else f"-({expr_text(operand)})"


def _collect_text(collect: Collect) -> str:
    text = ("distinct " if collect.distinct else "") + expr_text(collect.item)
    if collect.order:
        text += f" order {{ {', '.join(map(_ordering_text, collect.order))} }}"
    if collect.limit is not None:
        text += f" limit {expr_text(collect.limit)}"
    return f"collect({text})"


def _ordering_text(ordering: Ordering) -> str:
    words = {True: " desc", False: " asc", None: ""}
    return expr_text(ordering.expr) + words[ordering.descending]


def _operand(expr: Expr, operator: str, *, right: bool = False) -> str:
    """Return a side of an operation, in parentheses where it would be read otherwise."""
    text = expr_text(expr)
    if not isinstance(expr, Arithmetic):
        return text
    inner, outer = expr.operator in _PRODUCTS, operator in _PRODUCTS
    return text if inner > outer or (inner == outer and not right) else f"({text})"


def hops_text(hops: Hops) -> str:
    """Return hops as the language writes them."""
    if hops.maximum == hops.minimum:
        return f"{{{hops.minimum}}}"
    return f"{{{hops.minimum},{'' if hops.maximum is None else hops.maximum}}}"
