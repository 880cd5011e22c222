"""Layout: queries laid out in one way; nothing but white space changes.

A block is one line where it fits, else a line for each of its items. `match` has always a line for
each clause. Comments stay where they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from itertools import islice, pairwise

from omnigraph.errors import QueryError
from omnigraph.frozen import dataclass
from omnigraph.query.compile import read_queries
from omnigraph.query.parsing import ast
from omnigraph.span import Source
from omnigraph.syntax.lexer import COMMENT, Piece, pieces_of
from omnigraph.syntax.literal import Literal
from omnigraph.syntax.problems import Problems
from omnigraph.syntax.source import make_source

_WIDTH = 100
_STEP = "  "
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_TIGHT_AFTER = frozenset(("(", "[", ".", "..", "@"))
_TIGHT_BEFORE = frozenset((")", "]", ",", ":", ".", "..", "?"))
_CONNECTIVES = frozenset(("and", "or", "not", "in", "contains", "starts_with", "where"))
# What comes behind a word that begins a part of a query; before all else it is a name.
_FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("match", "having", "order"), ("{",)),
    "return": ("{", "word"),
    **dict.fromkeys(("skip", "limit"), ("int", "var")),
    **dict.fromkeys(("union", "insert", "update", "delete", "replace"), ("word",)),
}


def format_queries(text: str | Source) -> str:
    """Return the text laid out anew; raises QueryError when it cannot be read."""
    source = make_source(text, "<query>")
    before = _read(source)
    tokens = pieces_of(source.text)
    written = _Writer(_Marks.of(before)).file(tokens)
    after = _read(Source(source.name, written))
    assert after == before, "the layout changed what the queries mean"
    comments = [each.text for each in tokens if each.kind == COMMENT]
    kept = [each.text for each in pieces_of(written) if each.kind == COMMENT]
    assert kept == comments, "the layout changed a comment"
    return written


def _read(source: Source) -> ast.QueryFile:
    problems = Problems()
    found = read_queries(source, problems)
    if problems.total:
        raise QueryError(problems.in_order(), source=source, total=problems.total)
    return found


@dataclass(frozen=True, slots=True)
class _Marks:
    """Where items of blocks begin, and which signs stand for something else than usual."""

    items: frozenset[int]
    clauses: frozenset[int]
    hops: frozenset[tuple[int, int]]
    edges: frozenset[int]
    # Where a value begins, perhaps with a minus of its own.
    signs: frozenset[int]

    @classmethod
    def of(cls, file: ast.QueryFile) -> "_Marks":
        items: set[int] = set()
        clauses: set[int] = set()
        hops: set[tuple[int, int]] = set()
        edges: set[int] = set()
        signs: set[int] = set()
        for node in _nodes(file):
            match node:
                case ast.Traversal():
                    clauses.add(node.span.start)
                    edges |= {each.name.span.start for each in node.edges}
                case ast.Binding(variable):
                    clauses.add(variable.span.start)
                case ast.Filter(predicate):
                    clauses.add(predicate.span.start)
                case ast.Negation() | ast.OptionalMatch():
                    clauses.add(node.span.start)
                case ast.Projection(value):
                    items.add(value.span.start)
                case ast.Read():
                    clauses |= {each.span.start for each in node.having}
                case ast.Insert() | ast.Update() | ast.Replace() | ast.SetVariable():
                    items |= {name.span.start for name, _ in node.assignments}
                case Literal(span=span):
                    signs.add(span.start)
                case ast.Negative(span=span):
                    signs.add(span.start)
                case ast.Hops(span=span) if span is not None:
                    hops.add((span.start, span.end))
        items |= clauses
        return cls(
            frozenset(items),
            frozenset(clauses),
            frozenset(hops),
            frozenset(edges),
            frozenset(signs),
        )


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for each in fields(value):
            yield from _nodes(getattr(value, each.name))


@dataclass(slots=True)
class _Writer:
    """Writes tokens line by line."""

    marks: _Marks
    lines: list[str] = field(default_factory=list)

    def file(self, tokens: Sequence[Piece]) -> str:
        for declaration in _declarations(tokens):
            if self.lines:
                self.lines.append("")
            self._block(declaration, 0)
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def _block(self, tokens: Sequence[Piece], depth: int) -> None:
        """Write tokens, a line for each part of them that does not fit on one."""
        for part in _parts(tokens):
            self._part(part, depth)

    def _part(self, tokens: Sequence[Piece], depth: int) -> None:
        """Write the head of a block, its items one step deeper, and its end."""
        # A comment at the end does not decide whether the block breaks.
        whole = tokens[:-1] if tokens[-1].kind == COMMENT else tokens
        is_plain = not any(each.kind == COMMENT for each in whole)
        is_short = len(_STEP) * depth + len(self._line(whole)) <= _WIDTH
        if whole and is_plain and is_short and not self._spreads(tokens):
            self._put(self._line(tokens), depth)
            return
        opening = _opening(tokens, self.marks)
        if opening is None:
            self._long(tokens, depth)
            return
        closing = _closing(tokens, opening)
        self._long(tokens[: opening + 1], depth)
        inside = tokens[opening + 1 : closing]
        if tokens[0].text == "query":
            self._block(inside, depth + 1)
        else:
            for item in self._items(inside):
                self._item(item, depth + 1)
        self._put(tokens[closing].text, depth)
        if rest := tokens[closing + 1 :]:
            self._block(rest, depth)

    def _spreads(self, tokens: Sequence[Piece]) -> bool:
        """Return whether a part has a line for each of its items even if it is short."""
        clauses = sum(each.start in self.marks.clauses for each in tokens)
        return tokens[0].text == "query" or (tokens[0].text == "match" and clauses > 1)

    def _item(self, tokens: Sequence[Piece], depth: int) -> None:
        if tokens[0].text in ("not", "optional") and len(tokens) > 1 and tokens[1].kind == "{":
            self._part(tokens, depth)
        elif any(each.kind == COMMENT for each in tokens):
            self._long(tokens, depth)
        else:
            self._put(self._line(tokens), depth)

    def _long(self, tokens: Sequence[Piece], depth: int) -> None:
        """Write tokens among which are comments, each at the end of its line or alone."""
        line: list[Piece] = []
        for token in tokens:
            if token.kind == COMMENT and line and not _is_on_line(line[-1], token):
                self._put(self._line(line), depth)
                line = []
            line.append(token)
            if token.kind == COMMENT:
                self._put(self._line(line), depth)
                line = []
        if line:
            self._put(self._line(line), depth)

    def _items(self, tokens: Sequence[Piece]) -> list[list[Piece]]:
        """Return the items of a block, each with the comma and the comments that follow it."""
        items: list[list[Piece]] = []
        nesting = 0
        after_comma = True
        for token in tokens:
            is_first = nesting == 0 and (token.start in self.marks.items or after_comma)
            joins = token.kind in (",", COMMENT) and items and _is_on_line(items[-1][-1], token)
            is_apart = is_first or (token.kind == COMMENT and nesting == 0)
            if not items or (is_apart and not joins):
                items.append([])
            items[-1].append(token)
            if token.kind != COMMENT:
                after_comma = token.kind == "," and nesting == 0
            nesting += (token.kind in _OPENING) - (token.kind in _CLOSING)
        return items

    def _put(self, line: str, depth: int) -> None:
        self.lines.append(_STEP * depth + line)

    def _line(self, tokens: Sequence[Piece]) -> str:
        if not tokens:
            return ""
        text = tokens[0].text
        for before, (one, other) in zip((None, *tokens), pairwise(tokens), strict=False):
            text += self._between(before, one, other) + other.text
        return text

    def _between(self, before: Piece | None, one: Piece, other: Piece) -> str:
        """Return what stands between two tokens of a line."""
        if COMMENT in (one.kind, other.kind):
            return "  " if other.kind == COMMENT else " "
        is_tight = (
            one.kind in _TIGHT_AFTER
            or other.kind in _TIGHT_BEFORE
            or "|" in (one.kind, other.kind)
            or self._is_in_hops(other)
            or (one.kind == "<" and other.start in self.marks.edges)
            or (other.kind == ">" and one.start in self.marks.edges)
            or (other.kind == "(" and _is_called(before, one, other))
            or (one.kind == ":" and other.start in self.marks.edges)
            or (one.start in self.marks.signs and _may_join(one, other))
        )
        if is_tight:
            return ""
        return "  " if other.start in self.marks.clauses and one.kind != "{" else " "

    def _is_in_hops(self, other: Piece) -> bool:
        """Return whether a token belongs to the braces of `knows{1,3}`."""
        return any(start <= other.start < end for start, end in self.marks.hops)


def _declarations(tokens: Sequence[Piece]) -> list[list[Piece]]:
    """Return the tokens of each query, with the comments before it."""
    found: list[list[Piece]] = [[]]
    nesting = 0
    for at, token in enumerate(tokens):
        is_head = nesting == 0 and found[-1] and _begins_query(tokens, at)
        if is_head and any(each.kind != COMMENT for each in found[-1]):
            found.append([])
        found[-1].append(token)
        nesting += (token.kind == "{") - (token.kind == "}")
    return [each for each in found if each]


def _parts(tokens: Sequence[Piece]) -> list[list[Piece]]:
    """Return the clauses of a query: comments, and what each keyword begins."""
    found: list[list[Piece]] = []
    nesting = 0
    for at, token in enumerate(tokens):
        begins = nesting == 0 and (_begins_query(tokens, at) or _begins_part(tokens, at))
        # The set of what is matched, not that of an update.
        begins |= nesting == 0 and token.text == "set" and found[-1][0].text == "match"
        alone = token.kind == COMMENT and nesting == 0
        is_after_comment = bool(found) and found[-1][-1].kind == COMMENT and nesting == 0
        joins = alone and found and _is_on_line(found[-1][-1], token)
        if not found or ((begins or alone or is_after_comment) and not joins):
            found.append([])
        found[-1].append(token)
        nesting += (token.kind in _OPENING) - (token.kind in _CLOSING)
    return found


def _begins_query(tokens: Sequence[Piece], at: int) -> bool:
    if tokens[at].text != "query":
        return False
    followers = _kinds_after(tokens, at)
    return [*islice(followers, 2)] == ["word", "("]


def _begins_part(tokens: Sequence[Piece], at: int) -> bool:
    wanted = _FOLLOWERS.get(tokens[at].text)
    return wanted is not None and next(_kinds_after(tokens, at), "") in wanted


def _kinds_after(tokens: Sequence[Piece], at: int) -> Iterator[str]:
    """Yield the kinds of the tokens behind one, without comments."""
    places = range(at + 1, len(tokens))
    return (tokens[place].kind for place in places if tokens[place].kind != COMMENT)


def _opening(tokens: Sequence[Piece], marks: _Marks) -> int | None:
    """Return the place of the first brace that opens a block."""
    for at, token in enumerate(tokens):
        if token.kind == "{" and all(token.start != start for start, _ in marks.hops):
            return at
    return None


def _closing(tokens: Sequence[Piece], opening: int) -> int:
    nesting = 0
    for at in range(opening, len(tokens)):
        nesting += (tokens[at].kind == "{") - (tokens[at].kind == "}")
        if nesting == 0:
            return at
    raise AssertionError("a text that was read closes what it opens")


def _is_on_line(one: Piece, other: Piece) -> bool:
    return one.line == other.line


def _is_called(before: Piece | None, word: Piece, parenthesis: Piece) -> bool:
    """Return whether a word is that of a function or a query, whose arguments follow."""
    if word.kind != "word" or word.text in _CONNECTIVES:
        return False
    is_head = before is not None and before.text == "query"
    return is_head or word.end == parenthesis.start


def _may_join(sign: Piece, value: Piece) -> bool:
    """Return whether a minus may stand tight: before a number it would become part of it."""
    return sign.kind == "-" and (sign.end == value.start or value.kind not in ("int", "float"))
