"""Cleaning: the cleanup of the model: plan, bury, mark, look again, remove, prune the ledger."""

from collections.abc import Iterable
from dataclasses import dataclass

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
    PRUNE_AGE,
    REVOKED,
    Actor,
    Flow,
    Grave,
    Ledger,
    Map,
    NoReply,
    Refused,
    Rejected,
    Retired,
    Seen,
    Step,
    Version,
    World,
    append,
    newest,
    set_keys,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a cleanup is about to remove, as of one ledger."""

    seen: Seen
    versions: tuple[Version, ...]
    others: tuple[str, ...]
    doomed: frozenset[tuple[str, Version]]


def cleanup(actor: Actor, keep: int) -> Flow[None]:
    """Remove what no kept commit needs, and is older than the grace period."""
    try:
        for attempt in range(2):
            try:
                yield from _revoke_interrupted(actor)
                plan = yield from _plan(actor, keep)
                own = (plan.seen.ledger.version, f"{actor.name}.{attempt}")
                claimed = yield from _claim(actor, plan, own)
            except Rejected:
                continue
            if claimed:
                yield from _remove(plan.versions, "removes versions")
                yield from _remove(plan.others, "removes files")
                yield from prune()
                return
    except NoReply:
        raise Refused from None
    raise Refused


def prune() -> Flow[None]:
    """Forget versions of the ledger that are older than the prune age."""

    def act(world: World) -> tuple[World, None]:
        ledger = world.ledger
        old = [version for time, version in ledger.times if time < world.now - PRUNE_AGE]
        pruned = min(max([ledger.pruned, *old]), ledger.version)
        return world._replace(ledger=ledger._replace(pruned=pruned)), None

    yield Step("prunes the ledger", act)


def _revoke_interrupted(actor: Actor) -> Flow[None]:
    """Take back the cleanups that buried what a head has, if they removed nothing of it."""
    seen = yield from newest()
    ledger, commits = seen.ledger, seen.ledger.commits()
    needed = versions_of(commits[each] for each in ledger.heads().values())
    counting = graves(ledger)
    interrupted = {each.cleanup for each in counting if each.version in needed}
    if not interrupted:
        return
    if actor.rules.revoke_untouched:
        files: Map = yield Step("lists files", lambda w: (w, w.files))
        touched = {each.cleanup for each in counting if each.version[1] not in files}
        interrupted -= touched
    if interrupted:
        yield from _revoke(actor, seen, interrupted)


def _revoke(actor: Actor, seen: Seen, cleanups: Iterable[tuple[int, str]]) -> Flow[None]:
    keys: dict[str, object] = {REVOKED + str(each): "" for each in cleanups}
    keys[CLEANED] = seen.ledger.keys.get(CLEANED)
    yield from set_keys(actor, seen, keys, "revokes a cleanup")


def _plan(actor: Actor, keep: int) -> Flow[Plan]:
    """Find out what can go; the files are listed before the ledger is read."""
    files: Map = yield Step("lists files", lambda w: (w, w.files))
    seen = yield from newest()
    ledger, commits = seen.ledger, seen.ledger.commits()
    wanted, told = retained(ledger, keep, seen.time), buried(ledger)
    lost = {each for each in wanted if not commits[each].versions.isdisjoint(told)}
    kept = wanted - (lost - set(ledger.heads().values()))
    needed = {version for _, version in versions_of(commits[each] for each in kept)}
    before = seen.time - GRACE
    young = {each for each in files if isinstance(each, tuple) and files[each] > before}
    named = {file for version in needed | young for file in version}
    old = [each for each in files if files[each] <= before]
    versions = tuple(sorted(v for v in old if isinstance(v, tuple) and v not in needed))
    data = [f for f in old if isinstance(f, str) and not f.startswith("S") and f not in named]
    schemas = {each.schema for each in commits.values()}
    stray = [f for f in old if isinstance(f, str) and f.startswith("S") and f not in schemas]
    others = sorted(data if actor.rules.keep_schemas else data + stray)
    doomed = {each for each in versions_of(commits.values()) if each[1] in versions}
    return Plan(seen, versions, tuple(others), frozenset(doomed))


def _claim(actor: Actor, plan: Plan, minted: tuple[int, str]) -> Flow[bool]:
    """Say in the ledger what is about to be removed; False when somebody needs some of it now."""
    if not plan.doomed:
        return True
    rules = actor.rules
    seen = yield from newest()
    last = seen.ledger.cleaning()
    own = minted if minted > last else (last[0] + 1, minted[1])
    if rules.note_begin:
        keys: dict[str, object] = {BEGUN + str(own): own, CLEANED: seen.ledger.keys.get(CLEANED)}
        yield from set_keys(actor, seen, keys, "begins its cleanup")
    yield from append([Grave(own, each) for each in sorted(plan.doomed)], "buries versions")
    seen = yield from newest()
    if rules.look_at_mark and _is_needed(actor, plan, seen.ledger):
        return False
    yield from _mark(actor, seen, own)
    return True


def _mark(actor: Actor, seen: Seen, own: tuple[int, str]) -> Flow[None]:
    """Say that a cleanup removes what it buried; others that began are revoked by that."""
    ledger, last = seen.ledger, seen.ledger.cleaning()
    begun = {at for key, at in ledger.keys.items() if key.startswith(BEGUN)}
    was_revoked = REVOKED + str(own) in ledger.keys
    if own <= last or was_revoked or (actor.rules.note_begin and own not in begun):
        raise Rejected
    open_ = {each.cleanup for each in ledger.rows_of(Grave) if each.cleanup > last} | begun
    keys: dict[str, object] = {BEGUN + str(each): None for each in begun}
    keys |= {REVOKED + str(each): "" for each in open_ - {own}}
    yield from set_keys(actor, seen, keys | {CLEANED: own}, MARK)


def _is_needed(actor: Actor, plan: Plan, ledger: Ledger) -> bool:
    """Tell whether what a plan removes is needed by what came about since."""
    rules, commits = actor.rules, ledger.commits()
    rest = list(ledger.heads().values())
    if rules.follow_retired:
        noted = set(plan.seen.ledger.rows_of(Retired))
        rest += [each.commit for each in ledger.rows_of(Retired) if each not in noted]
    known = {each for each in plan.seen.ledger.commits() if is_published(each, plan.seen.ledger)}
    met: set[str] = set()
    while rest:
        each = rest.pop()
        if each in met:
            continue
        met.add(each)
        if not commits[each].versions.isdisjoint(plan.doomed):
            return True
        if each in known:
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
        ledger, commits = world.ledger, world.ledger.commits()
        kept = {*ledger.heads().values(), *recent(ledger, world.now)}
        versions = {version for _, version in versions_of(commits[each] for each in kept)}
        needed = {*versions, *(file for each in versions for file in each)}
        hit = needed & gone & set(world.files)
        broken = f"the grace period of {min(map(str, hit))} is not kept" if hit else world.broken
        left = Map({each: at for each, at in world.files.items() if each not in gone})
        return world._replace(files=left, broken=broken), None

    yield Step(doing, act)
