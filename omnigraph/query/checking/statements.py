"""Statements: checks `insert`, `replace`, `update`, `delete` and changes of what is matched."""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import islice

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import (
    Assigned,
    BoundVariable,
    CheckedStatement,
    Delete,
    FromMatch,
    Insert,
    Replace,
    SetRows,
    Update,
    types_read,
)
from omnigraph.query.checking.patterns import PatternChecker
from omnigraph.query.comparing import assignable
from omnigraph.query.expr import (
    Call,
    Constant,
    EntityKind,
    Expr,
    ListOf,
    Now,
    ParamRef,
    Predicate,
    PropertyRef,
    TextMatch,
    map_leaves,
)
from omnigraph.query.parsing import ast
from omnigraph.query.resolve import ExpressionResolver
from omnigraph.schema.catalog import (
    EDGE_COLUMNS,
    EDGE_ENDS,
    NODE_COLUMNS,
    Catalog,
    EdgeType,
    NodeType,
    Property,
    StoredType,
)
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import (
    BLOB,
    DATE,
    DATETIME,
    STRING,
    EnumType,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
    is_integer,
    is_number,
)
from omnigraph.schema.values import BadValue, coerce, coerce_literal
from omnigraph.syntax.literal import Literal, Name, literal_text
from omnigraph.syntax.problems import Problems

_MOST_MISSING = 12
_SYSTEM = {False: NODE_COLUMNS, True: EDGE_COLUMNS}


@dataclass(frozen=True, slots=True)
class StatementChecker:
    """Checks the statements of one mutation.

    `scope` holds the variables of the match that a change follows, `written` the types that
    earlier statements change.
    """

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems
    scope: Mapping[str, BoundVariable] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def check(self, statement: ast.Statement) -> CheckedStatement | None:
        """Check a statement; return None if a problem was reported."""
        found: CheckedStatement | None
        match statement:
            case ast.FromMatch():
                found = self._from_match(statement)
            case ast.Insert() | ast.Replace():
                found = self._new_row(statement)
            case ast.Update() | ast.Delete():
                found = self._of_rows(statement)
        if found is not None:
            self.written.add(found.change.type if isinstance(found, FromMatch) else found.type)
        return found

    def _new_row(self, statement: ast.Insert | ast.Replace) -> Insert | Replace | None:
        stored = self._stored(statement.type)
        if stored is None:
            return None
        values = self._values(stored, statement.assignments, inserting=True)
        self._check_complete(stored, statement)
        make = Insert if isinstance(statement, ast.Insert) else Replace
        return make(_kind(stored), stored.name, values)

    def _of_rows(self, statement: ast.Update | ast.Delete) -> Update | Delete | None:
        stored = self._stored(statement.type)
        if stored is None:
            return None
        if isinstance(statement, ast.Delete):
            predicate = self._where(stored, statement.where)
            return None if predicate is None else Delete(_kind(stored), stored.name, predicate)
        values = self._values(stored, statement.assignments, inserting=False)
        predicate = self._where(stored, statement.where)
        return None if predicate is None else Update(_kind(stored), stored.name, values, predicate)

    def _from_match(self, statement: ast.FromMatch) -> FromMatch | None:
        before = self.problems.total
        patterns = PatternChecker(self.catalog, self.params, self.problems)
        pattern, scope = patterns.check(statement.match, ChainMap())
        within = replace(self, scope=scope)
        change: Insert | Replace | SetRows | None
        if isinstance(statement.change, ast.SetVariable):
            change = within._set_variable(statement.change)
        else:
            change = within._new_row(statement.change)
        if stale := sorted(types_read(pattern) & self.written):
            message = f"this match reads {', '.join(stale)}, which an earlier statement changes"
            hint = "write it before that statement, or as a query of its own"
            self.problems.report(Code.STALE_MATCH, statement.span, message, hint)
        return (
            None if change is None or self.problems.total > before else FromMatch(pattern, change)
        )

    def _set_variable(self, statement: ast.SetVariable) -> SetRows | None:
        name, span = statement.variable.name, statement.variable.span
        bound = self.scope.get(name)
        if bound is None:
            hint = self.problems.nearest(f"${name}", (f"${each}" for each in self.scope))
            message = f"the match binds no '${name}'"
            self.problems.report(Code.UNKNOWN_VARIABLE, span, message, hint)
            return None
        if len(bound.type.types) != 1:
            if bound.type.types:
                message = f"'${name}' may be {bound.type}; set changes rows of one type"
                hint = f"give it one of these types: ${name}: {bound.type.types[0]}"
                self.problems.report(Code.TYPE_MISMATCH, span, message, hint)
            return None
        stored = self.catalog.stored(bound.type.types[0])
        assert stored is not None
        own = self._values(stored, statement.assignments, inserting=False)
        values = tuple((column, _of_variable(value, name)) for column, value in own)
        return SetRows(_kind(stored), stored.name, name, values)

    def _stored(self, name: Name) -> StoredType | None:
        stored = self.catalog.stored(name.text)
        if stored is None:
            self._unknown_type(name)
        return stored

    def _unknown_type(self, name: Name) -> None:
        if name.text in self.catalog.interfaces:
            message = f"{name.text} is an interface; rows belong to a node or edge type"
            self.problems.report(Code.UNKNOWN_TYPE, name.span, message)
            return
        hint = self.problems.nearest(name.text, [*self.catalog.nodes, *self.catalog.edges])
        self.problems.report(Code.UNKNOWN_TYPE, name.span, f"unknown type '{name.text}'", hint)

    def _where(self, stored: StoredType, where: ast.Predicate) -> Predicate | None:
        return self._expressions(stored).predicate(where)

    def _expressions(self, stored: StoredType | None) -> ExpressionResolver:
        return ExpressionResolver(
            catalog=self.catalog,
            params=self.params,
            problems=self.problems,
            scope=self.scope,
            row=stored,
        )

    def _values(
        self, stored: StoredType, assignments: ast.Assignments, *, inserting: bool
    ) -> tuple[tuple[str, Assigned], ...]:
        values: dict[str, Assigned] = {}
        for name, node in assignments:
            column = _column(stored, name)
            target = self._target(stored, name, column, inserting=inserting)
            if target is None:
                continue
            if column in values:
                message = f"'{name.text}' is set twice"
                self.problems.report(Code.DUPLICATE_NAME, name.span, message)
                continue
            if isinstance(node, ast.Variable) and node.name in self.scope:
                value: Assigned | None = self._entity(stored, column, node)
            else:
                value = self._assigned(name, target, node, None if inserting else stored)
            if value is not None and self._may_hold(stored, column, value, node):
                values[column] = value
        return tuple(values.items())

    def _target(
        self, stored: StoredType, name: Name, column: str, *, inserting: bool
    ) -> ValueType | None:
        """Return the type of a column that a statement may set; report any other."""
        code, message, hint = Code.READ_ONLY_PROPERTY, None, None
        if column == "id" and stored.key:
            message = f"the id of {stored.name} comes from its key"
            hint = f"set {', '.join(stored.key)}"
        elif not inserting and column in stored.key:
            code = Code.KEY_UPDATE
            message = f"'{name.text}' is part of the key of {stored.name} and cannot be updated"
            hint = "delete the row and insert a new one"
        elif not inserting and column in _SYSTEM[_is_edge(stored)]:
            message = f"'{name.text}' cannot be updated"
        elif (found := stored.column(column)) is not None:
            return found
        else:
            code = Code.UNKNOWN_PROPERTY
            message = f"{stored.name} has no property '{name.text}'"
            hint = self.problems.nearest(name.text, stored.properties)
        self.problems.report(code, name.span, message, hint)
        return None

    def _entity(self, stored: StoredType, column: str, node: ast.Variable) -> PropertyRef | None:
        """Check a whole node as an end of an edge; return its id."""
        bound = self.scope[node.name]
        if not isinstance(stored, EdgeType) or column not in ("src", "dst"):
            message = f"'${node.name}' is a whole {bound.type}, not a value"
            hint = f"name a property of it: ${node.name}.id"
            self.problems.report(Code.NOT_A_VALUE, node.span, message, hint)
            return None
        end = stored.source if column == "src" else stored.target
        if bound.type.types and bound.type.types != (end,):
            where = "from" if column == "src" else "to"
            message = f"{stored.name} goes {where} {end}, but '${node.name}' is {bound.type}"
            self.problems.report(Code.EDGE_ENDPOINTS, node.span, message)
        return PropertyRef(node.name, "id", STRING)

    def _assigned(
        self, name: Name, target: ValueType, node: ast.Expr, row: StoredType | None = None
    ) -> Assigned | None:
        """Check a value for a property; it may be computed from the properties of `row`."""
        if isinstance(node, Literal):
            return self._literal(name, target, node)
        if isinstance(node, ast.ListExpr):
            return self._list(name, target, node)
        value = self._value(node, row)
        if value is None:
            return None
        fits = assignable(value.type, target) or (target == BLOB and value.type == STRING)
        if isinstance(value, Call):
            # Computed whole numbers are wide; whether one fits is known for each row.
            fits = fits or (is_integer(value.type) and is_integer(target))
        if not fits:
            self._mismatch(name, target, str(value.type), node)
        return value if fits else None

    def _may_hold(self, stored: StoredType, column: str, value: Assigned, node: ast.Expr) -> bool:
        """Return whether a column may store a value; report a nullable parameter if it may not."""
        item = stored.properties.get(column)
        required = item is None or not item.nullable
        return not required or self._is_given(column, value, node)

    def _is_given(self, column: str, value: Assigned, node: ast.Expr) -> bool:
        """Return whether a value is never null; report a nullable parameter."""
        if not (isinstance(value, ParamRef) and self.params[value.name].nullable):
            return True
        message = f"'{column}' is required, but '${value.name}' may be null"
        hint = f"declare it as ${value.name}: {self.params[value.name].type}"
        self.problems.report(Code.TYPE_MISMATCH, node.span, message, hint)
        return False

    def _value(
        self, node: ast.Expr, row: StoredType | None
    ) -> ParamRef | Now | PropertyRef | Call | None:
        if isinstance(node, ast.Variable) and node.name not in self.params:
            hint = self.problems.nearest(node.name, [*self.params, *self.scope])
            what = "variable" if self.scope else "parameter"
            message = f"unknown {what} '${node.name}'"
            self.problems.report(Code.UNKNOWN_VARIABLE, node.span, message, hint)
            return None
        is_name = isinstance(node, Name) and row is None
        if is_name or (isinstance(node, ast.PropertyAccess) and not self.scope):
            message = "expected a literal, a parameter, or what is computed from them"
            hint = None if row is None else f"write a property of {row.name} without a variable"
            if self.scope and isinstance(node, Name):
                hint = f"write a property as $variable.{node.text}"
            self.problems.report(Code.NOT_A_VALUE, node.span, message, hint)
            return None
        value = self._expressions(row).value(node)
        if isinstance(value, TextMatch):
            message = "a search selects rows in the match; it is not a value"
            self.problems.report(Code.MISUSED_SEARCH, node.span, message)
            return None
        assert value is None or isinstance(value, ParamRef | Now | PropertyRef | Call)
        return value

    def _literal(self, name: Name, target: ValueType, node: Literal) -> Constant | None:
        value = node.value
        if isinstance(target, EnumType) and isinstance(value, str) and value not in target.members:
            self._expressions(None).report_enum(value, target.values, node.span)
            return None
        if target in (DATE, DATETIME) and isinstance(value, str | int):
            self._mismatch(name, target, literal_text(value), node)
            return None
        try:
            return Constant(coerce_literal(value, target), target)
        except BadValue as bad:
            in_range = is_number(target) and isinstance(value, int) and not isinstance(value, bool)
            code = Code.VALUE_OUT_OF_RANGE if in_range else Code.TYPE_MISMATCH
            self.problems.report(code, node.span, f"'{name.text}': {bad}")
            return None

    def _list(self, name: Name, target: ValueType, node: ast.ListExpr) -> Constant | ListOf | None:
        if isinstance(target, VectorType):
            return self._vector(name, target, node)
        if not isinstance(target, ListType):
            self._mismatch(name, target, "a list", node)
            return None
        items = [self._item(name, ScalarType(target.item), each) for each in node.items]
        fitting = tuple(each for each in items if isinstance(each, Constant | ParamRef))
        if len(fitting) < len(items):
            return None
        values = tuple(each.value for each in fitting if isinstance(each, Constant))
        if len(values) == len(items):
            return Constant(values, target)
        return ListOf(fitting, target.item)

    def _vector(self, name: Name, target: VectorType, node: ast.ListExpr) -> Constant | None:
        values = [item.value for item in node.items if isinstance(item, Literal)]
        if len(values) < len(node.items):
            self._mismatch(name, target, "a list with parameters", node)
            return None
        try:
            return Constant(coerce(values, target), target)
        except BadValue as bad:
            self.problems.report(Code.TYPE_MISMATCH, node.span, f"'{name.text}': {bad}")
            return None

    def _item(self, name: Name, target: ScalarType, node: ast.Expr) -> Assigned | None:
        """Check an item of a list; no item may be null."""
        value = self._assigned(name, target, node)
        if isinstance(value, Now | Call):
            message = "expected a literal or a parameter as an item of the list"
            self.problems.report(Code.NOT_A_VALUE, node.span, message)
            return None
        return value if value is not None and self._is_given(name.text, value, node) else None

    def _mismatch(self, name: Name, target: ValueType, given: str, node: ast.Expr) -> None:
        hint = None
        if target == DATE:
            hint = 'write date("2024-01-31"), or use a Date parameter'
        elif target == DATETIME:
            hint = 'write datetime("2024-01-31T12:00:00Z") or now(), or use a DateTime parameter'
        message = f"'{name.text}' is {target}, not {given}"
        self.problems.report(Code.TYPE_MISMATCH, node.span, message, hint)

    def _check_complete(self, stored: StoredType, statement: ast.Insert | ast.Replace) -> None:
        given = {_column(stored, name) for name, _ in statement.assignments}
        needed = (item.name for item in stored.properties.values() if _needed(item, given))
        missing = list(islice(needed, _MOST_MISSING))
        if isinstance(stored, EdgeType):
            ends = [name for name, column in EDGE_ENDS.items() if column not in given]
            missing = ends + missing
        if missing:
            names = ", ".join(f"'{name}'" for name in missing[:_MOST_MISSING])
            more = " and more" if len(missing) >= _MOST_MISSING else ""
            verb = "insert" if isinstance(statement, ast.Insert) else "replace"
            message = f"{verb} {stored.name} must set {names}{more}"
            self.problems.report(Code.REQUIRED_ASSIGNMENT, statement.type.span, message)


def _of_variable(value: Assigned, variable: str) -> Assigned:
    """Return a value whose properties without a variable are those of the variable."""

    def own(leaf: Expr) -> Expr:
        if isinstance(leaf, PropertyRef) and leaf.variable is None:
            return replace(leaf, variable=variable)
        return leaf

    if not isinstance(value, PropertyRef | Call):
        return value
    found = map_leaves(value, own)
    assert isinstance(found, PropertyRef | Call)
    return found


def _kind(stored: StoredType) -> EntityKind:
    return EntityKind.NODE if isinstance(stored, NodeType) else EntityKind.EDGE


def _needed(item: Property, given: set[str]) -> bool:
    if item.nullable or item.default is not None or item.name in given:
        return False
    return item.embed is None or item.embed.source not in given


def _column(stored: StoredType, name: Name) -> str:
    return EDGE_ENDS.get(name.text, name.text) if _is_edge(stored) else name.text


def _is_edge(stored: StoredType) -> bool:
    return isinstance(stored, EdgeType)
