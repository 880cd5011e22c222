"""Wording: what a model reads: values stay data, and an error says its code, place and hint."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from omnigraph.errors import Json, MergeConflictsError, OmniGraphError, ViolationsError

# Bytes of UTF-8 that count as one token: fewer than models need for prose, about as many as for
# ids and numbers.
_BYTES_OF_A_TOKEN = 3
# Characters that would end a line, hide or turn round what follows them.
_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
_MOST_LISTED = 20


def tokens_of(text: str) -> int:
    """Return how many tokens a text counts as."""
    return -(-len(text.encode()) // _BYTES_OF_A_TOKEN)


def to_line(value: Json) -> str:
    """Return a value as JSON on one line in which every character can be seen.

    A text of a graph stays within its quotes: it cannot begin a line of its own, and so cannot
    pass for anything but a value.
    """
    return _visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def clip(text: str, most: int) -> str:
    """Return a text within a number of tokens, with a word about what was left out."""
    if tokens_of(text) <= most:
        return text
    kept = text.encode()[: most * _BYTES_OF_A_TOKEN].decode(errors="ignore")
    return f"{kept}\n[cut: {len(text) - len(kept):,} more characters]"


def problem_text(error: OmniGraphError) -> str:
    """Return an error for a model: its code and message, where it is, and what to try next."""
    if isinstance(error, MergeConflictsError):
        return _with_list(error, "conflicts", error.documents, len(error.documents))
    if isinstance(error, ViolationsError):
        documents = [each.to_json() for each in error.violations]
        return _with_list(error, "violations", documents, error.total)
    lines = error.render().split("\n")
    return "\n".join(_visible(line) for line in lines)


def _with_list(
    error: OmniGraphError, name: str, documents: "list[Any] | tuple[Any, ...]", total: int
) -> str:
    """Return an error about several rows, with the first of them; their values are data."""
    lines = [_visible(f"error[{error.code}]: {error.message}".replace("\n", " "))]
    if error.hint is not None:
        lines.append(f"   = hint: {error.hint}")
    shown = documents[:_MOST_LISTED]
    lines.append(f"{name}: {total:,}, shown: {len(shown)}")
    lines += [to_line(_told(each)) for each in shown]
    return "\n".join(lines)


def _told(document: Mapping[str, Any]) -> dict[str, Json]:
    return {name: each for name, each in document.items() if each is not None}


def _visible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if unicodedata.category(each) not in _HIDDEN else _escaped(each) for each in text
    )


def _escaped(char: str) -> str:
    number = ord(char)
    if number <= 0xFFFF:
        return f"\\u{number:04x}"
    high, low = divmod(number - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
