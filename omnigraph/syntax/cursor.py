"""Cursor: a position in the tokens of a text, with look-ahead; both parsers extend it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, NoReturn, TypeVar

from omnigraph.errors import Code
from omnigraph.span import Source, Span
from omnigraph.syntax.lexer import END, Token, tokenize
from omnigraph.syntax.literal import BadEscape, Literal, Name, unquote
from omnigraph.syntax.problems import Problems

MOST_NESTED = 64
LEAST_INTEGER = -(2**63)
MOST_INTEGER = 2**64 - 1

T = TypeVar("T")


_FILE_NAME = re.compile(r"[^\n{}]{1,200}\.(?:gq|pg)")


class Unparsable(Exception):
    """Unwinds to the next declaration; its problem is already reported."""


class Cursor:
    """A position in the tokens of a source, with the rules that both languages share."""

    # What to write instead of characters that are no part of the language.
    foreign_signs: ClassVar[Mapping[str, str]] = {}

    def __init__(self, source: Source, problems: Problems, syntax: Code, cap: Code) -> None:
        self.problems = problems
        self._source = source
        self._syntax = syntax
        self._cap = cap
        self._tokens = tokenize(source, syntax, problems, self.foreign_signs)
        self._at = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._at]

    def peek(self, ahead: int) -> Token:
        """Return the token `ahead` places after the next one."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token."""
        token = self._tokens[self._at]
        if token.kind != END:
            self._at += 1
        return token

    def at(self, kind: str) -> bool:
        """Return whether the next token is of this kind; a sign is its own kind."""
        return self._tokens[self._at].kind == kind

    def at_word(self, *words: str) -> bool:
        """Return whether the next token is one of these words."""
        token = self._tokens[self._at]
        return token.kind == "word" and token.text in words

    def accept(self, kind: str) -> Token | None:
        """Take the next token if it is of this kind."""
        return self.advance() if self._tokens[self._at].kind == kind else None

    def accept_word(self, word: str) -> Token | None:
        """Take the next token if it is this word."""
        return self.advance() if self.at_word(word) else None

    def expect(self, kind: str, what: str | None = None, hint: str | None = None) -> Token:
        """Take the next token, which has to be of this kind."""
        if self._tokens[self._at].kind != kind:
            self.fail_expecting(what or f"'{kind}'", hint)
        return self.advance()

    def expect_word(self, word: str, hint: str | None = None) -> Token:
        """Take the next token, which has to be this word."""
        if not self.at_word(word):
            self.fail_expecting(f"'{word}'", hint)
        return self.advance()

    def fail_expecting(self, what: str, hint: str | None = None) -> NoReturn:
        """Report what was found where `what` was expected."""
        token = self.token
        if self._at == 0 and hint is None:
            hint = _file_hint(self._source)
        self.fail(token.span, f"expected {what}, found {token.describe()}", hint)

    def fail(self, span: Span, message: str, hint: str | None = None) -> NoReturn:
        """Report a syntax problem and leave the declaration."""
        self.problems.report(self._syntax, span, message, hint)
        raise Unparsable

    def fail_cap(self, span: Span, message: str) -> NoReturn:
        """Report that a cap is exceeded and leave the declaration."""
        self.problems.report(self._cap, span, message)
        raise Unparsable

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count one level of nesting while the block runs."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            self.fail_cap(self.token.span, f"the nesting is deeper than {MOST_NESTED} levels")
        yield
        self._depth -= 1

    def declarations(self, parse: Callable[[], T], starts_here: Callable[[], bool]) -> Iterator[T]:
        """Yield every declaration up to the end; after a broken one, continue with the next."""
        while not self.at(END):
            begin = self._at
            try:
                yield parse()
            except Unparsable:
                self._depth = 0
                self._at = max(self._at, begin + 1)
                while not self.at(END) and not starts_here():
                    self._at += 1

    def ident(self, what: str) -> Name:
        """Take a lower-case name; keywords are names here."""
        token = self.expect("word", what)
        if token.text[0].isupper():
            hint = "names of properties, queries, parameters and aliases start in lower case"
            self.fail(token.span, f"expected {what}, found '{token.text}'", hint)
        return Name(token.text, token.span)

    def type_name(self, what: str) -> Name:
        """Take the name of a node, edge or interface type."""
        token = self.expect("word", what)
        if not token.text[0].isupper():
            hint = "names of types start with a capital letter"
            self.fail(token.span, f"expected {what}, found '{token.text}'", hint)
        return Name(token.text, token.span)

    def string(self, what: str) -> Literal:
        """Take a string literal."""
        token = self.expect("string", what)
        try:
            return Literal(unquote(token.text), token.span)
        except BadEscape as bad:
            span = Span(token.start + bad.start, token.start + bad.end)
            hint = 'the escapes are \\" \\\\ \\n \\r \\t and \\uXXXX'
            self.fail(span if bad.end else token.span, str(bad), hint)

    def at_number(self) -> bool:
        """Return whether a number, perhaps with a sign, comes next."""
        ahead = 1 if self.at("-") else 0
        return self.peek(ahead).kind in ("int", "float")

    def number(self, what: str = "a number") -> Literal:
        """Take an integer or a float, perhaps with a leading `-`."""
        sign = self.accept("-")
        token = self.token
        if token.kind not in ("int", "float") or (sign and sign.end != token.start):
            self.fail_expecting(what)
        self.advance()
        span = token.span if sign is None else sign.span.to(token.span)
        if token.kind == "float":
            return Literal(self._float(token) * (-1.0 if sign else 1.0), span)
        return Literal(self._integer(token, span, negative=sign is not None), span)

    def whole(self, what: str) -> Literal:
        """Take an integer without a sign."""
        token = self.expect("int", what)
        return Literal(self._integer(token, token.span, negative=False), token.span)

    def scalar(self, what: str) -> Literal:
        """Take a string, number, `true` or `false`."""
        if self.at("string"):
            return self.string(what)
        if self.at_word("true", "false"):
            token = self.advance()
            return Literal(token.text == "true", token.span)
        return self.number(what)

    def comma_list(self, item: Callable[[], T], close: str) -> Sequence[T]:
        """Take one or more items between commas, up to the closing sign."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(close)
        return items

    def _integer(self, token: Token, span: Span, *, negative: bool) -> int:
        if len(token.text) > 20:
            self.fail(span, "this integer does not fit in 64 bits")
        value = -int(token.text) if negative else int(token.text)
        if not LEAST_INTEGER <= value <= MOST_INTEGER:
            self.fail(span, "this integer does not fit in 64 bits")
        return value

    def _float(self, token: Token) -> float:
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            self.fail(token.span, "this number is too large for 64 bits")
        return value


def _file_hint(source: Source) -> str | None:
    """Return what to do where the name of a file is given as a text; the text alone tells."""
    if source.name not in ("<query>", "<schema>") or not _FILE_NAME.fullmatch(source.text):
        return None
    return f"if it is the name of a file, pass Path('{source.text}'), or its text"
