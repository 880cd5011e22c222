"""About: what a word of a query or a schema means, and where it is declared."""

from collections.abc import Iterator, Sequence

from omnigraph.frozen import dataclass
from omnigraph.query.editor.context import Block, Scope, read_position, starts_query, type_named
from omnigraph.query.editor.words import (
    CONSTANT_WORDS,
    FUNCTION_FORMS,
    OPERATOR_WORDS,
    QUERY_ANNOTATIONS,
    QUERY_WORDS,
    SCHEMA_ANNOTATIONS,
    SCHEMA_WORDS,
    TYPES,
)
from omnigraph.schema.catalog import AnyType, Catalog, Property
from omnigraph.schema.parsing import ast
from omnigraph.schema.parsing.parser import parse_schema
from omnigraph.schema.printer import declarations
from omnigraph.span import Source, Span
from omnigraph.syntax.lexer import COMMENT, Piece, pieces_of
from omnigraph.syntax.problems import Problems


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word means: a line of code, or a few, and a sentence; `span` is the word."""

    span: Span
    code: str = ""
    text: str = ""

    @property
    def markdown(self) -> str:
        """The meaning as Markdown."""
        code = f"```\n{self.code.rstrip()}\n```" if self.code else ""
        return "\n\n".join(part for part in (code, self.text) if part)


@dataclass(frozen=True, slots=True)
class Declared:
    """Where a name is declared: in the schema, or in the text itself."""

    span: Span
    is_in_schema: bool = False


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text, with what stands before and behind it."""

    piece: Piece
    before: tuple[str, ...]
    follower: str
    scope: Scope
    owner: AnyType | None

    @property
    def span(self) -> Span:
        return Span(self.piece.start, self.piece.end)


def explain_query_word(text: str, position: int, catalog: Catalog | None) -> Meaning | None:
    """Return what the word at a place of a query means; None where there is none."""
    known = Catalog({}, {}, {}) if catalog is None else catalog
    word = _word_at(text, position, known)
    if word is None:
        return None
    name, span = word.piece.text, word.span
    if word.piece.kind == "var":
        return _variable(word)
    if word.before[-1:] == ("@",) and name in QUERY_ANNOTATIONS:
        return Meaning(span, f"@{name}", QUERY_ANNOTATIONS[name])
    stored = _type_of(word, known)
    if stored is not None:
        return Meaning(span, declarations(known)[stored.name], getattr(stored, "description", ""))
    owner = _property(word, known)
    if owner is not None:
        return Meaning(span, _property_code(*owner), owner[1].description or "")
    if name in FUNCTION_FORMS and word.follower == "(":
        form, summary = FUNCTION_FORMS[name]
        return Meaning(span, form, summary)
    for table in (QUERY_WORDS, OPERATOR_WORDS, CONSTANT_WORDS, TYPES):
        if name in table and word.before[-1:] != (".",):
            return Meaning(span, name, table[name])
    return None


def find_query_declaration(
    text: str, position: int, catalog: Catalog | None, schema: Source | None
) -> Declared | None:
    """Return where the name at a place of a query is declared."""
    known = Catalog({}, {}, {}) if catalog is None else catalog
    word = _word_at(text, position, known)
    if word is None:
        return None
    if word.piece.kind == "var":
        return _first_of(text, word.piece)
    if schema is None:
        return None
    stored = _type_of(word, known)
    if stored is not None:
        return _in_schema(schema, stored.name)
    owner = _property(word, known)
    return None if owner is None else _in_schema(schema, owner[0].name, owner[1].name)


def explain_schema_word(text: str, position: int, catalog: Catalog | None) -> Meaning | None:
    """Return what the word at a place of a schema means."""
    at = _piece_at(text, position)
    if at is None:
        return None
    piece, before, follower = at
    span = Span(piece.start, piece.end)
    if before[-1:] == ("@",) and piece.text in SCHEMA_ANNOTATIONS:
        return Meaning(span, f"@{piece.text}", SCHEMA_ANNOTATIONS[piece.text])
    if follower == ":" and piece.text[0].islower():
        return None
    if piece.text in SCHEMA_WORDS:
        return Meaning(span, piece.text, SCHEMA_WORDS[piece.text])
    if piece.text in TYPES:
        return Meaning(span, piece.text, TYPES[piece.text])
    if catalog is not None and (code := declarations(catalog).get(piece.text)) is not None:
        return Meaning(span, code)
    return None


def find_schema_declaration(text: str, position: int) -> Declared | None:
    """Return where the type at a place of a schema is declared."""
    at = _piece_at(text, position)
    return None if at is None else _in_schema(Source("", text), at[0].text, is_here=True)


def names_of_schema(source: Source) -> Iterator[tuple[str, ast.Declaration]]:
    """Yield the declarations of a schema that parse, with their kinds."""
    for each in parse_schema(source, Problems()).declarations:
        yield type(each).__name__.lower(), each


def _in_schema(
    schema: Source, name: str, key: str | None = None, *, is_here: bool = False
) -> Declared | None:
    found = {each.name.text: each for _, each in names_of_schema(schema)}
    declaration = found.get(name)
    if declaration is None:
        return None
    span = declaration.name.span
    if key is not None:
        shared = declaration.implements if isinstance(declaration, ast.Node) else ()
        places = [declaration, *(found[each.text] for each in shared if each.text in found)]
        spans = [
            item.name.span for each in places for item in each.properties if item.name.text == key
        ]
        span = spans[0] if spans else span
    return Declared(span, is_in_schema=not is_here)


def _word_at(text: str, position: int, catalog: Catalog) -> _Word | None:
    at = _piece_at(text, position)
    if at is None:
        return None
    piece, before, follower = at
    place = read_position(Source("", text), piece.start, catalog)
    if place is None:
        return None
    kind = place.block.name if place.block.kind is Block.VALUES else None
    owner = None if kind is None else type_named(catalog, kind)
    return _Word(piece, before, follower, place.scope, owner)


def _first_of(text: str, variable: Piece) -> Declared | None:
    """Return where a variable is written first in its query."""
    first: Piece | None = None
    pieces = [each for each in pieces_of(text) if each.kind != COMMENT]
    for at, piece in enumerate(pieces):
        if piece.start > variable.start:
            break
        if starts_query(pieces, at):
            first = None
        elif piece.text == variable.text and first is None:
            first = piece
    return None if first is None else Declared(Span(first.start, first.end))


def _piece_at(text: str, position: int) -> tuple[Piece, tuple[str, ...], str] | None:
    pieces = pieces_of(text)
    for at, piece in enumerate(pieces):
        if piece.start <= position <= piece.end and piece.kind in ("word", "var"):
            before = tuple(each.text for each in pieces[max(0, at - 3) : at])
            follower = pieces[at + 1].text if at + 1 < len(pieces) else ""
            return piece, before, follower
    return None


def _variable(word: _Word) -> Meaning | None:
    name = word.piece.text
    kind = word.scope.params.get(name[1:])
    if kind is not None:
        return Meaning(word.span, f"{name}: {kind}", "a parameter of the query")
    bound = word.scope.variables.get(name[1:])
    return None if bound is None else Meaning(word.span, f"{name}: {bound}")


def _type_of(word: _Word, catalog: Catalog) -> AnyType | None:
    """Return the type or the edge that a word names."""
    name = word.piece.text
    if name[0].isupper():
        return type_named(catalog, name)
    before = word.before[-1] if word.before else ""
    if before.startswith("$") or before in (":", "|", "<"):
        return catalog.edges_by_traversal.get(name.casefold())
    return None


def _property(word: _Word, catalog: Catalog) -> tuple[AnyType, Property] | None:
    """Return the property that a word names, with its type."""
    owners: Sequence[AnyType | None] = [word.owner]
    if word.before[-1:] == (".",) and len(word.before) > 1:
        kind = word.scope.variables.get(word.before[-2][1:])
        owners = [None if kind is None else type_named(catalog, kind)]
    elif word.follower != ":" and word.owner is None:
        return None
    for owner in owners:
        if owner is not None and word.piece.text in owner.properties:
            return owner, owner.properties[word.piece.text]
    return None


def _property_code(owner: AnyType, item: Property) -> str:
    return f"{owner.name}.{item.name}: {item.type}{'?' if item.nullable else ''}"
