"""Model: the state of a graph as the commit protocol sees it: a ledger, names of files, a clock."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tests.protocol.rules import Rules

GRACE = 5
PRUNE_AGE = 10
MAIN, CLEANED, FENCE = "main", "cleaned", "fence"
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


class Ledger(NamedTuple):
    """A version of the ledger.

    `changed` tells at which version each key was changed last, which is all that Lance's check of
    two changes needs. Of versions up to `pruned` nobody can tell any more what they changed.
    """

    version: int
    rows: frozenset[Any]
    keys: Map
    changed: Map
    pruned: int
    times: tuple[tuple[int, int], ...]

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

    def advanced(
        self, now: int, rows: Iterable[object] = (), keys: Mapping[str, Any] | None = None
    ) -> "Ledger":
        """Return the next version: with more rows, and with keys set or removed."""
        version = self.version + 1
        last = self.times[-1]
        times = self.times[:-1] if last[0] == now else self.times
        return Ledger(
            version,
            self.rows | frozenset(rows) if rows else self.rows,
            self.keys.updated(keys) if keys else self.keys,
            self.changed.updated(dict.fromkeys(keys, version)) if keys else self.changed,
            self.pruned,
            (*times, (now, version)),
        )


class Seen(NamedTuple):
    """A ledger that was read, and when."""

    ledger: Ledger
    time: int


class Flying(NamedTuple):
    """A flip whose request is still on its way; it lands if its place in the ledger is free."""

    ledger: Ledger
    owner: str


class World(NamedTuple):
    """The store, and what was promised to callers.

    `files` gives when data files, versions of tables and schemas were written, `objects` the small
    files of runs. The rest is known to nobody: what was promised, who changed a head and was not
    told yet, which cleanups were marked, and what went wrong in the last step.
    """

    ledger: Ledger
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
    """The ledger did not take a change, because another one of the same keys came first."""


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


def newest() -> Flow[Seen]:
    """Read the ledger."""
    seen: Seen = yield Step("reads the ledger", lambda w: (w, Seen(w.ledger, w.now)))
    return seen


def append(rows: Iterable[object], name: str) -> Flow[None]:
    """Append rows to the ledger, which never conflicts."""
    given = tuple(rows)

    def act(world: World) -> tuple[World, str]:
        return world._replace(ledger=world.ledger.advanced(world.now, given)), "done"

    if (yield Step(name, act, "append")) == NO_REPLY:
        raise NoReply


def set_keys(
    actor: Actor, seen: Seen, updates: Mapping[str, Any], name: str, effect: Effect = Effect.NONE
) -> Flow[Seen]:
    """Set or remove keys of the ledger, if none of them changed since it was read."""
    cleanup = updates[CLEANED] if name == MARK else None

    def act(world: World) -> tuple[World, Any]:
        ledger = world.ledger
        age = world.now - seen.time
        if actor.rules.read_again and age > PRUNE_AGE // 2:
            return world, REJECTED
        since = max(seen.ledger.version, ledger.pruned)
        if any(ledger.changed.get(key, 0) > since for key in updates):
            return world, REJECTED
        after = ledger.advanced(world.now, keys=updates)
        gone = {key[len(BRANCH) :] for key, value in updates.items() if value is None}
        kept = frozenset(p for p in world.promises if not (p[0] == "on" and p[1] in gone))
        effects = world.effects | {actor.name} if effect is Effect.MADE else world.effects
        effects = effects - {actor.name} if effect is Effect.UNDONE else effects
        marks = world.marks if cleanup is None else world.marks | {cleanup}
        done = world._replace(ledger=after, promises=kept, effects=effects, marks=marks)
        return done, Seen(after, world.now)

    found = yield Step(name, act, "append" if effect is Effect.NONE else "flip")
    if found == REJECTED:
        raise Rejected
    if found == NO_REPLY:
        raise NoReply
    if found == NOT_FLUSHED:
        raise Unknown
    assert isinstance(found, Seen)
    return found


def settle(actor: Actor) -> Flow[Seen]:
    """Read a ledger in which a request without a reply can no longer appear."""
    seen = yield from newest()
    if not actor.rules.fence:
        return seen
    try:
        return (yield from set_keys(actor, seen, {FENCE: actor.name}, "fences"))
    except Rejected:
        return (yield from newest())


def write_files(files: Iterable[object], name: str, needs: Iterable[object] = ()) -> Flow[None]:
    """Write files on top of others, which have to be there."""
    new, old = tuple(files), tuple(needs)

    def act(world: World) -> tuple[World, bool]:
        if any(each not in world.files for each in old):
            return world, False
        return world._replace(files=world.files.updated(dict.fromkeys(new, world.now))), True

    if not (yield Step(name, act)):
        raise Refused


def get_object(path: str) -> Flow[Any]:
    """Read a small file; None when there is none."""
    return (yield Step(f"reads {path}", lambda w: (w, w.objects.get(path))))


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
