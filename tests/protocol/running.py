"""Running: runs of the model: begun on a hidden branch, then published or aborted."""

from tests.protocol.model import MAIN, RUN, Commit, Manifest, World
from tests.protocol.naming import create, delete, resolve
from tests.protocol.outcomes import NoReply, Refused, Unknown
from tests.protocol.steps import Actor, Effect, Flow, create_object, delete_object, observe
from tests.protocol.writing import merge

PUBLISHED, ABORTED = "published", "aborted"
RUN_HEAD = "r1"


def begin(actor: Actor, run: str) -> Flow[None]:
    """Begin a run on main: its branch first, then the record of its begin."""
    base = yield from observe(lambda w: resolve(MAIN, w.manifest))
    yield from create(actor, RUN + run, base, Effect.NONE)
    try:
        yield from create_object(f"{run}/begun", base)
    except NoReply:
        raise Refused from None


def publish_run(actor: Actor, run: str) -> Flow[Commit | None]:
    """Merge what a run wrote into main, and end it; its branch has to be there at the flip."""
    if (yield from _is_over(run, PUBLISHED)):
        return None
    made = yield from _claim(run, PUBLISHED)
    try:
        commit = yield from merge(actor, RUN + run, MAIN, holds=actor.rules.hold_run)
    except Refused:
        if made:
            yield from delete_object(f"{run}/claimed")
        raise
    yield from _end(run, PUBLISHED, unsure=commit is not None)
    yield from _remove(actor, run)
    return commit


def abort_run(actor: Actor, run: str) -> Flow[None]:
    """Return a run up. Its branch goes first; whoever published before that is found on main."""
    if (yield from _is_over(run, ABORTED)):
        return
    yield from _claim(run, ABORTED)
    if actor.rules.hold_run:
        yield from _remove(actor, run)
        if (yield from observe(lambda w: _is_merged(w.manifest))):
            yield from _end(run, PUBLISHED, unsure=False)
            raise Refused
    yield from _end(run, ABORTED, unsure=False)
    if not actor.rules.hold_run:
        yield from _remove(actor, run)


def _is_merged(manifest: Manifest) -> bool:
    """Tell whether a commit of main merged what the run wrote."""
    commits = manifest.commits()
    at: str | None = manifest.heads()[MAIN]
    while at is not None:
        if RUN_HEAD in commits[at].parents[1:]:
            return True
        at = next(iter(commits[at].parents), None)
    return False


def _object(path: str) -> Flow[str | None]:
    return (yield from observe(lambda w: w.objects.get(path), f"reads {path}"))


def _is_over(run: str, status: str) -> Flow[bool]:
    """Tell whether a run ended in this way; refuse when it ended otherwise or is not there."""

    def look(world: World) -> bool:
        ended = world.objects.get(f"{run}/ended")
        if f"{run}/begun" not in world.objects or ended not in (None, status):
            raise Refused
        return ended is not None

    return (yield from observe(look, "reads the run"))


def _claim(run: str, status: str) -> Flow[bool]:
    """Note how a run is about to end; True when nobody had."""
    try:
        made = yield from create_object(f"{run}/claimed", status)
    except NoReply:
        raise Refused from None
    if not made:
        found = yield from _object(f"{run}/claimed")
        if found not in (None, status):
            raise Refused
    return made


def _end(run: str, status: str, *, unsure: bool) -> Flow[None]:
    """Note how a run ended; what fails after its merge leaves the outcome unknown."""
    try:
        made = yield from create_object(f"{run}/ended", status)
    except NoReply:
        if (yield from _object(f"{run}/ended")) != status:
            raise (Unknown if unsure else Refused) from None
        return
    if not made and (yield from _object(f"{run}/ended")) != status:
        raise Refused


def _remove(actor: Actor, run: str) -> Flow[None]:
    """Remove the branch of a run; somebody else may have done so."""
    try:
        yield from delete(actor, RUN + run, Effect.NONE)
    except Refused:
        return
