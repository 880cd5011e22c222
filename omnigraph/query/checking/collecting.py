"""Collecting: checks `collect`: what the items of a list are, and how they are ordered."""

from collections.abc import Callable

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import RowCount
from omnigraph.query.comparing import result_type_of, type_of
from omnigraph.query.expr import (
    Collect,
    CollectedType,
    EntityType,
    Expr,
    ListOf,
    ObjectOf,
    ObjectType,
    ResultType,
    SortKey,
    VariableRef,
)
from omnigraph.query.parsing import ast
from omnigraph.query.resolve import ExpressionResolver
from omnigraph.schema.types import BLOB, ListType, VectorType, is_single

MOST_DEEP = 4


@dataclass(frozen=True, slots=True)
class CollectChecker:
    """Checks the lists that a read makes; `ties` are the variables of its rows."""

    rows: ExpressionResolver
    ties: tuple[VariableRef, ...]
    bound: Callable[[ast.RowBound | None, str], RowCount | None]

    def check(self, node: ast.Collect, depth: int = 1) -> Collect | None:
        """Return a typed list; None if a problem was reported."""
        problems = self.rows.problems
        before = problems.total
        if depth > MOST_DEEP:
            message = f"lists are nested at most {MOST_DEEP} deep"
            problems.report(Code.QUERY_CAP, node.span, message)
            return None
        item = self._item(node.item, depth)
        order = [self._sort_key(each) for each in node.order]
        limit = self.bound(node.limit, "limit")
        kind = None if item is None else self._item_type(item, node)
        if item is None or kind is None or problems.total > before:
            return None
        return Collect(
            item=item,
            distinct=node.distinct,
            order=tuple(each for each in order if each is not None),
            ties=self.ties,
            limit=limit,
            type=CollectedType(kind),
        )

    def _item(self, node: ast.Expr, depth: int) -> Expr | None:
        if isinstance(node, ast.Collect):
            message = "a list holds values or objects; name an inner list in an object"
            hint = "write collect({ name: …, items: collect(…) })"
            self.rows.problems.report(Code.MISUSED_AGGREGATE, node.span, message, hint)
            return None
        if not isinstance(node, ast.ObjectExpr):
            return self.rows.value(node)
        fields: dict[str, Expr] = {}
        for name, value in node.fields:
            if name.text in fields:
                message = f"two fields are named '{name.text}'"
                self.rows.problems.report(Code.DUPLICATE_COLUMN, name.span, message)
            found: Expr | None
            if isinstance(value, ast.Collect):
                found = self.check(value, depth + 1)
            else:
                found = self.rows.value(value)
            if found is not None:
                fields[name.text] = found
        kinds = [(name, result_type_of(value)) for name, value in fields.items()]
        typed = tuple((name, kind) for name, kind in kinds if kind is not None)
        return ObjectOf(tuple(fields.items()), ObjectType(typed))

    def _item_type(self, item: Expr, node: ast.Collect) -> ResultType | None:
        kind = result_type_of(item)
        if kind is None or isinstance(item, ListOf):
            message = "a list that is written in the query is the same in every row"
            self.rows.problems.report(Code.NOT_A_VALUE, node.item.span, message)
            return None
        if node.distinct and not _can_be_distinct(kind):
            message = f"{kind} values cannot be compared, so they cannot be distinct"
            self.rows.problems.report(Code.MISUSED_AGGREGATE, node.item.span, message)
            return None
        return kind

    def _sort_key(self, ordering: ast.Ordering) -> SortKey | None:
        found = self.rows.value(ordering.expr)
        if found is None:
            return None
        kind = type_of(found)
        if isinstance(kind, ListType | VectorType) or kind in (None, BLOB):
            message = f"items cannot be ordered by {kind or 'an empty list'} values"
            self.rows.problems.report(Code.UNSUITABLE_OPERATOR, ordering.expr.span, message)
            return None
        return SortKey(found, bool(ordering.descending))


def _can_be_distinct(kind: ResultType) -> bool:
    if isinstance(kind, ObjectType):
        return all(_can_be_distinct(each) for _, each in kind.fields)
    return isinstance(kind, EntityType) or (not isinstance(kind, CollectedType) and is_single(kind))
