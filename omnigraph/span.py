"""Where in a text: a named source, spans of it, and how they are shown to people."""

import unicodedata

from omnigraph.frozen import dataclass

_WIDEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` up to, not including, `end` of a source."""

    start: int
    end: int

    def to(self, other: "Span") -> "Span":
        """Return the span from the start of this one to the end of the other."""
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Location:
    """A place as people count it: lines and columns from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name it is known by, usually its path."""

    name: str
    text: str

    def locate(self, offset: int) -> Location:
        """Return the line and column of a character offset."""
        line = self.text.count("\n", 0, offset) + 1
        return Location(line, offset - self.text.rfind("\n", 0, offset))

    def line_at(self, offset: int) -> str:
        """Return the line around a character offset, without its line ending."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : None if end < 0 else end].rstrip("\r")


def show_span(source: Source, span: Span) -> list[str]:
    """Return the line in which a span starts, its place above it and carets below the span."""
    place = source.locate(span.start)
    text = source.line_at(span.start)
    first = place.column - 1
    width = max(1, min(span.end - span.start, len(text) - first))
    text, first = _window(text, first)
    gutter = " " * len(str(place.line))
    pad = " " * terminal_columns(text[:first])
    caret = "^" * max(1, terminal_columns(text[first : first + width]))
    return [
        f"{gutter}--> {source.name}:{place.line}:{place.column}",
        f"{gutter} |",
        f"{place.line} | {_printable(text)}",
        f"{gutter} | {pad}{caret}",
    ]


def _window(text: str, first: int) -> tuple[str, int]:
    """Cut a very long line down to the part around the caret."""
    if len(text) <= _WIDEST_LINE:
        return text, first
    start = max(0, first - _WIDEST_LINE // 2)
    return text[start : start + _WIDEST_LINE], first - start


def _printable(text: str) -> str:
    """Return the text with tabs as one space and control characters made visible."""
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char == "\t":
        return " "
    return char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"


def terminal_columns(text: str) -> int:
    """Count the terminal columns that a text takes up."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
