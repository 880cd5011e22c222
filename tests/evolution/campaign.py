"""Campaign: the long form of random schemas: `python -m tests.evolution.campaign --histories 2000`.

Every history has a seed of its own, so that a failure can be repeated alone, with `--seed` and
`--histories 1`; the exit code is then 1.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.evolution.trial import run_history


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign, print one line, and give the exit code."""
    options = _options(arguments)
    start, tally, failures = time.monotonic(), Counter[str](), 0
    for seed in range(options.seed, options.seed + options.histories):
        try:
            with tempfile.TemporaryDirectory() as folder:
                tally += run_history(seed, Path(folder, "graph"))
        except Exception:
            failures += 1
            sys.stderr.write(f"\nseed {seed}\n{traceback.format_exc()}\n")
    sys.stdout.write(
        f"random schemas: {options.histories:,} histories, {tally['applied']:,} applied, "
        f"{tally['refused']:,} refused, {tally['drops']:,} with drops; {tally['merged']:,} merged, "
        f"{tally['conflicts']:,} with conflicts; "
        f"{failures} failures, {time.monotonic() - start:.0f} s\n"
    )
    return 1 if failures else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
