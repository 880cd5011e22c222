"""Naming: branches and tags of the model, made, removed and renamed by one flip each."""

from collections.abc import Callable
from typing import TypeAlias

from tests.protocol.facts import is_cleaned, is_published
from tests.protocol.model import (
    BRANCH,
    CLEANED,
    GONE,
    MAIN,
    TAG,
    Intent,
    Manifest,
    Map,
    Retired,
    World,
    intent,
)
from tests.protocol.outcomes import NoReply, Refused, Rejected, Unknown
from tests.protocol.rules import Rules
from tests.protocol.steps import Actor, Effect, Flow, append, observe, set_keys, settle

ATTEMPTS = 3


Plan: TypeAlias = Callable[[Manifest, int], tuple[dict[str, object], tuple[object, ...]]]


def flip(actor: Actor, plan: Plan, name: str, effect: Effect = Effect.MADE) -> Flow[Map]:
    """Append the rows and set the keys of a plan for the newest manifest; again if rejected."""

    def look(world: World) -> tuple[Intent, tuple[object, ...]]:
        keys, rows = plan(world.manifest, world.now)
        return intent(world.manifest, world.now, keys), rows

    for _ in range(ATTEMPTS):
        wanted, rows = yield from observe(look)
        if rows:
            try:
                yield from append(rows, f"notes what it {name}")
            except NoReply:
                raise Refused from None
        try:
            yield from set_keys(actor, wanted, name, effect)
        except Rejected:
            continue
        except NoReply:
            yield from _find_out(actor, wanted)
        return wanted.keys
    raise Refused


def _find_out(actor: Actor, wanted: Intent) -> Flow[None]:
    """Return if a flip without a reply was made; raise what is known of it otherwise."""
    yield from settle(actor)
    cut = len(BRANCH)
    heads = {key: value for key, value in wanted.keys.items() if key.startswith(BRANCH)}

    def look(world: World) -> str:
        manifest = world.manifest
        now = manifest.heads()
        if all(now.get(key[cut:]) == (value or None) for key, value in heads.items()):
            return "made"
        counts = dict(wanted.counts)
        moved = any(manifest.changes(key)[0] != counts[key] for key in heads)
        return "moved" if moved else "not made"

    found = yield from observe(look)
    if found == "moved" and actor.rules.unknown_when_moved:
        raise Unknown
    if found != "made":
        raise Refused


def resolve(source: str, manifest: Manifest) -> str:
    """Return the commit that a name or an id stands for."""
    heads = manifest.heads()
    for name in (source, TAG + source):
        if name in heads:
            return heads[name]
    if source in manifest.commits() and is_published(source, manifest):
        return source
    raise Refused


def absent(rules: Rules, manifest: Manifest, name: str) -> str | None:
    """Return what the key of a name holds when there is no such branch.

    Where a layer has the name, the key has to say so; otherwise there is no key.
    """
    return GONE if rules.mark_gone and name in manifest.cold() else None


def create(actor: Actor, name: str, source: str, effect: Effect = Effect.MADE) -> Flow[str]:
    """Make a branch, or a tag, where another one stands or at a commit."""
    rules, plain = actor.rules, name.removeprefix(TAG)

    def plan(manifest: Manifest, now: int) -> tuple[dict[str, object], tuple[object, ...]]:
        heads = manifest.heads()
        if plain in heads or TAG + plain in heads:
            raise Refused
        at = resolve(source, manifest)
        if is_cleaned(manifest.commits()[at], manifest):
            raise Refused
        keys: dict[str, object] = {BRANCH + name: at}
        if name.startswith(TAG):
            keys[BRANCH + plain] = absent(rules, manifest, plain)
        if rules.guard_new_names and at not in heads.values():
            keys[CLEANED] = manifest.keys.get(CLEANED)
        return keys, ()

    made: str = (yield from flip(actor, plan, f"makes {name}", effect))[BRANCH + name]
    if not rules.guard_new_names and (
        yield from observe(lambda w: is_cleaned(w.manifest.commits()[made], w.manifest))
    ):
        yield from delete(actor, name, Effect.UNDONE)
        raise Refused
    return made


def delete(actor: Actor, name: str, effect: Effect = Effect.MADE) -> Flow[None]:
    """Remove a branch or a tag; the last name of a commit leaves a note that it was there."""

    def plan(manifest: Manifest, now: int) -> tuple[dict[str, object], tuple[object, ...]]:
        heads = manifest.heads()
        if name not in heads:
            raise Refused
        twins = sorted(each for each in heads if heads[each] == heads[name] and each != name)
        keys: dict[str, object] = {BRANCH + name: absent(actor.rules, manifest, name)}
        if not twins:
            return keys, (Retired(heads[name], name, now),)
        if actor.rules.guard_twin and MAIN not in twins:
            # The next name there has to stay; `main` leaves a commit only by going on from it.
            witness = min(twins, key=lambda each: (each < name, each))
            keys[BRANCH + witness] = heads[witness]
        return keys, ()

    yield from flip(actor, plan, f"deletes {name}", effect)


def rename(actor: Actor, name: str, new_name: str) -> Flow[None]:
    """Rename a branch."""

    def plan(manifest: Manifest, now: int) -> tuple[dict[str, object], tuple[object, ...]]:
        heads = manifest.heads()
        if name not in heads or new_name in heads or TAG + new_name in heads:
            raise Refused
        gone = absent(actor.rules, manifest, name)
        return {BRANCH + name: gone, BRANCH + new_name: heads[name]}, ()

    yield from flip(actor, plan, f"renames {name}")
