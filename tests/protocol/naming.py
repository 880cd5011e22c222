"""Naming: branches and tags of the model, made, removed and renamed by one flip each."""

from collections.abc import Callable, Mapping

from tests.protocol.facts import is_cleaned, is_published
from tests.protocol.model import (
    BRANCH,
    CLEANED,
    TAG,
    Actor,
    Effect,
    Flow,
    Ledger,
    NoReply,
    Refused,
    Rejected,
    Retired,
    Seen,
    Unknown,
    append,
    newest,
    set_keys,
    settle,
)

ATTEMPTS = 3


def flip(
    actor: Actor,
    updates: Callable[[Seen], Flow[dict[str, object]]],
    name: str,
    effect: Effect = Effect.MADE,
) -> Flow[dict[str, object]]:
    """Set the keys that `updates` returns for the newest ledger; again when another was faster."""
    for _ in range(ATTEMPTS):
        seen = yield from newest()
        wanted = yield from updates(seen)
        try:
            yield from set_keys(actor, seen, wanted, name, effect)
        except Rejected:
            continue
        except NoReply:
            yield from _find_out(actor, seen, wanted)
        return wanted
    raise Refused


def _find_out(actor: Actor, seen: Seen, wanted: Mapping[str, object]) -> Flow[None]:
    """Return if a flip without a reply was made; raise what is known of it otherwise."""
    settled = yield from settle(actor)
    heads = {key: value for key, value in wanted.items() if key.startswith(BRANCH)}
    if all(settled.ledger.keys.get(key) == value for key, value in heads.items()):
        return
    before = seen.ledger.keys
    moved = any(settled.ledger.keys.get(key) != before.get(key) for key in heads)
    if actor.rules.unknown_when_moved and moved:
        raise Unknown
    raise Refused


def resolve(source: str, ledger: Ledger) -> str:
    """Return the commit that a name or an id stands for."""
    heads = ledger.heads()
    for name in (source, TAG + source):
        if name in heads:
            return heads[name]
    if source in ledger.commits() and is_published(source, ledger):
        return source
    raise Refused


def create(actor: Actor, name: str, source: str, effect: Effect = Effect.MADE) -> Flow[str]:
    """Make a branch, or a tag, where another one stands or at a commit."""
    rules = actor.rules
    made = ""

    def updates(seen: Seen) -> Flow[dict[str, object]]:
        nonlocal made
        yield from ()
        ledger = seen.ledger
        plain = name.removeprefix(TAG)
        heads = ledger.heads()
        if plain in heads or TAG + plain in heads:
            raise Refused
        made = resolve(source, ledger)
        if is_cleaned(ledger.commits()[made], ledger):
            raise Refused
        keys: dict[str, object] = {BRANCH + name: made}
        if name.startswith(TAG):
            keys[BRANCH + plain] = None
        if rules.guard_new_names and made not in heads.values():
            keys[CLEANED] = ledger.keys.get(CLEANED)
        return keys

    yield from flip(actor, updates, f"makes {name}", effect)
    if not rules.guard_new_names:
        seen = yield from newest()
        if is_cleaned(seen.ledger.commits()[made], seen.ledger):
            yield from delete(actor, name, Effect.UNDONE)
            raise Refused
    return made


def delete(actor: Actor, name: str, effect: Effect = Effect.MADE) -> Flow[None]:
    """Remove a branch or a tag; the last name of a commit leaves a note that it was there."""

    def updates(seen: Seen) -> Flow[dict[str, object]]:
        heads = seen.ledger.heads()
        if name not in heads:
            raise Refused
        twins = sorted(each for each in heads if heads[each] == heads[name] and each != name)
        keys: dict[str, object] = {BRANCH + name: None}
        if not twins:
            try:
                yield from append([Retired(heads[name], name, seen.time)], f"retires {name}")
            except NoReply:
                raise Refused from None
        elif actor.rules.guard_twin:
            keys[BRANCH + twins[0]] = heads[twins[0]]
        return keys

    yield from flip(actor, updates, f"deletes {name}", effect)


def rename(actor: Actor, name: str, new_name: str) -> Flow[None]:
    """Give a branch another name."""

    def updates(seen: Seen) -> Flow[dict[str, object]]:
        yield from ()
        heads = seen.ledger.heads()
        if name not in heads or new_name in heads or TAG + new_name in heads:
            raise Refused
        return {BRANCH + name: None, BRANCH + new_name: heads[name]}

    yield from flip(actor, updates, f"renames {name}")
