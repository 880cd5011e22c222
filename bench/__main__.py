"""Bench: runs all workloads, prints the ratios and which figures are held, and makes the page."""

import argparse
import sys
from pathlib import Path

from bench import page
from bench.figures import FIGURES, held
from bench.ratios import Pair, pairs
from bench.run import WORKLOADS, run, store_run


def main() -> None:
    """Run the workloads that were chosen; exits with 1 when one of them failed."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], help="default: all")
    options.add_argument("--page", action="store_true", help="run nothing; only make the page")
    options.add_argument("--earlier", type=Path, help="the folder of an older release, for `busy`")
    chosen = options.parse_args()
    done = run([] if chosen.page else chosen.workloads or WORKLOADS, chosen.earlier)
    if len(done.workloads) == len(WORKLOADS):
        store_run(done)
    _ratios()
    _figures()
    page.main()
    if done.failed:
        sys.exit(f"failed: {', '.join(done.failed)}")


def _ratios() -> None:
    """Print what peers take beside OmniGraph, warm and cold apart."""
    for state in ("warm", "cold"):
        print(f"\n{state.upper():36}{'OmniGraph':>34}  {'peer':34}{'':10}{'peer over ours':>26}")
        for each in pairs(state):
            print(_line(each))


def _line(pair: Pair) -> str:
    what = f"{pair.beside.what:36}"
    theirs = f"{pair.beside.peer:10}{pair.theirs:34}"
    return f"{what}{pair.ours:>34}  {theirs}{pair.ratio:>26}"


def _figures() -> None:
    """Print every figure with what was found last."""
    print()
    for each in held(FIGURES):
        what = f"{each.figure.area}: {each.figure.what}"
        found = f"{each.shown:>16} {each.spread:>20}"
        print(f"{each.verdict:>12} {found}  {each.figure.bound:>18}  {what}")


if __name__ == "__main__":
    main()
