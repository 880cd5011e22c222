"""Fleet: what an agent feels beside ten thousand others, in wide schemas and in long histories.

Times are of the processor, so that a run beside others says the same; wall times are stored too.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier

from bench.crowd import ADD, make_crowd, name_of
from bench.record import Derived, Timing, exponent, store, timing
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.versioning import transact

PACKAGES = ["pylance", "pyarrow"]
FULL = (10, 100, 1_000, 10_000)
QUICK = (10, 100)
WIDE, LONG, RUSH = (30, 300), (500, 5_000), 40
_UPDATE = 'query older($age: I64) { update Person set { age: $age } where name = "p7" }'
Findings = Iterator[tuple[str, object]]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    options.add_argument("--quick", action="store_true", help="few branches; nothing is stored")
    options.add_argument("--sizes", type=int, nargs="+", help="numbers of branches, rising")
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    sizes = tuple(chosen.sizes or (QUICK if chosen.quick else FULL))
    findings: dict[str, object] = {"load_average": os.getloadavg()[0], "sizes": list(sizes)}
    # The branches come last: a disk on which very much was just deleted makes files slowly.
    for part in (
        partial(_wide, chosen.runs),
        partial(_long, chosen.runs),
        _rush,
        partial(_branches, sizes, chosen.runs),
    ):
        with tempfile.TemporaryDirectory() as folder:
            for name, found in part(Path(folder)):
                print(f"{name:44} {found}", flush=True)
                findings[name] = found
    if not chosen.quick:
        print(f"stored in {store('fleet', PACKAGES, findings).relative_to(Path.cwd())}")


def _branches(sizes: tuple[int, ...], runs: int, folder: Path) -> Findings:
    """Measure every operation at each number of branches, and how it grows with them."""
    found: dict[str, dict[int, Timing]] = {}
    for size in sizes:
        root = folder / str(size)
        make_crowd(root, size)
        for what, work in _operations(root, size).items():
            cpu, wall = _timed(work, runs if what not in _LARGE else 1)
            found.setdefault(what, {})[size] = cpu
            yield f"branches_{size}_{what}", cpu
            yield f"branches_{size}_{what}_wall", wall
        files = [each for each in (root / "__manifest/_versions").iterdir() if each.is_file()]
        yield f"branches_{size}_versions_mib", sum(each.stat().st_size for each in files) / 2**20
        shutil.rmtree(root)
    for what, times in found.items():
        yield f"branches_{what}_exponent", _growth(times)


_LARGE = ("cleanup", "fsck")


def _operations(root: Path, size: int) -> Mapping[str, Callable[[], object]]:
    graph = open_graph(root, durable=False)
    crowded, numbers, deleted, added = name_of(size // 2), count(), count(), count()
    return {
        "open": lambda: open_graph(root, read_only=True).snapshot(),
        "head_read": graph.snapshot,
        "log": lambda: list(graph.log(crowded, limit=20)),
        "preview": lambda: graph.preview_merge(crowded),
        "create_branch": lambda: graph.create_branch(f"new/{next(numbers)}"),
        "delete_branch": lambda: graph.delete_branch(f"new/{next(deleted)}"),
        "insert": lambda: graph.mutate(ADD, name=f"a{next(added)}", age=1),
        "list_branches": graph.branches,
        "cleanup": lambda: graph.cleanup(keep=2),
        "fsck": graph.fsck,
    }


def _wide(runs: int, folder: Path) -> Findings:
    """Measure how a graph of many types is made, and an insert into it."""
    found: dict[int, Timing] = {}
    for types in WIDE:
        text = "\n".join(f"node T{number} {{ name: String @key }}" for number in range(types))
        roots = (folder / f"{types}-{number}" for number in count())
        made, wall = _timed(partial(_made, roots, text), runs)
        yield f"wide_{types}_init", made
        yield f"wide_{types}_init_wall", wall
        graph = _made(roots, text)
        found[types], wall = _timed(partial(_insert, graph, count()), runs)
        yield f"wide_{types}_insert", found[types]
        yield f"wide_{types}_insert_wall", wall
    few, many = (found[each].median_ms for each in WIDE)
    yield "wide_insert_many_over_few", many / few


def _made(roots: Iterator[Path], schema: str) -> Graph:
    return init(next(roots), schema, durable=False)


def _insert(graph: Graph, numbers: Iterator[int]) -> None:
    graph.mutate("query add($name: String) { insert T0 { name: $name } }", name=str(next(numbers)))


def _long(runs: int, folder: Path) -> Findings:
    """Measure what a row costs that was updated again and again, and its neighbour."""
    graph = make_crowd(folder / "long", 1)
    ages, made = count(), 0
    found: dict[str, dict[int, Timing]] = {}
    for commits in LONG:
        for _ in range(made, commits):
            graph.mutate(_UPDATE, age=next(ages) % 100)
        made = commits
        for what, work in _questions(graph, ages).items():
            cpu, wall = _timed(work, runs)
            found.setdefault(what, {})[commits] = cpu
            yield f"long_{commits}_{what}", cpu
            yield f"long_{commits}_{what}_wall", wall
    for what, times in found.items():
        yield f"long_{what}_exponent", _growth(times)


def _questions(graph: Graph, ages: Iterator[int]) -> Mapping[str, Callable[[], object]]:
    return {
        "update": lambda: graph.mutate(_UPDATE, age=next(ages) % 100),
        "blame_updated": lambda: graph.blame("Person", "p7"),
        "blame_untouched": lambda: graph.blame("Person", "p8"),
    }


def _rush(folder: Path) -> Findings:
    """Start many merges into one branch at once, and count how often each of them is planned."""
    graph = make_crowd(folder / "rush", RUSH)
    barrier, attempts = Barrier(RUSH), 0
    attempt = transact._attempt

    def counted(*given: object) -> object:
        nonlocal attempts
        attempts += 1
        return attempt(*given)  # type: ignore[arg-type]

    def merge(number: int) -> float:
        barrier.wait(60)
        begun = time.perf_counter()
        graph.merge(name_of(number))
        return time.perf_counter() - begun

    transact._attempt = counted  # type: ignore[assignment]
    with ThreadPoolExecutor(RUSH) as pool:
        times = sorted(pool.map(merge, range(RUSH)))
    transact._attempt = attempt
    yield "rush_attempts_per_merge", attempts / RUSH
    yield "rush_last_s", times[-1]
    yield "rush_median_s", times[RUSH // 2]


def _timed(work: Callable[[], object], runs: int) -> tuple[Timing, Timing]:
    """Return the processor time and the wall time of some work, after a run that does not count."""
    cpu, wall = [], []
    for _ in range(runs + (runs > 1)):
        begun = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - begun[0])
        wall.append(time.perf_counter() - begun[1])
    first = int(runs > 1)
    return timing(cpu[first:]), timing(wall[first:])


def _growth(times: Mapping[int, Timing]) -> Derived:
    least, most = min(times), max(times)
    return exponent(times[least], times[most], most // least)


if __name__ == "__main__":
    main()
