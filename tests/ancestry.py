"""Ancestry: where two commits of a model come from."""

from collections.abc import Mapping
from typing import Protocol


class Descendant(Protocol):
    """A commit that knows its parents."""

    @property
    def parents(self) -> tuple[str, ...]: ...


def ancestors(points: Mapping[str, Descendant], commit: str) -> set[str]:
    """Return a commit and all that it came from."""
    found: set[str] = set()
    waiting = [commit]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += points[current].parents
    return found


def merge_bases(points: Mapping[str, Descendant], one: str, other: str) -> set[str]:
    """Return the common ancestors that are not ancestors of another common ancestor."""
    common = ancestors(points, one) & ancestors(points, other)
    older = {up for each in common for up in ancestors(points, each) if up != each}
    return common - older
