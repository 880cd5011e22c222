"""Scope: the names of the query around a place of a text, which need not parse yet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.syntax.completion import Caret
from omnigraph.syntax.lexer import Piece


@dataclass(frozen=True, slots=True)
class Scope:
    """A query as far as it is written: its tokens before the caret, its names and their types.

    `body` are the tokens before the caret in the outermost block, without those of inner blocks.
    """

    tokens: tuple[Piece, ...]
    body: tuple[Piece, ...]
    variables: tuple[str, ...]
    parameters: Mapping[str, str]
    aliases: tuple[str, ...]
    is_lone: bool
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    declared: Mapping[str, Piece] = field(default_factory=dict)

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the types that a variable can have; none where nothing is known."""
        return self.types.get(name, ())


def scope_of(caret: Caret, catalog: Catalog) -> Scope:
    """Return the names of the query in which a caret stands; also those behind the caret."""
    before = _since_declaration(caret.before)
    whole = [*before, *_until_declaration(caret.after)]
    parameters, rest = _parameters(whole)
    bound = dict(_bindings(rest))
    types: dict[str, tuple[str, ...]] = {
        name: (each.text,) for name, each in bound.items() if each.text[0].isupper()
    }
    for name, piece in bound.items():
        edge = catalog.edges_by_traversal.get(piece.text.casefold())
        if edge is not None and piece.text[0].islower():
            types[name] = (edge.name,)
    _infer(rest, types, catalog)
    declared: dict[str, Piece] = {}
    for piece in whole:
        if piece.kind == "var":
            declared.setdefault(piece.text[1:], piece)
    variables = [name for name in declared if name not in parameters]
    return Scope(
        tokens=tuple(before),
        body=tuple(_outer(before)),
        variables=tuple(variables),
        parameters=parameters,
        aliases=tuple(_aliases(whole)),
        is_lone=bool(before) and before[0].text == "match",
        types=types,
        declared=declared,
    )


def _is_declaration(tokens: Sequence[Piece], at: int) -> bool:
    """Return whether a query begins at a token; `query` alone may be a name."""
    follows = [each.kind for each in tokens[at + 1 : at + 3]]
    return tokens[at].text == "query" and follows[:1] in ([], ["word"]) and "(" in (*follows, "(")


def _since_declaration(tokens: Sequence[Piece]) -> list[Piece]:
    starts = [at for at in range(len(tokens)) if _is_declaration(tokens, at)]
    begun = list(tokens[starts[-1] :]) if starts else list(tokens)
    # A query that is closed is not the one that is written.
    nesting, opened = 0, False
    for at, token in enumerate(begun):
        nesting += (token.text == "{") - (token.text == "}")
        opened |= token.text == "{"
        if opened and nesting == 0 and token.text == "}" and begun[0].text == "query":
            return [token] if at + 1 == len(begun) else begun[at + 1 :]
    return begun


def _until_declaration(tokens: Sequence[Piece]) -> Sequence[Piece]:
    for at in range(len(tokens)):
        if _is_declaration(tokens, at):
            return tokens[:at]
    return tokens


def _parameters(tokens: Sequence[Piece]) -> tuple[dict[str, str], Sequence[Piece]]:
    """Return the parameters of a query with their types, and the tokens behind them."""
    found: dict[str, str] = {}
    if len(tokens) < 3 or tokens[0].text != "query" or tokens[2].text != "(":
        return found, tokens
    nesting, at, name = 1, 3, ""
    while at < len(tokens) and nesting and tokens[at].text != "{":
        token = tokens[at]
        nesting += (token.text == "(") - (token.text == ")")
        if token.kind == "var":
            name = token.text[1:]
            found[name] = ""
        elif token.text == "," and nesting == 1:
            name = ""
        elif name and nesting and token.text != ":":
            found[name] += token.text
        at += 1
    return found, tokens[at:]


def _bindings(tokens: Sequence[Piece]) -> Iterator[tuple[str, Piece]]:
    """Yield the variables that are bound to a type or an edge: `$p: Person`, `$e:knows`."""
    for variable, sign, name in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if variable.kind == "var" and sign.text == ":" and name.kind == "word":
            yield variable.text[1:], name


def _aliases(tokens: Sequence[Piece]) -> Iterator[str]:
    for word, name in pairwise(tokens):
        if word.text == "as" and name.kind == "word":
            yield name.text


def _infer(tokens: Sequence[Piece], types: dict[str, tuple[str, ...]], catalog: Catalog) -> None:
    """Add the types that traversals give to variables without a binding."""
    links = list(_traversals(tokens, catalog))
    for _ in range(len(links) + 1):
        changed = False
        for source, edge, target in links:
            for name, other, ends in (
                (target, source, (edge.source, edge.target)),
                (source, target, (edge.target, edge.source)),
            ):
                found = _end(types.get(other, ()), ends, catalog)
                if name not in types and found is not None:
                    types[name] = (found,)
                    changed = True
        if not changed:
            break
    for source, edge, target in links:
        types.setdefault(source, (edge.source,))
        types.setdefault(target, (edge.target,))


def _end(known: tuple[str, ...], ends: tuple[str, str], catalog: Catalog) -> str | None:
    """Return the type at the other end of an edge, from the end whose types are known."""
    nodes = {node for each in known for node in catalog.node_types(each) or ()}
    if ends[0] in nodes:
        return ends[1]
    return ends[0] if ends[1] in nodes else None


def _traversals(tokens: Sequence[Piece], catalog: Catalog) -> Iterator[tuple[str, EdgeType, str]]:
    """Yield what is written as `$a knows $b`, with the first edge of several."""
    for at, token in enumerate(tokens):
        edge = catalog.edges_by_traversal.get(token.text.casefold())
        if edge is None or token.kind != "word":
            continue
        source = _variable_before(tokens, at)
        target = _variable_after(tokens, at)
        if source is not None and target is not None:
            yield source, edge, target


def _variable_before(tokens: Sequence[Piece], at: int) -> str | None:
    at -= 1
    if at >= 0 and tokens[at].text == "<":
        at -= 1
    if at >= 1 and tokens[at].text == ":" and tokens[at - 1].kind == "var":
        at -= 2
    found = tokens[at] if at >= 0 else None
    return found.text[1:] if found is not None and found.kind == "var" else None


def _variable_after(tokens: Sequence[Piece], at: int) -> str | None:
    for token in tokens[at + 1 :]:
        if token.kind == "var":
            return token.text[1:]
        if token.text not in (">", "<", "|", "{", "}", ",") and token.kind not in ("word", "int"):
            return None
    return None


def _outer(tokens: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the tokens of the body of a query, of its inner blocks only the braces."""
    depth = 1 if tokens and tokens[0].text == "query" else 0
    nesting = 0
    for token in tokens:
        nesting -= token.text == "}"
        if nesting == depth:
            yield token
        nesting += token.text == "{"
