"""Cli: how long commands take in processes of their own, and how fast rows are written."""

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pyarrow as pa

from bench.record import measure, measure_in_turn, over, rate, store, timing
from omnigraph import Result, init
from omnigraph.cli.formats import ShownRows, as_csv, as_jsonl

ACCOUNTS = "node Account { number: I64 @key  owner: String  balance: F64 }"
POINT = """query point($number: I64) {
  match { $a: Account { number: $number } }
  return { $a.owner as owner, $a.balance as balance }
}
"""
CONFIG = """\
graphs: {accounts: {uri: accounts.omni}}
cli: {graph: accounts}
aliases: {point: {command: read, query: point.gq, args: [number], format: csv}}
"""
_OMNIGRAPH = str(Path(sys.executable).with_name("omnigraph"))
_READ = ("read", "--query", "point.gq", "--params", '{"number": 77}', "--format", "csv")


def processes(folder: Path, rows: int, runs: int) -> dict[str, object]:
    """Time commands from start to end, each in a process of its own, turn by turn."""
    numbers = range(rows)
    table = {
        "number": list(numbers),
        "owner": [f"Owner {number}" for number in numbers],
        "balance": [number * 0.25 for number in numbers],
    }
    graph = init(folder / "accounts.omni", ACCOUNTS, durable=False)
    graph.load(pa.table(table), type="Account", engine="inline")
    (folder / "point.gq").write_text(POINT)
    (folder / "omnigraph.yaml").write_text(CONFIG)
    complete = {"COMP_WORDS": "omnigraph read --branch ", "COMP_CWORD": "3"}
    variables = {**complete, "_OMNIGRAPH_COMPLETE": "bash_complete"}
    works = {
        "import": lambda: _run(folder, "-c", "import omnigraph", program=sys.executable),
        "help": lambda: _run(folder, "--help"),
        "read": lambda: _run(folder, *_READ),
        "alias": lambda: _run(folder, "read", "--alias", "point", "77"),
        "complete_branch": lambda: _run(folder, variables=variables),
    }
    found = measure_in_turn(works, runs=runs, warm_up=1)
    ratio = over(found["alias"], found["read"])
    return {
        **{f"{name}_process": each for name, each in found.items()},
        "read_cpu": timing([_cpu_seconds(works["read"]) for _ in range(runs)]),
        "alias_over_read": ratio,
    }


def _cpu_seconds(work: Callable[[], object]) -> float:
    """Return how long the processes of some work kept a core busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(
    folder: Path,
    *given: str,
    variables: dict[str, str] | None = None,
    program: str = _OMNIGRAPH,
) -> None:
    # What is installed from a wheel is compiled; so it is here, after the run that warms up.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    subprocess.run(
        [program, *given],
        cwd=folder,
        env={
            **os.environ,
            **compiled,
            "XDG_CACHE_HOME": str(folder / "cache"),
            **(variables or {}),
        },
        stdout=subprocess.DEVNULL,
        check=True,
    )


def writing(rows: int, runs: int) -> dict[str, object]:
    """Time a result of three columns on its way to text."""
    numbers = range(rows)
    table = pa.table(
        {
            "owner": [f"Owner {number}" for number in numbers],
            "number": list(numbers),
            "balance": [number / 3 for number in numbers],
        }
    )
    found: dict[str, object] = {"rows_written": rows}
    for name, form in (("csv", as_csv), ("jsonl", as_jsonl)):
        timed = measure(partial(_write, form, table), runs=runs, warm_up=1)
        found[name] = timed
        found[f"{name}_rows_per_second"] = rate(rows, timed)
    return found


def _write(form: Callable[[ShownRows], Iterable[str]], table: pa.Table) -> None:
    io.StringIO().writelines(form(ShownRows.of_result(Result("q", table), "main", None)))


def main() -> None:
    """Run the workload, print what was found, and store it."""
    options = argparse.ArgumentParser(prog="python -m bench.cli", description=__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        findings = processes(Path(folder), chosen.rows, chosen.runs)
    findings |= writing(chosen.rows, chosen.runs)
    for name, found in findings.items():
        print(f"{name:24} {found}")
    print(store("cli", ["click", "pylance", "pyarrow"], findings))


if __name__ == "__main__":
    main()
