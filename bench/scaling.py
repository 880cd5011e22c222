"""Scaling: what a user feels, at ten times the rows and at a hundred times the history."""

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.ledger import Ledger, make_ledger
from bench.record import exponent, store, timing

PACKAGES = ["duckdb", "numpy", "pyarrow", "pylance"]
# The first reads of a process still decide what is worth keeping in memory.
_WARM_UP = 40


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows a graph has, and how many commits."""

    rows: int
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """Two sizes of the same, of which the second is so many times the first."""

    name: str
    times: int
    small: Sizes
    large: Sizes


FULL = (
    Sweep("rows", 10, Sizes(100_000), Sizes(1_000_000)),
    Sweep("history", 100, Sizes(1_000, 50), Sizes(1_000, 5_000)),
)
QUICK = (
    Sweep("rows", 10, Sizes(2_000), Sizes(20_000)),
    Sweep("history", 10, Sizes(1_000, 20), Sizes(1_000, 200)),
)


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=21)
    chosen = options.parse_args()
    findings: dict[str, object] = {}
    for sweep in QUICK if chosen.quick else FULL:
        with tempfile.TemporaryDirectory() as folder:
            found = _swept(Path(folder), sweep, chosen.runs)
        for name, each in found.items():
            print(f"{name:44} {each}", flush=True)
        findings |= found
    if not chosen.quick:
        print(f"stored in {store('scaling', PACKAGES, findings).relative_to(Path.cwd())}")


def _swept(folder: Path, sweep: Sweep, runs: int) -> dict[str, object]:
    """Measure every work at both sizes, turn by turn, and return the exponents."""
    first, last = f"{sweep.name}_x1", f"{sweep.name}_x{sweep.times}"
    small = make_ledger(folder / first, sweep.small.rows, sweep.small.commits)
    large = make_ledger(folder / last, sweep.large.rows, sweep.large.commits)
    findings: dict[str, object] = {
        f"{first}_sizes": asdict(sweep.small),
        f"{last}_sizes": asdict(sweep.large),
    }
    for works, often, warm_up in (
        (Ledger.early, runs, 1),
        (Ledger.warm, runs, _WARM_UP),
        (Ledger.cold, runs // 3, 1),
        (Ledger.changing, runs, 3),
    ):
        for (what, one), (_, other) in zip(works(small).items(), works(large).items(), strict=True):
            times = [(one(), other()) for _ in range(warm_up + often)][warm_up:]
            before, after = (timing(list(each)) for each in zip(*times, strict=True))
            findings |= {f"{first}_{what}": before, f"{last}_{what}": after}
            findings[f"{sweep.name}_{what}_exponent"] = exponent(before, after, sweep.times)
    return findings


if __name__ == "__main__":
    main()
