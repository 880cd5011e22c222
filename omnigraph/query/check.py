"""Check: a parsed query against the catalog; a query that passes can run as written."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import (
    BoundVariable,
    CheckedMutation,
    CheckedQuery,
    CheckedRead,
    CheckedUnion,
    Column,
    Link,
    OrderKey,
    ParamDecl,
)
from omnigraph.query.checking.collecting import CollectChecker
from omnigraph.query.checking.ordering import BoundChecker, check_order_key
from omnigraph.query.checking.patterns import PatternChecker
from omnigraph.query.checking.statements import StatementChecker
from omnigraph.query.checking.uniting import UnionChecker
from omnigraph.query.comparing import common_type, type_of
from omnigraph.query.expr import (
    Aggregate,
    Bm25,
    Collect,
    ColumnRef,
    EntityType,
    Expr,
    Known,
    ListOf,
    Nearest,
    PathPart,
    Predicate,
    PropertyRef,
    Rrf,
    VariableRef,
    children,
    parts,
)
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.printer import expr_text
from omnigraph.query.parsing.value_parser import PATH_PARTS, RANKINGS
from omnigraph.query.planning.tail import binds
from omnigraph.query.resolve import ExpressionResolver
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import VectorType, is_single
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems


def check_query(query: ast.Query, catalog: Catalog, problems: Problems) -> CheckedQuery | None:
    """Check a query against the catalog; return None if problems were reported."""
    before = problems.total
    params = _params(query.params, problems)
    body: CheckedRead | CheckedUnion | CheckedMutation | None
    if isinstance(query.body, ast.Read):
        body = _ReadChecker(query.body, catalog, params, problems).check()
    elif isinstance(query.body, ast.Union):
        body = _check_union(query.body, catalog, params, problems)
    else:
        statements = StatementChecker(catalog, params, problems)
        checked = [statements.check(each) for each in query.body.statements]
        body = CheckedMutation(tuple(each for each in checked if each is not None))
    if body is None or problems.total > before:
        return None
    return CheckedQuery(
        name=query.name.text,
        params=tuple(ParamDecl(name, kind) for name, kind in params.items()),
        body=body,
        description=query.description,
        instruction=query.instruction,
    )


def _check_union(
    union: ast.Union, catalog: Catalog, params: Mapping[str, TypeRef], problems: Problems
) -> CheckedUnion | None:
    before = problems.total
    is_limited = union.limit is not None
    checkers = [_ReadChecker(each, catalog, params, problems, is_limited) for each in union.reads]
    reads = [each.check() for each in checkers]
    checked = tuple(each for each in reads if each is not None)
    if len(checked) < len(reads) or problems.total > before:
        return None
    return UnionChecker(catalog, params, problems).check(union, checked)


def _params(declared: Iterable[ast.Param], problems: Problems) -> dict[str, TypeRef]:
    params: dict[str, TypeRef] = {}
    for param in declared:
        if param.name.text in params:
            message = f"parameter '${param.name.text}' is declared twice"
            problems.report(Code.DUPLICATE_NAME, param.name.span, message)
        elif param.name.text == "_":
            message = "'$_' is anonymous and cannot be a parameter"
            problems.report(Code.DUPLICATE_NAME, param.name.span, message)
        else:
            params[param.name.text] = param.type
    return params


@dataclass(slots=True)
class _ReadChecker:
    """Checks one read; one of a union `is_limited` by the limit of the union."""

    read: ast.Read
    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems
    is_limited: bool = False
    _shown: list[ast.Projection] = field(default_factory=list)
    _ties: tuple[VariableRef, ...] = ()
    _paths: Mapping[str, Link] = field(default_factory=dict)

    def check(self) -> CheckedRead | None:
        patterns = PatternChecker(self.catalog, self.params, self.problems)
        pattern, scope = patterns.check(self.read.match, ChainMap())
        self._paths = patterns.paths
        names = (name for name in binds(pattern) if name in scope)
        self._ties = tuple(VariableRef(name, scope[name].type) for name in names)
        aliases: dict[str, Expr] = {}
        columns = self._columns(scope, aliases)
        expressions = self._expressions(scope, aliases)
        having = [expressions.predicate(each) for each in self.read.having]
        order = [check_order_key(each, expressions) for each in self.read.order]
        bounds = BoundChecker(self.params, self.problems)
        skip, limit = bounds.check(self.read.skip, "skip"), bounds.check(self.read.limit, "limit")
        kept_having = tuple(each for each in having if each is not None)
        kept_order = tuple(each for each in order if each is not None)
        if len(kept_having) < len(having) or len(kept_order) < len(order):
            return None
        checked = CheckedRead(
            pattern=pattern,
            columns=tuple(columns),
            grouped=_has_aggregate([c.expr for c in columns], kept_having, kept_order),
            distinct=self.read.distinct,
            having=kept_having,
            order=kept_order,
            skip=skip,
            limit=limit,
        )
        if not self._check_rankings(checked):
            self._check_groups(checked)
        return checked

    def _expressions(
        self, scope: Mapping[str, BoundVariable], aliases: Mapping[str, Expr]
    ) -> ExpressionResolver:
        return ExpressionResolver(
            catalog=self.catalog,
            params=self.params,
            problems=self.problems,
            scope=scope,
            aliases=aliases,
            in_result=True,
            paths=self._paths,
        )

    def _columns(
        self, scope: Mapping[str, BoundVariable], aliases: dict[str, Expr]
    ) -> list[Column]:
        """Return the columns; later projections can use earlier aliases."""
        columns: list[Column] = []
        names: set[str] = set()
        before = self.problems.total
        for projection in self._projections(scope):
            expr = self._column(projection.expr, scope, aliases)
            name = _column_name(projection)
            if name in names:
                message = f"two columns are named '{name}'"
                hint = "rename one of them with 'as'"
                self.problems.report(Code.DUPLICATE_COLUMN, _span(projection), message, hint)
            names.add(name)
            if expr is None:
                continue
            if isinstance(expr, ListOf) and common_type(expr.items) is None:
                self.problems.report(Code.TYPE_MISMATCH, projection.expr.span, _why_untyped(expr))
                continue
            columns.append(Column(name, expr))
            self._shown.append(projection)
            if projection.alias is not None:
                self._add_alias(projection.alias, expr, aliases)
        if not names and self.problems.total == before:
            self._report_no_columns()
        return columns

    def _report_no_columns(self) -> None:
        """Report `$p.*` of a type without properties, which alone would be rows of nothing."""
        for each in self.read.projections:
            if isinstance(each.expr, ast.AllProperties):
                name = each.expr.variable.name
                message = f"${name} has no properties that '*' could stand for"
                hint = f"write ${name} or ${name}.id"
                self.problems.report(Code.UNKNOWN_PROPERTY, each.expr.span, message, hint)

    def _column(
        self, node: ast.Expr, scope: Mapping[str, BoundVariable], aliases: Mapping[str, Expr]
    ) -> Expr | None:
        if isinstance(node, ast.FunctionCall) and node.function in PATH_PARTS:
            return self._expressions(scope, aliases).path_part(node)
        if not isinstance(node, ast.Collect):
            return self._expressions(scope, aliases).value(node)
        rows = self._expressions(scope, aliases).for_lists()
        bounds = BoundChecker(self.params, self.problems)
        return CollectChecker(rows, self._ties, bounds.check).check(node)

    def _projections(self, scope: Mapping[str, BoundVariable]) -> Iterator[ast.Projection]:
        """Yield the projections, `$p.*` as one for each property."""
        for each in self.read.projections:
            if not isinstance(each.expr, ast.AllProperties):
                yield each
            elif each.alias is not None:
                message = "these are several columns, and cannot have one name"
                self.problems.report(Code.DUPLICATE_COLUMN, each.alias.span, message)
            else:
                found = self._expressions(scope, {}).all_properties(each.expr)
                yield from map(ast.Projection, found or ())

    def _add_alias(self, alias: Name, expr: Expr, aliases: dict[str, Expr]) -> None:
        if alias.text in ("true", "false", "null"):
            message = f"'{alias.text}' is a literal and cannot be an alias"
            self.problems.report(Code.DUPLICATE_NAME, alias.span, message)
        aliases[alias.text] = expr

    def _check_groups(self, checked: CheckedRead) -> None:
        """Report expressions that have no single value for a group or a distinct row."""
        if not checked.grouped and not checked.distinct:
            return
        if self._check_comparable(checked):
            return
        keys: set[Expr] = {
            column.expr for column in checked.columns if not _is_made_of_groups(column.expr)
        }
        if checked.grouped:
            for column, projection in zip(checked.columns, self._shown, strict=True):
                self._check_grouped(column.expr, keys, projection.expr.span)
            for predicate, node in zip(checked.having, self.read.having, strict=True):
                self._check_grouped(predicate, keys, node.span)
        for key, ordering in zip(checked.order, self.read.order, strict=True):
            self._check_grouped(key.expr, keys, ordering.expr.span, aggregates=checked.grouped)

    def _check_comparable(self, checked: CheckedRead) -> bool:
        """Report columns whose values cannot be compared; return whether there are any."""
        found = False
        for column, projection in zip(checked.columns, self._shown, strict=True):
            if isinstance(column.expr, Collect):
                continue
            if isinstance(column.expr, PathPart):
                message = "rows cannot be grouped or made distinct by the parts of a path"
                self.problems.report(Code.MISUSED_PATH, projection.expr.span, message)
                found = True
                continue
            kind = type_of(column.expr)
            is_free = isinstance(column.expr, Known) or _is_made_of_groups(column.expr)
            if is_free and not isinstance(kind, VectorType):
                continue
            if kind is None or not (isinstance(kind, EntityType) or is_single(kind)):
                message = f"rows cannot be grouped or made distinct by {kind} values"
                self.problems.report(Code.UNSUITABLE_OPERATOR, projection.expr.span, message)
                found = True
        return found

    def _check_grouped(
        self,
        node: Expr | Predicate,
        keys: set[Expr],
        span: Span,
        *,
        aggregates: bool = True,
    ) -> None:
        if not _reads_only(node, keys, aggregates=aggregates):
            what = "each group" if aggregates else "each distinct row"
            message = f"this may have more than one value for {what}"
            hint = "also return it, or aggregate it"
            self.problems.report(Code.UNGROUPED_EXPRESSION, span, message, hint)

    def _check_rankings(self, checked: CheckedRead) -> bool:
        """Report misplaced rankings; return whether there are any."""
        before = self.problems.total
        exprs: list[Expr | Predicate] = [column.expr for column in checked.columns]
        exprs += [*checked.having, *(key.expr for key in checked.order)]
        rankings = [
            part for e in exprs for part in parts(e) if isinstance(part, Bm25 | Nearest | Rrf)
        ]
        if not rankings:
            return False
        if checked.grouped:
            message = "a ranking cannot be combined with an aggregate"
            self.problems.report(Code.MISUSED_SEARCH, self._ranking_span(), message)
        is_limited = self.is_limited or self.read.limit is not None
        if not is_limited and any(isinstance(each, Nearest) for each in rankings):
            message = "nearest needs a limit: every row has a distance"
            hint = "add a limit, for example limit 10"
            self.problems.report(Code.NEAREST_WITHOUT_LIMIT, self._ranking_span(), message, hint)
        return self.problems.total > before

    def _ranking_span(self) -> Span:
        nodes = [each.expr for each in self.read.order]
        nodes += [each.expr for each in self.read.projections]
        calls = [
            each
            for each in nodes
            if isinstance(each, ast.FunctionCall) and each.function in RANKINGS
        ]
        return (calls or nodes)[0].span


def _has_aggregate(
    columns: Iterable[Expr], having: Iterable[Predicate], order: Iterable[OrderKey]
) -> bool:
    exprs: list[Expr | Predicate] = [*columns, *having, *(key.expr for key in order)]
    return any(map(_is_made_of_groups, exprs))


def _is_made_of_groups(node: Expr | Predicate) -> bool:
    return any(isinstance(part, Aggregate | Collect) for part in parts(node))


def _reads_only(node: Expr | Predicate, keys: set[Expr], *, aggregates: bool) -> bool:
    """Return whether a node reads nothing but constants, keys and aggregates."""
    if isinstance(node, Aggregate | Collect):
        return aggregates
    if node in keys:
        return True
    if isinstance(node, PropertyRef):
        return any(isinstance(k, VariableRef) and k.variable == node.variable for k in keys)
    if isinstance(node, VariableRef | ColumnRef | Bm25 | Nearest | Rrf):
        return False
    return all(_reads_only(child, keys, aggregates=aggregates) for child in children(node))


def _why_untyped(members: ListOf) -> str:
    """Return why a list has no type."""
    if not members.items:
        return "an empty list has no type"
    kinds = " and ".join(dict.fromkeys(str(item.type) for item in members.items))
    return f"no type can represent all of these {kinds} values exactly"


def _column_name(projection: ast.Projection) -> str:
    """Return the alias, or the expression as written without its `$` signs."""
    if projection.alias is not None:
        return projection.alias.text
    if isinstance(projection.expr, Literal) and isinstance(projection.expr.value, str):
        return projection.expr.value
    return expr_text(projection.expr).replace("$", "")


def _span(projection: ast.Projection) -> Span:
    return projection.expr.span if projection.alias is None else projection.alias.span
