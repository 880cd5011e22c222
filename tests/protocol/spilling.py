"""Spilling: heads that are not moved leave the keys of the manifest for rows of it."""

from tests.protocol.model import (
    BRANCH,
    GONE,
    LAYERS,
    MAIN,
    SPILL,
    ColdHead,
    Intent,
    Manifest,
    World,
    intent,
)
from tests.protocol.naming import ATTEMPTS
from tests.protocol.outcomes import NoReply, Refused, Rejected
from tests.protocol.steps import Actor, Flow, append, observe, set_keys

MOST_LAYERS = 2


def spill(actor: Actor) -> Flow[None]:
    """Append the heads of all keys but that of main as a layer, then remove the keys at once.

    A layer that would be one too many takes all others in.
    """
    for attempt in range(ATTEMPTS):
        layer = f"{actor.name}.{attempt}"

        def look(world: World, layer: str = layer) -> tuple[Intent, tuple[ColdHead, ...]]:
            rows, keys = _planned(actor, world.manifest, layer)
            return intent(world.manifest, world.now, keys), rows

        wanted, rows = yield from observe(look)
        try:
            yield from append(rows, "writes a layer")
            if not actor.rules.guard_spill:
                wanted, _ = yield from observe(look)
            yield from set_keys(actor, wanted, SPILL)
        except Rejected:
            continue
        except NoReply:
            raise Refused from None  # heads are the same, done or not
        return
    raise Refused


def _planned(
    actor: Actor, manifest: Manifest, layer: str
) -> tuple[tuple[ColdHead, ...], dict[str, object]]:
    """Return the rows of a layer, and the keys that go with it."""
    hot = {name: at for name, at in manifest.hot().items() if name != MAIN}
    layers = manifest.layers()
    told = hot
    if len(layers) == MOST_LAYERS:
        told, layers = manifest.cold() | hot, ()
    if not layers or not actor.rules.spill_gone:
        told = {name: at for name, at in told.items() if at != GONE}
    rows = tuple(ColdHead(layer, name, at) for name, at in sorted(told.items()))
    keys: dict[str, object] = {BRANCH + name: None for name in hot}
    return rows, {**keys, LAYERS: (layer, *layers)}
