"""All long forms of the tests, one after the other, with one line of summary each.

A lane that takes hours runs in parts, on other days and commits: `--share 0.1` runs a tenth of it
with seeds of its own and stores it beside the parts that ran before, each with its commit.

Graphs lie in memory where the system has a place for that and TMPDIR names no other: on a disk,
most of the time of a lane is spent waiting for it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.record import commit_of_tree, store, stored

# Far enough apart that no two parts of a lane meet the same seed.
SEEDS_OF_A_PART = 1_000_000
MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A long form: the module that runs it, how often it does what, and whether it takes a seed."""

    module: str
    option: str
    count: int
    more: tuple[str, ...] = ()
    seeded: bool = True

    def command(self, share: float, part: int) -> list[str]:
        """Return the command that runs a share of it, as one of its parts."""
        count = max(1, round(self.count * share))
        seed = ("--seed", str(SEEDS_OF_A_PART * part)) if self.seeded else ()
        return [sys.executable, "-m", self.module, self.option, str(count), *seed, *self.more]


CAMPAIGNS = {
    "fuzz": Campaign("tests.fuzz.campaign", "--inputs", 1_000_000),
    "crashes": Campaign("tests.crashes.campaign", "--cuts", 10_000),
    "races": Campaign("tests.races.campaign", "--writes", 500, ("--processes", "8"), seeded=False),
    "s3 races": Campaign(
        "tests.races.campaign", "--writes", 500, ("--processes", "8", "--s3"), seeded=False
    ),
    "histories": Campaign("tests.properties.campaign", "--examples", 2_000, seeded=False),
    "merges": Campaign("tests.merging.campaign", "--histories", 10_000, seeded=False),
    "queries": Campaign("tests.engine.campaign", "--queries", 100_000),
    "spark queries": Campaign(
        "tests.engine.campaign", "--queries", 2_000, ("--engine", "spark", "--processes", "1")
    ),
    "changes": Campaign("tests.changes.campaign", "--programs", 5_000),
    "schemas": Campaign("tests.evolution.campaign", "--histories", 2_000),
    "protocol": Campaign("tests.protocol.campaign", "--samples", 1_000),
    "cleanups": Campaign("tests.maintenance.campaign", "--rounds", 1_000),
    "attack": Campaign("tests.attack.campaign", "--seconds", 3_600),
}


def main() -> None:
    """Run the campaigns that were chosen, and store what they said; exits with 1 on a failure.

    What was stored of the others stays, each with the time and the commit of its run.
    """
    options = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}")
    options.add_argument("--share", type=float, default=1.0, help="how much of each  [default: 1]")
    options.add_argument("--part", type=int, help="run this part again  [default: a new part]")
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in CAMPAIGNS]
    if unknown:
        options.error(f"there is no campaign {unknown[0]}; there are {', '.join(CAMPAIGNS)}")
    passed = [run(name, chosen.share, chosen.part) for name in chosen.names or CAMPAIGNS]
    if not all(passed):
        sys.exit(1)


def run(name: str, share: float, part: int | None) -> bool:
    """Run a share of a campaign and store how it ended; return whether it passed."""
    parts = {each["part"]: each for each in _parts(name)}
    number = part or max(parts, default=0) + 1
    found = _run(name, share, number)
    together = [*(each for key, each in parts.items() if key != number), found]
    findings = (stored("campaign") or {"findings": {}})["findings"]
    findings[name] = {
        "passed": all(each["passed"] for each in together),
        "share": sum(each["share"] for each in together),
        "parts": together,
    }
    store("campaign", ["pylance", "pyarrow", "hypothesis"], findings)
    return bool(found["passed"])


def _parts(name: str) -> list[dict[str, Any]]:
    """Return the parts of a campaign that were stored before."""
    earlier = stored("campaign") or {"findings": {}}
    parts: list[dict[str, Any]] = earlier["findings"].get(name, {}).get("parts", [])
    return parts


def _run(name: str, share: float, part: int) -> dict[str, Any]:
    """Run a part of a campaign; print and return how it ended."""
    command = CAMPAIGNS[name].command(share, part)
    begun = time.perf_counter()
    with _environment() as environment:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=environment,
        )
    taken = round(time.perf_counter() - begun)
    said = done.stdout.strip().splitlines()
    summary = said[-1] if said else "said nothing"
    passed = done.returncode == 0
    sys.stdout.write(f"{name:<13} {'pass' if passed else 'FAIL'}  {taken:>6} s  {summary}\n")
    sys.stdout.flush()
    if not passed:
        sys.stderr.write(done.stdout)
    return {
        "part": part,
        "passed": passed,
        "commit": commit_of_tree(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": taken,
        "share": share,
        "said": summary,
        "command": " ".join(command[1:]),
    }


@contextmanager
def _environment() -> Iterator[dict[str, str]]:
    """Yield an environment whose temporary files lie in memory, where that can be had."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        yield dict(os.environ)
        return
    with tempfile.TemporaryDirectory(prefix="omnigraph-", dir=MEMORY) as folder:
        yield {**os.environ, "TMPDIR": folder}


if __name__ == "__main__":
    main()
