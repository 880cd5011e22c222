"""Names: branch names in normal form; policy and storage see no other form."""

import re
import unicodedata

from omnigraph.errors import BranchNameError

MOST_BYTES = 200

_FORBIDDEN = re.compile(r"[\s~^:?*\[\\\"'<>|%#]|\.\.|//|@\{")
_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs")


def normalize_name(name: str) -> str:
    """Return a branch name in its normal form (NFC); raise BranchNameError with the reason."""
    text = unicodedata.normalize("NFC", name)
    reason = _problem(text)
    if reason is not None:
        raise BranchNameError(f"invalid branch name {_shown(text)}: {reason}")
    return text


def fold(name: str) -> str:
    """Return the key under which names that differ only in case are the same."""
    return unicodedata.normalize("NFC", name.casefold())


def is_system(name: str) -> bool:
    """Return whether a branch is internal, and so hidden from listings."""
    return name.startswith("__")


def is_visible(text: str) -> bool:
    """Return whether every character of a text can be seen; a plain space counts as visible."""
    return all(char == " " or unicodedata.category(char) not in _HIDDEN for char in text)


def _problem(text: str) -> str | None:
    if not text:
        return "it is empty"
    if any(unicodedata.category(char) in _HIDDEN for char in text):
        return "it contains a space or an invisible character"
    if (found := _FORBIDDEN.search(text)) is not None:
        return f"it contains '{found.group()}'"
    if len(text.encode()) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES} bytes"
    for part in text.split("/"):
        if not part or part.startswith((".", "-")) or part.endswith((".", ".lock")):
            return "no part of it may be empty, start with '.' or '-', or end in '.' or '.lock'"
    return "'@' alone is reserved" if text == "@" else None


def _shown(text: str) -> str:
    shown = text if len(text) <= 60 else text[:57] + "…"
    return "'" + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown) + "'"
