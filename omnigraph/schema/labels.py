"""Labels: the text by which people know a node, and its key."""

from collections.abc import Mapping
from functools import lru_cache

from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import BLOB, STRING, VectorType
from omnigraph.syntax.problems import shorten

_NAMES = ("name", "title", "label", "display_name", "full_name", "headline", "subject")
_LONGEST = 120


@lru_cache(4096)
def _find_name(names: tuple[str, ...]) -> str | None:
    folded = {each.casefold().replace("_", ""): each for each in reversed(names)}
    found = (folded.get(each.replace("_", "")) for each in _NAMES)
    return next((each for each in found if each is not None), None)


def label_property(stored: StoredType) -> str | None:
    """Return the property that names a row best; None when that is its id.

    That is a text called `name`, `title` or the like, or else the first text of a type whose key
    is no text.
    """
    texts = tuple(each.name for each in stored.properties.values() if each.type == STRING)
    named = _find_name(texts)
    if named is not None:
        return named
    key = stored.column(stored.key[0]) if len(stored.key) == 1 else None
    return None if key == STRING else next(iter(texts), None)


def label_of(stored: StoredType, row: Mapping[str, object]) -> str:
    """Return the text by which people know a row, in one line; its id when it has no better one."""
    name = label_property(stored)
    text = None if name is None else row.get(name)
    words = " ".join(str(text).split()) if text else ""
    return shorten(words or str(row["id"]), _LONGEST)


def key_of(stored: StoredType, row: Mapping[str, object]) -> dict[str, object] | None:
    """Return the properties of a row's key; None for a type without one."""
    return {name: row[name] for name in stored.key} if stored.key else None


def shown_columns(stored: StoredType) -> list[str]:
    """Return the columns that a page can show: all but blobs and vectors."""
    hidden = {
        each.name
        for each in stored.properties.values()
        if each.type == BLOB or isinstance(each.type, VectorType)
    }
    return [name for name in stored.properties if name not in hidden]
