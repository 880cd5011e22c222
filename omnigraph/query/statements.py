"""Statements: checks `insert`, `replace`, `update` and `delete` against the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from omnigraph.errors import Code
from omnigraph.query import ast
from omnigraph.query.checked import Assigned, CheckedStatement, Delete, Insert, Replace, Update
from omnigraph.query.comparing import assignable
from omnigraph.query.expr import (
    Call,
    Constant,
    EntityKind,
    ListOf,
    Now,
    ParamRef,
    Predicate,
    PropertyRef,
)
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
from omnigraph.schema.type_parser import TypeRef
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
    """Checks the statements of one mutation."""

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems

    def check(self, statement: ast.Statement) -> CheckedStatement | None:
        """Check a statement; return None if a problem was reported."""
        stored = self.catalog.stored(statement.type.text)
        if stored is None:
            self._unknown_type(statement.type)
            return None
        kind = EntityKind.NODE if isinstance(stored, NodeType) else EntityKind.EDGE
        match statement:
            case ast.Insert(_, assignments):
                values = self._values(stored, assignments, inserting=True)
                self._check_complete(stored, statement)
                return Insert(kind, stored.name, values)
            case ast.Replace(_, assignments):
                values = self._values(stored, assignments, inserting=True)
                self._check_complete(stored, statement)
                return Replace(kind, stored.name, values)
            case ast.Update(_, assignments, where):
                values = self._values(stored, assignments, inserting=False)
                predicate = self._where(stored, where)
                return None if predicate is None else Update(kind, stored.name, values, predicate)
            case ast.Delete(_, where):
                predicate = self._where(stored, where)
                return None if predicate is None else Delete(kind, stored.name, predicate)

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
            scope={},
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
            hint = self.problems.nearest(node.name, self.params)
            message = f"unknown parameter '${node.name}'"
            self.problems.report(Code.UNKNOWN_VARIABLE, node.span, message, hint)
            return None
        is_name = isinstance(node, Name) and row is None
        if is_name or isinstance(node, ast.PropertyAccess):
            message = "expected a literal, a parameter, or what is computed from them"
            hint = None if row is None else f"write a property of {row.name} without a variable"
            self.problems.report(Code.NOT_A_VALUE, node.span, message, hint)
            return None
        value = self._expressions(row).value(node)
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


def _needed(item: Property, given: set[str]) -> bool:
    if item.nullable or item.default is not None or item.name in given:
        return False
    return item.embed is None or item.embed.source not in given


def _column(stored: StoredType, name: Name) -> str:
    return EDGE_ENDS.get(name.text, name.text) if _is_edge(stored) else name.text


def _is_edge(stored: StoredType) -> bool:
    return isinstance(stored, EdgeType)
