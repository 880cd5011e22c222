"""Campaign: the long form of fuzzing, `python -m tests.fuzz.campaign --inputs 1000000`.

Every chunk of inputs has its own seed, so that a failure can be repeated alone; the inputs that
fail are written to `fuzz-failures/`, and the exit code is 1.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.limits import TooSlow, seconds
from tests.fuzz.target import TARGETS, Broken, Input

CHUNK = 2_000
HANGS_AFTER = 10.0
FAILURES = Path("fuzz-failures")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some inputs for one target, all made from one seed."""

    target: int
    seed: int
    inputs: int


@dataclass(frozen=True, slots=True)
class Failure:
    """An input and what it broke."""

    reason: str
    given: Input


@dataclass(slots=True)
class Outcome:
    """What became of one chunk."""

    chunk: Chunk
    slowest: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; give the exit code."""
    options = _options(arguments)
    chunks = list(_chunks(options.inputs, options.seed))
    start = time.monotonic()
    done, slowest, failed = [0] * len(TARGETS), 0.0, 0
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count()) as pool:
        for outcome in pool.imap_unordered(run_chunk, chunks):
            done[outcome.chunk.target] += outcome.chunk.inputs
            slowest = max(slowest, outcome.slowest)
            failed += len(outcome.failures)
            _write(outcome)
            rate = sum(done) / (time.monotonic() - start)
            sys.stderr.write(f"\r{sum(done):,} inputs, {rate:,.0f}/s, {failed} failures")
    per_target = ", ".join(f"{t.name} {n:,}" for t, n in zip(TARGETS, done, strict=True))
    taken = time.monotonic() - start
    sys.stderr.write("\n")
    sys.stdout.write(
        f"{per_target}; {taken:.0f} s; slowest {slowest * 1000:.0f} ms; {failed} failures\n"
    )
    return 1 if failed else 0


def run_chunk(chunk: Chunk) -> Outcome:
    """Try the inputs of a chunk one after the other."""
    random, target = Random(chunk.seed), TARGETS[chunk.target]
    outcome = Outcome(chunk)
    for _ in range(chunk.inputs):
        given = target.make(random)
        try:
            with seconds(HANGS_AFTER):
                outcome.slowest = max(outcome.slowest, target.attempt(given))
        except Broken as broken:
            outcome.failures.append(Failure(str(broken), given))
        except TooSlow:
            outcome.failures.append(Failure(f"no answer in {HANGS_AFTER} s", given))
    return outcome


def _chunks(inputs: int, seed: int) -> Iterator[Chunk]:
    """Deal the inputs out to the targets in turn."""
    random, number = Random(seed), 0
    while inputs > 0:
        yield Chunk(number % len(TARGETS), random.getrandbits(64), min(CHUNK, inputs))
        inputs -= CHUNK
        number += 1


def _write(outcome: Outcome) -> None:
    for number, failure in enumerate(outcome.failures):
        FAILURES.mkdir(exist_ok=True)
        name = TARGETS[outcome.chunk.target].name.replace(" ", "-")
        path = FAILURES / f"{name}-{outcome.chunk.seed:016x}-{number}.txt"
        shown = failure.given if isinstance(failure.given, str) else repr(failure.given)
        path.write_text(f"{failure.reason}\n\n{shown}", errors="surrogatepass")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many inputs in all")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the whole campaign")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
