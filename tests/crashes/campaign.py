"""Campaign: many random cuts of random operations, on all cores; the long form of these tests.

`python -m tests.crashes.campaign --cuts 10000 --seed 1` prints one line and, after a violation,
all that is known about it; the exit code is then 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.crashes.model import NOTHING, Model, Operation
from tests.crashes.nursery import Nursery
from tests.crashes.sequences import judged, operations, possible, started

WORKERS = 2
LONGEST_LIFE = 40
MOST_OPERATIONS = 4
STEPS_EACH = 12
LONGEST = 0.25
DEPTH = 2
MOST_SHOWN = 10


@dataclass(slots=True)
class Tally:
    """What a worker did and found."""

    cuts: int = 0
    steps: int = 0
    graphs: int = 0
    landed: int = 0
    violations: list[str] = field(default_factory=list)


def campaign(nursery: Nursery, folder: Path, seed: str, cuts: int) -> Tally:
    """Cut operations of one graph after the other until there were enough cuts."""
    tally = Tally()
    while tally.cuts < cuts and len(tally.violations) < MOST_SHOWN:
        name = f"{seed}.{tally.graphs}"
        tally.graphs += 1
        with tempfile.TemporaryDirectory(dir=folder) as place:
            _live(nursery, str(Path(place, "graph")), name, tally, cuts)
    return tally


def _live(nursery: Nursery, root: str, name: str, tally: Tally, cuts: int) -> None:
    """Take a graph from its first day through many crashes; stops at a violation."""
    chance = random.Random(name)
    model, first = NOTHING, 0
    for round_ in range(LONGEST_LIFE):
        if tally.cuts >= cuts:
            return
        wanted = list(islice(operations(chance, model, first), chance.randint(1, MOST_OPERATIONS)))
        _crash(nursery, root, wanted, chance, tally)
        candidates = possible(model, wanted, f"{root}.acks")
        Path(f"{root}.acks").unlink(missing_ok=True)
        violations, landed = _checked(nursery, root, candidates)
        tally.landed += landed
        if violations:
            tally.violations.append(f"graph {name} after {round_} crashes, {wanted}: {violations}")
            return
        model, first = candidates[landed], first + MOST_OPERATIONS


def _crash(
    nursery: Nursery, root: str, wanted: list[Operation], chance: random.Random, tally: Tally
) -> None:
    """Do operations in a process that dies at a durable step, or at any moment."""
    at_step = chance.random() < 0.5
    cut = chance.randint(1, STEPS_EACH * len(wanted)) if at_step else None
    pid = started(nursery, root, wanted, cut)
    ended = nursery.end(pid, kill_after=None if at_step else chance.uniform(0, LONGEST))
    if ended.was_killed:
        tally.cuts += 1
        tally.steps += at_step
    elif "raised" in ended.answer:
        tally.violations.append(f"{wanted} raised {ended.answer['raised']}")


def _checked(nursery: Nursery, root: str, candidates: list[Model]) -> tuple[list[str], int]:
    check = nursery.do("check", root=root, candidates=candidates, following=[], depth=DEPTH)
    return judged(check)


def _shares(cuts: int) -> Iterator[int]:
    for worker in range(WORKERS):
        yield cuts // WORKERS + (worker < cuts % WORKERS)


def _work(folder: Path, seed: str, cuts: int) -> Tally:
    with Nursery() as nursery:
        return campaign(nursery, folder, seed, cuts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign that the command line asks for, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        jobs = [
            pool.submit(_work, Path(folder), f"{given.seed}.{worker}", share)
            for worker, share in enumerate(_shares(given.cuts))
        ]
        tallies = [job.result() for job in jobs]
    return _report(given.seed, tallies, time.monotonic() - began)


def _report(seed: int, tallies: list[Tally], seconds: float) -> int:
    cuts = sum(each.cuts for each in tallies)
    violations = [text for each in tallies for text in each.violations]
    sys.stdout.write(
        f"crashes: {cuts} cuts ({sum(each.steps for each in tallies)} at durable steps) of "
        f"{sum(each.graphs for each in tallies)} graphs, "
        f"{sum(each.landed for each in tallies)} landed unanswered, {len(violations)} violations, "
        f"{seconds:.0f} s, {cuts / seconds:.1f} cuts per second, seed {seed}\n"
    )
    sys.stdout.write("".join(f"{text}\n" for text in violations[:MOST_SHOWN]))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
