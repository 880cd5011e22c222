"""Complete schema: what can stand at a place of a schema, which need not parse yet."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from omnigraph.query.editor.complete import Completion, Completions
from omnigraph.query.editor.context import is_left_open
from omnigraph.query.editor.words import SCHEMA_ANNOTATIONS, SCHEMA_WORDS, TYPES
from omnigraph.schema.annotations import PLACES
from omnigraph.schema.parsing.parser import CONSTRAINTS, DECLARATIONS
from omnigraph.syntax.lexer import COMMENT, Piece, pieces_of


def complete_schema(text: str, position: int) -> Completions:
    """Return what may be written at a position of a schema."""
    position = max(0, min(position, len(text)))
    before, after, start = [], [], position
    for piece in pieces_of(text):
        is_begun = piece.kind == "word" and piece.start < position <= piece.end
        if is_begun:
            start = piece.start
        elif piece.start >= position:
            after.append(piece)
        elif piece.kind in (COMMENT, "string", "bad") and _is_inside(piece, position):
            return Completions(position, ())
        elif piece.kind != COMMENT:
            before.append(piece)
    if any(map(is_left_open, before)):
        return Completions(position, ())
    begun = text[start:position].casefold()
    fitting: dict[str, Completion] = {}
    for each in _items(before, after):
        if each.label.casefold().startswith(begun):
            fitting.setdefault(each.label, each)
    return Completions(start, tuple(fitting.values()))


def _is_inside(piece: Piece, position: int) -> bool:
    is_open = piece.text.startswith("//") and piece.end == position
    return piece.end > position or is_open


def _items(before: Sequence[Piece], after: Sequence[Piece]) -> Iterator[Completion]:
    declaration = _declaration(before)
    kind = declaration[0].text if declaration else ""
    inside = any(each.text == "{" for each in declaration)
    every = (*before, *after)
    last = before[-1].text if before else ""
    if last == "@":
        yield from _annotations(kind, inside=inside)
    elif inside and _is_in_constraint(declaration):
        yield from _named(_properties(declaration), "property", "property")
    elif inside and last in (":", "["):
        yield from _words(TYPES, "type")
    elif kind == "edge" and last in (":", "->"):
        yield from _named(_declared(every, "node"), "type", "node")
    elif kind == "node" and "implements" in (each.text for each in declaration) and not inside:
        yield from _named(_declared(every, "interface"), "type", "interface")
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


def _annotations(kind: str, *, inside: bool) -> Iterator[Completion]:
    place = "property" if inside else kind
    for name, detail in SCHEMA_ANNOTATIONS.items():
        if place in PLACES[name] or (inside and name in CONSTRAINTS):
            yield Completion(name, "keyword", detail)


def _properties(tokens: Sequence[Piece]) -> Iterator[str]:
    for name, sign in pairwise(tokens):
        if name.kind == "word" and sign.text == ":" and name.text[0].islower():
            yield name.text


def _declared(tokens: Sequence[Piece], kind: str) -> Iterator[str]:
    for word, name in pairwise(tokens):
        if word.text == kind and name.kind == "word" and name.text[0].isupper():
            yield name.text


def _named(names: Iterator[str], kind: str, detail: str) -> Iterator[Completion]:
    for name in names:
        yield Completion(name, kind, detail)


def _words(table: Mapping[str, str], kind: str = "keyword") -> Iterator[Completion]:
    for name, detail in table.items():
        yield Completion(name, kind, detail)
