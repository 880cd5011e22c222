"""Complete: what can stand at a place of a query, which need not parse yet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.query.editing.scope import Scope, scope_of
from omnigraph.query.editing.words import (
    CONSTANT_WORDS,
    FUNCTION_FORMS,
    OPERATOR_WORDS,
    QUERY_ANNOTATIONS,
    QUERY_WORDS,
    SEARCHES,
    TYPES,
)
from omnigraph.schema.catalog import AnyType, Catalog, EdgeType, Interface, NodeType
from omnigraph.schema.types import EnumType
from omnigraph.syntax.completion import (
    Caret,
    Completion,
    CompletionItem,
    Offered,
    begun_with,
    caret_at,
)
from omnigraph.syntax.lexer import Piece
from omnigraph.syntax.literal import quote

_Items: TypeAlias = Iterator[CompletionItem]

_STATEMENTS = ("insert", "replace", "update", "delete")
_COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "in"))
_SIGNS = frozenset(("+", "-", "*", "/", "%"))
_NO_CATALOG = Catalog({}, {}, {})


def complete(text: str, position: int, catalog: Catalog | None) -> Completion:
    """Return what can stand at a place of a text; without a catalog, words and variables alone."""
    caret = caret_at(text, position)
    if caret.is_in_text:
        return Completion(caret.start)
    known = _NO_CATALOG if catalog is None else catalog
    items = _Completing(caret, known, scope_of(caret, known)).items()
    return Completion(caret.start, begun_with(items, caret.begun))


@dataclass(slots=True)
class _Block:
    """A brace or parenthesis that is open at the caret, and what stands before it."""

    kind: str
    type: str | None = None
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Completing:
    caret: Caret
    catalog: Catalog
    scope: Scope

    def items(self) -> _Items:
        blocks = list(_open_blocks(self.scope.tokens, self.scope))
        inner = blocks[-1] if blocks else None
        before = self.caret.back()
        if before is not None and before.text == "@":
            return _words(QUERY_ANNOTATIONS)
        if before is not None and before.text == ".":
            return self._properties_of_variable(self.caret.back(2))
        if inner is None:
            return self._outside()
        match inner.kind:
            case "parameters":
                return self._parameters(before)
            case "body":
                return self._body(before)
            case "pattern":
                return self._pattern(before)
            case "fields":
                return self._fields(inner, before)
            case "return" | "having" | "order":
                return self._values_of_answer(inner, before)
            case "hops":
                return iter(())
            case _:
                return self._values()

    def _outside(self) -> _Items:
        texts = self.caret.texts(1)
        if texts == ("query",):
            return iter(())
        if not self.scope.tokens or (texts == ("}",) and not self.scope.is_lone):
            return _words({name: QUERY_WORDS[name] for name in ("query", "match")})
        return self._body(self.caret.back()) if self.scope.is_lone else iter(())

    def _parameters(self, before: Piece | None) -> _Items:
        is_type = before is not None and before.text in (":", "[")
        return _words(TYPES, Offered.TYPE) if is_type else iter(())

    def _body(self, before: Piece | None) -> _Items:
        """Offer what may follow in a query, outside of its blocks."""
        tokens = self.scope.body
        where = _last_index(tokens, ("where",))
        statement = _last_index(tokens, (*_STATEMENTS, "match", "return"))
        if where is not None and (statement is None or where > statement):
            yield from self._condition(self._changed_type(tokens), before)
            return
        if before is not None and before.text in _STATEMENTS:
            yield from self._types(nodes=True, edges=True)
            return
        if before is not None and before.text in ("skip", "limit"):
            yield from self._variables(parameters=True)
            return
        if before is not None and before.text == "set":
            yield from self._variables()
            return
        yield from _words({name: QUERY_WORDS[name] for name in self._following(tokens)})

    def _following(self, tokens: Sequence[Piece]) -> tuple[str, ...]:
        """Return the words with which a query goes on."""
        texts = [each.text for each in tokens]
        if not texts:
            return ("match", *_STATEMENTS)
        last = texts[-1]
        if last == "return":
            return ("distinct",)
        tail = ("having", "order", "skip", "limit")
        if "return" in texts:
            done = [at for at, word in enumerate(tail) if word in texts]
            return tail[done[-1] + 1 :] if done else tail
        if len(texts) > 1 and texts[-2] == "update":
            return ("set",)
        if len(texts) > 1 and texts[-2] == "delete":
            return ("where",)
        if "match" in texts and last == "}":
            return ("return", "insert", "replace", "set", "match")
        return ("where", "match", *_STATEMENTS)

    def _changed_type(self, tokens: Sequence[Piece]) -> AnyType | None:
        at = _last_index(tokens, ("update", "delete"))
        name = tokens[at + 1].text if at is not None and at + 1 < len(tokens) else ""
        return self.catalog.stored(name)

    def _condition(self, changed: AnyType | None, before: Piece | None) -> _Items:
        """Offer what stands in the condition of an update or a delete."""
        if before is not None and before.text in _COMPARISONS:
            left = self.caret.back(2)
            yield from self._enum(changed, left)
            yield from self._values()
            return
        starts = before is None or before.text in ("where", "and", "or", "not", "(")
        if starts:
            yield from _properties(changed)
            yield CompletionItem("not", Offered.KEYWORD, QUERY_WORDS["not"])
        else:
            yield from _words(OPERATOR_WORDS)
            yield from _words({name: QUERY_WORDS[name] for name in ("match", *_STATEMENTS)})

    def _pattern(self, before: Piece | None) -> _Items:
        caret = self.caret
        earlier = caret.back(2)
        if before is not None and before.text == ":":
            further = caret.back(3)
            if further is not None and further.kind == "var":
                yield from self._edges(further)
            else:
                yield from self._types(nodes=True)
            return
        if before is not None and before.text in _COMPARISONS and before.text != "<":
            yield from self._enum(*self._accessed())
            yield from self._values()
            return
        if before is not None and before.text in ("|", "<") and earlier is not None:
            yield from self._edges(self._start_of_traversal())
            return
        is_clause = _begins_clause(caret.before)
        if before is not None and before.kind == "var" and not caret.begun.startswith("$"):
            yield from self._edges(before) if is_clause else ()
            yield from _words(OPERATOR_WORDS)
            return
        if before is not None and earlier is not None and earlier.text == ".":
            yield from _words(OPERATOR_WORDS)
        yield from self._variables()
        yield from _words({name: QUERY_WORDS[name] for name in ("not", "optional")})
        yield CompletionItem("exists", Offered.KEYWORD, OPERATOR_WORDS["exists"])
        yield from _functions(SEARCHES)

    def _fields(self, block: _Block, before: Piece | None) -> _Items:
        """Offer the properties of a type that are not given yet, or the values of one."""
        stored = self._type(block.type)
        earlier = self.caret.back(2)
        if before is not None and before.text == ":":
            yield from self._enum(stored, earlier)
            yield from self._values()
            return
        if before is not None and before.text in _SIGNS:
            yield from self._values()
            return
        for item in _properties(stored, ends=True):
            if item.label not in block.names:
                detail, insert = item.detail, f"{item.label}: "
                yield CompletionItem(item.label, item.kind, detail, insert)

    def _values_of_answer(self, block: _Block, before: Piece | None) -> _Items:
        if before is not None and before.text == "as":
            return
        yield from self._variables(parameters=True)
        if block.kind != "return":
            for name in self.scope.aliases:
                yield CompletionItem(name, Offered.VARIABLE, "a column of the answer")
        yield from _functions(FUNCTION_FORMS)
        if before is None or before.text in ("{", ","):
            return
        if block.kind == "return":
            yield CompletionItem("as", Offered.KEYWORD, QUERY_WORDS["as"])
        elif block.kind == "order":
            yield from _words({name: QUERY_WORDS[name] for name in ("asc", "desc")})
        else:
            yield from _words(OPERATOR_WORDS)

    def _values(self) -> _Items:
        """Offer what a value can be made of."""
        yield from self._variables(parameters=True)
        yield from _functions(FUNCTION_FORMS)
        yield from _words(CONSTANT_WORDS)

    def _variables(self, *, parameters: bool = False) -> _Items:
        """Offer the variables of the query; its parameters as well, or where a `$` is begun."""
        for name in self.scope.variables:
            kinds = self.scope.types_of(name)
            yield CompletionItem(f"${name}", Offered.VARIABLE, ", ".join(kinds))
        if parameters or self.caret.begun.startswith("$"):
            for name, kind in self.scope.parameters.items():
                yield CompletionItem(f"${name}", Offered.PARAMETER, kind)

    def _properties_of_variable(self, variable: Piece | None) -> _Items:
        if variable is None or variable.kind != "var":
            return
        for name in self.scope.types_of(variable.text[1:]):
            yield from _properties(self._type(name), ends=False)

    def _types(self, *, nodes: bool, edges: bool = False) -> _Items:
        if nodes:
            for name, node in self.catalog.nodes.items():
                yield CompletionItem(name, Offered.TYPE, node.description or "node")
            if not edges:
                for name in self.catalog.interfaces:
                    yield CompletionItem(name, Offered.TYPE, "interface")
        if edges:
            for name, edge in self.catalog.edges.items():
                yield CompletionItem(name, Offered.TYPE, f"{edge.source} -> {edge.target}")

    def _edges(self, variable: Piece | None) -> _Items:
        """Offer the edges that a variable can be an end of; all, where its type is not known."""
        name = "" if variable is None else variable.text[1:]
        kinds = {
            node
            for each in self.scope.types_of(name)
            for node in self.catalog.node_types(each) or ()
        }
        for edge in self.catalog.edges.values():
            if not kinds or edge.source in kinds or edge.target in kinds:
                written = edge.name[0].lower() + edge.name[1:]
                yield CompletionItem(written, Offered.EDGE, f"{edge.source} -> {edge.target}")

    def _start_of_traversal(self) -> Piece | None:
        found = (each for each in reversed(self.caret.before) if each.kind == "var")
        return next(found, None)

    def _accessed(self) -> tuple[AnyType | None, Piece | None]:
        """Return the type and the property of `$p.name` before a comparison."""
        caret = self.caret
        variable, key = caret.back(4), caret.back(2)
        if variable is None or variable.kind != "var":
            return None, key
        kinds = self.scope.types_of(variable.text[1:])
        return self._type(kinds[0]) if kinds else None, key

    def _enum(self, stored: AnyType | None, key: Piece | None) -> _Items:
        """Offer the values of an enum."""
        item = None if stored is None or key is None else stored.properties.get(key.text)
        if item is not None and isinstance(item.type, EnumType):
            for value in item.type.values:
                yield CompletionItem(quote(value), Offered.KEYWORD, f"a value of {item.name}")

    def _type(self, name: str | None) -> AnyType | None:
        return None if name is None else type_named(self.catalog, name)


def block_type(scope: Scope) -> str | None:
    """Return the type whose properties stand in the innermost open block, if it has them."""
    blocks = list(_open_blocks(scope.tokens, scope))
    return blocks[-1].type if blocks and blocks[-1].kind == "fields" else None


def type_named(catalog: Catalog, name: str) -> AnyType | None:
    """Return the type or interface with a name."""
    return catalog.stored(name) or catalog.interfaces.get(name)


def _open_blocks(tokens: Sequence[Piece], scope: Scope) -> Iterator[_Block]:
    """Return the blocks that are open behind some tokens, the innermost last."""
    found: list[_Block] = []
    for at, token in enumerate(tokens):
        match token.text:
            case "(" | "{" | "[":
                found.append(_block_of(tokens[:at], token, scope, found))
            case ")" | "}" | "]":
                if found:
                    found.pop()
            case ":" if found and found[-1].kind == "fields" and at:
                found[-1].names.append(tokens[at - 1].text)
    if found and found[-1].kind == "list":
        found.pop()
    return iter(found)


def _block_of(
    before: Sequence[Piece], token: Piece, scope: Scope, outer: Sequence[_Block]
) -> _Block:
    texts = [each.text for each in before[-3:]]
    last = texts[-1] if texts else ""
    if token.text == "[":
        return _Block("list")
    if token.text == "(":
        is_head = not outer and "query" in texts[-2:]
        return _Block("parameters" if is_head else "arguments")
    if last in ("match", "optional", "not", "exists"):
        return _Block("pattern")
    if last in ("return", "having", "order"):
        return _Block(last)
    if last == "distinct":
        return _Block("return")
    if last == "set" and (at := _last_index(before, ("update",))) is not None:
        return _Block("fields", before[at + 1].text if at + 1 < len(before) else None)
    if len(texts) > 1 and texts[-2] in ("insert", "replace", ":") and last[:1].isupper():
        return _Block("fields", last)
    if len(texts) > 1 and texts[-2] == "set" and last.startswith("$"):
        kinds = scope.types_of(last[1:])
        return _Block("fields", kinds[0] if kinds else None)
    if not outer:
        return _Block("body")
    return _Block("hops" if outer[-1].kind == "pattern" else "object")


def _begins_clause(before: Sequence[Piece]) -> bool:
    """Return whether the variable before the caret begins a clause, so that an edge may follow."""
    if len(before) < 2:
        return True
    return before[-2].text not in (*_COMPARISONS, *_SIGNS, "(", ",", "and", "or", "not", ":")


def _last_index(tokens: Sequence[Piece], words: Iterable[str]) -> int | None:
    wanted = frozenset(words)
    return next((at for at in reversed(range(len(tokens))) if tokens[at].text in wanted), None)


def _words(table: Mapping[str, str], kind: Offered = Offered.KEYWORD) -> _Items:
    for name, detail in table.items():
        yield CompletionItem(name, kind, detail)


def _functions(names: Iterable[str]) -> _Items:
    for name in names:
        form, summary = FUNCTION_FORMS[name]
        insert = f"{name}()" if form.endswith("()") else f"{name}("
        yield CompletionItem(name, Offered.FUNCTION, f"{form}: {summary}", insert)


def _properties(stored: AnyType | None, *, ends: bool = True) -> _Items:
    if stored is None:
        return
    if isinstance(stored, EdgeType) and ends:
        yield CompletionItem("from", Offered.PROPERTY, stored.source)
        yield CompletionItem("to", Offered.PROPERTY, stored.target)
    for item in stored.properties.values():
        detail = f"{item.type}{'?' if item.nullable else ''}"
        yield CompletionItem(item.name, Offered.PROPERTY, detail)
    if isinstance(stored, NodeType | Interface) or not ends:
        yield CompletionItem("id", Offered.PROPERTY, "String")
