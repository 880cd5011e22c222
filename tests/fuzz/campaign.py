"""Campaign: the long form of fuzzing, `python -m tests.fuzz.campaign --inputs 1000000`.

So many inputs are made for each target, which is a reader of what others wrote. Every chunk of
inputs has its own seed, so that a failure can be repeated alone; the inputs that fail are written
to `fuzz-failures/`, and the exit code is 1. So it is when a process dies.
"""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.crew import Chunk, Outcome, outcomes
from tests.fuzz.targets import TARGETS

CHUNK = 2_000
FAILURES = Path("fuzz-failures")


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    options = _options(arguments)
    names = options.targets or list(TARGETS)
    begun, failed, slowest = time.monotonic(), 0, (0.0, "")
    done: Counter[str] = Counter()
    spent: defaultdict[str, float] = defaultdict(float)
    for outcome in outcomes(_chunks(names, options.inputs, options.seed), options.processes):
        name = outcome.chunk.target
        done[name] += outcome.inputs
        spent[name] += outcome.seconds
        slowest = max(slowest, (outcome.slowest, name))
        failed += len(outcome.failures)
        _write(outcome)
        rate = done.total() / (time.monotonic() - begun)
        sys.stderr.write(f"\r{done.total():,} inputs, {rate:,.0f}/s, {name}, {failed} failures ")
    sys.stderr.write("\n")
    for name in names:
        sys.stdout.write(
            f"{name:<20} {done[name]:>9,} {done[name] / (spent[name] or 1):>8,.0f}/s\n"
        )
    taken = time.monotonic() - begun
    chosen = ", ".join(options.targets) if options.targets else f"all {len(names)} targets"
    sys.stdout.write(
        f"{options.inputs:,} inputs for each of {chosen}; {taken:.0f} s;"
        f" slowest {slowest[0] * 1000:.0f} ms ({slowest[1]}); {failed} failures\n"
    )
    return 1 if failed else 0


def _chunks(names: Sequence[str], inputs: int, seed: int) -> Iterator[Chunk]:
    """Yield the chunks of one target after the other; its seeds depend on its name alone."""
    for name in names:
        random = Random(f"{seed} {name}")
        for first in range(0, inputs, CHUNK):
            yield Chunk(name, random.getrandbits(64), min(CHUNK, inputs - first))


def _write(outcome: Outcome) -> None:
    for failure in outcome.failures:
        FAILURES.mkdir(exist_ok=True)
        chunk = outcome.chunk
        name = f"{chunk.target.replace(' ', '-')}-{chunk.seed:016x}-{failure.place}"
        given = failure.given
        shown = given if isinstance(given, str) else repr(given)
        path = FAILURES / f"{name}.txt"
        path.write_text(f"{failure.reason}\n\n{shown}", errors="surrogatepass")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="how many for each target")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the whole campaign")
    parser.add_argument(
        "--targets",
        nargs="+",
        choices=list(TARGETS),
        metavar="NAME",
        help=f"only these of {', '.join(TARGETS)}",
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
