"""Cleaning: the cleanup of the model: plan, bury, mark, look again, remove, prune the manifest."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

from tests.protocol.facts import (
    buried,
    graves,
    is_published,
    recent,
    retained,
    versions_of,
)
from tests.protocol.model import (
    BEGUN,
    CLEANED,
    GRACE,
    MARK,
    REVOKED,
    Grave,
    Intent,
    Manifest,
    Map,
    Retired,
    Version,
    World,
    intent,
)
from tests.protocol.outcomes import NoReply, Refused, Rejected
from tests.protocol.steps import NO_REPLY, Actor, Flow, Step, append, observe, set_keys

ATTEMPTS = 2


class Plan(NamedTuple):
    """What a cleanup is about to remove, and what it knows."""

    minted: tuple[int, str]
    versions: tuple[Version, ...]
    others: tuple[str, ...]
    doomed: frozenset[tuple[str, Version]]
    published: frozenset[str]
    retired: frozenset[Retired]


def cleanup(actor: Actor, keep: int) -> Flow[None]:
    """Remove what no kept commit needs, and is older than the grace period."""
    try:
        for attempt in range(ATTEMPTS):
            try:
                yield from _revoke_interrupted(actor)
                files = yield from observe(lambda w: w.files, "lists files")
                own = f"{actor.name}.{attempt}"
                plan = yield from observe(partial(_plan, actor, files, keep, own))
                claimed = yield from _claim(actor, plan)
            except Rejected:
                continue
            if claimed:
                yield from _remove(plan.versions, "removes versions")
                yield from _remove(plan.others, "removes files")
                return
    except NoReply:
        raise Refused from None
    raise Refused


def _revoke_interrupted(actor: Actor) -> Flow[None]:
    """Take back the cleanups that buried what a head has, if they removed nothing of it."""

    def look(world: World) -> Intent | None:
        manifest, commits = world.manifest, world.manifest.commits()
        needed = versions_of(commits[each] for each in manifest.heads().values())
        counting = graves(manifest)
        interrupted = {each.cleanup for each in counting if each.version in needed}
        if actor.rules.revoke_untouched:
            gone = {each.cleanup for each in counting if each.version[1] not in world.files}
            interrupted -= gone
        if not interrupted:
            return None
        keys: dict[str, object] = {REVOKED + str(each): each for each in interrupted}
        return intent(manifest, world.now, keys | {CLEANED: manifest.keys.get(CLEANED)})

    wanted = yield from observe(look)
    if wanted is not None:
        yield from set_keys(actor, wanted, "revokes a cleanup")


def _plan(actor: Actor, files: Map, keep: int, own: str, world: World) -> Plan:
    """Find out what can go; the files were listed before the manifest is read."""
    manifest, commits = world.manifest, world.manifest.commits()
    wanted, told = retained(manifest, keep, world.now), buried(manifest)
    lost = {each for each in wanted if not commits[each].versions.isdisjoint(told)}
    kept = wanted - (lost - set(manifest.heads().values()))
    needed = {version for _, version in versions_of(commits[each] for each in kept)}
    before = world.now - GRACE
    young = {each for each in files if isinstance(each, tuple) and files[each] > before}
    named = {file for version in needed | young for file in version}
    old = [each for each in files if files[each] <= before]
    versions = tuple(sorted(v for v in old if isinstance(v, tuple) and v not in needed))
    data = [f for f in old if isinstance(f, str) and not f.startswith("S") and f not in named]
    schemas = {each.schema for each in commits.values()}
    stray = [f for f in old if isinstance(f, str) and f.startswith("S") and f not in schemas]
    doomed = {each for each in versions_of(commits.values()) if each[1] in versions}
    return Plan(
        minted=(world.now, own),
        versions=versions,
        others=tuple(sorted(data if actor.rules.keep_schemas else data + stray)),
        doomed=frozenset(doomed),
        published=frozenset(each for each in commits if is_published(each, manifest)),
        retired=frozenset(manifest.rows_of(Retired)),
    )


def _claim(actor: Actor, plan: Plan) -> Flow[bool]:
    """Say in the manifest what is about to be removed; False when somebody needs some of it now."""
    if not plan.doomed:
        return True
    own = plan.minted
    if actor.rules.note_begin:
        own = yield from _begin(actor, plan.minted)
    notes = [Grave(own, each, plan.minted[1]) for each in sorted(plan.doomed)]
    yield from append(notes, "buries versions")

    def look(world: World) -> Intent | None:
        if actor.rules.look_at_mark and _is_needed(actor, plan, world.manifest):
            return None
        return intent(world.manifest, world.now, _marking(actor, world.manifest, own))

    wanted = yield from observe(look)
    if wanted is None:
        return False
    yield from set_keys(replace(actor, name=plan.minted[1]), wanted, MARK)
    return True


def _begin(actor: Actor, minted: tuple[int, str]) -> Flow[tuple[int, str]]:
    """Note that a cleanup begins, under an id that sorts behind all others.

    The clock by which it was minted may be behind that of another cleanup.
    """

    def act(world: World) -> tuple[World, tuple[int, str]]:
        manifest, last = world.manifest, world.manifest.cleaning()
        if actor.rules.tell_apart:
            last = max([last, *_told(manifest, BEGUN), *_told(manifest, REVOKED)])
        own = minted if minted > last else (last[0], f"{last[1]}+")
        keys = {BEGUN + str(own): own, CLEANED: manifest.keys.get(CLEANED)}
        return world._replace(manifest=manifest.advanced(world.now, keys=keys)), own

    found = yield Step("begins its cleanup", act, "append")
    if found == NO_REPLY:
        raise NoReply
    return cast(tuple[int, str], found)


def _told(manifest: Manifest, what: str) -> set[tuple[int, str]]:
    """Return the cleanups of which the keys say that they began, or were revoked."""
    return {own for key, own in manifest.keys.items() if key.startswith(what)}


def _marking(actor: Actor, manifest: Manifest, own: tuple[int, str]) -> dict[str, object]:
    """Return the keys by which a cleanup is marked; others that began are revoked by them."""
    last = manifest.cleaning()
    begun = _told(manifest, BEGUN)
    was_revoked = REVOKED + str(own) in manifest.keys
    if own <= last or was_revoked or (actor.rules.note_begin and own not in begun):
        raise Rejected
    unmarked = {each.cleanup for each in manifest.rows_of(Grave) if each.cleanup > last} | begun
    keys: dict[str, object] = {BEGUN + str(each): None for each in begun}
    keys |= {REVOKED + str(each): each for each in unmarked - {own}}
    return keys | {CLEANED: own}


def _is_needed(actor: Actor, plan: Plan, manifest: Manifest) -> bool:
    """Tell whether what a plan removes is needed by what came about since."""
    rules, commits = actor.rules, manifest.commits()
    rest = list(manifest.heads().values())
    if rules.follow_retired:
        rest += [each.commit for each in manifest.rows_of(Retired) if each not in plan.retired]
    met: set[str] = set()
    while rest:
        each = rest.pop()
        if each in met:
            continue
        met.add(each)
        if not commits[each].versions.isdisjoint(plan.doomed):
            return True
        if each in plan.published:
            continue
        files = {file for _, version in commits[each].tables for file in version}
        if rules.follow_files and not files.isdisjoint(plan.others):
            return True
        if rules.follow_parents:
            rest += commits[each].parents
    return False


def _remove(names: Iterable[Version | str], doing: str) -> Flow[None]:
    """Remove files; whatever a live head or the grace period still needs is a promise broken."""
    gone = set(names)
    if not gone:
        return

    def act(world: World) -> tuple[World, None]:
        manifest, commits = world.manifest, world.manifest.commits()
        kept = {*manifest.heads().values(), *recent(manifest, world.now, published=True)}
        versions = {version for _, version in versions_of(commits[each] for each in kept)}
        needed = {*versions, *(file for each in versions for file in each)}
        hit = needed & gone & set(world.files)
        broken = f"the grace period of {min(map(str, hit))} is not kept" if hit else world.broken
        left = Map({each: at for each, at in world.files.items() if each not in gone})
        return world._replace(files=left, broken=broken), None

    yield Step(doing, act)
