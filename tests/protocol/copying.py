"""Copying: the backup of the model: pin, copy what can be read, look for cleanups, complete."""

from functools import partial

from tests.protocol.facts import buried, is_published
from tests.protocol.model import Version, World
from tests.protocol.outcomes import Refused
from tests.protocol.steps import Actor, Flow, Step, observe

ATTEMPTS = 2


def backup(actor: Actor) -> Flow[None]:
    """Copy all versions that can be read, and the files that they are made of."""
    for _ in range(ATTEMPTS):
        mark, versions = yield from observe(_pinned)
        files = frozenset(file for version in versions for file in version)
        found = yield from observe(partial(_present, versions), "copies versions")
        found |= yield from observe(partial(_present, files), "copies files")
        later = yield from observe(lambda w: w.manifest.cleaning())
        if later == mark or not actor.rules.look_after_copy:
            yield from _complete((versions | files) - found)
            return
    raise Refused


def _pinned(world: World) -> tuple[tuple[int, str], frozenset[Version]]:
    """Return the last mark of a cleanup, and the versions that no cleanup removed.

    One that was cut off may have left what heads have.
    """
    manifest, heads = world.manifest, set(world.manifest.heads().values())
    told = buried(manifest)
    versions = frozenset(
        version
        for commit in manifest.commits().values()
        if is_published(commit.id, manifest)
        for key, version in commit.versions
        if (key, version) not in told or (commit.id in heads and version in world.files)
    )
    return manifest.cleaning(), versions


def _present(names: frozenset[object], world: World) -> frozenset[object]:
    return frozenset(each for each in names if each in world.files)


def _complete(missing: frozenset[object]) -> Flow[None]:
    def act(world: World) -> tuple[World, None]:
        lost = f"a backup lacks {min(map(str, missing))}" if missing else None
        return world._replace(broken=world.broken or lost), None

    yield Step("completes the copy", act)
