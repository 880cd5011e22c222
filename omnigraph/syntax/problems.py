"""Problems: the mistakes found in one text, bounded in number."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice
from typing import TypeVar

from omnigraph.errors import Code, InputError, Problem
from omnigraph.span import Span

MOST_PROBLEMS = 100
MOST_SUGGESTIONS = 20
_MOST_CANDIDATES = 500
_MOST_LISTED = 20
_LONGEST_NAME = 64
_LONGEST_SHOWN = 60

_Choice = TypeVar("_Choice", bound=StrEnum)


class Problems:
    """Collects the problems of one text; keeps the first hundred and counts all."""

    def __init__(self) -> None:
        self.items: list[Problem] = []
        self.total = 0

    def report(self, code: Code, span: Span | None, message: str, hint: str | None = None) -> None:
        """Note one problem."""
        self.total += 1
        if len(self.items) < MOST_PROBLEMS:
            self.items.append(Problem(code, message, span, hint))

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """Return a hint with the known name most like a misspelt one, if one is close.

        The search costs more than all the rest, so only the first problems get a hint.
        """
        if len(self.items) >= MOST_SUGGESTIONS:
            return None
        found = nearest_name(name, known)
        return None if found is None else f"did you mean '{found}'?"

    def in_order(self) -> list[Problem]:
        """Return the kept problems in the order of the text."""
        return sorted(self.items, key=lambda item: item.span.start if item.span else -1)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None when none is close."""
    # difflib costs 6 ms to import and is needed only when something is wrong
    from difflib import get_close_matches

    if len(name) > _LONGEST_NAME:
        return None
    slack = 1 + len(name) // 3
    alike = (each for each in known if abs(len(each) - len(name)) <= slack and each != name)
    candidates = list(islice(alike, _MOST_CANDIDATES))
    folded = {candidate.casefold(): candidate for candidate in candidates}
    if (exact := folded.get(name.casefold())) is not None:
        return exact
    close = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return close[0] if close else None


def list_names(names: Sequence[str]) -> str:
    """Return names as a message lists them: the first ones, then how many more there are."""
    shown = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def shorten(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """Return a text short enough to be part of a message."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def chosen(kind: type[_Choice], given: str) -> _Choice:
    """Return the member of an enumeration that a word names; raise InputError with all of them."""
    try:
        return kind(given)
    except ValueError:
        word = kind.__name__
        for room in ("Load", "Export", "Embed", "Entity"):
            word = word.removeprefix(room)
        known = list_names([each.value for each in kind])
        raise InputError(f"no {word.lower()} '{given}'", hint=f"it is one of {known}") from None
