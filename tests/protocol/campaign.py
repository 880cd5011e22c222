"""Campaign: the long forms of the model of the protocol: `python -m tests.protocol.campaign`."""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations_with_replacement, product

from tests.protocol.explore import Explored, Program, explore
from tests.protocol.model import World
from tests.protocol.programs import PROGRAMS, SINGLE, WORLDS
from tests.protocol.rules import Rules

LATE = "prune late"
SWEEPS = {"cleanup", "cleanup keeping"}


def main() -> int:
    """Explore, print one line, and return 1 when something was wrong."""
    options = _options()
    begun = time.perf_counter()
    explorations = states = cut = 0
    failed: list[Explored] = []
    with ProcessPoolExecutor(options.processes) as pool:
        for found in _found(pool, options):
            explorations, states = explorations + 1, states + found.states
            cut += not found.complete
            failed += [found] if found.violation else []
    for each in failed:
        sys.stdout.write(f"{each}\n")
    what = f"{options.samples} samples of 2 × 2 and 3 × 1" if options.samples else "all pairs"
    sys.stdout.write(
        f"protocol: {what} with one fault, {states} states, {cut} of {explorations} cut short: "
        f"{f'{len(failed)} failed' if failed else 'all passed'}, "
        f"{time.perf_counter() - begun:.1f} s\n"
    )
    return 1 if failed else 0


def sample(chance: random.Random, most: int) -> Explored:
    """Explore two actors with two programs each, or three with one, up to so many states."""
    programs = _programs(chance)
    world = chance.choice(WORLDS)()
    return explore(programs, Rules(), world=world, most=most, shuffled=chance)


def _programs(chance: random.Random) -> tuple[Program, ...]:
    """Return programs of some actors.

    No change may take longer than the grace period, so none is swept after time has passed.
    """
    while True:
        chosen: tuple[Program, ...]
        if chance.random() < 0.5:
            chosen = tuple(chance.choice(SINGLE) + chance.choice(SINGLE) for _ in range(2))
        else:
            chosen = tuple(chance.choice(PROGRAMS) for _ in range(3))
        acts = {act for program in chosen for act in program}
        if not (LATE in acts and acts & SWEEPS):
            return chosen


def _pair(given: tuple[tuple[Program, ...], Callable[[], World]]) -> Explored:
    programs, world = given
    return explore(programs, Rules(), world=world())


def _sampled(given: tuple[int, int]) -> Explored:
    seed, most = given
    return sample(random.Random(seed), most)


def _found(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Explored]:
    if options.samples:
        seeds = range(options.seed, options.seed + options.samples)
        return pool.map(_sampled, [(seed, options.most) for seed in seeds], chunksize=4)
    pairs = combinations_with_replacement(PROGRAMS, 2)
    return pool.map(_pair, product(pairs, WORLDS), chunksize=4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.protocol.campaign", description=__doc__)
    parser.add_argument("--samples", type=int, default=0, help="how many; without it, all pairs")
    parser.add_argument("--most", type=int, default=50_000, help="states of each sample")
    parser.add_argument("--seed", type=int, default=0, help="the first sample")
    parser.add_argument("--processes", type=int, default=2, help="how many explore")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
