"""Campaign: the long form of random mutations: `python -m tests.changes.campaign --programs 5000`.

Every program has a seed of its own, so that a failure can be repeated alone, with `--seed` and
`--programs 1`; the exit code is then 1.
"""

import argparse
import faulthandler
import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random

from tests.changes.trial import Tally, run_program, template

CHUNK = 50
QUERIES = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of some programs, and which of them failed."""

    tally: Tally
    failures: tuple[str, ...]


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign, print one line, and give the exit code."""
    options = _options(arguments)
    last = options.seed + options.programs
    chunks = [range(first, min(first + CHUNK, last)) for first in range(options.seed, last, CHUNK)]
    start, total, failures, run = time.monotonic(), Counter[str](), list[str](), 0
    # Unlike a pool of multiprocessing, an executor says so when a process dies.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, context, faulthandler.enable) as pool:
        for seeds, outcome in zip(chunks, pool.map(run_chunk, chunks), strict=True):
            run += len(seeds)
            total.update(outcome.tally.counts)
            failures += outcome.failures
            sys.stderr.write("".join(f"\n{each}\n" for each in outcome.failures))
            sys.stderr.write(f"\r{run:,} programs, {len(failures)} failures")
    sys.stdout.write(
        f"\nrandom mutations: {run:,} programs, {Tally(total)}; {len(failures)} failures, "
        f"{time.monotonic() - start:.0f} s\n"
    )
    return 1 if failures else 0


def run_chunk(seeds: range) -> Outcome:
    """Run the programs of some seeds."""
    tally, failures = Tally(), list[str]()
    with template() as start:
        for seed in seeds:
            try:
                run_program(start, Random(seed), tally, QUERIES)
            except Exception as error:
                failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    return Outcome(tally, tuple(failures))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.changes.campaign", description=__doc__)
    parser.add_argument("--programs", type=int, default=5_000, help="how many to run")
    parser.add_argument("--seed", type=int, default=10_000, help="of the first program")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="side by side")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
