"""Bench: runs all workloads, prints which figures are held, and makes the page of them."""

import argparse
import subprocess
import sys
import time

from bench import page
from bench.figures import FIGURES, held

WORKLOADS = (
    "compile",
    "cli",
    "storage",
    "changes",
    "merges",
    "evolution",
    "maintenance",
    "policy",
    "server",
    "queries",
    "pipeline",
)


def main() -> None:
    """Run the workloads that were chosen; exits with 1 when one of them failed."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], help="default: all")
    options.add_argument("--page", action="store_true", help="run nothing; only make the page")
    chosen = options.parse_args()
    failed = [] if chosen.page else [name for name in chosen.workloads or WORKLOADS if _fails(name)]
    _report()
    page.main()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _fails(workload: str) -> bool:
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", f"bench.{workload}"], check=False)
    print(f"{workload}: {time.perf_counter() - begun:.0f} s\n", flush=True)
    return done.returncode != 0


def _report() -> None:
    """Print every figure with what was found last."""
    for each in held(FIGURES):
        what = f"{each.figure.area}: {each.figure.what}"
        print(f"{each.verdict:>12}  {each.shown:>16}  {each.figure.bound:>18}  {what}")


if __name__ == "__main__":
    main()
