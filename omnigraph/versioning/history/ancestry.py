"""Ancestry: which commits came from which, found without reading the commits themselves."""

from collections.abc import Iterable

from omnigraph.errors import CommitNotFoundError
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest.links import Link, links_between, links_of
from omnigraph.versioning.manifest.manifest import Manifest

# Versions whose links are read at once; a long walk reads more and more of them.
_PAGE, _LONGEST_PAGE = 16, 1_024
# More links than that are not read for a page: most belong to branches that are not walked.
_CROWD = 4_096


class Ancestry:
    """The parents of commits in one version of the manifest.

    Where few branches have commits of about the same version, the links of all these are read at
    once. In a crowd, those are looked up that are asked for, or will be next.
    """

    def __init__(self, manifest: Manifest, at: Table) -> None:
        self._manifest = manifest
        self._at = at
        self._links: dict[str, Link] = {}
        self._versions = _PAGE
        self._crowded_down_to: int | None = None

    def version(self, commit_id: str) -> int:
        """Return the version of a commit."""
        link = self._links.get(commit_id)
        if link is None:
            self._look_up([commit_id])
            link = self._links.get(commit_id)
        if link is None:
            raise CommitNotFoundError(f"commit {commit_id} is gone")
        return link.version

    def parents(self, commit_id: str, following: Iterable[str]) -> tuple[str, ...]:
        """Return the parents of a commit that was asked for before, or as a parent.

        `following` are others of them, whose parents will be asked for next.
        """
        link = self._links[commit_id]
        if self._missing(link.parents):
            self._turn_page(link.version - 1)
        if self._missing(link.parents):
            later = (parent for each in following for parent in self._links[each].parents)
            self._look_up([*link.parents, *later])
        left = self._missing(link.parents)
        if left:
            raise CommitNotFoundError(f"commit {commit_id} came from {left[0]}, which is gone")
        return link.parents

    def _missing(self, ids: Iterable[str]) -> list[str]:
        """Return those of some commits that are neither known nor cached."""
        left = [each for each in ids if each not in self._links]
        if not left:
            return left
        for commit in self._manifest.cached(left).values():
            self._links[commit.id] = Link(commit.version, commit.parents)
        return [each for each in left if each not in self._links]

    def _look_up(self, ids: Iterable[str]) -> None:
        left = self._missing(ids)
        if left:
            self._links |= links_of(self._at, left)

    def _turn_page(self, last: int) -> None:
        """Read the links of a version and some before it, unless there is a crowd."""
        if self._crowded_down_to is not None and last >= self._crowded_down_to:
            return
        least = last - self._versions + 1
        page = links_between(self._at, (least, last), _CROWD)
        if page is None:
            self._crowded_down_to, self._versions = least, _PAGE
        else:
            self._links |= page
            self._versions = min(self._versions * 2, _LONGEST_PAGE)
