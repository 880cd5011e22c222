"""Foreign: text in the form of Cypher or SQL is recognized by its first words."""

import re
from collections.abc import Callable

from omnigraph.frozen import dataclass
from omnigraph.span import Span

_LONGEST = 2_000
_FLAGS = re.IGNORECASE | re.DOTALL
_CYPHER = re.compile(
    r"\s*((?:optional\s+)?match|create|merge|unwind|return)\b\s*(?:\w+\s*=\s*\w*)?[(\[]", _FLAGS
)
_SQL = re.compile(
    r"\s*(select\b|insert\s+into\b|delete\s+from\b|update\s+\w+\s+set\s+\w+\s*=)", _FLAGS
)
_READ_FORM = "match { $p: Person  $p knows $q  $q.age > 30 } return { $p.name, $q.name } limit 10"
_WRITE_FORM = 'query add() { insert Person { name: "Ana" } }'


@dataclass(frozen=True, slots=True)
class Foreign:
    """A text of another language: which, where its first words are, and what to write instead."""

    language: str
    span: Span
    instead: str


def recognize(text: str, parses: Callable[[str], bool]) -> Foreign | None:
    """Return what a text of Cypher or SQL would be in this language; None for any other text."""
    for language, first in (("Cypher", _CYPHER), ("SQL", _SQL)):
        if (found := first.match(text)) is not None:
            # Almost no text is foreign, and what translates it takes a while to import.
            from omnigraph.query.parsing.translation import TRANSLATIONS

            written = TRANSLATIONS[language](text) if len(text) <= _LONGEST else None
            is_read = found.group(1).lower().startswith(("match", "optional", "select", "return"))
            nearest = _READ_FORM if is_read else _WRITE_FORM
            instead = written if written is not None and parses(written) else nearest
            return Foreign(language, Span(*found.span(1)), instead)
    return None
