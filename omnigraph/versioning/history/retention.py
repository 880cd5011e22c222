"""Retention: which commits keep their tables when a graph is cleaned up."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import timedelta
from math import ceil

from omnigraph.errors import InputError, StorageError
from omnigraph.frozen import dataclass
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import TAG

# No write and no read may take longer than this.
GRACE = timedelta(hours=24)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d+)([smhdw])")


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept: some of the newest commits of each branch, and those of a time span.

    A commit belongs to a time span when a branch stood at it then. Times are in microseconds;
    commits within `grace` are always kept, for those who are still reading them.
    """

    keep: int | None
    older_than: int | None
    grace: int

    def __post_init__(self) -> None:
        if self.keep is None and self.older_than is None:
            raise InputError(
                "nothing says what a cleanup keeps", hint="set keep, older_than, or both"
            )
        if self.keep is not None and (not isinstance(self.keep, int) or self.keep < 1):
            raise InputError(f"keep is {self.keep}; expected at least 1")

    @property
    def age(self) -> int:
        return max(self.grace, self.older_than or 0)


@dataclass(frozen=True, slots=True)
class History:
    """All commits in the manifest, where branches and tags stand, and where some stood.

    `heads` has the commit id of each branch by name, `retired` the time until which a deleted
    branch stood at a commit.
    """

    commits: Mapping[str, Commit]
    heads: Mapping[str, str]
    retired: Mapping[str, int]

    @property
    def published(self) -> dict[str, Commit]:
        """The commits at which a branch stood; the others were written and never published."""
        left = {parent for each in self.commits.values() for parent in each.parents}
        stood = {*self.heads.values(), *self.retired, *left}
        return {each.id: each for each in self.commits.values() if each.id in stood}


def retained_commits(
    history: History, rule: Retention, now: int, recent: Set[str] = frozenset()
) -> set[str]:
    """Return the ids of the commits that keep their tables.

    These are the heads of branches and tags, what the rule keeps, and every commit that a merge
    of two of them would start from. `recent` are commits that the store knows to be made within the
    grace period, whatever the clock of their writer said. Raises StorageError when the record of
    one is missing.
    """
    kept = set(history.heads.values())
    if rule.keep is not None:
        branches = (at for name, at in history.heads.items() if not name.startswith(TAG))
        kept |= {each for at in branches for each in _newest(history, at, rule.keep)}
    kept |= {each for each, until in _until(history).items() if until > now - rule.age}
    kept |= {parent for each in recent for parent in history.commits[each].parents}
    missing = sorted(kept - history.commits.keys())
    if missing:
        hint = "fsck tells whether more is missing"
        raise StorageError(f"the record of commit {missing[0]} is missing", hint=hint)
    return kept | _bases(history, kept)


def _newest(history: History, commit_id: str | None, count: int) -> Iterator[str]:
    while commit_id is not None and count:
        yield commit_id
        commit, count = history.commits.get(commit_id), count - 1
        commit_id = None if commit is None else commit.parent


def _until(history: History) -> dict[str, int]:
    """Return, for each commit that a branch moved on from, the last time one did."""
    found = dict(history.retired)
    for commit in history.commits.values():
        for parent in commit.parents:
            found[parent] = max(found.get(parent, 0), commit.created_at)
    return found


def _bases(history: History, kept: Set[str]) -> set[str]:
    """Return the commits at which the ways to kept commits fork.

    A merge of two commits starts at a commit from which both descend, while both descend from none
    of its children. So its set of descendants differs from that of each child.
    """
    tips = {each: 1 << at for at, each in enumerate(_tips(history, kept))}
    newest_first = sorted(history.commits.values(), key=lambda each: each.version, reverse=True)
    reach: dict[str, int] = {}
    passed: set[str] = set()
    for commit in newest_first:
        if commit.id in tips or commit.id not in reach:
            reach[commit.id] = reach.get(commit.id, 0) | tips.get(commit.id, 0)
        mask = reach[commit.id]
        for parent in commit.parents:
            # A commit with one child shares its number, which has as many bits as there are tips.
            reach[parent] = reach[parent] | mask if parent in reach else mask
    for commit in newest_first:
        if reach[commit.id]:
            passed |= {each for each in commit.parents if reach[each] == reach[commit.id]}
    return {each for each, mask in reach.items() if mask and each not in passed}


def _tips(history: History, kept: Iterable[str]) -> list[str]:
    """Return the heads, and the kept commits from which no kept commit descends."""
    parents = {parent for each in kept for parent in history.commits[each].parents}
    return sorted({*history.heads.values(), *(each for each in kept if each not in parents)})


def duration(given: timedelta | str) -> timedelta:
    """Return a duration written as `90s`, `15m`, `12h`, `7d` or `2w`."""
    if isinstance(given, timedelta):
        return given
    found = _DURATION.fullmatch(given.strip())
    if found is None:
        raise InputError(f"'{given}' is not a duration", hint="write one as 90s, 12h or 7d")
    try:
        return timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    except (OverflowError, ValueError) as failed:
        longest = f"the longest is {timedelta.max.days}d"
        raise InputError(f"'{shorten(given)}' is too long a duration", hint=longest) from failed


def retention(
    keep: int | None, older_than: timedelta | str | None, grace: timedelta | str
) -> Retention:
    """Return what is kept, in microseconds; raise InputError when nothing limits it."""
    age = None if older_than is None else in_microseconds(older_than)
    return Retention(keep, age, in_microseconds(grace))


def in_microseconds(given: timedelta | str) -> int:
    """Return a duration in microseconds."""
    length = duration(given)
    if length < timedelta(0):
        raise InputError("a duration cannot be negative")
    return length // timedelta(microseconds=1)


def age_text(given: timedelta | str) -> str:
    """Return a duration as text, rounded up to whole seconds."""
    return f"{ceil(duration(given).total_seconds())}s"
