"""Busy: one branch that many write to at once: merges that start together, agents, inserters.

A rush is forty merges into one branch at the same instant, from threads and from processes. The
same merges one after the other are the serial sum, and what the last merge of a rush takes beyond
that is counted in times of the first one: the median of several rounds, with the middle half of
them. Agents and inserters are processes of their own, and all of them are this product as it is
installed: only public names are used, apart from the count of attempts, so that the same file
measures an older release. With `--earlier`, the agents of one take turns with ours.
"""

import argparse
import importlib
import inspect
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bench.record import DATA_SEED, Derived, store, stored
from omnigraph import Graph, MergeConflictsError, init
from omnigraph import open as open_graph
from omnigraph.errors import HeadMovedError

RUSH, STEPS, RUSH_PROCESSES, ROUNDS = 40, 3, 8, 7
AGENTS, INSERTERS, SHARED, SECONDS = 16, 16, 1_000, 60
# An older release becomes slower the longer its agents work.
SECONDS_OF_EARLIER = 600
SCHEMA = """
node Person { name: String @key  age: I64 }
node City { name: String @key }
edge Lives: Person -> City
"""
ADD = "query add($name: String, $age: I64) { insert Person { name: $name, age: $age } }"
MOVE = """query move($name: String, $age: I64) {
  insert Person { name: $name, age: $age }
  insert Lives { from: $name, to: "here" }
}"""
AGE = "query age($name: String, $age: I64) { update Person set { age: $age } where name = $name }"
# A loaded machine may take this long to start all processes of a run.
_LONGEST_START = 300.0
Findings = Iterator[tuple[str, object]]
PARTS = ("rush", "agents", "inserts")


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(prog="python -m bench.busy", description=__doc__)
    options.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    options.add_argument(
        "--seconds",
        type=float,
        help=f"of agents and inserters  [default: {SECONDS}, or {SECONDS_OF_EARLIER} in turns]",
    )
    options.add_argument("--earlier", type=Path, help="the folder of an older release")
    options.add_argument("--turns", type=int, default=1, help="of both releases")
    options.add_argument("--no-store", action="store_true")
    options.add_argument("--json", action="store_true", help="print and do not store")
    chosen = options.parse_args()
    seconds = chosen.seconds or SECONDS
    works: dict[str, Callable[[Path], Findings]] = {
        "rush": _rush,
        "agents": partial(_agents, seconds=seconds),
        "inserts": partial(_inserts, seconds=seconds),
        "earlier": partial(
            _beside_earlier,
            earlier=chosen.earlier,
            seconds=chosen.seconds or SECONDS_OF_EARLIER,
            turns=chosen.turns,
        ),
    }
    parts = chosen.parts or (PARTS if chosen.earlier is None else (*PARTS, "earlier"))
    if "earlier" in parts and chosen.earlier is None:
        options.error("earlier takes the folder of an older release, --earlier FOLDER")
    if chosen.earlier is not None and not (chosen.earlier / "omnigraph").is_dir():
        options.error(f"there is no package omnigraph in {chosen.earlier}")
    known = stored("busy") if chosen.parts else None  # what is not measured again stays
    findings: dict[str, object] = {} if known is None else known["findings"]
    findings |= {"load_average": os.getloadavg()[0], "seconds": seconds}
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            for name, found in works[part](Path(folder)):
                if not chosen.json:
                    print(f"{name:36} {found}", flush=True)
                findings[name] = found
    if chosen.json:
        print(json.dumps(findings))
    elif not chosen.no_store:
        print(
            f"stored in {store('busy', ['pylance', 'pyarrow'], findings).relative_to(Path.cwd())}"
        )


def make_graph(root: Path, branches: int = 0) -> None:
    """Make a graph with people whom all share, and branches that each added some of their own."""
    graph = init(root, SCHEMA)
    people = [
        {"type": "Person", "data": {"name": f"p{number}", "age": number}}
        for number in range(SHARED)
    ]
    lines = [*people, {"type": "City", "data": {"name": "here"}}]
    path = root.with_suffix(".jsonl")
    path.write_text("\n".join(map(json.dumps, lines)))
    graph.branch("main").load(path, mode="append")
    for number in range(branches):
        branch = graph.create_branch(_task(number))
        for step in range(STEPS):
            branch.mutate(MOVE, name=f"b{number}-{step}", age=step)


def _task(number: int) -> str:
    return f"task/{number}"


def _rush(folder: Path) -> Findings:
    """Rush several times, each time beside the same merges in turn, on copies of one graph."""
    make_graph(folder / "made", RUSH)
    for form, processes in (("threads", 1), ("processes", RUSH_PROCESSES)):
        rounds = [_rush_round(folder, processes, turn) for turn in range(ROUNDS)]
        for name in rounds[0]:
            yield f"rush_{form}_{name}", _middle([each[name] for each in rounds])


def _rush_round(folder: Path, processes: int, turn: int) -> dict[str, float]:
    for use in ("serial", "rush"):
        shutil.copytree(folder / "made", folder / use)
    # Who comes second finds a warmer machine, and a disk that still writes what the first left.
    if turn % 2:
        found = rushed(folder / "rush", processes)
        serial = merged_in_turn(folder / "serial", processes)
    else:
        serial = merged_in_turn(folder / "serial", processes)
        found = rushed(folder / "rush", processes)
    for use in ("serial", "rush"):
        shutil.rmtree(folder / use)
    first, last = found.ends[0], found.ends[-1]
    return {
        "serial_s": serial,
        "first_s": first,
        "last_s": last,
        "last_beyond_serial_in_firsts": (last - serial) / first,
        "attempts_per_merge": sum(found.attempts) / RUSH,
        "most_attempts": max(found.attempts),
    }


def _middle(found: list[float]) -> Derived:
    if len(found) == 1:
        return Derived(found[0], found[0], found[0])
    low, median, high = statistics.quantiles(found, n=4, method="inclusive")
    return Derived(median, low, high)


def merged_in_turn(root: Path, processes: int) -> float:
    """Merge all branches one after the other, and return how long that takes together.

    The processes are as many as in a rush and take turns, so that each has to catch up with what
    the others did, as it has to in a rush.
    """
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        pools = [
            stack.enter_context(ProcessPoolExecutor(1, context, _open_for_merges, (root, number)))
            for number in range(processes)
        ]
        return sum(pools[n % processes].submit(_merge_timed, n).result() for n in range(RUSH))


_OPENED: list[Graph] = []


def _open_for_merges(root: Path, number: int) -> None:
    graph = open_graph(root)
    graph.preview_merge(_task(number))  # otherwise the first merge imports what merges
    _OPENED.append(graph)


def _merge_timed(number: int) -> float:
    begun = time.perf_counter()
    _OPENED[-1].merge(_task(number))
    return time.perf_counter() - begun


@dataclass(slots=True)
class Rushed:
    """When merges that started at once ended, in order, and how often each was planned."""

    ends: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)


def rushed(root: Path, processes: int) -> Rushed:
    """Merge all branches at once, each in a thread, of one or of several processes."""
    shares = [range(RUSH)[part::processes] for part in range(processes)]
    with _pool(processes, processes) as (pool, barrier):
        parts = [pool.submit(_rush_share, root, [*share], barrier) for share in shares]
        every = [each for part in parts for each in part.result()]
    return Rushed(sorted(end for end, _ in every), [count for _, count in every])


@contextmanager
def _pool(processes: int, parties: int) -> Iterator[tuple[ProcessPoolExecutor, "Barrier"]]:
    """Run processes that start their work at the same instant."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(processes, context) as pool:
        yield pool, manager.Barrier(parties)  # type: ignore[misc]


def _rush_share(root: Path, numbers: list[int], barrier: Barrier) -> list[tuple[float, int]]:
    graph, local = open_graph(root), threading.local()
    _count_attempts(local)
    graph.preview_merge(_task(numbers[0]))  # otherwise each process first imports what merges
    together, begun = threading.Barrier(len(numbers) + 1), [0.0]

    def merge(number: int) -> tuple[float, int]:
        local.attempts = 0
        together.wait(_LONGEST_START)
        graph.merge(_task(number))
        return time.monotonic(), local.attempts

    with ThreadPoolExecutor(len(numbers)) as pool:
        running = [pool.submit(merge, number) for number in numbers]
        barrier.wait(_LONGEST_START)
        begun[0] = time.monotonic()
        together.wait(_LONGEST_START)
        return [(end - begun[0], count) for end, count in (each.result() for each in running)]


def _count_attempts(local: threading.local) -> None:
    """Count how often the changes of a thread are planned; older releases do not say."""
    try:
        module = importlib.import_module("omnigraph.versioning.transact")
    except ImportError:
        return
    attempt = module._attempt

    def counted(*given: object) -> object:
        local.attempts = getattr(local, "attempts", 0) + 1
        return attempt(*given)

    vars(module)["_attempt"] = counted


def _work_together(
    work: "Callable[[Path, int, float, Barrier], Worked]", count: int, root: Path, seconds: float
) -> "list[Worked]":
    """Return what each of several processes did, which all begin at once."""
    with _pool(count, count) as (pool, barrier):
        parts = [pool.submit(work, root, number, seconds, barrier) for number in range(count)]
        return [part.result() for part in parts]


def _agents(folder: Path, seconds: float) -> Findings:
    make_graph(folder / "graph")
    done = _work_together(_agent, AGENTS, folder / "graph", seconds)
    times = sorted(each for found in done for each in found.seconds)
    yield "agents_merges_per_minute", 60 * len(times) / seconds
    yield "agents_processor_s_per_merge", sum(each.processor for each in done) / len(times)
    yield "agents_merges_least_most", [f(len(each.seconds) for each in done) for f in (min, max)]
    yield "agents_conflicts", sum(each.conflicts for each in done)
    yield "agents_given_up", sum(len(each.failures) for each in done)
    yield "agents_lost", _lost(folder / "graph", done)
    yield from _spread("agents_merge", times)


def _beside_earlier(folder: Path, earlier: Path, seconds: float, turns: int) -> Findings:
    """Let our agents work in turn with those of an older release, on this machine."""
    (folder / "bench").symlink_to(Path(__file__).parent)
    both = (Path(inspect.getfile(Graph)).parents[2], earlier.resolve())
    every = [[_agents_of(release, folder, seconds) for release in both] for _ in range(turns)]
    yield "earlier_turns_and_seconds", [turns, seconds]
    for name, over in (("merges_per_minute", 1), ("processor_s_per_merge", -1)):
        found = [[each[f"agents_{name}"] for each in turn] for turn in every]
        yield f"earlier_{name}", statistics.median(theirs for _, theirs in found)
        yield f"beside_earlier_{name}", statistics.median(own for own, _ in found)
        ratios = [(own / theirs) ** over for own, theirs in found]
        yield f"agents_{name}_over_earlier", _middle(ratios)
    for name in ("merge_p99_over_p50", "given_up"):
        yield f"earlier_{name}", statistics.median(theirs[f"agents_{name}"] for _, theirs in every)


def _agents_of(release: Path, folder: Path, seconds: float) -> dict[str, float]:
    """Return what the agents of a release did, in processes that have only that release."""
    command = [sys.executable, "-m", "bench.busy", "agents", "--json", "--seconds", f"{seconds}"]
    path = {"PYTHONPATH": f"{folder}{os.pathsep}{release}"}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    agents = {name: each for name, each in found.items() if name.startswith("agents_")}
    print(f"{release.name}: {agents}", file=sys.stderr, flush=True)
    return found


@dataclass(slots=True)
class Worked:
    """What a process did: how long each change took, who was added, and what was refused."""

    processor: float = 0.0
    seconds: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    conflicts: int = 0
    failures: list[str] = field(default_factory=list)


def _agent(root: Path, number: int, seconds: float, barrier: Barrier) -> Worked:
    """Work on branches of its own, merge them, and remove them."""
    graph, chance, found = open_graph(root), random.Random(DATA_SEED + number), Worked()
    barrier.wait(_LONGEST_START)
    until, loops, worked = time.monotonic() + seconds, 0, time.process_time()
    while time.monotonic() < until:
        loops += 1
        name = f"agent/{number}-{loops}"
        branch, added = graph.create_branch(name), []
        for step in range(chance.randint(5, 20)):
            if chance.random() < 0.1:
                who = f"p{chance.randrange(SHARED)}"
                branch.mutate(AGE, name=who, age=chance.randrange(100))
            else:
                added.append(f"a{number}-{loops}-{step}")
                branch.mutate(MOVE, name=added[-1], age=step)
        graph.preview_merge(name)
        begun = time.monotonic()
        try:
            found.failures += _merge_in_the_end(graph, name)
            found.seconds.append(time.monotonic() - begun)
            found.names += added
        except MergeConflictsError:
            found.conflicts += 1
        graph.delete_branch(name)
    found.processor = time.process_time() - worked
    return found


def _merge_in_the_end(graph: Graph, branch: str) -> list[str]:
    """Merge a branch, again where it is given up because others were faster; return what failed."""
    failures = []
    while True:
        try:
            graph.merge(branch)
        except HeadMovedError as failed:
            failures.append(repr(failed))
        else:
            return failures


def _inserts(folder: Path, seconds: float) -> Findings:
    make_graph(folder / "graph")
    done = _work_together(_inserter, INSERTERS, folder / "graph", seconds)
    times = sorted(each for found in done for each in found.seconds)
    yield "inserts_per_minute", 60 * len(times) / seconds
    yield "inserts_processor_s_each", sum(each.processor for each in done) / len(times)
    yield "inserts_least_most", [f(len(each.seconds) for each in done) for f in (min, max)]
    yield "inserts_given_up", sum(len(each.failures) for each in done)
    yield "inserts_lost", _lost(folder / "graph", done)
    yield from _spread("inserts", times)


def _inserter(root: Path, number: int, seconds: float, barrier: Barrier) -> Worked:
    graph, found = open_graph(root), Worked()
    main = graph.branch("main")
    barrier.wait(_LONGEST_START)
    until, worked = time.monotonic() + seconds, time.process_time()
    while time.monotonic() < until:
        name, begun = f"i{number}-{len(found.names)}", time.monotonic()
        try:
            main.mutate(ADD, name=name, age=number)
        except Exception as failed:
            found.failures.append(repr(failed))
            continue
        found.seconds.append(time.monotonic() - begun)
        found.names.append(name)
    found.processor = time.process_time() - worked
    return found


def _lost(root: Path, done: list[Worked]) -> int:
    """Count the people who were acknowledged and are not there."""
    every = "query all() { match { $p: Person } return { $p.name as name } }"
    there = {row["name"] for row in open_graph(root).branch("main").query(every)}
    return len({name for each in done for name in each.names} - there)


def _spread(what: str, times: list[float]) -> Findings:
    middle, late = statistics.median(times), times[min(len(times) - 1, int(0.99 * len(times)))]
    yield f"{what}_p50_s", middle
    yield f"{what}_p99_s", late
    yield f"{what}_most_s", times[-1]
    yield f"{what}_p99_over_p50", late / middle


if __name__ == "__main__":
    main()
