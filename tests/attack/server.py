"""Server: the command of the server, whose store fails and which dies now and then.

`ATTACK_FAULTS` is how often a call of the store fails, half of them after they did their work.
`ATTACK_CUT` is the number of the durable step at which the process dies. Both begin when the file
`ATTACK_GATE` is there.
"""

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from omnigraph.server.main import main
from omnigraph.storage import steps
from tests.promises.faults import Call, Faults, When

_MOST_SEEN = 10_000


def _install(seed: str, often: float, cut: int, gate: Path) -> None:
    chance, faults = random.Random(seed), Faults()
    reached: list[str] = []

    def plan(_: Call) -> When | None:
        if len(faults.seen) > _MOST_SEEN:
            faults.seen.clear()
        if chance.random() >= often or not gate.exists():
            return None
        sys.stderr.write('{"event": "injected fault"}\n')
        return chance.choice(("before", "after"))

    def die(step: str) -> None:
        if reached or gate.exists():
            reached.append(step)
        if len(reached) == cut:
            os.kill(os.getpid(), signal.SIGKILL)

    if often:
        faults.plan = plan
        faults.install(pytest.MonkeyPatch())
    if cut:
        steps.observer = die


if __name__ == "__main__":
    given = os.environ
    _install(
        given["ATTACK_SEED"],
        float(given["ATTACK_FAULTS"]),
        int(given["ATTACK_CUT"]),
        Path(given["ATTACK_GATE"]),
    )
    main()
