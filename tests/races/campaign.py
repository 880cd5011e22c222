"""Campaign: the long form of the races, on any store: `python -m tests.races.campaign`."""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import obstore

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.storage.store import Store, store_at
from tests.races.verdict import after_appending, after_counting
from tests.races.worker import Tally, Task, add_edges, add_people, count_up, insert_people
from tests.sample import new_graph
from tests.stores import BUCKET, s3_environment, s3_server


def main() -> int:
    """Run every race once, print one line, and give 1 when a promise was broken."""
    options = _options()
    start = time.perf_counter()
    with _place(options) as root, _processes(options.processes) as pool:
        race = _Race(pool, root, options.processes, options.writes)
        problems, refused = race.run()
    for problem in problems[:20]:
        sys.stderr.write(f"{problem}\n")
    sys.stdout.write(
        f"races {_where(options)}: {options.processes} processes × "
        f"{options.writes} writes, on one branch, on branches of their own and on two tables: "
        f"{refused} conflicts told, {len(problems)} violations, "
        f"{time.perf_counter() - start:.1f} s\n"
    )
    return 1 if problems else 0


class _Race:
    """All races of a campaign, each on a graph of its own."""

    def __init__(self, pool: ProcessPoolExecutor, root: str, processes: int, writes: int) -> None:
        self._pool = pool
        self._root = root
        self._processes = processes
        self._writes = writes

    def run(self) -> tuple[list[str], int]:
        """Return all broken promises, and how often a worker was told that it lost."""
        problems: list[str] = []
        refused = 0
        for race in (self._one_branch, self._inserts, self._own_branches, self._two_tables):
            try:
                broken, lost = race()
            except Exception as failed:
                broken, lost = [f"{race.__name__}: {type(failed).__name__}: {failed}"], 0
            problems += broken
            refused += lost
        return problems, refused

    def _one_branch(self) -> tuple[list[str], int]:
        graph = self._graph()
        tallies = self._tallies(count_up, graph, ["main"] * self._processes)
        return after_counting(open_graph(graph.uri), "main", tallies), _refused(tallies)

    def _inserts(self) -> tuple[list[str], int]:
        graph = self._graph()
        tallies = self._tallies(insert_people, graph, ["main"] * self._processes)
        return after_appending(open_graph(graph.uri), "main", tallies, []), _refused(tallies)

    def _own_branches(self) -> tuple[list[str], int]:
        graph = self._graph()
        branches = [f"branch{worker}" for worker in range(self._processes)]
        for branch in branches:
            graph.create_branch(branch)
        tallies = self._tallies(count_up, graph, branches)
        problems = after_counting(graph, "main", [])
        for branch, tally in zip(branches, tallies, strict=True):
            problems += after_counting(graph, branch, [tally])
        return problems, _refused(tallies)

    def _two_tables(self) -> tuple[list[str], int]:
        graph = self._graph()
        tallies = self._tallies(_alternating, graph, ["main"] * self._processes)
        return after_appending(graph, "main", tallies[::2], tallies[1::2]), _refused(tallies)

    def _graph(self) -> Graph:
        return new_graph(f"{self._root}/{uuid4().hex}")

    def _tallies(
        self, work: Callable[[Task], Tally], graph: Graph, branches: list[str]
    ) -> list[Tally]:
        tasks = (Task(graph.uri, name, at, self._writes) for at, name in enumerate(branches))
        return list(self._pool.map(work, tasks))


def _alternating(task: Task) -> Tally:
    return add_edges(task) if task.worker % 2 else add_people(task)


def _refused(tallies: list[Tally]) -> int:
    return sum(tally.refused for tally in tallies)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.races.campaign", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writes", type=int, default=500, help="per process and race")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--uri", help="where to make the graphs; removed again afterwards")
    place.add_argument("--s3", action="store_true", help="on an S3 server, started for this")
    return parser.parse_args()


@contextmanager
def _processes(number: int) -> Iterator[ProcessPoolExecutor]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=spawn) as pool:
        list(pool.map(time.sleep, [0.2] * number))
        yield pool


def _where(options: argparse.Namespace) -> str:
    return "on an S3 server" if options.s3 else f"at {options.uri or 'a temporary folder'}"


@contextmanager
def _place(options: argparse.Namespace) -> Iterator[str]:
    """Return a root for the graphs, and leave nothing there."""
    if options.s3:
        with s3_server() as address:
            os.environ.update(s3_environment(address))
            yield f"s3://{BUCKET}"
    elif options.uri is None:
        with tempfile.TemporaryDirectory(prefix="omnigraph-races-") as folder:
            yield folder
    else:
        with _own_folder(options.uri) as root:
            yield root


@contextmanager
def _own_folder(uri: str) -> Iterator[str]:
    root = f"{uri.rstrip('/')}/races-{uuid4().hex}"
    try:
        yield root
    finally:
        _remove(store_at(root))


def _remove(store: Store) -> None:
    if store.is_local:
        shutil.rmtree(store.root)
        return
    objects = store.objects.store
    for page in obstore.list(objects):
        obstore.delete(objects, [each["path"] for each in page])


if __name__ == "__main__":
    sys.exit(main())
