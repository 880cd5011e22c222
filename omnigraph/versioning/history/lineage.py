"""Lineage: the commits of a branch that changed a table, each writing on the one before."""

from bisect import bisect_right
from collections.abc import Iterator, Set
from itertools import islice

from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history.walk import StepWalk
from omnigraph.versioning.manifest.steps import Step, step_of
from omnigraph.versioning.manifest.stretch import Link, Stretch, is_in_one, stretch_of
from omnigraph.versioning.repository import Repository

# Commits that are read together, because those after one are often asked for next.
_READ_AHEAD = 32


class Lineage:
    """Links of one branch, newest first, numbered from 0; they are read as far as is asked.

    A merge, a revert and a load are the last of a lineage: they may have taken over another
    version, with files of long ago. Versions that a cleanup removed have no link.
    """

    def __init__(self, repository: Repository, at: Table, key: str, commit: Commit) -> None:
        self._manifest, self._at = repository.manifest, at
        self._walk = StepWalk(repository, at, key, commit)
        self._removed = self._manifest.buried_of(at, key)
        self._known = self._manifest.known_stretches(key, self._removed)
        self._stretches: list[Stretch] = []
        # How many links there are up to the end of each stretch.
        self._ends: list[int] = []
        self._older: Step | None = next(self._changing(step_of(commit, key)))

    def __getitem__(self, number: int) -> Link:
        stretch, first = self._stretch_with(number)
        return stretch.links[number - first]

    def has(self, number: int) -> bool:
        """Whether there is a link of a number."""
        while not self._ends or self._ends[-1] <= number:
            if self._older is None:
                return False
            self._grow(self._older)
        return True

    def commit(self, number: int) -> Commit:
        """Return the commit of a number; those behind it are read with it."""
        numbers = range(number, number + _READ_AHEAD)
        ids = [self[each].step.id for each in numbers if self.has(each)]
        return self._manifest.commits(ids, self._at)[ids[0]]

    def first_that_may_change(self, mark: str, columns: Set[str], number: int) -> int:
        """Return the first link, from one on, that may have changed some columns of a row.

        A link that is cut counts as one; where there is none, that is the last link.
        """
        while self.has(number):
            stretch, first = self._stretch_with(number)
            links = () if stretch.leaves(mark, columns) else stretch.links[number - first :]
            for at, link in enumerate(links, number):
                if link.is_cut or not link.leaves(mark, columns):
                    return at
            number = first + len(stretch.links)
        return number - 1

    def _stretch_with(self, number: int) -> tuple[Stretch, int]:
        """Return the stretch that has the link of a number, and the number of its first one."""
        if not self.has(number):
            raise IndexError(number)
        place = bisect_right(self._ends, number)
        return self._stretches[place], self._ends[place - 1] if place else 0

    def _grow(self, first: Step) -> None:
        """Add the stretch that begins with a step."""
        # Only where an earlier one ended does a stretch begin for other branches, too.
        is_shared = bool(self._stretches)
        stretch = self._known.get(first.id) if is_shared else None
        if stretch is None:
            stretch = self._read(first)
            if is_shared:
                self._known[first.id] = stretch
        self._stretches.append(stretch)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(stretch.links))
        self._older = stretch.older

    def _read(self, first: Step) -> Stretch:
        links, last, is_cut = list[Link](), first, False
        for each in islice(self._changing(first), 1, None):
            if each.place is not None and each.place[1] in self._removed:
                is_cut = True
                continue
            links.append(Link(last, is_cut))
            if not is_in_one(first, each):
                return stretch_of(links, each)
            last, is_cut = each, False
        return stretch_of([*links, Link(last, is_cut)], None)

    def _changing(self, step: Step) -> Iterator[Step]:
        """Yield the steps that changed the table, up to the first that may have adopted it."""
        current: Step | None = step
        while current is not None:
            parent = self._walk.parent(current)
            if parent is None or parent.place != current.place:
                yield current
                if parent is None or parent.place is None or not current.derives:
                    return
            current = parent
