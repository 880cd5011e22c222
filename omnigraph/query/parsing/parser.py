"""Parser: `.gq` text to its syntax tree.

Keywords are words that mean something only where the grammar asks for them, so any of them can
name a property, an edge, a parameter, a query or an alias; a few places look ahead to tell.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from omnigraph.errors import Code
from omnigraph.query.parsing.ast import (
    Assignments,
    Binding,
    Clause,
    Delete,
    EdgeName,
    Filter,
    FromMatch,
    Hops,
    Insert,
    Mutation,
    Negation,
    OptionalMatch,
    Param,
    PathName,
    Predicate,
    Projection,
    PropertyAccess,
    Query,
    QueryFile,
    Read,
    Replace,
    SetVariable,
    Statement,
    Traversal,
    Union,
    Update,
)
from omnigraph.query.parsing.foreign import HOPS_FORM
from omnigraph.query.parsing.value_parser import WORD_OPERATORS, ExpressionParser, variable_form
from omnigraph.schema.parsing.type_parser import parse_type
from omnigraph.span import Source
from omnigraph.syntax.cursor import Unparsable
from omnigraph.syntax.lexer import END, Token
from omnigraph.syntax.literal import Name
from omnigraph.syntax.problems import Problems

MOST_PARAMS = 1_000
# The name of a query that is written without one.
LONE_QUERY = "query"
_STATEMENTS = ("insert", "replace", "update", "delete")
_NODE_FORM = "write nodes as $p: Person  $q: Person, and an edge as $p knows $q"
# Words before another word that are keywords, also where a brace is left out.
_NO_VARIABLES = ("not", "return", "order", "group", "union")
_MATCHED = ("insert", "replace", "set")


def parse_queries(source: Source, problems: Problems) -> QueryFile:
    """Parse every query of a text; report those that do not parse."""
    parser = _QueryParser(source, problems, Code.QUERY_SYNTAX, Code.QUERY_CAP)
    if problems.total:
        return QueryFile(())
    if parser.starts_body():
        return QueryFile(tuple(parser.declarations(parser.lone_query, lambda: False)))
    return QueryFile(tuple(parser.declarations(parser.query, parser.starts_query)))


class _PatternParser(ExpressionParser):
    """The rules for what stands in `match`, `not` and `optional`."""

    def clauses(self) -> tuple[Clause, ...]:
        self.expect("{")
        if self.at("}"):
            self.fail(self.token.span, "a pattern needs at least one clause")
        clauses = [self._clause()]
        while not self.at("}"):
            clauses.append(self._clause())
        self.expect("}")
        return tuple(clauses)

    def _clause(self) -> Clause:
        if self.peek(1).kind == "{" and self.at_word("not", "optional"):
            start = self.advance()
            with self.nested():
                inner = self.clauses()
            span = start.span.to(self.peek(-1).span)
            return (Negation if start.text == "not" else OptionalMatch)(inner, span)
        if self.at("var"):
            if self.peek(1).kind == ":":
                return self._binding()
            if self._at_traversal():
                return self._traversal()
        if self.at_word("where"):
            self.fail_expecting("a clause", "write the condition itself, without where")
        if self.token.kind in ("word", "(") and (name := self._bare_variable()) is not None:
            hint = _NODE_FORM if self.at("(") and self.peek(2).kind == ":" else None
            message = f"expected a clause, found '{name.text}'"
            self.fail(name.span, message, hint or variable_form(name.text))
        return Filter(self.predicate())

    def _bare_variable(self) -> Token | None:
        """Return `p` of `p: Person`, `(p:Person)`, `p.name`, `p knows …` and `p <knows> …`."""
        ahead = 1 if self.at("(") else 0
        name, follower, third = (self.peek(ahead + each) for each in range(3))
        if name.kind != "word" or name.text[0].isupper():
            return None
        match follower.kind:
            case ":":
                is_name = not ahead or third.text[:1].isupper()
            case "word":
                is_operator = follower.text in (*WORD_OPERATORS, "is")
                is_name = not ahead and name.text not in _NO_VARIABLES and not is_operator
            case "<":
                is_name = third.kind == "word" and self.peek(ahead + 3).kind == ">"
            case _:
                is_name = follower.kind == "."
        return name if is_name else None

    def _at_traversal(self) -> bool:
        """Distinguish a traversal from a predicate that starts with the same variable.

        `$a contains $b` can be either; it is read as a predicate, and check decides.
        """
        first, second, third = self.peek(1), self.peek(2), self.peek(3)
        if first.kind == "var":
            return True
        if first.kind == "<":
            return second.kind == "word" and third.kind == ">"
        if first.kind != "word":
            return False
        if first.text in WORD_OPERATORS:
            return second.kind in ("{", "|")
        if first.text == "is":
            return second.text not in ("null", "not")
        return True

    def _binding(self) -> Binding:
        variable = self.variable()
        self.expect(":")
        type_name = self.type_name("the name of a type")
        if not self.accept("{"):
            return Binding(variable, type_name)
        values = [self.named_value()]
        while self.accept(",") and not self.at("}"):
            values.append(self.named_value())
        self.expect("}")
        return Binding(variable, type_name, tuple(values))

    def _traversal(self) -> Traversal:
        source = self.variable()
        edge_variable = None
        if self.at("var"):
            edge_variable = self.variable("the variable of the edge")
            self.expect(":", hint="write a named edge as $a $e:knows $b")
        edges = [self._edge()]
        while self.accept("|"):
            edges.append(self._edge())
        hops = self._hops() if self.at("{") else Hops()
        if self.at("*"):
            self.fail_expecting("the variable that the edge leads to", HOPS_FORM)
        target = self.variable("the variable that the edge leads to")
        is_path = self.at_word("as") and self.peek(1).kind == "var"
        return Traversal(
            source=source,
            edges=tuple(edges),
            target=target,
            hops=hops,
            edge_variable=edge_variable,
            path=self._path_name() if is_path else None,
        )

    def _path_name(self) -> PathName:
        start = self.advance()
        variable = self.variable("the variable of the path")
        keeps_all = self.accept_word("all") is not None
        self.expect_word("shortest", "write as $path shortest, or as $path all shortest")
        by = None
        if self.at_word("by") and self.peek(1).kind == "var":
            self.advance()
            edge = self.variable("the variable of the edge")
            self.expect(".", hint="write by $e.property")
            by = PropertyAccess(edge, self.ident("the name of a property"))
        return PathName(variable, keeps_all, by, start.span.to(self.peek(-1).span))

    def _edge(self) -> EdgeName:
        if self.accept("<"):
            name = self.ident("the name of an edge")
            self.expect(">")
            return EdgeName(name, undirected=True)
        if self.at("word") and self.token.text[0].isupper():
            written = self.token.text
            hint = f"write {written[0].lower()}{written[1:]} in a traversal"
            self.fail_expecting("the name of an edge", hint)
        return EdgeName(self.ident("the name of an edge"))

    def _hops(self) -> Hops:
        start = self.advance()
        minimum = self._count("the minimum number of hops")
        maximum: int | None = minimum
        if self.accept(","):
            maximum = None if self.at("}") else self._count("the maximum number of hops")
        end = self.expect("}", hint=HOPS_FORM)
        return Hops(minimum, maximum, start.span.to(end.span))

    def _count(self, what: str) -> int:
        if not self.at("int"):
            self.fail_expecting(what, HOPS_FORM)
        literal = self.whole(what)
        assert isinstance(literal.value, int)
        return literal.value


class _QueryParser(_PatternParser):
    """The rules for whole queries."""

    def starts_query(self) -> bool:
        return self.at_word("query") and self.peek(1).kind == "word" and self.peek(2).kind == "("

    def starts_body(self) -> bool:
        if self.at_word("match"):
            return self.peek(1).kind == "{"
        return self.at_word(*_STATEMENTS) and self.peek(1).kind == "word"

    def lone_query(self) -> Query:
        """Take a query without a name around it, which is all that its text holds."""
        start = self.token.span
        body = self._body()
        self.expect(END, self._rest_expected(body, "the end"))
        return Query(name=Name(LONE_QUERY, start), params=(), body=body)

    def query(self) -> Query:
        self._values = 0
        is_body = any(map(self.at_word, ("match", *_STATEMENTS)))
        self.expect_word("query", "write query NAME() { … } around it" if is_body else None)
        name = self.ident("the name of the query")
        self.expect("(", hint=f"write query {name.text}() if it has no parameters")
        params: Sequence[Param] = () if self.accept(")") else self.comma_list(self._param, ")")
        if len(params) > MOST_PARAMS:
            self.fail_cap(
                params[MOST_PARAMS].name.span,
                f"a query can have at most {MOST_PARAMS:,} parameters",
            )
        notes = self._annotations()
        self.expect("{")
        body = self._body()
        self.expect("}", self._rest_expected(body))
        return Query(
            name=name,
            params=tuple(params),
            body=body,
            description=notes.get("description"),
            instruction=notes.get("instruction"),
        )

    def _body(self) -> Read | Union | Mutation:
        if not self.at_word("match"):
            return self._mutation()
        start = self.advance()
        clauses = self.clauses()
        if self.at_word(*_MATCHED, "update", "delete"):
            return self._mutation(self._from_match(start, clauses))
        return self._reads(clauses)

    def _rest_expected(self, body: Read | Union | Mutation, end: str = "'}'") -> str:
        if isinstance(body, Mutation):
            return f"another statement or {end}"
        if isinstance(body, Union):
            return f"union, order, skip, limit (in this order) or {end}"
        return f"having, order, skip, limit (in this order) or {end}"

    def _param(self) -> Param:
        variable = self.variable("a parameter")
        self.expect(":", hint="write the type of the parameter: $name: String")
        return Param(Name(variable.name, variable.span), parse_type(self))

    def _annotations(self) -> dict[str, str]:
        notes: dict[str, str] = {}
        while self.at("@"):
            start = self.advance()
            name = self.ident("the name of an annotation")
            if name.text not in ("description", "instruction"):
                hint = "a query can have @description and @instruction"
                self.fail(start.span.to(name.span), f"unknown annotation '@{name.text}'", hint)
            if name.text in notes:
                self.fail(start.span.to(name.span), f"@{name.text} is repeated")
            self.expect("(")
            text = self.string("a string")
            assert isinstance(text.value, str)
            if not text.value.strip():
                self.fail(text.span, f"@{name.text} takes a non-empty string")
            notes[name.text] = text.value
            self.expect(")")
        return notes

    def _reads(self, clauses: tuple[Clause, ...]) -> Read | Union:
        """Take a read, or the union of several; what orders a union follows the last of them."""
        reads, words = [self._read(clauses)], set[bool]()
        while self.at_word("union"):
            word = self.advance()
            before = reads[-1]
            if before.order or before.skip is not None or before.limit is not None:
                hint = "write order, skip and limit once, after the last read"
                self.fail(word.span, "the reads of a union have no order, skip or limit", hint)
            words.add(self.accept_word("all") is not None)
            if len(words) > 1:
                message = "a query has either union or union all between its reads"
                self.fail(word.span.to(self.peek(-1).span), message)
            self.expect_word("match")
            reads.append(self._read(self.clauses()))
        if not words:
            return reads[0]
        last = reads[-1]
        plain = replace(last, order=(), skip=None, limit=None)
        return Union(
            reads=(*reads[:-1], plain),
            keeps_all=words.pop(),
            order=last.order,
            skip=last.skip,
            limit=last.limit,
        )

    def _read(self, clauses: tuple[Clause, ...]) -> Read:
        self.expect_word("return")
        distinct = self.accept_word("distinct") is not None
        projections = self._projections()
        having = self._having() if self.accept_word("having") else ()
        order = self.orderings() if self.accept_word("order") else ()
        skip = self.bound("skip") if self.accept_word("skip") else None
        limit = self.bound("limit") if self.accept_word("limit") else None
        return Read(
            match=clauses,
            projections=projections,
            distinct=distinct,
            having=having,
            order=order,
            skip=skip,
            limit=limit,
        )

    def _projections(self) -> tuple[Projection, ...]:
        self.expect("{")
        projections = [self._projection()]
        while not self.accept("}"):
            projections.append(self._projection())
        return tuple(projections)

    def _projection(self) -> Projection:
        expr = self.expr()
        alias = None
        if self.at_word("as") and self.peek(1).kind == "word":
            self.advance()
            alias = self.ident("an alias")
        self.accept(",")
        return Projection(expr, alias)

    def _having(self) -> tuple[Predicate, ...]:
        self.expect("{")
        predicates = [self.predicate()]
        while not self.accept("}"):
            predicates.append(self.predicate())
        return tuple(predicates)

    def _mutation(self, matched: FromMatch | None = None) -> Mutation:
        """Take the statements of a mutation, after the first one if it is taken already."""
        first = self.token if matched is None else matched
        statements: list[Statement] = [self._statement() if matched is None else matched]
        while self.at_word("match", *_STATEMENTS):
            statements.append(self._statement())
        deletes = [isinstance(statement, Delete) for statement in statements]
        if any(deletes) and not all(deletes):
            message = "a query cannot both delete and insert or update"
            hint = "split it into one query that inserts and updates, and one that deletes"
            span = first.span.to(self.peek(-1).span)
            self.problems.report(Code.MIXED_MUTATION, span, message, hint)
            raise Unparsable
        return Mutation(tuple(statements))

    def _statement(self) -> Statement:
        if self.at_word("match"):
            start = self.advance()
            return self._from_match(start, self.clauses())
        if self.at_word("insert", "replace"):
            return self._new_row()
        if self.accept_word("update"):
            type_name = self.type_name("the type to update")
            after_set = "write where … after set { … }" if self.at_word("where") else None
            self.expect_word("set", after_set)
            with self._row():
                assignments = self._assignments()
                return Update(type_name, assignments, self._where())
        if self.accept_word("delete"):
            type_name = self.type_name("the type to delete from")
            with self._row():
                return Delete(type_name, self._where())
        self.fail_expecting("'match', 'insert', 'replace', 'update' or 'delete'")

    @contextmanager
    def _row(self) -> Iterator[None]:
        """Take bare names for properties while the block runs."""
        self.in_row = True
        try:
            yield
        finally:
            self.in_row = False

    def _new_row(self) -> Insert | Replace:
        if self.accept_word("insert"):
            return Insert(self.type_name("the type to insert"), self._assignments())
        self.expect_word("replace")
        return Replace(self.type_name("the type to replace a row of"), self._assignments())

    def _from_match(self, start: Token, clauses: tuple[Clause, ...]) -> FromMatch:
        """Take what is changed for each match of a pattern."""
        change: Insert | Replace | SetVariable
        if self.accept_word("set"):
            variable = self.variable("the variable whose properties to set")
            change = SetVariable(variable, self._assignments())
        elif self.at_word("insert", "replace"):
            change = self._new_row()
        else:
            hint = None
            if self.at_word("update"):
                hint = "write set $p { … } for a variable of the match"
            elif self.at_word("delete"):
                hint = "write delete Type where … without a match"
            self.fail_expecting("'insert', 'replace' or 'set' after the match of a change", hint)
        return FromMatch(clauses, change, start.span.to(self.peek(-1).span))

    def _assignments(self) -> Assignments:
        self.expect("{")
        assignments = [self.named_value()]
        self.accept(",")
        while not self.accept("}"):
            assignments.append(self.named_value())
            self.accept(",")
        return tuple(assignments)

    def _where(self) -> Predicate:
        hint = "select the rows, for example where id = $id"
        self.expect_word("where", hint)
        return self.predicate()
