"""Parser: `.pg` text to its syntax tree."""

from omnigraph.errors import Code
from omnigraph.schema.parsing.ast import (
    Annotation,
    Argument,
    Constraint,
    Declaration,
    Edge,
    Interface,
    Node,
    Property,
    RangeBounds,
    Schema,
)
from omnigraph.schema.parsing.type_parser import parse_type
from omnigraph.span import Source
from omnigraph.syntax.cursor import Cursor
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems

CONSTRAINTS = ("key", "unique", "index", "range", "check")
DECLARATIONS = ("interface", "node", "edge")


def parse_schema(source: Source, problems: Problems) -> Schema:
    """Parse every declaration of a text; report those that do not parse."""
    parser = _SchemaParser(source, problems, Code.SCHEMA_SYNTAX, Code.SCHEMA_CAP)
    if problems.total:
        return Schema(())
    return Schema(tuple(parser.declarations(parser.declaration, parser.starts_declaration)))


class _SchemaParser(Cursor):
    def starts_declaration(self) -> bool:
        return self.at_word(*DECLARATIONS) and self.peek(1).kind == "word"

    def declaration(self) -> Declaration:
        if self.at_word("interface"):
            return self._interface()
        if self.at_word("node"):
            return self._node()
        if self.at_word("edge"):
            return self._edge()
        self.fail_expecting("'node', 'edge' or 'interface'")

    def _interface(self) -> Interface:
        self.advance()
        name = self.type_name("the name of the interface")
        properties, constraints = self._body()
        if constraints:
            message = "an interface can only declare properties"
            hint = f"write @{constraints[0].kind} after the property, or in the body of the node"
            self.fail(constraints[0].span, message, hint)
        return Interface(name=name, properties=properties)

    def _node(self) -> Node:
        self.advance()
        name = self.type_name("the name of the node type")
        annotations = self._head_annotations()
        implements: list[Name] = []
        if self.accept_word("implements"):
            implements.append(self.type_name("the name of an interface"))
            while self.accept(","):
                implements.append(self.type_name("the name of an interface"))
        properties, constraints = self._body()
        return Node(
            name=name,
            annotations=annotations,
            implements=tuple(implements),
            properties=properties,
            constraints=constraints,
        )

    def _edge(self) -> Edge:
        self.advance()
        name = self.type_name("the name of the edge type")
        self.expect(":", hint="write the ends of the edge: edge Knows: Person -> Person")
        source = self.type_name("the type that the edge leaves")
        self.expect("->")
        target = self.type_name("the type that the edge reaches")
        annotations = self._head_annotations()
        properties, constraints = self._body() if self.at("{") else ((), ())
        return Edge(
            name=name,
            source=source,
            target=target,
            annotations=annotations,
            properties=properties,
            constraints=constraints,
        )

    def _body(self) -> tuple[tuple[Property, ...], tuple[Constraint, ...]]:
        self.expect("{")
        properties: list[Property] = []
        constraints: list[Constraint] = []
        while not self.accept("}"):
            if self._at_constraint():
                constraints.append(self._constraint())
            elif self.at("@"):
                hint = "write it after a property, or before the '{' of a type"
                self.fail(
                    self.token.span, "this annotation does not belong to a property or a type", hint
                )
            else:
                properties.append(self._property())
        return tuple(properties), tuple(constraints)

    def _property(self) -> Property:
        if self.at(","):
            self.fail_expecting(
                "a property or '}'", "separate properties by white space, not by ','"
            )
        name = self.ident("a property or '}'")
        self.expect(":", hint="write name: Type")
        ref = parse_type(self)
        annotations = self._annotations()
        return Property(name=name, type=ref.type, nullable=ref.nullable, annotations=annotations)

    def _head_annotations(self) -> tuple[Annotation, ...]:
        """Take the annotations of a type; report constraints, which belong in the body."""
        annotations = self._annotations()
        while self._at_constraint():
            constraint = self._constraint()
            message = f"@{constraint.kind}(…) belongs in the body"
            hint = "write it between { and }"
            self.problems.report(Code.MISPLACED_ANNOTATION, constraint.span, message, hint)
            annotations += self._annotations()
        return annotations

    def _annotations(self) -> tuple[Annotation, ...]:
        annotations: list[Annotation] = []
        while self.at("@") and not self._at_constraint():
            annotations.append(self._annotation())
        return tuple(annotations)

    def _annotation(self) -> Annotation:
        sign = self.advance()
        name = self.ident("the name of the annotation")
        value: Argument | None = None
        options: list[tuple[str, Literal]] = []
        end = name.span
        if self.accept("("):
            value = self._argument()
            while self.accept(","):
                option = self.ident("the name of an option")
                self.expect("=")
                options.append((option.text, self.scalar("a literal")))
            end = self.expect(")").span
        return Annotation(
            name=name.text, value=value, options=tuple(options), span=sign.span.to(end)
        )

    def _at_constraint(self) -> bool:
        """Return whether `@key(`, `@range(` … comes next; without `(` it is an annotation."""
        return self.at("@") and self.peek(1).text in CONSTRAINTS and self.peek(2).kind == "("

    def _constraint(self) -> Constraint:
        sign = self.advance()
        kind = self.advance().text
        self.expect("(")
        arguments = self.comma_list(self._argument, ")")
        end = self.peek(-1)
        return Constraint(kind=kind, arguments=tuple(arguments), span=sign.span.to(end.span))

    def _argument(self) -> Argument:
        if self.at("..") or (self.at_number() and self._number_is_bound()):
            return self._range()
        if self.at("word") and not self.at_word("true", "false"):
            token = self.advance()
            return Name(token.text, token.span)
        return self.scalar("a literal, a name or a range")

    def _number_is_bound(self) -> bool:
        return self.peek(2 if self.at("-") else 1).kind == ".."

    def _range(self) -> RangeBounds:
        start = self.token.span
        minimum = None if self.at("..") else _number(self.number("the lower bound"))
        end = self.expect("..").span
        maximum = None
        if self.at_number():
            highest = self.number("the upper bound")
            maximum, end = _number(highest), highest.span
        elif self.at("*"):
            end = self.advance().span
        return RangeBounds(minimum=minimum, maximum=maximum, span=start.to(end))


def _number(literal: Literal) -> int | float:
    assert isinstance(literal.value, int | float)
    return literal.value
