"""Model: the state of a graph as the commit protocol sees it: a manifest, file names, a clock."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

GRACE = 5
PRUNE_AGE = 10
FORGOTTEN = -1
MAIN, CLEANED = "main", "cleaned"
BRANCH, TAG, RUN, BEGUN, REVOKED = "branch/", "tag/", "run/", "begun/", "revoked/"
LOCK, MARK = "lock", "marks its cleanup"
LAYERS, GONE, SPILL = "layers", "", "spills heads"

T = TypeVar("T")
Version: TypeAlias = tuple[str, ...]
"""A version of a table is named by the data files that it is made of, the newest last."""


class Map(dict[Any, Any]):
    """A mapping that never changes, with its hash kept."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash(frozenset(self.items()))
            return self._hash

    def updated(self, updates: Mapping[Any, Any]) -> "Map":
        """Return it with other values; None removes a key."""
        merged = {**self, **updates}
        return Map({key: value for key, value in merged.items() if value is not None})


class Commit(NamedTuple):
    """The row of a commit. Its first parent is what its branch stood at."""

    id: str
    parents: tuple[str, ...]
    tables: tuple[tuple[str, Version], ...]
    schema: str
    time: int
    kind: str = "write"
    request: str | None = None

    @property
    def versions(self) -> set[tuple[str, Version]]:
        return set(self.tables)

    def table(self, key: str) -> Version:
        return dict(self.tables)[key]


class Retired(NamedTuple):
    """Until when a branch that was deleted stood at a commit."""

    commit: str
    name: str
    time: int


class Grave(NamedTuple):
    """A version that a cleanup is about to remove; who wrote the note is known to nobody."""

    cleanup: tuple[int, str]
    version: tuple[str, Version]
    writer: str


class Operation(NamedTuple):
    """By which commit an operation can be found again."""

    id: str
    commit: str


class ColdHead(NamedTuple):
    """A head that was spilled into a layer, or that a branch of the layers below is gone."""

    layer: str
    name: str
    commit: str


@lru_cache(maxsize=1 << 16)
def _sorted_out(rows: frozenset[Any]) -> dict[type, list[Any]]:
    kinds = (Commit, Retired, Grave, Operation, ColdHead)
    found: dict[type, list[Any]] = {kind: [] for kind in kinds}
    for each in rows:
        found[type(each)].append(each)
    return found


@lru_cache(maxsize=1 << 16)
def _commits(rows: frozenset[Any]) -> dict[str, Commit]:
    return {each.id: each for each in _sorted_out(rows)[Commit]}


@lru_cache(maxsize=1 << 16)
def _cold(rows: frozenset[Any], layers: tuple[str, ...]) -> dict[str, str]:
    """Return what layers say of names, the newest layer first."""
    found: dict[str, str] = {}
    for layer in reversed(layers):
        own = (each for each in _sorted_out(rows)[ColdHead] if each.layer == layer)
        found |= {each.name: each.commit for each in own}
    return found


class Manifest(NamedTuple):
    """The newest version of the manifest.

    `changed` gives for each key how often it was changed and when last; that is all that Lance's
    check of two changes comes down to. FORGOTTEN stands for the time of a change that can no longer
    be found, because old versions were removed; `last` are the keys of the newest version, which
    always stays.
    """

    rows: frozenset[Any]
    keys: Map
    changed: Map
    last: frozenset[str] = frozenset()

    def rows_of(self, kind: type[T]) -> list[T]:
        found: list[T] = _sorted_out(self.rows)[kind]
        return found

    def commits(self) -> dict[str, Commit]:
        return _commits(self.rows)

    def heads(self) -> dict[str, str]:
        """Return the commit of each head by its name: its key, or else the newest layer."""
        told = self.cold() | self.hot()
        return {name: at for name, at in told.items() if at != GONE}

    def hot(self) -> dict[str, str]:
        """Return what keys say of names."""
        cut = len(BRANCH)
        return {key[cut:]: at for key, at in self.keys.items() if key.startswith(BRANCH)}

    def cold(self) -> dict[str, str]:
        """Return what layers say of names."""
        return _cold(self.rows, self.layers())

    def layers(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self.keys.get(LAYERS, ())
        return found

    def cleaning(self) -> tuple[int, str]:
        found: tuple[int, str] = self.keys.get(CLEANED, (0, ""))
        return found

    def changes(self, key: str) -> tuple[int, int]:
        found: tuple[int, int] = self.changed.get(key, (0, FORGOTTEN))
        return found

    def advanced(
        self, now: int, rows: Iterable[object] = (), keys: Mapping[str, Any] | None = None
    ) -> "Manifest":
        """Return the next version: with more rows, and with keys set or removed."""
        more = self.rows | frozenset(rows)
        if not keys:
            return Manifest(more, self.keys, self.changed)
        counted = {key: (self.changes(key)[0] + 1, now) for key in keys}
        return Manifest(
            more, self.keys.updated(keys), self.changed.updated(counted), frozenset(keys)
        )

    def dated(self, now: int) -> "Manifest":
        """Return it with the newest version written at another time."""
        dates = {key: (self.changes(key)[0], now) for key in self.last}
        return self._replace(changed=self.changed.updated(dates))

    def pruned(self, now: int) -> "Manifest":
        """Return it without versions that are older than the prune age."""
        old = {
            key: (count, FORGOTTEN)
            for key, (count, time) in self.changed.items()
            if time < now - PRUNE_AGE and key not in self.last
        }
        return self._replace(changed=self.changed.updated(old))


class Intent(NamedTuple):
    """A change of keys, and how often each was changed when the manifest was read, at a time."""

    keys: Map
    counts: tuple[tuple[str, int], ...]
    time: int


def intent(manifest: Manifest, now: int, keys: Mapping[str, Any]) -> Intent:
    """Return a change of keys that is guarded by a manifest."""
    counts = tuple(sorted((key, manifest.changes(key)[0]) for key in keys))
    return Intent(Map(keys), counts, now)


class Flying(NamedTuple):
    """A flip that is still on its way; it lands unless its place in the manifest is taken."""

    manifest: Manifest
    owner: str


class World(NamedTuple):
    """The store, and what was promised to callers.

    `files` gives when data files, versions of tables and schemas were written, `objects` the small
    files of runs. The rest is known to nobody: what was promised, who changed a head and was not
    told yet, which cleanups were marked and by whom, and what went wrong in the last step.
    """

    manifest: Manifest
    files: Map
    objects: Map
    now: int
    promises: frozenset[tuple[str, ...]]
    flying: Flying | None = None
    effects: frozenset[str] = frozenset()
    marks: frozenset[tuple[tuple[int, str], str]] = frozenset()
    broken: str | None = None
