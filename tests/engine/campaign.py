"""Campaign: the long form of random queries: `python -m tests.engine.campaign --queries 100000`.

With `--engine spark` they run there, some hundred times slower, each process with a session of its
own. Every world has a seed of its own, so that a failure can be repeated alone, with `--seed` and
`--queries` of one world; the exit code is then 1.
"""

import argparse
import faulthandler
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.engine.orders import in_any_order
from tests.engine.trial import Tally, by_index, by_tasks, try_queries
from tests.engine.worlds import random_world

CHUNK = 250


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the queries of one world."""

    seed: int
    tally: Tally
    failure: str | None = None


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign, print one line, and give the exit code."""
    options = _options(arguments)
    seeds = range(options.seed, options.seed + -(-options.queries // CHUNK))
    start, total, failed = time.monotonic(), Tally(), list[int]()
    # Unlike a pool of multiprocessing, an executor says so when a process dies.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, context, faulthandler.enable) as pool:
        for outcome in pool.map(partial(run_world, engine=options.engine), seeds):
            total.add(outcome.tally)
            if outcome.failure is not None:
                failed.append(outcome.seed)
                sys.stderr.write(f"\nseed {outcome.seed}: {outcome.failure}\n")
            sys.stderr.write(f"\r{total.run:,} queries, {len(failed)} failures")
    sys.stderr.write("\n")
    sys.stdout.write(
        f"random queries: {total.run:,} on {len(seeds):,} graphs, "
        f"{total.refused_share:.1%} refused, "
        f"{total.large:,} too large for the oracle; {len(failed)} failures"
        f"{f' (seeds {failed})' if failed else ''}, {time.monotonic() - start:.0f} s\n"
    )
    return 1 if failed else 0


def run_world(seed: int, engine: str = "inline") -> Outcome:
    """Try the queries of one world, up to the first that fails.

    Every other world looks rows up, and every third matches its patterns in any order.
    """
    random = Random(seed)
    world = random_world(random)
    with tempfile.TemporaryDirectory(prefix="omnigraph-queries-") as folder:
        try:
            view = world.graph(Path(folder) / "g").at(engine=engine)
            with pytest.MonkeyPatch.context() as patch:
                if seed % 2 and engine == "spark":
                    by_tasks(patch)
                elif seed % 2:
                    by_index(patch)
                if seed % 3 == 0:
                    in_any_order(patch, random)
                return Outcome(seed, try_queries(world, view, random, CHUNK))
        except Exception as error:
            return Outcome(seed, Tally(), f"{type(error).__name__}: {error}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.campaign", description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000, help="how many to run")
    parser.add_argument("--seed", type=int, default=10_000, help="of the first world")
    engines = ("inline", "spark")
    parser.add_argument("--engine", choices=engines, default="inline", help="who runs them")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="side by side")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
