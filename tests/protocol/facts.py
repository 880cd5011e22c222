"""Facts: what a manifest of the model says about commits, as the product would read it."""

from collections.abc import Iterable
from functools import lru_cache

from tests.protocol.model import (
    GRACE,
    REVOKED,
    ColdHead,
    Commit,
    Grave,
    Manifest,
    Map,
    Operation,
    Retired,
    Version,
)


def is_published(commit: str, manifest: Manifest) -> bool:
    """Tell whether a branch ever stood at a commit: a head, a child or a deleted branch says so."""
    return commit in _left(manifest.rows) or commit in manifest.heads().values()


@lru_cache(maxsize=1 << 16)
def _left(rows: frozenset[object]) -> frozenset[str]:
    """Return the commits that have children, or that notes of heads name."""
    parents = (each.parents[0] for each in rows if isinstance(each, Commit) and each.parents)
    noted = (each.commit for each in rows if isinstance(each, Retired | ColdHead))
    return frozenset([*parents, *noted])


def ancestors(commit: str, manifest: Manifest) -> frozenset[str]:
    """Return a commit and everything that it was built on or merged from."""
    return _ancestors(commit, manifest.rows)


@lru_cache(maxsize=1 << 18)
def _ancestors(commit: str, rows: frozenset[Commit]) -> frozenset[str]:
    found = next(each for each in rows if isinstance(each, Commit) and each.id == commit)
    above = (_ancestors(each, rows) for each in found.parents)
    return frozenset([commit]).union(*above)


def bases(one: str, other: str, manifest: Manifest) -> frozenset[str]:
    """Return the commits that a merge of two would start from."""
    shared = ancestors(one, manifest) & ancestors(other, manifest)
    older = {each for at in shared for each in ancestors(at, manifest) - {at}}
    return shared - older


def graves(manifest: Manifest) -> list[Grave]:
    """Return the notes of cleanups that count."""
    last = manifest.cleaning()
    return [
        each
        for each in manifest.rows_of(Grave)
        if REVOKED + str(each.cleanup) not in manifest.keys and each.cleanup <= last
    ]


def buried(manifest: Manifest) -> set[tuple[str, Version]]:
    """Return the versions of tables that are told as removed."""
    return {each.version for each in graves(manifest)}


def is_cleaned(commit: Commit, manifest: Manifest) -> bool:
    """Tell whether a commit is told as cleaned up."""
    return not commit.versions.isdisjoint(buried(manifest))


def is_readable(commit: Commit, files: Map) -> bool:
    """Tell whether everything that a commit is made of is there."""
    needed: set[object] = {commit.schema}
    for _, version in commit.tables:
        needed |= {version, *version}
    return all(each in files for each in needed)


def left_at(manifest: Manifest, *, published: bool = False) -> dict[str, int]:
    """Return for each commit that some branch left the time at which one did so last.

    Cleanups also count commits that were written and never published, which does no harm.
    """
    found: dict[str, int] = {}
    for each in manifest.rows_of(Retired):
        found[each.commit] = max(found.get(each.commit, 0), each.time)
    for child in manifest.rows_of(Commit):
        if published and not is_published(child.id, manifest):
            continue
        # What was merged was left by no branch, but a cleanup counts it too.
        for parent in child.parents[:1] if published else child.parents:
            found[parent] = max(found.get(parent, 0), child.time)
    return found


def retained(manifest: Manifest, keep: int, now: int) -> set[str]:
    """Return the commits that a cleanup keeps: heads, newest ones, those of late, and bases."""
    commits, heads = manifest.commits(), set(manifest.heads().values())
    kept = {*heads, *recent(manifest, now)}
    for head in heads:
        at: str | None = head
        for _ in range(keep):
            if at is not None:
                kept.add(at)
                at = next(iter(commits[at].parents), None)
    pairs = ((one, other) for one in heads for other in heads if one < other)
    return kept | {each for one, other in pairs for each in bases(one, other, manifest)}


def recent(manifest: Manifest, now: int, *, published: bool = False) -> set[str]:
    """Return the commits at which a branch stood within the grace period, and stands no more."""
    left = left_at(manifest, published=published)
    return {each for each, until in left.items() if until > now - GRACE}


def earlier(operation: str, manifest: Manifest) -> Commit | None:
    """Return the commit that an operation led to, if it was published."""
    commits = manifest.commits()
    ids = sorted(each.commit for each in manifest.rows_of(Operation) if each.id == operation)
    return next((commits[each] for each in ids if is_published(each, manifest)), None)


def versions_of(commits: Iterable[Commit]) -> set[tuple[str, Version]]:
    """Return the versions of tables that commits have."""
    return {each for commit in commits for each in commit.versions}
