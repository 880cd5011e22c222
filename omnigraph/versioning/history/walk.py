"""Walk: follows parents in one version of the manifest, over commits or what one table saw."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import Generic, Protocol, TypeVar

from omnigraph.errors import CommitNotFoundError
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest.commit_cache import most_like
from omnigraph.versioning.manifest.steps import Step, steps_between, steps_of
from omnigraph.versioning.repository import Repository

# Versions whose commits are read at once; a long walk reads more and more of them.
_PAGE, _LONGEST_PAGE = 64, 1_024
# With more commits than that on so many versions, most belong to branches that are not walked.
_CROWD = 16


class _Walked(Protocol):
    """What is walked: it has an id, and names its parents."""

    @property
    def id(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def version(self) -> int: ...


_Each = TypeVar("_Each", bound=_Walked)


class _AnyWalk(ABC, Generic[_Each]):
    """Follows parents in one version of the manifest.

    Where few branches have commits of about the same version, all these are read at once. In a
    crowd, each commit is looked up by its id.
    """

    def __init__(self, repository: Repository, at: Table | None = None) -> None:
        self._repository = repository
        self.at = at or repository.manifest.newest()
        self._versions = _PAGE
        self._page: dict[str, _Each] = {}
        self._crowded_down_to: int | None = None

    @abstractmethod
    def _room(self, each: _Each) -> int:
        """Return how many like one of them a page may have."""

    @abstractmethod
    def _cached(self, ids: list[str]) -> dict[str, _Each]:
        """Return those that are known without reading."""

    @abstractmethod
    def _between(self, versions: tuple[int, int], most: int) -> dict[str, _Each] | None:
        """Return all from one version to another; None for more than `most`."""

    @abstractmethod
    def _look_up(self, ids: list[str]) -> dict[str, _Each]:
        """Return those of some ids that there are."""

    def parents(self, each: _Each) -> list[_Each]:
        """Return the parents of a commit, the one on its own branch first."""
        page = self._page
        try:
            return [page[parent] for parent in each.parents]
        except KeyError:
            return self._parents_read(each)

    def parent(self, each: _Each) -> _Each | None:
        """Return the commit that a commit followed on its branch."""
        return self.parents(each)[0] if each.parents else None

    def _parents_read(self, each: _Each) -> list[_Each]:
        found = self._known(each.parents)
        if len(found) < len(each.parents):
            self._turn_page(each)
            found = self._find(each.parents)
        missing = [parent for parent in each.parents if parent not in found]
        if missing:
            raise CommitNotFoundError(f"commit {each.id} came from {missing[0]}, which is gone")
        return [found[parent] for parent in each.parents]

    def _known(self, ids: Collection[str]) -> dict[str, _Each]:
        found = {each: self._page[each] for each in ids if each in self._page}
        left = [each for each in ids if each not in found]
        return found | self._cached(left) if left else found

    def _find(self, ids: Collection[str]) -> dict[str, _Each]:
        found = self._known(ids)
        left = [each for each in ids if each not in found]
        return found | self._look_up(left) if left else found

    def _turn_page(self, each: _Each) -> None:
        """Read the page of the versions before that of a commit, unless there is a crowd."""
        last = each.version - 1
        if self._crowded_down_to is not None and last >= self._crowded_down_to:
            return
        room = max(_PAGE, self._room(each))
        self._versions = min(self._versions, room)
        least, most = last - self._versions + 1, min(self._versions * _CROWD, room)
        page = self._between((least, last), most)
        if page is None:
            self._crowded_down_to, self._versions = least, _PAGE
        else:
            self._page = page
            self._versions = min(self._versions * 2, _LONGEST_PAGE)


class Walk(_AnyWalk[Commit]):
    """Follows the parents of commits."""

    def commit(self, commit_id: str) -> Commit:
        """Return a commit that another one names."""
        found = self._find([commit_id]).get(commit_id)
        if found is None:
            raise CommitNotFoundError(f"commit {commit_id} is gone")
        return found

    def down_to(self, commit: Commit, version: int) -> Iterator[Commit]:
        """Yield a commit and those before it on its branch, down to a version."""
        current: Commit | None = commit
        while current is not None and current.version >= version:
            yield current
            current = self.parent(current)

    def _room(self, each: Commit) -> int:
        return most_like(each)

    def _cached(self, ids: list[str]) -> dict[str, Commit]:
        return self._repository.manifest.cached(ids)

    def _between(self, versions: tuple[int, int], most: int) -> dict[str, Commit] | None:
        return self._repository.manifest.page(self.at, versions, most)

    def _look_up(self, ids: list[str]) -> dict[str, Commit]:
        return self._repository.manifest.commits(ids, self.at)


class StepWalk(_AnyWalk[Step]):
    """Follows what one table saw of commits, several times as quick as the commits themselves.

    What it reads is kept for the next walk over that table.
    """

    def __init__(self, repository: Repository, at: Table, key: str, like: Commit) -> None:
        super().__init__(repository, at)
        self._key = key
        self._most = 2 * most_like(like)
        self._page = repository.manifest.known_steps(key)

    def _room(self, each: Step) -> int:  # noqa: ARG002 - the records are all alike
        return self._most

    def _cached(self, ids: list[str]) -> dict[str, Step]:  # noqa: ARG002 - the page has them
        return {}

    def _between(self, versions: tuple[int, int], most: int) -> dict[str, Step] | None:
        found = steps_between(self.at, self._key, versions, most)
        if found is None:
            return None
        self._page.update(found)
        return self._page

    def _look_up(self, ids: list[str]) -> dict[str, Step]:
        found = steps_of(self.at, self._key, ids)
        self._page.update(found)
        return found
