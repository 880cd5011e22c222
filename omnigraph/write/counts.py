"""Counts: how many rows a change inserted, updated, deleted and found unchanged."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass

_NAMES = ("inserted", "updated", "unchanged", "deleted")


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What a change did to rows; an unchanged row is one that was given and is so already."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(*(getattr(self, name) + getattr(other, name) for name in _NAMES))

    def __str__(self) -> str:
        parts = [f"{getattr(self, name):,} {name}" for name in _NAMES if getattr(self, name)]
        return ", ".join(parts) or "no rows"

    def to_json(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the counts that `to_json` wrote."""
        return cls(**{name: document[name] for name in _NAMES})


def add_counts(counts: Iterable[RowCounts]) -> RowCounts:
    """Return the sum of counts."""
    return sum(counts, RowCounts())


def counts_document(counts: RowCounts | None) -> dict[str, Json]:
    """Return counts as fields of a document, null where they are not known."""
    return dict.fromkeys(_NAMES) if counts is None else counts.to_json()


def counts_in(document: Mapping[str, Any]) -> RowCounts | None:
    """Return the counts that `counts_document` wrote."""
    return None if document.get(_NAMES[0]) is None else RowCounts.from_json(document)
