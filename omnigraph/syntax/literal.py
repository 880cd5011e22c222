"""Literal: a value as written in a text, and how it is read and printed."""

import re
from dataclasses import field
from datetime import date, datetime
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.span import Span

LiteralValue: TypeAlias = str | int | float | bool | date | datetime

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\s\S]))")
_PLAIN = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written in the text."""

    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """`"a"`, `1`, `1.5`, `true`, `date("2024-01-31")` or `datetime("…")`."""

    value: LiteralValue
    span: Span = field(compare=False, repr=False)


class BadEscape(ValueError):
    """A string contains an escape that the languages do not have."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


def unquote(text: str) -> str:
    """Return the text that a quoted string stands for, its escapes resolved."""
    body = text[1:-1]
    if "\\" not in body:
        return body
    return _join_surrogates(_ESCAPE.sub(_unescape, body))


def quote(text: str) -> str:
    """Return a text as a string literal that reads back to the same text."""
    parts = []
    for char in text:
        match char:
            case '"' | "\\":
                parts.append("\\" + char)
            case "\n":
                parts.append("\\n")
            case "\r":
                parts.append("\\r")
            case "\t":
                parts.append("\\t")
            case _ if ord(char) < 0x20 or ord(char) == 0x7F:
                parts.append(f"\\u{ord(char):04x}")
            case _:
                parts.append(char)
    return f'"{"".join(parts)}"'


def literal_text(value: LiteralValue) -> str:
    """Return a value as both languages write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case datetime():
            return f"datetime({quote(datetime_text(value))})"
        case date():
            return f"date({quote(value.isoformat())})"
        case float() | int():
            return repr(value)


def datetime_text(value: datetime) -> str:
    """Return a UTC time in ISO form, with milliseconds and `Z`."""
    return value.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _unescape(match: re.Match[str]) -> str:
    code, char = match.groups()
    if code is not None:
        return chr(int(code, 16))
    if char not in _PLAIN:
        offset = match.start() + 1
        reason = "\\u takes four hex digits" if char == "u" else f"unknown escape '\\{char}'"
        raise BadEscape(reason, offset, offset + 2)
    return _PLAIN[char]


def _join_surrogates(text: str) -> str:
    """Join the surrogate pairs that `\\u` escapes make; a lone half is an error."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise BadEscape("invalid Unicode: half of a surrogate pair", 0, 0) from None
