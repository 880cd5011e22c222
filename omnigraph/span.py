"""Where in a text: a source with a name, and spans of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` up to, not including, `end` of a source."""

    start: int
    end: int

    def to(self, other: "Span") -> "Span":
        """Give the span from the start of this one to the end of the other."""
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
        """Give the line and column of a character offset."""
        line = self.text.count("\n", 0, offset) + 1
        return Location(line, offset - self.text.rfind("\n", 0, offset))

    def line_at(self, offset: int) -> str:
        """Give the text of the line that holds a character offset, without its line ending."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : None if end < 0 else end].rstrip("\r")
