"""Context: where in a text a position is: in which blocks, among which variables.

It reads tokens and never a tree, so that it works on a text that is being written.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from itertools import pairwise

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import AnyType, Catalog, EdgeType
from omnigraph.span import Source
from omnigraph.syntax.lexer import Piece, Token, pieces_of, tokenize
from omnigraph.syntax.problems import Problems

_OPEN = {"{": "}", "(": ")", "[": "]"}
PATTERNS = ("match", "not", "optional", "exists")


class Block(StrEnum):
    """What kind of block a position is in."""

    TEXT = "text"  # outside of all
    PARAMS = "params"
    QUERY = "query"
    PATTERN = "pattern"
    VALUES = "values"  # { property: value } of a type
    RETURN = "return"
    HAVING = "having"
    ORDER = "order"
    CALL = "call"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """A block that is not closed before a position; `name` is its type or its function."""

    kind: Block
    name: str | None = None
    # The number of tokens before its first one.
    start: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that one query declares: parameters with their types, and typed variables."""

    params: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a text: what is written before it, and what it is in.

    `start` is where the word begins that is being written, and `word` as much of it as there is.
    """

    start: int
    word: str
    before: tuple[Token, ...]
    block: OpenBlock
    scope: Scope

    def back(self, count: int = 1) -> Token | None:
        """Return the token so many before the word, or None."""
        return self.before[-count] if count <= len(self.before) else None

    def kind_at(self, count: int = 1) -> str:
        """Return the kind of a token before the word; a sign's is the sign itself."""
        token = self.back(count)
        return "" if token is None else token.kind

    def text_at(self, count: int = 1) -> str:
        """Return the text of a token before the word."""
        token = self.back(count)
        return "" if token is None else token.text


def read_position(source: Source, position: int, catalog: Catalog) -> Position | None:
    """Return what is known of a position; None within a comment or a string."""
    at = max(0, min(position, len(source.text)))
    tokens = tokenize(source, Code.QUERY_SYNTAX, Problems())[:-1]
    written = [each for each in tokens if each.start < at]
    last = written[-1] if written else None
    start = at
    if last is not None and last.end >= at:
        if last.kind in ("word", "var"):
            start = last.start
            written.pop()
        elif last.end > at:
            return None  # inside a string, a number or a sign
        elif last.kind == "string":
            return None
    elif _is_hidden(source.text[0 if last is None else last.end : at]):
        return None
    if source.text[start:at] == "" and source.text[start - 1 : start] == "$":
        start -= 1  # a variable of which only the sign is written
    before = tuple(each for each in written if each.end <= start)
    whole = _own_tokens(tokens, start)
    scope = read_scope(whole, catalog)
    return Position(start, source.text[start:at], before, _block(before, scope), scope)


def _is_hidden(gap: str) -> bool:
    """Return whether a position behind what no token is made of is in a comment or a string."""
    pieces = pieces_of(gap)
    if any(map(is_left_open, pieces)):
        return True
    last = pieces[-1] if pieces else None
    return last is not None and last.text.startswith("//") and "\n" not in gap[last.end :]


def is_left_open(piece: Piece) -> bool:
    """Return whether a piece begins a string or a comment that is not closed."""
    return piece.kind == "bad" and piece.text in ('"', "/")


def _own_tokens(tokens: Sequence[Token], at: int) -> list[Token]:
    """Return the tokens of the query that a position is in."""
    starts = [place for place in range(len(tokens)) if starts_query(tokens, place)]
    first = max((place for place in starts if tokens[place].start <= at), default=0)
    end = min((place for place in starts if tokens[place].start > at), default=len(tokens))
    return list(tokens[first:end])


def starts_query(tokens: Sequence[Token | Piece], place: int) -> bool:
    """Return whether a word begins a query, and does not only name something."""
    following = [each.kind for each in tokens[place + 1 : place + 3]]
    return tokens[place].text == "query" and following == ["word", "("]


def type_named(catalog: Catalog, name: str) -> AnyType | None:
    """Return the node, edge or interface of a name, or None."""
    return catalog.stored(name) or catalog.interfaces.get(name)


def read_scope(tokens: Sequence[Token], catalog: Catalog) -> Scope:
    """Return the names that the tokens of a query declare, with the types that are known."""
    scope = Scope(aliases=_aliases(tokens))
    header = _header_end(tokens)
    for place, token in enumerate(tokens):
        if token.kind != "var":
            continue
        name = token.text[1:]
        if place < header:
            scope.params[name] = _written_type(tokens, place + 1)
        elif name not in scope.params and name != "_":
            scope.variables.setdefault(name, None)
    for place in range(header, len(tokens)):
        _read_binding(tokens, place, scope, catalog)
    # Along a chain of edges each step tells the type of the next variable.
    for place in range(header, len(tokens)):
        _read_traversal(tokens, place, scope, catalog)
    return scope


def _header_end(tokens: Sequence[Token]) -> int:
    """Return behind how many tokens the parameters of a query end."""
    if not tokens or not starts_query(tokens, 0):
        return 0
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.kind == "(") - (token.kind == ")")
        if (token.kind == ")" and depth == 0) or token.kind == "{":
            return place
    return len(tokens)


def _written_type(tokens: Sequence[Token], place: int) -> str:
    """Return the type behind the name of a parameter as it is written."""
    text, depth = "", 0
    for token in tokens[place + 1 :] if place < len(tokens) and tokens[place].kind == ":" else ():
        depth += (token.kind in _OPEN) - (token.kind in _OPEN.values())
        if depth < 0 or (depth == 0 and token.kind == ",") or token.kind == "var":
            break
        text += token.text
    return text


def _aliases(tokens: Sequence[Token]) -> tuple[str, ...]:
    pairs = pairwise(tokens)
    named = [other.text for one, other in pairs if one.text == "as" and other.kind == "word"]
    return tuple(dict.fromkeys(named))


def _read_binding(tokens: Sequence[Token], place: int, scope: Scope, catalog: Catalog) -> None:
    """Read `$p: Person` and `$a $e:knows`."""
    window = tokens[place : place + 3]
    if [each.kind for each in window] != ["var", ":", "word"]:
        return
    name, written = window[0].text[1:], window[2].text
    edge = catalog.edges_by_traversal.get(written.casefold())
    if written in catalog.nodes or written in catalog.interfaces:
        scope.variables[name] = written
    elif edge is not None:
        scope.variables[name] = edge.name


def _read_traversal(tokens: Sequence[Token], place: int, scope: Scope, catalog: Catalog) -> None:
    """Read `$a knows {1,3} $b`: the edge tells the types of its ends."""
    if tokens[place].kind != "var":
        return
    at = place + 1
    if [each.kind for each in tokens[at : at + 2]] == ["var", ":"]:
        at += 2
    if at < len(tokens) and tokens[at].kind == "<":
        at += 1
    if at >= len(tokens) or tokens[at].kind != "word":
        return
    edge = catalog.edges_by_traversal.get(tokens[at].text.casefold())
    if edge is None:
        return
    end = at + 1
    while end < len(tokens) and tokens[end].kind in (">", "|", "word", "<", "{", "int", ",", "}"):
        end += 1
    known = tokens[place].text[1:]
    target = tokens[end].text[1:] if end < len(tokens) and tokens[end].kind == "var" else None
    source_type, target_type = _ends(edge, scope.variables.get(known), scope, target)
    for name, kind in ((known, source_type), (target, target_type)):
        if name is not None and scope.variables.get(name, "") is None:
            scope.variables[name] = kind


def _ends(
    edge: EdgeType, known: str | None, scope: Scope, target: str | None
) -> tuple[str | None, str | None]:
    """Return the types at the ends of a traversal; it may go against the edge."""
    other = None if target is None else scope.variables.get(target)
    if known == edge.target != edge.source or other == edge.source != edge.target:
        return edge.target, edge.source
    return edge.source, edge.target


def _block(before: Sequence[Token], scope: Scope) -> OpenBlock:
    """Return the innermost block that is open behind some tokens."""
    stack = [OpenBlock(Block.TEXT)]
    is_header = False
    for place, token in enumerate(before):
        if is_header and token.kind == "{" and len(stack) == 1:
            stack.append(OpenBlock(Block.QUERY, None, place + 1))
            is_header = False
        elif token.kind in _OPEN:
            kind, name = _opened(before, place, stack[-1], scope)
            stack.append(OpenBlock(kind, name, place + 1))
        elif token.kind in _OPEN.values() and len(stack) > 1:
            stack.pop()
        if starts_query(before, place):
            stack, is_header = stack[:1], True
    return stack[-1]


def _opened(
    before: Sequence[Token], place: int, outer: OpenBlock, scope: Scope
) -> tuple[Block, str | None]:
    """Return what kind of block the bracket at a place opens."""
    texts = ["", "", "", *(each.text for each in before[max(0, place - 3) : place])][-3:]
    third, second, last = texts
    if before[place].kind == "(":
        return (Block.PARAMS, last) if second == "query" else (Block.CALL, last)
    if before[place].kind == "[":
        return outer.kind, outer.name
    named = {"return": Block.RETURN, "having": Block.HAVING, "order": Block.ORDER}
    if last == "distinct" and second == "return":
        return Block.RETURN, None
    if last in PATTERNS:
        return Block.PATTERN, None
    if last in named and outer.kind in (Block.QUERY, Block.TEXT, Block.CALL):
        return named[last], None
    if second in ("insert", "replace") or second == ":":
        is_value = second == ":" and third.startswith("$")
        return (Block.VALUES, last) if is_value or second != ":" else (Block.OTHER, None)
    if last == "set" and third == "update":
        return Block.VALUES, second
    if second == "set" and last.startswith("$"):
        return Block.VALUES, scope.variables.get(last[1:])
    return Block.OTHER, None
