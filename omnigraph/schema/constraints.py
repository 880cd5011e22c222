"""Constraints: keys, uniqueness, indexes, ranges and checks of one type."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Interface, PatternCheck, Property, Range
from omnigraph.schema.parsing import ast
from omnigraph.schema.types import (
    BLOB,
    FLOATS,
    INTEGER_BOUNDS,
    STRING,
    ListType,
    ValueType,
    is_number,
    is_single,
)
from omnigraph.schema.values import Value
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, Name, literal_text
from omnigraph.syntax.problems import MOST_PROBLEMS, Problems

if TYPE_CHECKING:
    import re2

_EDGE_ENDS = ("src", "dst")
# An eighth of what Arrow's RE2 allows, so that every pattern that is accepted can be matched.
_MOST_PATTERN_BYTES = 1 << 20
_ALLOWED = {
    "node": ("key", "unique", "index", "range", "check"),
    "edge": ("key", "unique", "index"),
    "interface": ("key", "unique", "index"),
}


@dataclass(slots=True)
class Constraints:
    """Collects the constraints of one type, from its properties and from its body."""

    place: str
    type_name: str
    properties: Mapping[str, Property]
    problems: Problems
    key: tuple[str, ...] = ()
    unique: dict[tuple[str, ...], None] = field(default_factory=dict)
    indexes: dict[tuple[str, ...], None] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    checks: list[PatternCheck] = field(default_factory=list)

    def inherit(self, interface: Interface, span: Span) -> None:
        """Add the constraints of an interface that the type does not repeat itself."""
        if interface.key:
            self._set_key(interface.key, span)
        self.unique |= dict.fromkeys(interface.unique)
        self.indexes |= dict.fromkeys(interface.indexes)

    def flag(self, kind: str, name: str, span: Span) -> None:
        """Add `@key`, `@unique` or `@index` behind a property."""
        if kind == "key" and self.place == "edge":
            hint = "the key of an edge includes its ends: write @key(src, dst) in the body"
            self._report(
                Code.MISPLACED_ANNOTATION,
                span,
                "@key is not allowed on a property of an edge",
                hint,
            )
            return
        self._add(kind, (Name(name, span),), span)

    def body(self, constraint: ast.Constraint) -> None:
        """Add a constraint of the body."""
        if constraint.kind not in _ALLOWED[self.place]:
            message = f"@{constraint.kind} is not allowed in an edge type"
            hint = "an edge type can have @unique, @index and @key(src, dst)"
            self._report(Code.MISPLACED_ANNOTATION, constraint.span, message, hint)
        elif constraint.kind == "range":
            self._range(constraint)
        elif constraint.kind == "check":
            self._check(constraint)
        else:
            arguments = map(_as_name, constraint.arguments)
            names = [each for each in arguments if isinstance(each, Name)]
            if len(names) < len(constraint.arguments):
                message = f"@{constraint.kind} takes names of properties"
                self._report(Code.ANNOTATION_ARGUMENT, constraint.span, message)
            else:
                self._add(constraint.kind, tuple(names), constraint.span)

    def broken_by(self, name: str, value: Value) -> str | None:
        """Return the kind of constraint that a value of a property breaks, or None."""
        bounds = self.ranges.get(name)
        if bounds is not None and isinstance(value, int | float):
            least, most = bounds.ends(self.properties[name].type)
            if (least is not None and value < least) or (most is not None and value > most):
                return "range"
        for check in self.checks:
            if check.property == name and not pattern_found(check.pattern, str(value)):
                return "check"
        return None

    def _add(self, kind: str, names: tuple[Name, ...], span: Span) -> None:
        columns = tuple(name.text for name in names)
        if len(set(columns)) < len(columns):
            self._report(Code.REPEATED_ANNOTATION, span, f"@{kind} names a property twice")
            return
        suited = [self._suits(kind, name) for name in names]
        if not all(suited):
            return
        gathered = {"key": {self.key: None}, "unique": self.unique, "index": self.indexes}[kind]
        if columns in gathered:
            self._twice(f"@{kind}({', '.join(columns)})", span)
        elif kind == "key":
            self._set_key(columns, span)
        else:
            gathered[columns] = None

    def _set_key(self, columns: tuple[str, ...], span: Span) -> None:
        if self.place == "edge" and not set(_EDGE_ENDS) <= set(columns):
            hint = "write @key(src, dst), optionally followed by properties"
            self._report(
                Code.UNSUITABLE_PROPERTY, span, "the key of an edge must include src and dst", hint
            )
        elif self.key and self.key != columns:
            message = f"{self.type_name} already has the key ({', '.join(self.key)})"
            hint = "write a key of several properties as @key(a, b) in the body"
            self._report(Code.SECOND_KEY, span, message, hint)
        else:
            self.key = columns

    def _suits(self, kind: str, name: Name) -> bool:
        if self.place == "edge" and name.text in _EDGE_ENDS:
            return True
        found = self._property(name)
        if found is None:
            return False
        reason = _unsuitable(kind, found)
        if reason is not None:
            message = f"'{name.text}' cannot be part of @{kind}: {reason}"
            self._report(Code.UNSUITABLE_PROPERTY, name.span, message)
        return reason is None

    def _property(self, name: Name) -> Property | None:
        found = self.properties.get(name.text)
        if found is None:
            message = f"{self.type_name} has no property '{name.text}'"
            hint = self.problems.nearest(name.text, self.properties)
            self._report(Code.UNDECLARED_PROPERTY, name.span, message, hint)
        return found

    def _range(self, constraint: ast.Constraint) -> None:
        match constraint.arguments:
            case (Name() as name, ast.RangeBounds() as bounds):
                found = self._property(name)
                if found is not None and self._range_fits(found, bounds):
                    self.ranges[name.text] = Range(
                        property=name.text, minimum=bounds.minimum, maximum=bounds.maximum
                    )
            case _:
                message = "@range takes a property and a range"
                self._report(Code.BAD_RANGE, constraint.span, message, "write @range(age, 0..150)")

    def _range_fits(self, found: Property, bounds: ast.RangeBounds) -> bool:
        least, most = bounds.minimum, bounds.maximum
        message = None
        if not is_number(found.type):
            message = f"@range needs a number; '{found.name}' is {found.type}"
        elif least is None and most is None:
            message = "the range has no bounds"
        elif least is not None and most is not None and least > most:
            message = f"the range is empty: {least} is greater than {most}"
        elif not all(_bound_fits(bound, found.type) for bound in (least, most)):
            message = f"the bounds of the range do not fit {found.type}"
        elif found.name in self.ranges:
            message = f"'{found.name}' already has a range"
        if message is not None:
            self._report(Code.BAD_RANGE, bounds.span, message)
        return message is None

    def _check(self, constraint: ast.Constraint) -> None:
        match constraint.arguments:
            case (Name() as name, Literal(value=str() as pattern) as literal):
                found = self._property(name)
                if found is None:
                    return
                if found.type != STRING:
                    message = f"@check needs a String; '{name.text}' is {found.type}"
                    self._report(Code.UNSUITABLE_PROPERTY, name.span, message)
                elif self.problems.total >= MOST_PROBLEMS:
                    return
                elif (reason := pattern_problem(pattern)) is not None:
                    message = f"invalid RE2 pattern: {reason}"
                    self._report(Code.BAD_PATTERN, literal.span, message)
                elif (check := PatternCheck(property=name.text, pattern=pattern)) in self.checks:
                    self._twice(f"this @check of '{name.text}'", constraint.span)
                else:
                    self.checks.append(check)
            case _:
                hint = 'write @check(code, "^[A-Z]+$")'
                message = "@check takes a property and a pattern"
                self._report(Code.BAD_PATTERN, constraint.span, message, hint)

    def _twice(self, what: str, span: Span) -> None:
        self._report(Code.REPEATED_ANNOTATION, span, f"{what} is repeated")

    def _report(self, code: Code, span: Span, message: str, hint: str | None = None) -> None:
        self.problems.report(code, span, message, hint)


def _as_name(argument: ast.Argument) -> ast.Argument:
    """Read `true` and `false` as names, which a property may have."""
    if isinstance(argument, Literal) and isinstance(argument.value, bool):
        return Name(literal_text(argument.value), argument.span)
    return argument


def pattern_problem(pattern: str) -> str | None:
    """Return why RE2 rejects a pattern, or None."""
    import re2

    try:
        compile_pattern(pattern)
    except re2.error as refused:
        reason = refused.args[0]
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return None


def pattern_found(pattern: str, text: str) -> bool:
    """Return whether an RE2 pattern is found anywhere in a text."""
    return compile_pattern(pattern).search(text) is not None


def compile_pattern(pattern: str) -> "re2._Regexp[str]":
    """Compile an RE2 pattern; raise `re2.error`."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_PATTERN_BYTES
    return re2.compile(pattern, options=options)


def _unsuitable(kind: str, found: Property) -> str | None:
    if kind == "index":
        if found.type == BLOB or isinstance(found.type, ListType):
            return f"{found.type} values cannot be indexed"
        return None
    if not is_single(found.type):
        return f"{found.type} values cannot be compared"
    if kind == "key" and found.nullable:
        return "it is nullable"
    return None


def _bound_fits(bound: int | float | None, kind: ValueType) -> bool:
    if bound is None or kind in FLOATS:
        return True
    least, most = INTEGER_BOUNDS[kind]
    return isinstance(bound, int) and least <= bound <= most
