"""History: walks the graph of commits, at a cost that grows with the distance walked."""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator

from omnigraph.errors import CommitNotFoundError
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.history.ancestry import Ancestry
from omnigraph.versioning.history.walk import Walk
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot

_ONE, _OTHER, _STALE = 1, 2, 4
_BOTH = _ONE | _OTHER


def log(
    repository: Repository, branch: str = MAIN, *, after: str | None = None
) -> Iterator[Commit]:
    """Yield the commits of a branch, newest first; `after` continues behind one of them.

    Raises CommitNotFoundError when the branch never stood at that one.
    """
    walk = Walk(repository)
    head = repository.manifest.head_commit(branch, walk.at)
    if after is None:
        yield head
        yield from _before(walk, head)
        return
    last = repository.commit(after, walk.at)
    if not _has_passed(walk, head, last, branch):
        raise CommitNotFoundError(f"'{branch}' never stood at {after}")
    yield from _before(walk, last)


def commits_before(repository: Repository, commit: Commit) -> Iterator[Commit]:
    """Yield the commits that lead to one, newest first."""
    return _before(Walk(repository), commit)


def _before(walk: Walk, commit: Commit) -> Iterator[Commit]:
    parent = walk.parent(commit)
    while parent is not None:
        yield parent
        parent = walk.parent(parent)


def _has_passed(walk: Walk, head: Commit, commit: Commit, branch: str) -> bool:
    """Whether a branch stood at a commit; those that were made on `main` need no look.

    Any other branch may have been renamed or deleted and made anew since a commit named it.
    """
    if commit.branch == branch == MAIN:
        return True
    return any(each.id == commit.id for each in walk.down_to(head, commit.version))


def since(repository: Repository, branch: str, commit_id: str | None) -> Iterator[Commit]:
    """Yield the commits of a branch after one of them, oldest first.

    By default they start behind the first one, or behind the oldest that no cleanup has removed
    the tables of since. Commits that changed no content are left out. Raises CommitNotFoundError
    when the branch never stood at the commit.
    """
    at = repository.manifest.newest()
    buried = repository.manifest.buried(at) if commit_id is None else set()
    later: list[Commit] = []
    for commit in log(repository, branch):
        if commit.id == commit_id or not commit.table_versions.isdisjoint(buried):
            break
        later.append(commit)
    else:
        if commit_id is not None:
            raise CommitNotFoundError(f"'{branch}' never stood at {commit_id}")
    if commit_id is None:
        del later[-1:]  # what was before it is not known
    return (commit for commit in reversed(later) if commit.kind is not CommitKind.PHYSICAL)


def snapshot_at_version(repository: Repository, version: int, branch: str = MAIN) -> Snapshot:
    """Pin the commit with which a branch reached a version."""
    walk = Walk(repository)
    head = repository.manifest.head_commit(branch, walk.at)
    for commit in walk.down_to(head, version):
        if commit.version == version:
            repository.refuse_cleaned(commit.id, walk.at)
            return repository.pin(commit)
    raise CommitNotFoundError(f"'{branch}' never had version {version}")


def merge_bases(repository: Repository, one: str, other: str) -> tuple[Commit, ...]:
    """Return the best common ancestors of two commits, newest first; several after a criss-cross.

    Commits are visited by falling version: when one is reached, all its descendants have been
    visited, and nothing older than the bases is read.
    """
    descent = _Descent(repository, one, other, lambda mark: not mark & _STALE)
    bases: list[str] = []
    while descent.wanted:
        commit_id, mark = descent.next()
        if mark == _BOTH:
            bases.append(commit_id)
            mark |= _STALE
        descent.go_on(commit_id, mark)
    best = [each for each in bases if not descent.marks[each] & _STALE]
    found = repository.manifest.commits(best, descent.at)
    return tuple(found[each] for each in best)


def merge_base(repository: Repository, one: str, other: str) -> Commit:
    """Return the newest common ancestor of two commits; any two have one."""
    return merge_bases(repository, one, other)[0]


def ahead_behind(repository: Repository, one: str, other: str) -> tuple[int, int]:
    """Return how many commits each of two commits has that the other does not descend from."""
    descent = _Descent(repository, one, other, lambda mark: mark != _BOTH)
    while descent.wanted:
        descent.go_on(*descent.next())
    found = list(descent.marks.values())
    return found.count(_ONE), found.count(_OTHER)


class _Descent:
    """The walk down from two commits by falling version, with marks of who leads to each commit.

    `wanted` counts the commits that wait with a mark for which the walk has to go on.
    """

    def __init__(
        self, repository: Repository, one: str, other: str, is_wanted: Callable[[int], bool]
    ) -> None:
        self.at = repository.manifest.newest()
        self.marks: dict[str, int] = {}
        self.wanted = 0
        self._is_wanted = is_wanted
        self._ancestry = Ancestry(repository.manifest, self.at)
        self._queue: list[tuple[int, str]] = []
        self._visit(repository.commit(one, self.at).id, _ONE)
        self._visit(repository.commit(other, self.at).id, _OTHER)

    def next(self) -> tuple[str, int]:
        """Return the newest commit that waits, and its mark."""
        _, commit_id = heapq.heappop(self._queue)
        mark = self.marks[commit_id]
        self.wanted -= self._is_wanted(mark)
        return commit_id, mark

    def go_on(self, commit_id: str, mark: int) -> None:
        """Reach the parents of a commit, which hand its mark down."""
        following = (each for _, each in self._queue)
        for parent in self._ancestry.parents(commit_id, following):
            self._visit(parent, mark)

    def _visit(self, commit_id: str, mark: int) -> None:
        """Mark a commit, which waits: its version is below those of all that were looked at."""
        before = self.marks.get(commit_id)
        if before is None:
            heapq.heappush(self._queue, (-self._ancestry.version(commit_id), commit_id))
        else:
            self.wanted -= self._is_wanted(before)
        self.marks[commit_id] = after = (before or 0) | mark
        self.wanted += self._is_wanted(after)


def containing(
    repository: Repository, at: Table, commit_ids: Collection[str], heads: Iterable[Head]
) -> dict[str, Head]:
    """Return, for each of some commits, the first of some heads that descends from it, if any."""
    walk = Walk(repository, at)
    known = repository.manifest.commits(commit_ids, at)
    oldest = min((commit.version for commit in known.values()), default=0)
    found: dict[str, Head] = {}
    seen: set[str] = set()
    for head in heads:
        if len(found) == len(known):
            break
        waiting = [walk.commit(head.commit)]
        while waiting and len(found) < len(known):
            commit = waiting.pop()
            if commit.id in known:
                found.setdefault(commit.id, head)
            if commit.id not in seen and commit.version > oldest:
                waiting += walk.parents(commit)
            seen.add(commit.id)
    return found
