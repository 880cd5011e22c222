"""Uniting: checks a union: its reads have the same columns, by which its rows are ordered."""

from collections.abc import Mapping

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import CheckedRead, CheckedUnion
from omnigraph.query.checking.ordering import BoundChecker, check_order_key
from omnigraph.query.comparing import result_type_of
from omnigraph.query.expr import (
    CollectedType,
    ColumnRef,
    EntityType,
    Expr,
    ObjectType,
    ResultType,
)
from omnigraph.query.parsing import ast
from omnigraph.query.resolve import ExpressionResolver
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import is_single
from omnigraph.syntax.problems import Problems


@dataclass(frozen=True, slots=True)
class UnionChecker:
    """Checks the unions of one query."""

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems

    def check(self, union: ast.Union, reads: tuple[CheckedRead, ...]) -> CheckedUnion | None:
        """Return a union of reads that were checked; None if a problem was reported."""
        before = self.problems.total
        first = _columns(reads[0])
        for read, node in zip(reads[1:], union.reads[1:], strict=True):
            self._check_columns(first, _columns(read), node)
        if not union.keeps_all:
            self._check_comparable(first, union.reads[0])
        aliases: dict[str, Expr] = {
            name: ColumnRef(name, kind)
            for name, kind in first.items()
            if kind is not None and not isinstance(kind, CollectedType | ObjectType)
        }
        expressions = ExpressionResolver(
            catalog=self.catalog,
            params=self.params,
            problems=self.problems,
            scope={},
            aliases=aliases,
            elsewhere="a union is ordered by its columns: write the name of one",
        )
        order = [check_order_key(each, expressions) for each in union.order]
        bounds = BoundChecker(self.params, self.problems)
        skip, limit = bounds.check(union.skip, "skip"), bounds.check(union.limit, "limit")
        if self.problems.total > before:
            return None
        return CheckedUnion(
            reads=reads,
            keeps_all=union.keeps_all,
            order=tuple(each for each in order if each is not None),
            skip=skip,
            limit=limit,
        )

    def _check_columns(
        self,
        first: Mapping[str, ResultType | None],
        other: Mapping[str, ResultType | None],
        node: ast.Read,
    ) -> None:
        """Report the first column in which a read differs from the first read."""
        if first == other and list(first) == list(other):
            return
        pairs = list(zip(first.items(), other.items(), strict=False))
        different = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if different is None:
            message = f"this read has {len(other)} columns, and the first one {len(first)}"
        else:
            (wanted, kind), (name, given) = different
            message = f"this read has '{name}: {given}' where the first one has '{wanted}: {kind}'"
        hint = "the reads of a union have columns of the same names and types, in the same order"
        span = node.projections[0].expr.span.to(node.projections[-1].expr.span)
        self.problems.report(Code.UNION_COLUMNS, span, message, hint)

    def _check_comparable(self, columns: Mapping[str, ResultType | None], node: ast.Read) -> None:
        for name, kind in columns.items():
            if not _is_comparable(kind):
                message = f"rows cannot be made distinct by '{name}', which is {kind}"
                span = node.projections[0].expr.span.to(node.projections[-1].expr.span)
                hint = "union all keeps all rows"
                self.problems.report(Code.UNSUITABLE_OPERATOR, span, message, hint)


def _is_comparable(kind: ResultType | None) -> bool:
    if kind is None or isinstance(kind, CollectedType | ObjectType):
        return False
    return isinstance(kind, EntityType) or is_single(kind)


def _columns(read: CheckedRead) -> dict[str, ResultType | None]:
    return {column.name: result_type_of(column.expr) for column in read.columns}
