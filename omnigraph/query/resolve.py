"""Resolve: resolves the names in values and predicates, and types them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import date, datetime
from itertools import chain
from typing import NoReturn

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query import expr
from omnigraph.query.checked import BoundVariable, Link
from omnigraph.query.comparing import (
    common_type,
    compatible,
    enum_outsider,
    integer_type,
    match_width,
    operator_problem,
    type_name,
    type_of,
)
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.functions import FUNCTIONS, negative_type, operation_type
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.foreign import CONDITION_FORM, TEXT_WORDS
from omnigraph.query.parsing.value_parser import (
    AGGREGATES,
    CONDITION_WORDS,
    MOST_OPERATORS,
    PATH_PARTS,
    RANKINGS,
    TEXT_FUNCTIONS,
)
from omnigraph.query.planning.caution import by_caution
from omnigraph.schema.catalog import EDGE_COLUMNS, EDGE_ENDS, NODE_COLUMNS, Catalog, StoredType
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    ScalarType,
    ValueType,
    VectorType,
    is_integer,
    is_number,
    is_ordered,
    is_single,
)
from omnigraph.schema.values import BadValue, coerce
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, LiteralValue, Name, literal_text
from omnigraph.syntax.problems import Problems, list_names

RRF_K = 60
MOST_EDITS = 10
_OPERANDS = {
    "+": "it takes two numbers, two Strings, or a Date and a number of days",
    "-": "it takes two numbers, two Dates, or a Date and a number of days",
}


class Unresolved(Exception):
    """Leaves an expression whose problem was reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionResolver:
    """Types the expressions in one place of a query.

    `scope` holds the bound variables, `aliases` the projections that a bare name may mean, `row`
    the type whose properties a bare name may mean. Aggregates and rankings are allowed only
    where `in_result` is set; `elsewhere` says what to do with them otherwise. `hidden` are aliases
    that mean nothing here, and `makes_lists` is set for the items of lists, which hold no paths.
    `exists` checks the pattern of `exists { … }` where that is allowed, and returns the column
    that says whether it has a match.
    """

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems
    scope: Mapping[str, BoundVariable]
    aliases: Mapping[str, expr.Expr] | None = None
    row: StoredType | None = None
    in_result: bool = False
    exists: Callable[[ast.Exists], str | None] | None = None
    paths: Mapping[str, Link] = field(default_factory=dict)
    hidden: Mapping[str, expr.Expr] = field(default_factory=dict)
    makes_lists: bool = False
    elsewhere: str = "use it in return, having or order"

    def for_lists(self) -> "ExpressionResolver":
        """Return the same for the items of lists, which are of rows before they are shown."""
        return replace(self._for_rows("an item is made of properties"), makes_lists=True)

    def _for_rows(self, elsewhere: str) -> "ExpressionResolver":
        return replace(
            self, in_result=False, aliases=None, hidden=self.aliases or {}, elsewhere=elsewhere
        )

    def predicate(self, node: ast.Predicate) -> expr.Predicate | None:
        """Type a predicate; return None if a problem was reported."""
        match node:
            case ast.And(items):
                inner = self._predicates(items)
                return None if inner is None else expr.And(inner)
            case ast.Or(items):
                inner = self._predicates(items)
                return None if inner is None else expr.Or(inner)
            case ast.Not(item):
                only = self.predicate(item)
                return None if only is None else expr.Not(only)
            case ast.Exists():
                return self._exists(node)
            case ast.Comparison():
                return self._comparison(node)
            case ast.NullTest(operand, negated, _):
                typed = self.value(self._left_side(operand))
                return None if typed is None else expr.NullTest(typed, negated)
            case ast.FunctionCall():
                typed = self.value(node)
                assert typed is None or isinstance(typed, expr.TextMatch)
                return typed

    def value(self, node: ast.Expr) -> expr.Expr | None:
        """Type an expression; return None if a problem was reported."""
        try:
            found = self._value(node)
            self._check_size(found, node)
        except Unresolved:
            return None
        return found

    def _check_size(self, found: expr.Expr, node: ast.Expr) -> None:
        """Report what is too large with its aliases: a few that use each other stand for millions.

        The parser bounds what is written; an alias alone is as large as where it was made.
        """
        if not self.aliases or isinstance(node, Name) or not _uses_names(node):
            return
        if expr.calls_more(found, MOST_OPERATORS):
            message = (
                f"with its aliases, an expression can have at most {MOST_OPERATORS} "
                "operators and functions"
            )
            self._fail(Code.QUERY_CAP, node.span, message)

    def _exists(self, node: ast.Exists) -> expr.Predicate | None:
        if self.exists is None:
            hint = "ask it in match"
            if self.row is not None:
                hint = "match the rows: match { $p: Type  exists { … } } set $p { … }"
            message = "exists { … } is only asked in a pattern"
            self.problems.report(Code.MISPLACED_EXISTS, node.span, message, hint)
            return None
        column = self.exists(node)
        if column is None:
            return None
        is_true = expr.Constant(value=True, type=BOOL)
        return expr.Comparison(expr.ColumnRef(column, BOOL), ast.Operator.EQUAL, is_true)

    def _predicates(self, items: tuple[ast.Predicate, ...]) -> tuple[expr.Predicate, ...] | None:
        typed = [self.predicate(item) for item in items]
        found = tuple(by_caution(item for item in typed if item is not None))
        return found if len(found) == len(typed) else None

    def _comparison(self, node: ast.Comparison) -> expr.Comparison | None:
        left, right = self.value(self._left_side(node.left)), self.value(node.right)
        if left is None or right is None:
            return None
        problem = operator_problem(left, node.operator, right)
        if problem is not None:
            code, message = problem
            self.problems.report(code, node.span, message, _date_hint(left, right))
            return None
        partial = node.operator in (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH)
        for one, other in () if partial else ((left, right), (right, left)):
            if (outsider := enum_outsider(one, other)) is not None:
                value, kind = outsider
                self.report_enum(value, kind.values, node.span)
                return None
        return expr.Comparison(match_width(left, right), node.operator, match_width(right, left))

    def report_enum(self, value: str, values: tuple[str, ...], span: Span) -> None:
        """Report a string that is not one of an enum's values."""
        message = f"'{value}' is not one of {list_names(values)}"
        self.problems.report(Code.ENUM_VALUE, span, message, self.problems.nearest(value, values))

    def _value(self, node: ast.Expr) -> expr.Expr:
        match node:
            case Literal(value, _):
                return constant(value)
            case ast.Variable():
                return self._variable(node)
            case ast.PropertyAccess():
                return self.access(node)
            case ast.Star():
                raise AssertionError("only count takes a star, and it does not ask for its value")
            case ast.AllProperties(variable, span):
                hint = f"name one of them: ${variable.name}.property"
                message = "all properties can only be returned, each as a column"
                self._fail(Code.NOT_A_VALUE, span, message, hint)
            case Name():
                return self._name(node)
            case ast.ListExpr():
                return self._list(node)
            case ast.FunctionCall():
                return self._call(node)
            case ast.Collect() | ast.ObjectExpr():
                message = "a list is made in return, as a column of its own"
                self._fail(Code.MISUSED_AGGREGATE, node.span, message)
            case ast.Arithmetic():
                return self._arithmetic(node)
            case ast.Negative(operand, span):
                typed, kind = self._argument(operand)
                found = negative_type(kind)
                if found is None:
                    message = f"'-' needs a number, not {kind}"
                    self._fail(Code.UNSUITABLE_OPERATOR, span, message)
                return expr.Call("-", (typed,), found, span)

    def _arithmetic(self, node: ast.Arithmetic) -> expr.Call:
        (left, ours), (right, theirs) = self._argument(node.left), self._argument(node.right)
        kind = operation_type(node.operator, ours, theirs)
        if kind is None:
            message = f"'{node.operator}' does not take {ours} and {theirs}"
            hint = _OPERANDS.get(node.operator, "it takes two numbers")
            self._fail(Code.UNSUITABLE_OPERATOR, node.span, message, hint)
        return expr.Call(node.operator, (left, right), kind, node.span)

    def _function(self, node: ast.FunctionCall) -> expr.Call:
        function = FUNCTIONS[node.function]
        if not function.least <= len(node.arguments) <= function.most:
            counts = dict.fromkeys((function.least, function.most))
            noun = "argument" if function.most == 1 else "arguments"
            taken = f"{' to '.join(map(str, counts))} {noun}"
            message = f"{node.function} takes {taken}, not {len(node.arguments)}"
            self._fail(Code.MISUSED_FUNCTION, node.span, message, f"write {function.form}")
        found = [self._argument(each) for each in node.arguments]
        kind = function.type_of([each for _, each in found])
        if kind is None:
            given = " and ".join(str(each) for _, each in found)
            message = f"{node.function} takes {function.takes}, not {given}"
            self._fail(Code.MISUSED_FUNCTION, node.span, message, f"write {function.form}")
        return expr.Call(node.function, tuple(value for value, _ in found), kind, node.span)

    def _argument(self, node: ast.Expr) -> tuple[expr.Expr, ValueType]:
        """Return what a function or operator is given, and its type: one value for each row."""
        found = self._value(node)
        if isinstance(found, expr.Bm25 | expr.Nearest | expr.Rrf):
            message = "a ranking stands by itself; nothing is computed from its score"
            self._fail(Code.MISUSED_SEARCH, node.span, message)
        if isinstance(found, expr.ListOf | expr.TextMatch):
            what = "a list" if isinstance(found, expr.ListOf) else "a search"
            self._fail(Code.NOT_A_VALUE, node.span, f"nothing can be computed from {what}")
        kind = type_of(found)
        if kind is None or isinstance(kind, EntityType):
            message = f"nothing can be computed from {type_name(found)}; name a property of it"
            self._fail(Code.NOT_A_VALUE, node.span, message)
        return found, kind

    def _left_side(self, node: ast.Expr) -> ast.Expr:
        """Read `true` on the left side as the property of that name, where a row has one."""
        if self.row is not None and isinstance(node, Literal) and isinstance(node.value, bool):
            name = literal_text(node.value)
            if self.row.column(name) is not None:
                return Name(name, node.span)
        return node

    def _variable(self, node: ast.Variable) -> expr.Expr:
        if (param := self.params.get(node.name)) is not None:
            return expr.ParamRef(node.name, param.type)
        return expr.VariableRef(node.name, self._bound(node).type)

    def _bound(self, node: ast.Variable) -> BoundVariable:
        found = self.scope.get(node.name)
        if found is not None and not found.type.types:
            raise Unresolved
        if found is not None:
            return found
        message = f"unknown variable '${node.name}'"
        if node.name in self.paths:
            message = f"'${node.name}' is a path, not a value"
            hint = f"write length(${node.name}), nodes(${node.name}) or edges(${node.name})"
            if self.makes_lists:
                hint += ", as a column of its own"
            self._fail(Code.MISUSED_PATH, node.span, message, hint)
        if node.name == "_":
            anonymous = "'$_' is a new variable each time; name the variable to use it"
            self._fail(Code.UNKNOWN_VARIABLE, node.span, message, anonymous)
        if self.row is not None:
            hint = f"write the properties of {self.row.name} without a variable"
            self._fail(Code.UNKNOWN_VARIABLE, node.span, message, hint)
        near = self.problems.nearest(
            f"${node.name}", (f"${x}" for x in chain(self.scope, self.params))
        )
        self._fail(Code.UNKNOWN_VARIABLE, node.span, message, near)

    def access(self, node: ast.PropertyAccess) -> expr.PropertyRef:
        """Type `$variable.property`; raise Unresolved."""
        name = node.variable.name
        clashing = name in self.scope and not self.scope[name].type.types
        if name in self.params and not clashing:
            message = f"'${name}' is a parameter and has no properties"
            self._fail(Code.UNKNOWN_PROPERTY, node.key.span, message)
        bound = self._bound(node.variable)
        found = property_type(bound, node.key.text, self.catalog)
        if found is None:
            owner = bound.interface or str(bound.type)
            known = property_names(bound, self.catalog)
            hint = self.problems.nearest(node.key.text, known)
            message = f"{owner} has no property '{node.key.text}'"
            self._fail(Code.UNKNOWN_PROPERTY, node.key.span, message, hint)
        column = node.key.text
        if not bound.is_node:
            column = EDGE_ENDS.get(column, column)
        return expr.PropertyRef(bound.name, column, found)

    def all_properties(self, node: ast.AllProperties) -> list[ast.PropertyAccess] | None:
        """Return the properties that `$variable.*` stands for; None if a problem was reported."""
        try:
            if node.variable.name in self.params:
                message = f"'${node.variable.name}' is a parameter and has no properties"
                self._fail(Code.UNKNOWN_PROPERTY, node.span, message)
            bound = self._bound(node.variable)
        except Unresolved:
            return None
        system = NODE_COLUMNS if bound.is_node else EDGE_COLUMNS
        names = [name for name in property_names(bound, self.catalog) if name not in system]
        shown = [name for name in names if _is_shown(property_type(bound, name, self.catalog))]
        return [ast.PropertyAccess(node.variable, Name(name, node.span)) for name in shown]

    def _alias_hint(self, word: str, aliases: Iterable[str]) -> str | None:
        """Return the nearest alias; the words of a condition among columns read as aliases."""
        if word in CONDITION_WORDS:
            return CONDITION_FORM
        general = CONDITION_FORM if word in TEXT_WORDS else None
        return self.problems.nearest(word, aliases) or general

    def _name(self, node: Name) -> expr.Expr:
        if self.row is not None:
            return self._row_property(node, self.row)
        if node.text in self.hidden:
            message = f"the alias '{node.text}' cannot be used inside an aggregate or a list"
            meant = self._owned(node.text) or f"write what '{node.text}' stands for"
            self._fail(Code.UNKNOWN_ALIAS, node.span, message, meant)
        if self.aliases is None:
            general = f"write a property as $variable.{node.text}" if self.scope else None
            hint = self._owned(node.text) or general
            message = f"unknown name '{node.text}'"
            self._fail(Code.UNKNOWN_ALIAS, node.span, message, hint)
        found = self.aliases.get(node.text)
        if found is None:
            hint = self._owned(node.text) or self._alias_hint(node.text, self.aliases)
            self._fail(Code.UNKNOWN_ALIAS, node.span, f"unknown alias '{node.text}'", hint)
        if isinstance(found, expr.Collect | expr.PathPart):
            message = f"'{node.text}' is a list that the query makes, and is only shown"
            self._fail(Code.MISUSED_AGGREGATE, node.span, message)
        return found

    def _owned(self, name: str) -> str | None:
        """Return how a property is written that only one variable has; None for any other name."""
        owners = [
            bound.name
            for bound in self.scope.values()
            if bound.type.types and property_type(bound, name, self.catalog) is not None
        ]
        return f"write ${owners[0]}.{name}" if len(owners) == 1 else None

    def _row_property(self, node: Name, row: StoredType) -> expr.PropertyRef:
        found = row.column(node.text)
        if found is None:
            hint = self.problems.nearest(node.text, row.properties)
            message = f"{row.name} has no property '{node.text}'"
            self._fail(Code.UNKNOWN_PROPERTY, node.span, message, hint)
        is_edge = row.name in self.catalog.edges
        column = EDGE_ENDS.get(node.text, node.text) if is_edge else node.text
        return expr.PropertyRef(None, column, found)

    def _list(self, node: ast.ListExpr) -> expr.ListOf:
        items: list[expr.Constant | expr.ParamRef] = []
        for item in node.items:
            typed = self._value(item)
            if not isinstance(typed, expr.Constant | expr.ParamRef):
                message = "a list can only have literals and parameters"
                self._fail(Code.NOT_A_VALUE, item.span, message)
            if not isinstance(typed.type, ScalarType):
                self._fail(Code.TYPE_MISMATCH, item.span, f"a list cannot have {typed.type} items")
            if items and not compatible(items[0].type, typed.type):
                message = f"this list has {items[0].type} items, not {typed.type}"
                self._fail(Code.TYPE_MISMATCH, item.span, message)
            items.append(typed)
        return list_of(items)

    def _call(self, node: ast.FunctionCall) -> expr.Expr:
        self._check_distinct(node)
        if node.function == "now":
            if node.arguments:
                self._fail(Code.NOT_A_VALUE, node.span, "now() takes no arguments")
            return expr.Now()
        if (path := self._path_argument(node)) is not None:
            return expr.ColumnRef(expr.path_column(path, "length"), I64)
        if node.function in FUNCTIONS:
            return self._function(node)
        if node.function in TEXT_FUNCTIONS:
            if self.row is not None:
                message = f"{node.function} is not allowed in a mutation"
                self._fail(Code.MISUSED_SEARCH, node.span, message)
            return self._text_match(node)
        if not self.in_result:
            code = Code.MISUSED_SEARCH if node.function in RANKINGS else Code.MISUSED_AGGREGATE
            message = f"{node.function} is not allowed here"
            self._fail(code, node.span, message, self.elsewhere)
        if node.function in AGGREGATES:
            return self._aggregate(node)
        return self._rrf(node) if node.function == "rrf" else self._ranking(node)

    def _check_distinct(self, node: ast.FunctionCall) -> None:
        if node.distinct and node.function not in AGGREGATES:
            message = f"'distinct' is only allowed in aggregates, not in {node.function}"
            self._fail(Code.MISUSED_AGGREGATE, node.span, message)

    def _path_argument(self, node: ast.FunctionCall) -> str | None:
        """Return the path whose length is asked for; None if something else is."""
        match node:
            case ast.FunctionCall("length", (ast.Variable(name),)) if name in self.paths:
                if self.makes_lists:
                    message = "a list cannot hold the length of a path"
                    hint = f"return length(${name}) as a column of its own"
                    self._fail(Code.MISUSED_PATH, node.span, message, hint)
                return name
            case ast.FunctionCall(function) if function in PATH_PARTS:
                message = f"{function}($path) is shown, as a column of its own"
                self._fail(Code.MISUSED_PATH, node.span, message)
            case _:
                return None

    def path_part(self, node: ast.FunctionCall) -> expr.PathPart | None:
        """Type `nodes($path)` and `edges($path)`; return None if a problem was reported."""
        match node.arguments:
            case (ast.Variable(name),) if name in self.paths and not node.distinct:
                link = self.paths[name]
                edges = tuple(dict.fromkeys(step.edge for step in link.steps))
                types = EntityType(EntityKind.EDGE, edges)
                if node.function == "nodes":
                    types = EntityType(EntityKind.NODE, (self.catalog.edges[edges[0]].source,))
                return expr.PathPart(name, node.function, expr.CollectedType(types))
        message = f"{node.function} takes a path that the match names"
        hint = f"write $a knows{{1,5}} $b as $path shortest, and {node.function}($path)"
        self.problems.report(Code.MISUSED_PATH, node.span, message, hint)
        return None

    def _text_match(self, node: ast.FunctionCall) -> expr.TextMatch:
        most = 3 if node.function == "fuzzy" else 2
        self._arity(node, 2, most, f"{node.function}($variable.property, query)")
        field = self._field(node, STRING)
        query = self._operand(node, node.arguments[1], lambda kind: kind == STRING, "a String")
        edits = None
        if len(node.arguments) == 3:
            third = node.arguments[2]
            edits = self._number(node, third, "a whole number of edits")
            if isinstance(edits, expr.Constant) and not _within(edits, 0, MOST_EDITS):
                message = f"fuzzy takes 0 to {MOST_EDITS} edits"
                self._fail(Code.MISUSED_SEARCH, third.span, message)
        return expr.TextMatch(expr.TextFunction(node.function), field, query, edits)

    def _ranking(self, node: ast.FunctionCall) -> expr.Bm25 | expr.Nearest:
        self._arity(node, 2, 2, f"{node.function}($variable.property, query)")
        if node.function == "bm25":
            field = self._field(node, STRING)
            text = self._operand(node, node.arguments[1], lambda kind: kind == STRING, "a String")
            return expr.Bm25(field, text)
        field = self._field(node, None)
        assert isinstance(field.type, VectorType)
        return expr.Nearest(field, self._nearest_query(node, field.type))

    def _nearest_query(
        self, node: ast.FunctionCall, kind: VectorType
    ) -> expr.Constant | expr.ParamRef:
        argument = node.arguments[1]
        if isinstance(argument, ast.ListExpr):
            return self._vector(argument, kind)
        wanted = f"a {kind} or a String to embed"
        return self._operand(node, argument, lambda found: found in (kind, STRING), wanted)

    def _vector(self, node: ast.ListExpr, kind: VectorType) -> expr.Constant:
        values = [item.value if isinstance(item, Literal) else None for item in node.items]
        try:
            return expr.Constant(coerce(values, kind), kind)
        except BadValue as bad:
            self._fail(Code.TYPE_MISMATCH, node.span, f"invalid {kind}: {bad}")

    def _rrf(self, node: ast.FunctionCall) -> expr.Rrf:
        arguments = list(node.arguments)
        k: expr.Constant | expr.ParamRef = expr.Constant(RRF_K, I64)
        if arguments and not isinstance(arguments[-1], ast.FunctionCall):
            last = arguments.pop()
            k = self._number(node, last, "a whole number k")
            if isinstance(k, expr.Constant) and not _within(k, 1, 2**31):
                self._fail(Code.MISUSED_SEARCH, last.span, "k must be at least 1")
        rankings = []
        for argument in arguments:
            if not isinstance(argument, ast.FunctionCall) or argument.function not in (
                "bm25",
                "nearest",
            ):
                message = "rrf takes rankings: bm25(…) and nearest(…)"
                self._fail(Code.MISUSED_SEARCH, argument.span, message)
            self._check_distinct(argument)
            rankings.append(self._ranking(argument))
        if len(rankings) < 2:
            self._fail(Code.MISUSED_SEARCH, node.span, "rrf needs two or more rankings")
        return expr.Rrf(tuple(rankings), k)

    def _field(self, node: ast.FunctionCall, kind: ValueType | None) -> expr.PropertyRef:
        """Return the property to search: of this type, or any vector if it is None."""
        argument = node.arguments[0]
        if not isinstance(argument, ast.PropertyAccess):
            message = f"{node.function} searches a property: write $variable.property"
            self._fail(Code.MISUSED_SEARCH, argument.span, message)
        field = self.access(argument)
        fits = isinstance(field.type, VectorType) if kind is None else field.type == kind
        if not fits:
            wanted = "Vector" if kind is None else str(kind)
            message = f"{node.function} needs a {wanted}; '{field.property}' is {field.type}"
            self._fail(Code.MISUSED_SEARCH, argument.span, message)
        return field

    def _operand(
        self,
        call: ast.FunctionCall,
        node: ast.Expr,
        fits: Callable[[ValueType], bool],
        wanted: str,
    ) -> expr.Constant | expr.ParamRef:
        typed = self._value(node)
        if not isinstance(typed, expr.Constant | expr.ParamRef) or not fits(typed.type):
            message = f"{call.function} takes {wanted} here, as a literal or a parameter"
            self._fail(Code.MISUSED_SEARCH, node.span, message)
        return typed

    def _number(
        self, call: ast.FunctionCall, node: ast.Expr, wanted: str
    ) -> expr.Constant | expr.ParamRef:
        found = self._operand(call, node, is_integer, wanted)
        if isinstance(found, expr.ParamRef) and self.params[found.name].nullable:
            message = f"{call.function} takes {wanted} here; '${found.name}' may be null"
            self._fail(Code.MISUSED_SEARCH, node.span, message, f"declare it as {found.type}")
        return found

    def _arity(self, node: ast.FunctionCall, least: int, most: int, example: str) -> None:
        if not least <= len(node.arguments) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            message = f"{node.function} takes {count} arguments, not {len(node.arguments)}"
            self._fail(Code.MISUSED_SEARCH, node.span, message, f"write {example}")

    def _aggregate(self, node: ast.FunctionCall) -> expr.Aggregate:
        if node.arguments and isinstance(node.arguments[0], ast.Star):
            return expr.Aggregate("count", expr.EveryRow(), distinct=False, type=I64)
        if len(node.arguments) != 1:
            message = f"{node.function} takes one argument"
            self._fail(Code.MISUSED_AGGREGATE, node.span, message)
        within = self._for_rows("aggregate a property, or what is computed from properties")
        argument = within._value(node.arguments[0])
        if not isinstance(
            argument, expr.VariableRef | expr.PropertyRef | expr.ColumnRef | expr.Call
        ):
            message = f"{node.function} takes a variable, a property or what is computed from them"
            self._fail(Code.MISUSED_AGGREGATE, node.arguments[0].span, message)
        if (
            node.distinct
            and isinstance(argument, expr.PropertyRef | expr.Call)
            and not is_single(argument.type)
        ):
            message = f"{argument.type} values cannot be compared, so they cannot be distinct"
            self._fail(Code.MISUSED_AGGREGATE, node.arguments[0].span, message)
        kind = _aggregate_type(node.function, type_of(argument))
        if kind is None:
            wanted = "numbers" if node.function in ("sum", "avg") else "ordered values"
            message = f"{node.function} needs {wanted}, not {type_name(argument)}"
            self._fail(Code.MISUSED_AGGREGATE, node.arguments[0].span, message)
        return expr.Aggregate(node.function, argument, node.distinct, kind)

    def _fail(self, code: Code, span: Span, message: str, hint: str | None = None) -> NoReturn:
        self.problems.report(code, span, message, hint)
        raise Unresolved


def constant(value: LiteralValue) -> expr.Constant:
    """Return the typed constant of a literal."""
    match value:
        case bool():
            return expr.Constant(value, BOOL)
        case str():
            return expr.Constant(value, STRING)
        case int():
            return expr.Constant(value, integer_type(value))
        case float():
            return expr.Constant(value, F64)
        case datetime():
            return expr.Constant(value, DATETIME)
        case date():
            return expr.Constant(value, DATE)


def list_of(items: list[expr.Constant | expr.ParamRef]) -> expr.ListOf:
    """Return a typed list; numbers that fit no common type can only be compared."""
    kind = common_type(items) or (F64 if items else None)
    assert kind is None or isinstance(kind, ScalarType)
    return expr.ListOf(tuple(items), None if kind is None else kind.scalar)


def _uses_names(node: ast.Expr) -> bool:
    """Return whether something is computed from bare names."""
    match node:
        case Name():
            return True
        case ast.FunctionCall(arguments=operands):
            return any(map(_uses_names, operands))
        case ast.Arithmetic(left, _, right):
            return _uses_names(left) or _uses_names(right)
        case ast.Negative(operand):
            return _uses_names(operand)
        case _:
            return False


def property_type(bound: BoundVariable, name: str, catalog: Catalog) -> ValueType | None:
    """Return the type of a property that all types of a variable share, or None."""
    if bound.interface is not None:
        if name == "id":
            return STRING
        found = catalog.interfaces[bound.interface].properties.get(name)
        return None if found is None else found.type
    first, *others = bound.type.types
    kind = _stored(bound.type, first, catalog).column(name)
    same = all(_stored(bound.type, each, catalog).column(name) == kind for each in others)
    return kind if same else None


def property_names(bound: BoundVariable, catalog: Catalog) -> Iterator[str]:
    """Yield the properties of a variable that can be read by name."""
    if bound.interface is not None:
        yield from ("id", *catalog.interfaces[bound.interface].properties)
        return
    first = _stored(bound.type, bound.type.types[0], catalog)
    system = ("id",) if bound.is_node else ("id", "src", "dst")
    for name in (*system, *first.properties):
        if property_type(bound, name, catalog) is not None:
            yield name


def _stored(kind: EntityType, name: str, catalog: Catalog) -> StoredType:
    return catalog.nodes[name] if kind.kind is EntityKind.NODE else catalog.edges[name]


def _aggregate_type(function: str, kind: "ValueType | EntityType | None") -> ValueType | None:
    """Return the type of an aggregate's result, or None if it does not take such values."""
    if function == "count":
        return I64
    if kind is None or isinstance(kind, EntityType):
        return None
    if function in ("min", "max"):
        return kind if is_ordered(kind) else None
    if not is_number(kind):
        return None
    return I64 if function == "sum" and is_integer(kind) else F64


def _is_shown(kind: ValueType | None) -> bool:
    """Return whether an object of a result shows properties of a type."""
    return kind != BLOB and not isinstance(kind, VectorType)


def _within(constant: expr.Constant, least: int, most: int) -> bool:
    return isinstance(constant.value, int) and least <= constant.value <= most


def _date_hint(left: expr.Expr, right: expr.Expr) -> str | None:
    kinds = {type_of(left), type_of(right)}
    if kinds == {DATE, STRING}:
        return 'write date("2024-01-31")'
    if kinds == {DATETIME, STRING}:
        return 'write datetime("2024-01-31T12:00:00Z")'
    return None
