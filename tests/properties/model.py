"""Model: a graph of people made of plain dicts; slow, obvious, and what the real one must equal."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TypeAlias

from tests.ancestry import ancestors, merge_bases
from tests.properties.persons import Persons

Edges: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class State:
    """Everything in a graph at one commit."""

    persons: Persons = field(default_factory=dict)
    edges: Edges = frozenset()


@dataclass(frozen=True, slots=True)
class Point:
    """One commit: where it came from and what it left behind."""

    id: str
    parents: tuple[str, ...]
    version: int
    state: State


class Model:
    """All commits, and where each branch stands."""

    def __init__(self, first: str) -> None:
        self.points = {first: Point(first, (), 0, State())}
        self.heads = {"main": first}
        self.cleaned: set[str] = set()

    def head(self, branch: str) -> Point:
        """Return the commit at which a branch stands."""
        return self.points[self.heads[branch]]

    def commit(self, branch: str, new: str, state: State, merged: str | None = None) -> None:
        """Move a branch on to a new commit."""
        parents = (self.heads[branch],) if merged is None else (self.heads[branch], merged)
        version = max(self.points[each].version for each in parents) + 1
        self.points[new] = Point(new, parents, version, state)
        self.heads[branch] = new

    def log(self, branch: str) -> Iterator[Point]:
        """Return the commits of a branch, newest first."""
        point = self.head(branch)
        while point.parents:
            yield point
            point = self.points[point.parents[0]]
        yield point

    def readable(self) -> list[Point]:
        """Return the commits that no cleanup removed."""
        return [point for point in self.points.values() if point.id not in self.cleaned]

    def needed(self, keep: int) -> set[str]:
        """Return what a cleanup must leave: the newest of each branch, and what merges start from.

        What an earlier one removed is not asked for again.
        """
        found = set(self.heads.values())
        for branch in self.heads:
            found |= {point.id for point in islice(self.log(branch), keep)}
        for one, other in combinations(set(self.heads.values()), 2):
            found |= self.merge_bases(one, other)
        return found - self.cleaned

    def merge_bases(self, one: str, other: str) -> set[str]:
        """Return where a merge of two commits starts from."""
        return merge_bases(self.points, one, other)

    def ancestors(self, commit: str) -> set[str]:
        """Return a commit and all that it came from."""
        return ancestors(self.points, commit)
