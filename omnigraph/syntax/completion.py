"""Completion: what can stand at a place of a text, as editors offer it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.errors import Json
from omnigraph.syntax.lexer import COMMENT, Piece, pieces_of


class Offered(StrEnum):
    """Kinds of what is offered."""

    KEYWORD = "keyword"
    TYPE = "type"
    EDGE = "edge"
    PROPERTY = "property"
    FUNCTION = "function"
    VARIABLE = "variable"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class CompletionItem:
    """One word that can stand at a place; `insert` is what is written, `detail` a few words."""

    label: str
    kind: Offered
    detail: str = ""
    insert: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the item as JSON."""
        return {
            "label": self.label,
            "kind": str(self.kind),
            "detail": self.detail,
            "insert": self.insert or self.label,
        }


@dataclass(frozen=True, slots=True)
class Completion:
    """What can stand at a place; an item replaces the text from `start` up to there."""

    start: int
    items: tuple[CompletionItem, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the completion as JSON."""
        return {"start": self.start, "items": [each.to_json() for each in self.items]}


@dataclass(frozen=True, slots=True)
class Caret:
    """A place in a text that need not parse: the tokens before it, and the word that is begun.

    `after` are the tokens behind the word. In a comment or a string there is nothing to complete.
    """

    before: tuple[Piece, ...]
    begun: str
    start: int
    after: tuple[Piece, ...]
    is_in_text: bool = False

    def back(self, count: int = 1) -> Piece | None:
        """Return a token before the caret; the nearest is the first."""
        return self.before[-count] if len(self.before) >= count else None

    def texts(self, count: int) -> tuple[str, ...]:
        """Return the texts of the last tokens before the caret, in their order."""
        return tuple(each.text for each in self.before[-count:])


def caret_at(text: str, position: int) -> Caret:
    """Return what stands around a place of a text."""
    position = max(0, min(position, len(text)))
    begun, start, is_in_text = "", position, False
    before: list[Piece] = []
    after: list[Piece] = []
    for piece in pieces_of(text):
        if piece.start >= position:
            after.append(piece)
        elif piece.end < position:
            before.append(piece)
        elif piece.kind in ("word", "var") or piece.text == "$":
            begun, start = text[piece.start : position], piece.start
        elif piece.end > position or (piece.kind == COMMENT and piece.text.startswith("//")):
            is_in_text = piece.kind in ("string", COMMENT)
            before.append(piece)
        else:
            before.append(piece)
    open_text = any(each.text == '"' or each.text == "/*" for each in before)
    tokens = tuple(each for each in before if each.kind != COMMENT)
    rest = tuple(each for each in after if each.kind != COMMENT)
    return Caret(tokens, begun, start, rest, is_in_text or open_text)


def begun_with(items: Iterable[CompletionItem], begun: str) -> tuple[CompletionItem, ...]:
    """Return the items that begin as a word does, each once."""
    found: dict[str, CompletionItem] = {}
    for each in items:
        if each.label.casefold().startswith(begun.casefold()):
            found.setdefault(each.label, each)
    return tuple(found.values())
