"""Fresh: the newest commits of a graph, which are keys of its manifest until they are spilled.

The flip that moves a branch sets the key of its commit too. So a commit is one version of the
manifest and no file of its own, and what nobody sees is not stored.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest.records import (
    CommitRecord,
    encode_commit,
    row_of_operation,
    rows_of_commit,
)
from omnigraph.versioning.record_decoder import RecordDecoder

FRESH_KEY = "commit/"
# Every version of the manifest holds them: how many there may be, and how many characters.
MOST_FRESH, _MOST_SIZE = 32, 64 << 10
_MOST_DECODED = 2 * MOST_FRESH
_Stored: TypeAlias = tuple[CommitRecord, tuple[tuple[str, ...], bool]]
_decoder = RecordDecoder[_Stored](_Stored, "the key of a commit")


@dataclass(frozen=True, slots=True)
class FreshCommit:
    """A commit, the tables that it changed, and whether it is found by its operation id."""

    commit: Commit
    changed: tuple[str, ...]
    is_named: bool

    @property
    def key(self) -> str:
        """The key that holds it."""
        return FRESH_KEY + self.commit.id

    def encoded(self) -> str:
        """Return what its key holds."""
        rest = json.dumps([self.changed, self.is_named], separators=(",", ":"))
        return f"[{encode_commit(self.commit)},{rest}]"

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows that it becomes."""
        named = [row_of_operation(self.commit)] if self.is_named else []
        return [*rows_of_commit(self.commit, self.changed), *named]


@lru_cache(_MOST_DECODED)
def decode_fresh(text: str) -> FreshCommit:
    """Return the commit that a key holds; raise StorageError for another text."""
    record, (changed, is_named) = _decoder.read(text)
    return FreshCommit(record.commit(), changed, is_named)


def fresh_texts(at: Table) -> dict[str, str]:
    """Return what the keys of commits hold, by the id of the commit."""
    cut = len(FRESH_KEY)
    return {key[cut:]: text for key, text in at.metadata.items() if key.startswith(FRESH_KEY)}


def fresh_commits(at: Table) -> dict[str, FreshCommit]:
    """Return the commits that are keys of a version of the manifest, by id."""
    return {each: decode_fresh(text) for each, text in fresh_texts(at).items()}


def fresh_between(at: Table, versions: tuple[int, int]) -> dict[str, Commit]:
    """Return those from one version to another, by id."""
    commits = (each.commit for each in fresh_commits(at).values())
    return {each.id: each for each in commits if versions[0] <= each.version <= versions[1]}


def commits_to_spill(at: Table) -> list[FreshCommit]:
    """Return the oldest fresh commits if there are too many or too large ones; half may stay."""
    texts = fresh_texts(at)
    if len(texts) < MOST_FRESH and _size(texts) < _MOST_SIZE:
        return []
    spilled = []
    for each in sorted(texts):  # ids sort by time
        if len(texts) <= MOST_FRESH // 2 and _size(texts) <= _MOST_SIZE // 2:
            break
        spilled.append(decode_fresh(texts.pop(each)))
    return spilled


def _size(texts: Mapping[str, str]) -> int:
    return sum(map(len, texts.values()))
