"""Problems: what is found wrong in one text, bounded in number."""

from collections.abc import Iterable

from omnigraph.errors import Code, Problem
from omnigraph.span import Span

MOST_PROBLEMS = 100
_MOST_CANDIDATES = 2_000


class Problems:
    """Collects the problems of one text; the first hundred are kept, all are counted."""

    def __init__(self) -> None:
        self.items: list[Problem] = []
        self.total = 0

    def report(self, code: Code, span: Span | None, message: str, hint: str | None = None) -> None:
        """Note one problem."""
        self.total += 1
        if len(self.items) < MOST_PROBLEMS:
            self.items.append(Problem(code, message, span, hint))

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """Give a hint with the known name nearest to a misspelt one, if one is near."""
        if len(self.items) >= MOST_PROBLEMS:
            return None
        found = nearest_name(name, known)
        return None if found is None else f"did you mean '{found}'?"

    def in_order(self) -> list[Problem]:
        """Give the kept problems in the order of the text."""
        return sorted(self.items, key=lambda item: item.span.start if item.span else -1)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Give the known name that looks most like `name`, or None when none is close."""
    # difflib costs 6 ms to import and is needed only when something is wrong
    from difflib import get_close_matches

    candidates = list(known)[:_MOST_CANDIDATES]
    folded = {candidate.casefold(): candidate for candidate in candidates}
    if (exact := folded.get(name.casefold())) is not None and exact != name:
        return exact
    close = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return close[0] if close else None
