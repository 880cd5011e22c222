"""Ordering: checks `order`, `skip` and `limit`."""

from collections.abc import Mapping

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import OrderKey, RowCount
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import Nearest, ParamRef
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.value_parser import RANKINGS
from omnigraph.query.resolve import ExpressionResolver, constant
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import BLOB, ListType, VectorType, is_integer
from omnigraph.syntax.literal import Literal
from omnigraph.syntax.problems import Problems


def check_order_key(ordering: ast.Ordering, expressions: ExpressionResolver) -> OrderKey | None:
    """Return a typed key; None if a problem was reported."""
    expr = expressions.value(ordering.expr)
    if expr is None:
        return None
    kind = type_of(expr)
    if isinstance(kind, ListType | VectorType) or kind in (None, BLOB):
        message = f"rows cannot be ordered by {kind or 'an empty list'} values"
        expressions.problems.report(Code.UNSUITABLE_OPERATOR, ordering.expr.span, message)
        return None
    if isinstance(ordering.expr, ast.FunctionCall) and ordering.expr.function in RANKINGS:
        best_first = ordering.descending is not False
        return OrderKey(expr, descending=best_first != isinstance(expr, Nearest))
    return OrderKey(expr, bool(ordering.descending))


@dataclass(frozen=True, slots=True)
class BoundChecker:
    """Checks the numbers of rows of one query."""

    params: Mapping[str, TypeRef]
    problems: Problems

    def check(self, bound: ast.RowBound | None, word: str) -> RowCount | None:
        """Return a number of rows, or the parameter for it; None if there is none."""
        if bound is None:
            return None
        if isinstance(bound, Literal):
            return constant(bound.value)
        param = self.params.get(bound.name)
        message, hint = None, None
        if param is None:
            message = f"unknown parameter '${bound.name}'"
            hint = self.problems.nearest(bound.name, self.params)
        elif not is_integer(param.type):
            message = f"{word} takes an integer; '${bound.name}' is {param}"
        elif param.nullable:
            message = f"{word} needs a value; '${bound.name}' may be null"
            hint = f"declare it as {param.type}"
        if param is None or message is not None:
            code = Code.UNKNOWN_VARIABLE if param is None else Code.BAD_BOUND
            self.problems.report(code, bound.span, message or "", hint)
            return None
        return ParamRef(bound.name, param.type)
