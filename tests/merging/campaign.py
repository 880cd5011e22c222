"""Campaign: the long form of the histories with merges: `python -m tests.merging.campaign`."""

import argparse
import sys
import time
import traceback

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.merging.machine import MergeMachine


def main() -> int:
    """Run histories at length, print one line, and give 1 when something was wrong."""
    options = _options()
    start = time.perf_counter()
    chosen = settings(
        max_examples=options.histories,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    failed = False
    try:
        run_state_machine_as_test(MergeMachine, settings=chosen)
    except Exception:
        traceback.print_exc()
        failed = True
    sys.stdout.write(
        f"merges: {options.histories} histories × {options.steps} steps against the model: "
        f"{'failed' if failed else 'all passed'}, {time.perf_counter() - start:.1f} s\n"
    )
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.merging.campaign", description=__doc__)
    parser.add_argument("--histories", type=int, default=1_000, help="how many histories")
    parser.add_argument("--steps", type=int, default=30, help="steps of each history")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
