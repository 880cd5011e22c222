"""Layout: schemas laid out in one way; nothing but white space changes.

A body is one line where it was on one and fits, else a line for each property and rule. Comments
stay where they are, and so does an empty line between declarations.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from omnigraph.errors import Code, SchemaError
from omnigraph.schema.parsing.parser import CONSTRAINTS, DECLARATIONS, parse_schema
from omnigraph.span import Source
from omnigraph.syntax.lexer import COMMENT, Piece, pieces_of
from omnigraph.syntax.problems import Problems
from omnigraph.syntax.source import make_source, size_problem

_WIDTH = 100
_STEP = "  "
_TIGHT_AFTER = frozenset(("(", "[", "@", ".."))
_TIGHT_BEFORE = frozenset((")", "]", ",", ":", "?", "(", ".."))


def format_schema(text: str | Source) -> str:
    """Return the text laid out anew; raise SchemaError when it cannot be read."""
    source = make_source(text, "<schema>")
    _check(source)
    pieces = pieces_of(source.text)
    lines: list[str] = []
    for declaration in _declarations(pieces):
        if lines and _is_apart(source.text, declaration, lines):
            lines.append("")
        lines += _written(declaration)
    written = "".join(f"{line}\n" for line in lines)
    kept = [each.text for each in pieces_of(written)]
    assert kept == [each.text for each in pieces], "the layout changed the schema"
    return written


def _check(source: Source) -> None:
    too_large = size_problem(source, Code.SCHEMA_CAP)
    if too_large is not None:
        raise SchemaError([too_large], source=source)
    problems = Problems()
    parse_schema(source, problems)
    if problems.total:
        raise SchemaError(problems.in_order(), source=source, total=problems.total)


def _declarations(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces of each declaration, and comments between them by themselves."""
    found: list[Piece] = []
    nesting = 0
    for at, piece in enumerate(pieces):
        begins = nesting == 0 and piece.text in DECLARATIONS and _is_head(pieces, at)
        alone = nesting == 0 and piece.kind == COMMENT and not _is_on_line(pieces, at)
        if found and (begins or alone or _is_comment_alone(found)):
            yield found
            found = []
        found.append(piece)
        nesting += (piece.text == "{") - (piece.text == "}")
    if found:
        yield found


def _is_head(pieces: Sequence[Piece], at: int) -> bool:
    follower = pieces[at + 1] if at + 1 < len(pieces) else None
    return follower is not None and follower.kind == "word"


def _is_on_line(pieces: Sequence[Piece], at: int) -> bool:
    return at > 0 and pieces[at - 1].line == pieces[at].line


def _is_comment_alone(pieces: Sequence[Piece]) -> bool:
    return all(each.kind == COMMENT for each in pieces)


def _is_apart(text: str, declaration: Sequence[Piece], lines: Sequence[str]) -> bool:
    """Return whether an empty line comes before a declaration: there was one, or one is long."""
    start = declaration[0].start
    gap = text[len(text[:start].rstrip()) : start]
    if gap.count("\n") > 1:
        return True
    is_comment = lines[-1].lstrip().startswith(("//", "/*"))
    return lines[-1] == "}" and not is_comment


def _written(pieces: Sequence[Piece]) -> list[str]:
    opening = next((at for at, each in enumerate(pieces) if each.text == "{"), None)
    if opening is None:
        return _lines(pieces, "")
    closing = next(at for at in reversed(range(len(pieces))) if pieces[at].text == "}")
    items = list(_items(pieces[opening + 1 : closing]))
    head = _lines(pieces[: opening + 1], "")
    behind = _line(pieces[closing:])
    has_comment = any(each.kind == COMMENT for each in pieces[:closing])
    was_short = pieces[opening].line == pieces[closing].line
    short = _STEP.join(_line(item) for item in items)
    line = f"{head[-1]} {short} {behind}" if items else f"{head[-1]} {behind}"
    if was_short and not has_comment and len(line) <= _WIDTH:
        return [*head[:-1], line]
    body = [line for item in items for line in _lines(item, _STEP)]
    return [*head, *body, behind]


def _items(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yield each property, rule and comment of a body, with the comment at its end."""
    found: list[Piece] = []
    nesting = 0
    for at, piece in enumerate(pieces):
        follower = pieces[at + 1].text if at + 1 < len(pieces) else ""
        second = pieces[at + 2].text if at + 2 < len(pieces) else ""
        begins = nesting == 0 and (
            (piece.kind == "word" and follower == ":")
            or (piece.text == "@" and follower in CONSTRAINTS and second == "(")
            or (piece.kind == COMMENT and not _is_on_line(pieces, at))
        )
        if found and (begins or found[-1].kind == COMMENT):
            yield found
            found = []
        found.append(piece)
        nesting += (piece.text in "([") - (piece.text in ")]")
    if found:
        yield found


def _lines(pieces: Sequence[Piece], indent: str) -> list[str]:
    """Return pieces as a line, or as several when comments end some of them."""
    found: list[str] = []
    part: list[Piece] = []
    for piece in pieces:
        part.append(piece)
        if piece.kind == COMMENT:
            found.append(indent + _line(part))
            part = []
    return [*found, indent + _line(part)] if part else found


def _line(pieces: Sequence[Piece]) -> str:
    text = pieces[0].text if pieces else ""
    for one, other in pairwise(pieces):
        text += _between(one, other) + other.text
    return text


def _between(one: Piece, other: Piece) -> str:
    if COMMENT in (one.kind, other.kind):
        return _STEP if other.kind == COMMENT else " "
    if one.text in ("-", "=") or other.text == "=":
        return ""
    if other.text == "-" and one.text not in _TIGHT_AFTER:
        return "" if one.end == other.start else " "
    is_bound = ".." in (one.text, other.text) or "*" in (one.text, other.text)
    if one.text in _TIGHT_AFTER or other.text in _TIGHT_BEFORE or is_bound:
        return ""
    return " "
