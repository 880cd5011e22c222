"""Steps: what an actor does to the model in one atomic access, and how that can go wrong."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar, cast

from tests.protocol.model import (
    BRANCH,
    CLEANED,
    FORGOTTEN,
    GONE,
    MARK,
    PRUNE_AGE,
    SPILL,
    Intent,
    Manifest,
    World,
)
from tests.protocol.outcomes import Moved, NoReply, Refused, Rejected, Unknown
from tests.protocol.rules import Rules

T = TypeVar("T")


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


def set_keys(
    actor: Actor,
    wanted: Intent,
    name: str,
    effect: Effect = Effect.NONE,
    rows: Iterable[object] = (),
) -> Flow[None]:
    """Set or remove keys of the manifest, if none of them changed since it was read.

    A commit and the operation that it is found by are keys at first, and are added with the others.
    """
    keys = wanted.keys
    gone = {key[len(BRANCH) :] for key, at in keys.items() if at in (None, GONE)}
    gone = set() if name == SPILL else gone

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
        marks = world.marks | {(keys[CLEANED], actor.name)} if name == MARK else world.marks
        after = manifest.advanced(world.now, rows, keys)
        broken = world.broken or _wrong_heads(manifest, after, gone, is_spill=name == SPILL)
        done = world._replace(manifest=after, promises=kept, effects=effects, marks=marks)
        return done._replace(broken=broken), "done"

    found = yield Step(name, act, "append" if effect is Effect.NONE else "flip")
    if found == REJECTED:
        raise Rejected
    if found == NO_REPLY:
        raise NoReply
    if found == NOT_FLUSHED:
        raise Unknown


def _wrong_heads(
    before: Manifest, after: Manifest, gone: Iterable[str], *, is_spill: bool
) -> str | None:
    """Return what is wrong with the heads after a change of keys."""
    heads = after.heads()
    if is_spill and heads != before.heads():
        return "a spill changed where a branch stands"
    back = sorted(name for name in gone if name in heads)
    return f"{back[0]} was deleted and is still there" if back else None


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
