"""All long forms of the tests, one after the other, with one line of summary each."""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.record import RESULTS, store


@dataclass(frozen=True, slots=True)
class Campaign:
    """A long form: the module that runs it, and how often it does what."""

    module: str
    option: str
    count: int
    more: tuple[str, ...] = ()

    def command(self, share: float) -> list[str]:
        """Return the command that runs a share of it."""
        count = max(1, round(self.count * share))
        return [sys.executable, "-m", self.module, self.option, str(count), *self.more]


CAMPAIGNS = {
    "fuzz": Campaign("tests.fuzz.campaign", "--inputs", 1_000_000),
    "crashes": Campaign("tests.crashes.campaign", "--cuts", 10_000),
    "races": Campaign("tests.races.campaign", "--writes", 500, ("--processes", "8")),
    "s3 races": Campaign("tests.races.campaign", "--writes", 50, ("--processes", "8", "--s3")),
    "histories": Campaign("tests.properties.campaign", "--examples", 2_000),
    "merges": Campaign("tests.merging.campaign", "--histories", 10_000),
    "queries": Campaign("tests.engine.campaign", "--queries", 100_000),
    "spark queries": Campaign(
        "tests.engine.campaign", "--queries", 1_000, ("--engine", "spark", "--processes", "1")
    ),
    "changes": Campaign("tests.changes.campaign", "--programs", 5_000),
    "schemas": Campaign("tests.evolution.campaign", "--histories", 2_000),
    "protocol": Campaign("tests.protocol.campaign", "--samples", 1_000),
    "cleanups": Campaign("tests.maintenance.campaign", "--rounds", 1_000),
    "attack": Campaign("tests.attack.campaign", "--seconds", 600),
}


def main() -> None:
    """Run the campaigns that were chosen, and store what they said; exits with 1 on a failure.

    What was stored of the others stays, each with the time of its run.
    """
    options = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}")
    options.add_argument("--share", type=float, default=1.0, help="how much of each  [default: 1]")
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in CAMPAIGNS]
    if unknown:
        options.error(f"there is no campaign {unknown[0]}; there are {', '.join(CAMPAIGNS)}")
    found = {name: run(name, chosen.share) for name in chosen.names or CAMPAIGNS}
    store("campaign", ["pylance", "pyarrow", "hypothesis"], {**_earlier(), **found})
    if not all(each["passed"] for each in found.values()):
        sys.exit(1)


def _earlier() -> dict[str, object]:
    """Return how those campaigns ended that were stored before."""
    path = RESULTS / "campaign.json"
    return dict(json.loads(path.read_text())["findings"]) if path.exists() else {}


def run(name: str, share: float) -> dict[str, object]:
    """Run a share of a campaign, and give and print how it ended."""
    command = CAMPAIGNS[name].command(share)
    begun = time.perf_counter()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    taken = round(time.perf_counter() - begun)
    said = done.stdout.strip().splitlines()
    summary = said[-1] if said else "said nothing"
    passed = done.returncode == 0
    sys.stdout.write(f"{name:<13} {'pass' if passed else 'FAIL'}  {taken:>6} s  {summary}\n")
    sys.stdout.flush()
    if not passed:
        sys.stderr.write(done.stdout)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    arguments = " ".join(command[1:])
    return {
        "passed": passed,
        "at": at,
        "seconds": taken,
        "share": share,
        "said": summary,
        "command": arguments,
    }


if __name__ == "__main__":
    main()
