"""Writing: changes of the model that become commits: staged aside, then made visible by a flip."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tests.protocol.facts import bases, earlier, is_cleaned, is_published
from tests.protocol.model import (
    BRANCH,
    CLEANED,
    LOCK,
    MAIN,
    TAG,
    Commit,
    Intent,
    Manifest,
    Operation,
    Version,
    World,
    intent,
)
from tests.protocol.naming import ATTEMPTS, create, delete, resolve
from tests.protocol.outcomes import Moved, NoReply, Refused, Rejected, Unknown
from tests.protocol.steps import Actor, Effect, Flow, observe, set_keys, settle, write_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was made on a commit: its tables are staged."""

    base: Commit
    tables: dict[str, Version]
    kind: str = "write"
    merged: Commit | None = None
    sources: tuple[Commit, ...] = ()
    standing: tuple[tuple[str, str], ...] = ()
    creates: bool = False
    adopts: bool = False
    patient: bool = False
    schema: str | None = None
    operation: str | None = None
    request: str | None = None

    @property
    def needs_old(self) -> bool:
        return self.creates or self.adopts


@dataclass(slots=True)
class Counter:
    """Names for the versions and commits of one operation."""

    actor: Actor
    used: int = field(default=0)

    def name(self) -> str:
        self.used += 1
        return f"{self.actor.name}.{self.used}"


class Proposal(NamedTuple):
    """A commit as it is to be published, or the one that its operation led to before."""

    commit: Commit
    wanted: Intent | None = None


def publish(actor: Actor, names: Counter, branch: str, change: Change) -> Flow[Commit]:
    """Flip the branch to a commit, which the manifest has from then on.

    A patient change is tried once more when a request was lost and certainly is not done.
    """
    may_lose = change.patient
    for _ in range(ATTEMPTS):
        look = partial(_propose, actor, branch, change, names.name())
        commit, wanted = yield from observe(look)
        if wanted is None:
            return commit
        rows: list[object] = [commit]
        rows += [Operation(change.operation, commit.id)] if change.operation else []
        name = f"flips {branch} to {commit.id}"
        try:
            yield from set_keys(actor, wanted, name, Effect.MADE, rows)
        except Rejected:
            continue
        except NoReply:
            yield from settle(actor)
            if not (yield from observe(partial(_is_there, commit))):
                if not may_lose:
                    raise Refused from None
                may_lose = False
                continue
        return commit
    raise Moved


def _is_there(commit: Commit, world: World) -> bool:
    return is_published(commit.id, world.manifest)


def _propose(actor: Actor, branch: str, change: Change, name: str, world: World) -> Proposal:
    """Return the commit that a change makes of the newest manifest; raise what is in its way."""
    manifest = world.manifest
    current = _current(manifest, branch, change)
    found = earlier(change.operation, manifest) if change.operation else None
    if found is not None:
        return Proposal(_same(actor, found, change))
    _check(manifest, current, change)
    if any(manifest.heads().get(each) != at for each, at in change.standing):
        raise Refused
    tables = tuple(sorted({**dict(current.tables), **dict(change.tables)}.items()))
    merged = () if change.merged is None else (change.merged.id,)
    schema = change.schema or current.schema
    commit = Commit(
        name, (current.id, *merged), tables, schema, world.now, change.kind, change.request
    )
    keys: dict[str, object] = {BRANCH + each: at for each, at in change.standing}
    keys[BRANCH + branch] = commit.id
    if change.operation and actor.rules.guard_operation:
        keys[f"operation/{change.operation}"] = None
    if change.needs_old:
        asked = [commit, change.base, *change.sources] if actor.rules.ask_base else [commit]
        if any(is_cleaned(each, manifest) for each in asked):
            raise Refused
        keys[CLEANED] = manifest.keys.get(CLEANED)
    return Proposal(commit, intent(manifest, world.now, keys))


def _current(manifest: Manifest, branch: str, change: Change) -> Commit:
    heads = manifest.heads()
    if change.creates:
        if branch in heads or TAG + branch in heads:
            raise Refused
        return change.base
    if branch not in heads:
        raise Refused
    return manifest.commits()[heads[branch]]


def _same(actor: Actor, found: Commit, change: Change) -> Commit:
    """Return the commit that an operation led to; refuse when it was another request."""
    if actor.rules.compare_request and found.request != change.request:
        raise Refused
    return found


def _check(manifest: Manifest, current: Commit, change: Change) -> None:
    """Raise Moved unless every touched table is as it was read, or was only optimized."""
    if current.schema != change.base.schema:
        raise Moved
    for key in change.tables:
        if current.table(key) != change.base.table(key):
            _check_only_moved(manifest, current, key, change.base.table(key))


def _check_only_moved(manifest: Manifest, current: Commit, key: str, expected: Version) -> None:
    commits = manifest.commits()
    while current.parents:
        parent = commits[current.parents[0]]
        if parent.table(key) != current.table(key) and current.kind != "optimize":
            break
        if parent.table(key) == expected:
            return
        current = parent
    raise Moved


def repeated(attempt: Callable[[], Flow[Commit | None]]) -> Flow[Commit | None]:
    """Make a change again from where the branch is now, when it lost a race."""
    for _ in range(ATTEMPTS):
        try:
            return (yield from attempt())
        except Moved:
            continue
    raise Refused


def _staged(key: str, base: Version, name: str) -> Flow[Version]:
    version = (*base, name)
    yield from write_files([version, name], f"stages {key} {name}", needs=[base])
    return version


def write(
    actor: Actor,
    branch: str,
    key: str,
    *,
    kind: str = "write",
    operation: str | None = None,
    request: str | None = None,
    patient: bool = False,
) -> Flow[Commit | None]:
    """Add rows to a table, or, as optimize, write it anew."""
    names = Counter(actor)

    def look(world: World) -> tuple[Commit, bool]:
        found = earlier(operation, world.manifest) if operation else None
        if found is None:
            return _head(world, branch), False
        if found.request != request:
            raise Refused
        return found, True

    def attempt() -> Flow[Commit]:
        base, is_known = yield from observe(look)
        if is_known:
            return base
        name, old = names.name(), base.table(key)
        version = (name,) if kind == "optimize" else (*old, name)
        yield from write_files([version, name], f"stages {key} {name}", needs=[old])
        change = Change(
            base=base,
            tables={key: version},
            kind=kind,
            operation=operation,
            request=request,
            patient=patient,
        )
        return (yield from publish(actor, names, branch, change))

    return (yield from repeated(attempt))


def ingest(actor: Actor, branch: str, source: str, key: str) -> Flow[Commit | None]:
    """Load rows into a new branch, which starts at a branch or a commit."""
    names = Counter(actor)

    def attempt() -> Flow[Commit]:
        base = yield from observe(lambda w: _pinned(w, source))
        version = yield from _staged(key, base.table(key), names.name())
        change = Change(base=base, tables={key: version}, creates=True)
        return (yield from publish(actor, names, branch, change))

    return (yield from repeated(attempt))


def merge(actor: Actor, source: str, branch: str, *, holds: bool = False) -> Flow[Commit | None]:
    """Merge a branch, a tag or a commit into a branch; None when there is nothing to do.

    With `holds` the source is a branch that must still stand there at the flip.
    """
    names = Counter(actor)

    def look(world: World) -> tuple[Commit, Commit, Commit]:
        theirs, ours = _pinned(world, source), _head(world, branch)
        base = world.manifest.commits()[min(bases(theirs.id, ours.id, world.manifest))]
        if base != theirs and is_cleaned(base, world.manifest):
            raise Refused
        return theirs, ours, base

    def attempt() -> Flow[Commit | None]:
        theirs, ours, base = yield from observe(look)
        if base == theirs:
            return None
        tables, adopts = {}, False
        for key, version in theirs.tables:
            if version == base.table(key):
                continue
            adopted = ours.table(key) == base.table(key)
            if adopted and theirs.schema == ours.schema:
                tables[key] = version
            else:
                # Rows are merged into ours; a table of another schema is brought to ours first.
                below = version if adopted else ours.table(key)
                tables[key] = yield from _staged(key, below, names.name())
            adopts = adopts or adopted
        change = Change(
            base=ours,
            tables=tables,
            merged=theirs,
            sources=(theirs,),
            standing=((source, theirs.id),) if holds else (),
            kind="merge",
            adopts=adopts,
        )
        return (yield from publish(actor, names, branch, change))

    return (yield from repeated(attempt))


def revert(actor: Actor, old: str, key: str) -> Flow[Commit | None]:
    """Bring a table of an old commit back to main, as the ground of a new version."""
    names = Counter(actor)

    def attempt() -> Flow[Commit]:
        ours, theirs = yield from observe(lambda w: (_head(w, MAIN), _pinned(w, old)))
        version = yield from _staged(key, theirs.table(key), names.name())
        change = Change(base=ours, tables={key: version}, sources=(theirs,), adopts=True)
        return (yield from publish(actor, names, MAIN, change))

    return (yield from repeated(attempt))


def apply_schema(actor: Actor, schema: str, key: str) -> Flow[Commit | None]:
    """Set another schema on main; one of several changes at a time, told by a branch."""
    names = Counter(actor)
    yield from _lock(actor)

    def attempt() -> Flow[Commit | None]:
        base = yield from observe(lambda w: _head(w, MAIN))
        if base.schema == schema:
            return None
        name, old = names.name(), base.table(key)
        version = (*old, name)
        yield from write_files([version, name, schema], f"stages {key} and {schema}", needs=[old])
        change = Change(base=base, tables={key: version}, kind="schema", schema=schema, adopts=True)
        return (yield from publish(actor, names, MAIN, change))

    try:
        commit = yield from repeated(attempt)
    except (Refused, Unknown):
        yield from _unlock(actor)
        raise
    yield from _unlock(actor)
    return commit


def _lock(actor: Actor) -> Flow[None]:
    for _ in range(2):
        try:
            yield from create(actor, LOCK, MAIN, Effect.NONE)
        except Refused:
            yield from _unlock(actor)
        else:
            return
    raise Refused


def _unlock(actor: Actor) -> Flow[None]:
    try:
        yield from delete(actor, LOCK, Effect.NONE)
    except (Refused, Unknown):
        return


def _head(world: World, branch: str) -> Commit:
    heads = world.manifest.heads()
    if branch not in heads:
        raise Refused
    return world.manifest.commits()[heads[branch]]


def _pinned(world: World, source: str) -> Commit:
    found = world.manifest.commits()[resolve(source, world.manifest)]
    if found.id == source and is_cleaned(found, world.manifest):
        raise Refused
    return found
