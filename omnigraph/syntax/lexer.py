"""Lexer: text to tokens, the same for both languages."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from omnigraph.errors import Code
from omnigraph.span import Source, Span
from omnigraph.syntax.problems import MOST_PROBLEMS, Problems

# Possessive quantifiers (`*+`) keep matching linear on hostile input.
_TOKEN = re.compile(
    r"""
      (?P<skip>   [ \t\r\n]++ | //[^\n]*+ | /\*[^*]*\*+(?:[^/*][^*]*\*+)*/ )
    | (?P<word>   [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<var>    \$[A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<float>  [0-9]++\.[0-9]++(?:[eE][+-]?[0-9]++)? | [0-9]++[eE][+-]?[0-9]++ )
    | (?P<int>    [0-9]++ )
    | (?P<string> "(?:[^"\\]|\\[\s\S])*+" )
    | (?P<sign>   -> | <= | >= | != | \.\. | /(?!\*) | [{}()\[\]:,.=<>|@?+*%-] )
    | (?P<single> '(?:[^'\\\n]|\\.)*+' )
    | (?P<bad>    \#[^\n]*+ | [\s\S] )
    """,
    re.VERBOSE,
)

_LONGEST_SHOWN = 40

END = "end"
COMMENT = "comment"


class Token(NamedTuple):
    """One word, variable, literal or sign; a sign's kind is the sign itself."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def describe(self) -> str:
        """Return the token as an error message names it."""
        if self.kind == END:
            return "the end of the text"
        return f"'{self.text}'" if len(self.text) <= 40 else f"'{self.text[:37]}…'"


def tokenize(
    source: Source, code: Code, problems: Problems, hints: Mapping[str, str] | None = None
) -> list[Token]:
    """Split a source into tokens, the last of kind `end`; report characters that start none.

    `hints` say what to write instead of some of these characters.
    """
    tokens: list[Token] = []
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        text = match.group()
        start, end = match.span()
        if kind == "bad":
            if not _report_bad(source.text, start, code, problems, hints or {}):
                break
        elif kind == "single":
            problems.report(code, Span(start, end), "unexpected single quotes", _double(text))
            tokens.append(Token("string", f'"{_plain(text)}"', start, end))
        elif kind == "sign":
            tokens.append(Token(text, text, start, end))
        else:
            assert kind is not None
            tokens.append(Token(kind, text, start, end))
    size = len(source.text)
    tokens.append(Token(END, "", size, size))
    return tokens


class Piece(NamedTuple):
    """A token or a comment, with the line on which it ends."""

    kind: str
    text: str
    start: int
    end: int
    line: int


def pieces_of(text: str) -> list[Piece]:
    """Return the tokens of a text that has no bad ones, and its comments among them."""
    found: list[Piece] = []
    line = 0
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup or "", match.group()
        first, line = line, line + piece.count("\n")
        if kind != "skip":
            found.append(Piece(piece if kind == "sign" else kind, piece, *match.span(), first))
        elif piece.strip():
            found.append(Piece(COMMENT, piece.rstrip(), *match.span(), first))
    return found


def _report_bad(
    text: str, start: int, code: Code, problems: Problems, hints: Mapping[str, str]
) -> bool:
    """Report the character at `start`; True when what follows can still be read."""
    char, span = text[start], Span(start, start + 1)
    if char == '"':
        problems.report(code, span, "this string is not closed", 'add the closing "')
        return False
    if text.startswith("/*", start):
        problems.report(
            code, Span(start, start + 2), "this comment is not closed", "add the closing */"
        )
        return False
    if char == "#":
        hint = "comments are // to the end of the line, or /* … */"
        problems.report(code, span, "'#' does not start a comment", hint)
        return problems.total < MOST_PROBLEMS
    if char == "'":
        problems.report(code, span, "unexpected single quote", _double(""))
        return problems.total < MOST_PROBLEMS
    name = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
    problems.report(code, span, f"unexpected character {name}", hints.get(char))
    return problems.total < MOST_PROBLEMS


def _double(text: str) -> str:
    """Return the hint for a text in single quotes."""
    inner = text[1:-1]
    is_short = 0 < len(inner) <= _LONGEST_SHOWN and _plain(text) == inner
    shown = inner if is_short else "…"
    return f'texts are in double quotes: "{shown}"'


def _plain(text: str) -> str:
    """Return what is between single quotes, without what would be special in double ones."""
    return text[1:-1].replace('"', "'").replace("\\", "/")
