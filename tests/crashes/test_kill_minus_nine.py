"""A process that writes without pause is killed at any moment; nothing it was told is lost."""

import random
from itertools import count, islice
from pathlib import Path

from tests.crashes.model import NOTHING, Kind, Model, Operation, applied
from tests.crashes.nursery import Nursery
from tests.crashes.scenarios import INIT, prepared
from tests.crashes.sequences import judged, operations, possible, started

KILLS = 8
MOST_OPERATIONS = 500
LONGEST = 0.6
DEPTH = 12


def test_after_kill_minus_nine_a_graph_holds_what_was_acknowledged_and_at_most_one_more(
    nursery: Nursery, place: Path
) -> None:
    chance = random.Random(9)
    model = applied(NOTHING, INIT)
    root = place / "graph"
    prepared(nursery, root, [INIT])
    longest = LONGEST

    for round_, first in enumerate(islice(count(1, MOST_OPERATIONS), KILLS), 1):
        model = _killed_once(nursery, root, model, chance, first, longest)
        # On a busy machine a writer gets more time when one came to nothing.
        longest *= 1 if len(_commits(model)) > round_ else 1.5

    assert len(_commits(model)) > KILLS, "the writer was killed too soon to write anything"


def _commits(model: Model) -> set[str]:
    return {message for messages in model["branches"].values() for message in messages}


def _killed_once(
    nursery: Nursery,
    root: Path,
    model: Model,
    chance: random.Random,
    first: int,
    longest: float,
) -> Model:
    """Let a writer run for a moment, kill it, and give the model that the graph agrees with."""
    wanted = list(islice(operations(chance, model, first), MOST_OPERATIONS - 1))
    pid = started(nursery, str(root), wanted, cut=None)
    ended = nursery.end(pid, kill_after=chance.uniform(0, longest))
    assert ended.was_killed, ended.answer

    acks = f"{root}.acks"
    candidates = possible(model, wanted, acks)
    Path(acks).unlink(missing_ok=True)
    following = Operation(Kind.WRITE, first + MOST_OPERATIONS - 1)
    check = nursery.do(
        "check",
        root=str(root),
        candidates=candidates,
        following=[following.to_json()] * len(candidates),
        depth=DEPTH,
    )

    violations, landed = judged(check)
    assert violations == []
    return applied(candidates[landed], following)
