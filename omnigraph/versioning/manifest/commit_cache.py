"""Commit cache: commits that were read, those used last kept longest."""

import threading
from collections import OrderedDict
from collections.abc import Iterable

from omnigraph.versioning.commit import Commit

# A commit names all its tables, so a limit on commits alone would let those of a schema with
# hundreds of types take hundreds of megabytes.
_MOST_TABLES = 16_384
# What a commit takes besides its tables, as much as so many of them.
_SIZE_OF_COMMIT = 12
_MOST_PUBLISHED = 65_536


class CommitCache:
    """Commits by id, bounded by how many tables they name, and which of them are published.

    Commits never change, and one at which a branch stood stays published.
    """

    def __init__(self) -> None:
        self._commits: OrderedDict[str, Commit] = OrderedDict()
        self._published: OrderedDict[str, None] = OrderedDict()
        self._tables = 0
        self._lock = threading.Lock()

    def get(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Return those of some commits that are cached."""
        with self._lock:
            found = {each: self._commits[each] for each in ids if each in self._commits}
            for each in found:
                self._commits.move_to_end(each)
        return found

    def add(self, commits: Iterable[Commit]) -> None:
        """Cache commits for later questions."""
        with self._lock:
            for commit in commits:
                if commit.id not in self._commits:
                    self._commits[commit.id] = commit
                    self._tables += _size(commit)
                self._commits.move_to_end(commit.id)
            while self._tables > _MOST_TABLES and len(self._commits) > 1:
                self._tables -= _size(self._commits.popitem(last=False)[1])

    def is_published(self, commit_id: str) -> bool:
        """Whether it is known that a branch ever stood at a commit."""
        return commit_id in self._published

    def publish(self, ids: Iterable[str]) -> None:
        """Note that a branch stands or stood at each of some commits."""
        with self._lock:
            self._published.update(dict.fromkeys(ids))
            while len(self._published) > _MOST_PUBLISHED:
                self._published.popitem(last=False)


def most_like(commit: Commit) -> int:
    """Return how many commits with as many tables take up half of a cache."""
    return _MOST_TABLES // 2 // _size(commit)


def _size(commit: Commit) -> int:
    return _SIZE_OF_COMMIT + len(commit.tables)
