"""Short reads: what a page about one person asks, warm, cold, and beside a writer.

A profile, the latest messages, the friends of friends and the common interests of two, of persons
taken by chance, in the manner of the short reads of LDBC's social network.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from statistics import quantiles

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.record import DATA_SEED, seconds, store
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.read.road import Road

SCHEMA = """
node Person { number: I64 @key  name: String  born: I32 }
node Message { number: I64 @key  text: String  at: DateTime }
node City { name: String @key }
node Topic { name: String @key }
edge Knows: Person -> Person
edge Wrote: Person -> Message
edge LivesIn: Person -> City
edge Likes: Person -> Topic
"""
READS = {
    "profile": """query q($one: I64) {
      match { $p: Person { number: $one }  $p livesIn $c }
      return { $p.name as name, $p.born as born, $c.name as city }
    }""",
    "recent_messages": """query q($one: I64) {
      match { $p: Person { number: $one }  $p wrote $m }
      return { $m.number as message, $m.text as text, $m.at as at }
      order { at desc, message } limit 10
    }""",
    "friends_of_friends": """query q($one: I64) {
      match { $p: Person { number: $one }  $p knows $f  $f knows $g }
      return { $g.number as person, $g.name as name, count($f) as common }
      order { common desc, person } limit 20
    }""",
    "common_interests": """query q($one: I64, $other: I64) {
      match { $a: Person { number: $one }  $a likes $t
              $b: Person { number: $other }  $b likes $t }
      return { $t.name as topic } order { topic }
    }""",
}
WAYS = ("warm", "cold", "beside_writer")
PACKAGES = ["numpy", "pyarrow", "pylance"]
FULL, QUICK = 1_000_000, 20_000
_CITIES, _TOPICS = 5_000, 200
_WARM_UPS, _WARM_READS, _COLD_PROCESSES, _BESIDE_SECONDS = 200, 500, 10, 20.0
_MOST_UNSETTLED = 5_000
_BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
# A writer that never waits would only show how two processes share the processors.
_PAUSE = 0.05


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.short_reads", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--ask", nargs=3, metavar=("ROOT", "READ", "SEED"), help="of one process")
    options.add_argument("--write", nargs=2, metavar=("ROOT", "PERSONS"), help="until it is ended")
    chosen = options.parse_args()
    if chosen.ask:
        root, read, seed = chosen.ask
        _answer_once(root, read, int(seed))
    elif chosen.write:
        _write_messages(chosen.write[0], int(chosen.write[1]))
    else:
        findings = _measure(QUICK if chosen.quick else FULL, quick=chosen.quick)
        for name, found in findings.items():
            print(f"{name:44} {round(found, 3) if isinstance(found, float) else found}")
        if not chosen.quick:
            path = store("short_reads", PACKAGES, findings)
            print(f"stored in {path.relative_to(Path.cwd())}")


def _measure(persons: int, *, quick: bool) -> dict[str, object]:
    findings: dict[str, object] = {"persons": persons, "load_average": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "graph"
        with init(root, SCHEMA, durable=False) as graph:
            findings["load_s"] = seconds(partial(graph.load, _tables(persons), engine="inline"))
        for read in READS:
            times = [_ask_cold(root, read, seed) for seed in range(2 if quick else _COLD_PROCESSES)]
            findings |= _percentiles(f"{read}_cold", times)
        with open_graph(root, durable=False) as graph:
            random = Random(DATA_SEED)
            findings["reads_until_settled"] = _settle(graph, random, persons)
            _read_some(graph, random, persons, len(READS) * _WARM_UPS)
            warm = _read_some(graph, random, persons, len(READS) * _WARM_READS)
            with _writer(root, persons):
                before = _count_messages(graph)
                lasting = _BESIDE_SECONDS / 10 if quick else _BESIDE_SECONDS
                beside = _read_for(graph, random, persons, lasting)
                findings["messages_written_beside"] = _count_messages(graph) - before
        for read in READS:
            findings |= _percentiles(f"{read}_warm", warm[read])
            findings |= _percentiles(f"{read}_beside_writer", beside[read])
    return findings


def _settle(graph: Graph, random: Random, persons: int) -> int:
    """Ask until all that the reads need is in memory, and return how many of each that took.

    Until then rows are looked up, whose cost has to have paid for reading everything.
    """
    for count in range(1, _MOST_UNSETTLED):
        roads = {graph.profile(READS[read], _given(read, random, persons)).road for read in READS}
        if roads == {Road.ADJACENCY}:
            return count
    raise SystemExit(f"after {_MOST_UNSETTLED} reads of each kind, rows are still looked up")


def _read_for(graph: Graph, random: Random, persons: int, lasting: float) -> dict[str, list[float]]:
    """Return what reads took for so many seconds."""
    found: dict[str, list[float]] = {read: [] for read in READS}
    end = time.monotonic() + lasting
    while time.monotonic() < end:
        for read, times in _read_some(graph, random, persons, len(READS)).items():
            found[read] += times
    return found


def _percentiles(name: str, times: list[float]) -> dict[str, object]:
    cuts = quantiles([1000 * each for each in times], n=100, method="inclusive")
    return {f"{name}_p50_ms": cuts[49], f"{name}_p99_ms": cuts[98], f"{name}_reads": len(times)}


def _read_some(graph: Graph, random: Random, persons: int, count: int) -> dict[str, list[float]]:
    """Return what reads took, one of each kind after the other, of persons taken by chance."""
    found: dict[str, list[float]] = {read: [] for read in READS}
    for at in range(count):
        read = list(READS)[at % len(READS)]
        found[read].append(seconds(partial(_ask, graph, read, random, persons)))
    return found


def _ask(graph: Graph, read: str, random: Random, persons: int) -> list[dict[str, object]]:
    return graph.query(READS[read], _given(read, random, persons)).to_dicts()


def _given(read: str, random: Random, persons: int) -> dict[str, object]:
    """Return the persons whom a read is about, taken by chance."""
    names = ("one", "other")
    return {name: random.randrange(persons) for name in names if f"${name}" in READS[read]}


def _count_messages(graph: Graph) -> int:
    found = graph.query("query q() { match { $m: Message } return { count($m) as n } }")
    return int(str(found.to_dicts()[0]["n"]))


def _ask_cold(root: Path, read: str, seed: int) -> float:
    """Return how many seconds a new process takes, from its start to its end, for one read."""
    command = [sys.executable, "-m", "bench.short_reads", "--ask", str(root), read, str(seed)]
    return seconds(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL))


def _answer_once(root: str, read: str, seed: int) -> None:
    with open_graph(root, durable=False) as graph:
        print(_ask(graph, read, Random(seed), QUICK))


@contextmanager
def _writer(root: Path, persons: int) -> Iterator[None]:
    """Let another process write messages, from its first commit on."""
    command = [sys.executable, "-m", "bench.short_reads", "--write", str(root), str(persons)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.terminate()


def _write_messages(root: str, persons: int) -> None:
    random = Random(DATA_SEED)
    with open_graph(root, durable=False) as graph:
        for at in range(sys.maxsize):
            number, writer = 10**12 + at, random.randrange(persons)
            message = {"number": number, "text": "new", "at": datetime.now(UTC).isoformat()}
            lines = [
                {"type": "Message", "data": message},
                {"edge": "Wrote", "from": str(writer), "to": str(number)},
            ]
            graph.load("\n".join(map(json.dumps, lines)), engine="inline")
            if not at:
                print("writing", flush=True)
            time.sleep(_PAUSE)


def _tables(persons: int) -> dict[str, pa.Table]:
    """Return persons with five friends, a message and two interests each on average."""
    chance = np.random.default_rng(DATA_SEED)
    messages = persons
    numbers = np.arange(persons)
    written = np.arange(messages)
    at = [
        _BEGAN + timedelta(seconds=int(each)) for each in chance.integers(0, 31_000_000, messages)
    ]
    return {
        "Person": pa.table(
            {
                "number": numbers,
                "name": [f"Person {each}" for each in range(persons)],
                "born": chance.integers(1950, 2010, persons).astype(np.int32),
            }
        ),
        "Message": pa.table(
            {
                "number": written,
                "text": [f"message {each} of many that were written" for each in range(messages)],
                "at": pa.array(at, pa.timestamp("us", "UTC")),
            }
        ),
        "City": pa.table({"name": [f"City {each}" for each in range(_CITIES)]}),
        "Topic": pa.table({"name": [f"Topic {each}" for each in range(_TOPICS)]}),
        # The lower the number, the more friends: a few persons are known by very many.
        "Knows": _edges(
            chance.integers(0, persons, 5 * persons),
            (persons * chance.random(5 * persons) ** 2).astype(np.int64),
        ),
        "Wrote": _edges(chance.integers(0, persons, messages), written),
        "LivesIn": _edges(numbers, chance.integers(0, _CITIES, persons), "City "),
        "Likes": _edges(
            chance.integers(0, persons, 2 * persons),
            chance.integers(0, _TOPICS, 2 * persons),
            "Topic ",
        ),
    }


def _edges(sources: "np.ndarray", targets: "np.ndarray", name: str = "") -> pa.Table:
    """Return edges between rows by number, each once; of the second, a name may come before it."""
    width = int(targets.max()) + 1
    first, second = np.divmod(np.unique(sources * width + targets), width)
    ends = pa.array(second).cast(pa.utf8())
    named = pc.binary_join_element_wise(name, ends, "") if name else ends
    return pa.table({"from": pa.array(first).cast(pa.utf8()), "to": named})


if __name__ == "__main__":
    main()
