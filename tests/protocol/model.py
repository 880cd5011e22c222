"""Model: the state of a graph as the commit protocol sees it: a manifest, file names, a clock."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from tests.protocol.rules import Rules

GRACE = 5
PRUNE_AGE = 10
FORGOTTEN = -1
MAIN, CLEANED = "main", "cleaned"
BRANCH, TAG, RUN, BEGUN, REVOKED = "branch/", "tag/", "run/", "begun/", "revoked/"
LOCK, MARK = "lock", "marks its cleanup"

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
    """A version that a cleanup is about to remove."""

    cleanup: tuple[int, str]
    version: tuple[str, Version]


class Operation(NamedTuple):
    """By which commit an operation can be found again."""

    id: str
    commit: str


@lru_cache(maxsize=1 << 16)
def _sorted_out(rows: frozenset[Any]) -> dict[type, list[Any]]:
    found: dict[type, list[Any]] = {Commit: [], Retired: [], Grave: [], Operation: []}
    for each in rows:
        found[type(each)].append(each)
    return found


@lru_cache(maxsize=1 << 16)
def _commits(rows: frozenset[Any]) -> dict[str, Commit]:
    return {each.id: each for each in _sorted_out(rows)[Commit]}


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
        """Return the commit of each head by its name."""
        cut = len(BRANCH)
        return {key[cut:]: at for key, at in self.keys.items() if key.startswith(BRANCH)}

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
        if not keys:
            return Manifest(self.rows | frozenset(rows), self.keys, self.changed)
        counted = {key: (self.changes(key)[0] + 1, now) for key in keys}
        return Manifest(
            self.rows, self.keys.updated(keys), self.changed.updated(counted), frozenset(keys)
        )

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
    told yet, which cleanups were marked, and what went wrong in the last step.
    """

    manifest: Manifest
    files: Map
    objects: Map
    now: int
    promises: frozenset[tuple[str, ...]]
    flying: Flying | None = None
    effects: frozenset[str] = frozenset()
    marks: frozenset[tuple[int, str]] = frozenset()
    broken: str | None = None


class Refused(Exception):
    """A definite error: nothing was changed."""


class Unknown(Exception):
    """The outcome is not known, and the caller is told so."""


class Rejected(Exception):
    """The manifest did not take a change, because another one of the same keys came first."""


class Moved(Exception):
    """A table is not at the version that was read; the change has to be made again."""


class NoReply(Exception):
    """The store gave no reply."""


@dataclass(frozen=True, slots=True)
class Step:
    """One atomic access to the store. `kind` says what can go wrong with it."""

    name: str
    act: Callable[[World], tuple[World, Any]]
    kind: str = "read"


Flow: TypeAlias = Generator[Step, Any, T]
REJECTED, NO_REPLY, NOT_FLUSHED = "rejected", "no reply", "not flushed"


class Effect(Enum):
    """Whether an operation is about a change of keys, or about undoing it, or about neither."""

    MADE = 1
    UNDONE = -1
    NONE = 0


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something: a name that no other operation has, and the rules that it follows."""

    name: str
    rules: Rules


def observe(look: Callable[[World], T], name: str = "reads the manifest") -> Flow[T]:
    """Look at the store; what is returned, or raised, is all that is remembered of it."""

    def act(world: World) -> tuple[World, Any]:
        try:
            return world, look(world)
        except (Refused, Moved, Rejected) as raised:
            return world, type(raised)

    found = yield Step(name, act)
    if found in (Refused, Moved, Rejected):
        raise found
    return cast(T, found)


def append(rows: Iterable[object], name: str) -> Flow[None]:
    """Append rows to the manifest, which never conflicts."""
    given = tuple(rows)

    def act(world: World) -> tuple[World, str]:
        return world._replace(manifest=world.manifest.advanced(world.now, given)), "done"

    if (yield Step(name, act, "append")) == NO_REPLY:
        raise NoReply


def set_keys(actor: Actor, wanted: Intent, name: str, effect: Effect = Effect.NONE) -> Flow[None]:
    """Set or remove keys of the manifest, if none of them changed since it was read."""
    keys = wanted.keys
    gone = {key[len(BRANCH) :] for key, value in keys.items() if value is None}

    def act(world: World) -> tuple[World, str]:
        manifest = world.manifest
        if actor.rules.read_again and world.now - wanted.time > PRUNE_AGE // 2:
            return world, REJECTED
        for key, count in wanted.counts:
            if manifest.changes(key)[0] != count and manifest.changes(key)[1] != FORGOTTEN:
                return world, REJECTED
        kept = frozenset(p for p in world.promises if not (p[0] == "on" and p[1] in gone))
        effects = world.effects | {actor.name} if effect is Effect.MADE else world.effects
        effects = effects - {actor.name} if effect is Effect.UNDONE else effects
        marks = world.marks | {keys[CLEANED]} if name == MARK else world.marks
        after = manifest.advanced(world.now, keys=keys)
        done = world._replace(manifest=after, promises=kept, effects=effects, marks=marks)
        return done, "done"

    found = yield Step(name, act, "append" if effect is Effect.NONE else "flip")
    if found == REJECTED:
        raise Rejected
    if found == NO_REPLY:
        raise NoReply
    if found == NOT_FLUSHED:
        raise Unknown


def settle(actor: Actor) -> Flow[None]:
    """Take the place in the manifest that a request without a reply could still take."""
    if actor.rules.fence:
        yield Step("fences", lambda w: (w._replace(manifest=w.manifest.advanced(w.now)), None))


def write_files(files: Iterable[object], name: str, needs: Iterable[object] = ()) -> Flow[None]:
    """Write files on top of others, which have to be there."""
    new, old = tuple(files), tuple(needs)

    def act(world: World) -> tuple[World, bool]:
        if any(each not in world.files for each in old):
            return world, False
        return world._replace(files=world.files.updated(dict.fromkeys(new, world.now))), True

    if not (yield Step(name, act)):
        raise Refused


def create_object(path: str, value: object) -> Flow[bool]:
    """Write a small file where none is; False when there is one."""

    def act(world: World) -> tuple[World, bool]:
        if path in world.objects:
            return world, False
        return world._replace(objects=world.objects.updated({path: value})), True

    found = yield Step(f"creates {path}", act, "append")
    if found == NO_REPLY:
        raise NoReply
    return bool(found)


def delete_object(path: str) -> Flow[None]:
    """Remove a small file, if it is there."""
    yield Step(
        f"deletes {path}",
        lambda w: (w._replace(objects=w.objects.updated({path: None})), None),
    )
