"""Foreign: what other languages write, and its form in this one.

A text of Cypher or SQL is recognized by its first words; a word or a sign of theirs, or of a
programming language, where the parser meets it.
"""

import re
from collections.abc import Callable, Mapping

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
_EDGE_FORM = "write the name of the edge alone: $a knows $b"
_TEXTS = 'texts are tested with contains and starts_with: $p.name starts_with "A"'
HOPS_FORM = "write hops as {2}, {1,3} or {1,}: $a knows{1,3} $b"
CONDITION_FORM = "write the condition in match, having or where, or return what it compares"
LIST_FORM = "a list is in brackets: [1, 2]"
TEXT_WORDS = (
    *("like", "ilike", "rlike", "glob", "similar", "matches", "regex", "regexp"),
    *("starts", "startswith", "ends", "endswith", "ends_with"),
)
# Signs of other languages that no text of this one has.
FOREIGN_SIGNS: Mapping[str, str] = {
    "&": "write and",
    "!": "write not, or != for inequality",
    "~": _TEXTS,
    ";": "remove it",
}
# What is written instead of a word, or of a sign after another one.
_FORMS: Mapping[str, str] = {
    **dict.fromkeys(TEXT_WORDS, _TEXTS),
    **dict.fromkeys(("contains", "starts_with", "in", "is"), CONDITION_FORM),
    "between": "write both comparisons: $p.age >= 1 and $p.age <= 9",
    "group": "remove it: the columns beside an aggregate are the groups",
    "order by": "write order { $p.name desc }",
    "where": "write the condition within match, without where",
    "offset": "write skip, before limit",
    "= =": "write = for equality",
    "= >": "write >=",
    "= <": "write <=",
    "< >": "write != for inequality",
    "[ :": _EDGE_FORM,
    "->": _EDGE_FORM,
    "..": HOPS_FORM,
    "| |": "write or",
}


@dataclass(frozen=True, slots=True)
class Foreign:
    """A text of another language: which, where its first words are, and what to write instead."""

    language: str
    span: Span
    instead: str


def form_of(before: str, found: str, after: str) -> str | None:
    """Return what to write instead of a word or a sign, by those around it; None for most."""
    for text in (found, f"{before} {found}", f"{found} {after}"):
        if (form := _FORMS.get(text)) is not None:
            return form
    return None


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
