"""Complete schema: what can stand at a place of a schema, which need not parse yet."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from omnigraph.query.editing.words import SCHEMA_ANNOTATIONS, SCHEMA_WORDS, TYPES
from omnigraph.schema.annotations import PLACES
from omnigraph.schema.parser import CONSTRAINTS, DECLARATIONS
from omnigraph.syntax.completion import (
    Caret,
    Completion,
    CompletionItem,
    Offered,
    begun_with,
    caret_at,
)
from omnigraph.syntax.lexer import Piece


def complete_schema(text: str, position: int) -> Completion:
    """Return what can stand at a place of a schema."""
    caret = caret_at(text, position)
    if caret.is_in_text:
        return Completion(caret.start)
    return Completion(caret.start, begun_with(_items(caret), caret.begun))


def _items(caret: Caret) -> Iterator[CompletionItem]:
    declaration = _declaration(caret.before)
    kind = declaration[0].text if declaration else ""
    inside = [each.text for each in declaration].count("{") > 0
    before = caret.back()
    last = "" if before is None else before.text
    if last == "@":
        yield from _annotations(kind, inside=inside)
    elif inside and _is_in_constraint(declaration):
        yield from _named(_properties(declaration), Offered.PROPERTY, "property")
    elif inside and last in (":", "["):
        yield from _words(TYPES, Offered.TYPE)
    elif kind == "edge" and last in (":", "->"):
        yield from _named(_declared(caret, "node"), Offered.TYPE, "node")
    elif kind == "node" and "implements" in (each.text for each in declaration) and not inside:
        yield from _named(_declared(caret, "interface"), Offered.TYPE, "interface")
    elif kind == "node" and not inside and len(declaration) >= 2:
        yield from _words({"implements": SCHEMA_WORDS["implements"]})
    elif not inside:
        yield from _words({name: SCHEMA_WORDS[name] for name in ("node", "edge", "interface")})


def _declaration(tokens: Sequence[Piece]) -> Sequence[Piece]:
    """Return the tokens of the declaration that is open at the caret."""
    start, nesting = None, 0
    for at, token in enumerate(tokens):
        if nesting == 0 and token.text in DECLARATIONS and _is_first(tokens, at):
            start = at
        nesting = max(0, nesting + (token.text == "{") - (token.text == "}"))
        if token.text == "}" and nesting == 0:
            start = None
    return () if start is None else tokens[start:]


def _is_first(tokens: Sequence[Piece], at: int) -> bool:
    """Return whether a word begins a declaration; in a body it may name a property."""
    return at + 1 == len(tokens) or tokens[at + 1].kind == "word"


def _is_in_constraint(tokens: Sequence[Piece]) -> bool:
    """Return whether `@key(`, `@range(` and so on are open, which name properties."""
    open_at = [at for at, each in enumerate(tokens) if each.text == "("]
    closed = sum(each.text == ")" for each in tokens)
    if len(open_at) <= closed:
        return False
    at = open_at[-1]
    return at >= 2 and tokens[at - 2].text == "@" and tokens[at - 1].text in CONSTRAINTS


def _annotations(kind: str, *, inside: bool) -> Iterator[CompletionItem]:
    place = "property" if inside else kind
    for name, detail in SCHEMA_ANNOTATIONS.items():
        if place in PLACES[name] or (inside and name in CONSTRAINTS):
            yield CompletionItem(name, Offered.KEYWORD, detail)


def _properties(tokens: Sequence[Piece]) -> Iterator[str]:
    for name, sign in pairwise(tokens):
        if name.kind == "word" and sign.text == ":" and name.text[0].islower():
            yield name.text


def _declared(caret: Caret, kind: str) -> Iterator[str]:
    tokens = (*caret.before, *caret.after)
    for word, name in pairwise(tokens):
        if word.text == kind and name.kind == "word" and name.text[0].isupper():
            yield name.text


def _named(names: Iterator[str], kind: Offered, detail: str) -> Iterator[CompletionItem]:
    for name in names:
        yield CompletionItem(name, kind, detail)


def _words(table: Mapping[str, str], kind: Offered = Offered.KEYWORD) -> Iterator[CompletionItem]:
    for name, detail in table.items():
        yield CompletionItem(name, kind, detail)
