"""Programs: the graph that every exploration starts from, and what its actors can do."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.protocol import cleaning, copying, naming, running, spilling, writing
from tests.protocol.facts import is_readable
from tests.protocol.invariants import SECRET
from tests.protocol.model import (
    BRANCH,
    CLEANED,
    LAYERS,
    MAIN,
    PRUNE_AGE,
    RUN,
    TAG,
    ColdHead,
    Commit,
    Grave,
    Manifest,
    Map,
    Retired,
    World,
)
from tests.protocol.outcomes import Refused
from tests.protocol.steps import Actor, Flow, Step, observe

NOW, AHEAD = 100, 200
Promise: TypeAlias = tuple[str, ...]
Act: TypeAlias = Callable[[Actor], Flow[list[Promise]]]


def start() -> World:
    """Return a graph with a history: old commits, a deleted branch, a run, a branch with a tag.

    Whatever is in it was written long before the grace period. The table `t` was written anew by
    c2, so that nothing of c0 and c1 is part of later versions. Of schema S2 there is a file that
    no commit names, as a change of the schema leaves it that was killed.
    """
    commits = [
        _commit("c0", (), t=("t0",), u=("u0",), schema="S0"),
        _commit("c1", ("c0",), t=("t0", "t1"), u=("u0",)),
        _commit("c2", ("c1",), t=("t2",), u=("u0",)),
        _commit("c3", ("c2",), t=("t2", "t3"), u=("u0",)),
        _commit("b1", ("c2",), t=("t2", "b1"), u=("u0",)),
        _commit("x1", ("c3",), t=("t2", "t3", "x1"), u=("u0",)),
        _commit("r1", ("c3",), t=("t2", "t3"), u=("u0", "r1")),
        _commit("e1", ("c0",), t=("t0",), u=("e1",), schema="S0"),
    ]
    heads = {MAIN: "c3", "b": "b1", "d": "x1", f"{TAG}g": "x1", f"{RUN}R": "r1"}
    keys = Map({BRANCH + name: commit for name, commit in heads.items()})
    versions = {version for each in commits for _, version in each.tables}
    names = {file for version in versions for file in version}
    rows = frozenset([*commits, Retired("e1", "e", 0)])
    manifest = Manifest(rows, keys, changed=Map(dict.fromkeys(keys, (1, 0))))
    promises: list[Promise] = [("commit", each.id) for each in commits]
    promises += [("on", MAIN, "c3"), ("on", "b", "b1"), ("on", "d", "x1")]
    return World(
        manifest=manifest,
        files=Map(dict.fromkeys([*versions, *names, "S0", "S1", "S2"], 0)),
        objects=Map({"R/begun": "c3"}),
        now=NOW,
        promises=frozenset(promises),
    )


def spilled() -> World:
    """Return the graph with all heads but main in a layer, and with a layer that was rejected."""
    world = start()
    heads = {name: at for name, at in world.manifest.heads().items() if name != MAIN}
    layers = {"L": heads, "rejected": dict.fromkeys(heads, "c2")}
    cold = {ColdHead(layer, *each) for layer, told in layers.items() for each in told.items()}
    keys = world.manifest.keys.updated({BRANCH + name: None for name in heads} | {LAYERS: ("L",)})
    changed = Map(dict.fromkeys([*world.manifest.keys, LAYERS], (1, 0)))
    return world._replace(manifest=Manifest(world.manifest.rows | cold, keys, changed))


def interrupted() -> World:
    """Return the graph as release 0.1 can leave it, which marks a cleanup and looks afterwards.

    The cleanup was killed when the version of c0 was gone and that of c1 was not, and so was who
    made a branch at c1 meanwhile.
    """
    world = start()
    commits, cleanup = world.manifest.commits(), (1, "old")
    doomed = [("t", commits[each].table("t")) for each in ("c0", "c1")]
    rows = world.manifest.rows | {Grave(cleanup, each, "old") for each in doomed}
    keys = world.manifest.keys.updated({BRANCH + "h": "c1", CLEANED: cleanup})
    changed = Map(dict.fromkeys(keys, (1, 0)))
    files = world.files.updated({doomed[0][1]: None})
    manifest = Manifest(rows, keys, changed)
    return world._replace(manifest=manifest, files=files, marks=frozenset([(cleanup, "old")]))


def cleaned_ahead() -> World:
    """Return the graph after a cleanup whose clock was ahead of all that come."""
    world = start()
    keys = world.manifest.keys.updated({CLEANED: (AHEAD, "ahead")})
    changed = world.manifest.changed.updated({CLEANED: (1, 0)})
    return world._replace(manifest=world.manifest._replace(keys=keys, changed=changed))


def _commit(
    name: str, parents: tuple[str, ...], schema: str = "S1", **tables: tuple[str, ...]
) -> Commit:
    return Commit(name, parents, tuple(sorted(tables.items())), schema, 0)


def _writes(branch: str, key: str, **more: Any) -> Act:
    def act(actor: Actor) -> Flow[list[Promise]]:
        commit = yield from writing.write(actor, branch, key, **more)
        found = _on(branch, commit)
        if commit is not None and "request" in more:
            found.append(("answers", commit.id, more["request"]))
        return found

    return act


def _ingests(source: str) -> Act:
    def act(actor: Actor) -> Flow[list[Promise]]:
        return _on("n", (yield from writing.ingest(actor, "n", source, "t")))

    return act


def _merges(source: str) -> Act:
    def act(actor: Actor) -> Flow[list[Promise]]:
        return _on(MAIN, (yield from writing.merge(actor, source, MAIN)))

    return act


def _reverts(actor: Actor) -> Flow[list[Promise]]:
    return _on(MAIN, (yield from writing.revert(actor, "c1", "t")))


def _on(branch: str, commit: Commit | None) -> list[Promise]:
    return [] if commit is None else [("commit", commit.id), ("on", branch, commit.id)]


def _does(flow: Callable[..., Flow[Any]], *given: object) -> Act:
    def act(actor: Actor) -> Flow[list[Promise]]:
        yield from flow(actor, *given)
        return []

    return act


def _allowed(actor: Actor, source: str) -> Flow[str]:
    """Ask the policy about a name, and return what to use: the commit, or the name again."""
    commit = yield from observe(lambda w: naming.resolve(source, w.manifest))
    if commit == SECRET:
        raise Refused
    return commit if actor.rules.pin_once else source


def _branches_as_guest(actor: Actor) -> Flow[list[Promise]]:
    source = yield from _allowed(actor, "g")
    commit = yield from naming.create(actor, "n", source)
    return [("allowed", commit)]


def _merges_as_guest(actor: Actor) -> Flow[list[Promise]]:
    source = yield from _allowed(actor, "g")
    commit = yield from writing.merge(actor, source, MAIN)
    merged = [] if commit is None else [("allowed", each) for each in commit.parents[1:]]
    return [*_on(MAIN, commit), *merged]


def _applies(actor: Actor) -> Flow[list[Promise]]:
    return _on(MAIN, (yield from writing.apply_schema(actor, "S2", "t")))


def _publishes(actor: Actor) -> Flow[list[Promise]]:
    return _on(MAIN, (yield from running.publish_run(actor, "R")))


def _aborts(actor: Actor) -> Flow[list[Promise]]:
    yield from running.abort_run(actor, "R")
    return [("never", "r1")]


def _reads(actor: Actor) -> Flow[list[Promise]]:
    """Pin the head of main and read its tables, well within the grace period."""
    commit = yield from observe(lambda w: w.manifest.commits()[w.manifest.heads()[MAIN]])

    def act(world: World) -> tuple[World, None]:
        lost = None if is_readable(commit, world.files) else f"a reader lost {commit.id}"
        return world._replace(broken=world.broken or lost), None

    yield Step("reads tables", act)
    return []


def _prunes(actor: Actor) -> Flow[list[Promise]]:
    """Let more than the prune age pass, and prune the manifest."""
    yield Step("lets time pass", lambda w: (w._replace(now=w.now + PRUNE_AGE + 1), None))
    yield Step(
        "prunes the manifest", lambda w: (w._replace(manifest=w.manifest.pruned(w.now)), None)
    )
    return []


def _folds(actor: Actor) -> Flow[list[Promise]]:
    yield Step(
        "folds the manifest", lambda w: (w._replace(manifest=w.manifest.advanced(w.now)), None)
    )
    return []


ACTS: dict[str, Act] = {
    "write t": _writes(MAIN, "t"),
    "write u": _writes(MAIN, "u"),
    "write t patiently": _writes(MAIN, "t", patient=True),
    "write b": _writes("b", "t"),
    "write n": _writes("n", "t"),
    "write d": _writes("d", "t"),
    "write as k": _writes(MAIN, "t", operation="k", request="one"),
    "write as k too": _writes(MAIN, "u", operation="k", request="other"),
    "write b as k": _writes("b", "t", operation="k", request="third"),
    "optimize": _writes(MAIN, "t", kind="optimize"),
    "optimize n": _writes("n", "t", kind="optimize"),
    "ingest": _ingests(MAIN),
    "ingest old": _ingests("c1"),
    "create": _does(naming.create, "n", MAIN),
    "create old": _does(naming.create, "n", "c1"),
    "create from d": _does(naming.create, "n", "d"),
    "delete n": _does(naming.delete, "n"),
    "delete b": _does(naming.delete, "b"),
    "delete d": _does(naming.delete, "d"),
    "rename d": _does(naming.rename, "d", "n"),
    "tag old": _does(naming.create, f"{TAG}w", "c1"),
    "tag n": _does(naming.create, f"{TAG}n", MAIN),
    "untag g": _does(naming.delete, f"{TAG}g"),
    "tag g secret": _does(naming.create, f"{TAG}g", SECRET),
    "branch as guest": _branches_as_guest,
    "merge as guest": _merges_as_guest,
    "merge b": _merges("b"),
    "merge old": _merges("e1"),
    "revert": _reverts,
    "apply schema": _applies,
    "begin run": _does(running.begin, "Q"),
    "publish run": _publishes,
    "abort run": _aborts,
    "cleanup": _does(cleaning.cleanup, 1),
    "cleanup keeping": _does(cleaning.cleanup, 3),
    "back up": _does(copying.backup),
    "read": _reads,
    "fold": _folds,
    "spill": _does(spilling.spill),
    "prune late": _prunes,
}
_SECOND = {"write n", "optimize n", "delete n", "tag g secret", "prune late"}
SINGLE = tuple((name,) for name in ACTS if name not in _SECOND)
PROGRAMS: tuple[tuple[str, ...], ...] = (
    *SINGLE,
    ("create old", "write n"),
    ("create old", "optimize n"),
    ("create old", "delete n"),
    ("untag g", "tag g secret"),
    ("publish run", "abort run"),
    ("write t", "prune late"),
    ("write b", "spill"),
    ("delete d", "spill"),
    ("spill", "spill"),
)
"""What one actor does: an operation, or several of which the later ones need the first."""
WORLDS = (start, spilled, cleaned_ahead)
"""What a graph may be like when they begin."""
