"""Campaign: the long form of the model and of the fold: `python -m tests.properties.campaign`."""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.folding import Fuzz
from tests.properties.machine import GraphMachine


def main() -> int:
    """Run both at length, print one line, and give 1 when something was wrong."""
    options = _options()
    start = time.perf_counter()
    failed = sum(
        not _passes(attempt)
        for attempt in (
            lambda: _model(options.examples, options.steps),
            lambda: _folds(options.seeds, options.commits),
        )
    )
    sys.stdout.write(
        f"properties: {options.examples} histories × {options.steps} steps against the model, "
        f"{options.seeds} × {options.commits} commits of the fold: {failed} of 2 failed, "
        f"{time.perf_counter() - start:.1f} s\n"
    )
    return 1 if failed else 0


def _model(examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    if examples:
        run_state_machine_as_test(GraphMachine, settings=chosen)


def _folds(seeds: int, commits: int) -> None:
    for seed in range(1_000, 1_000 + seeds):
        with tempfile.TemporaryDirectory(prefix="omnigraph-fold-") as folder:
            try:
                Fuzz(Path(folder), seed).run(commits, every=10)
            except Exception:
                sys.stderr.write(f"the fold failed with seed {seed}\n")
                raise


def _passes(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except Exception:
        traceback.print_exc()
        return False
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.properties.campaign", description=__doc__
    )
    parser.add_argument("--examples", type=int, default=500, help="histories of the model")
    parser.add_argument("--steps", type=int, default=40, help="steps of each history")
    parser.add_argument("--seeds", type=int, default=10, help="runs of the fold")
    parser.add_argument("--commits", type=int, default=400, help="commits of each run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
