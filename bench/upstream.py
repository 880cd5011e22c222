"""Upstream: this product beside the public Rust project of the same name, in one run.

Both are used as their users use them: the command line in a new process for everything that is done
once, and a server with one deployment for everything that is done often. The same files, the same
queries and the same client meet both, turn by turn. The programs of upstream are not part of this
repository: `--peer` names the folder with its `omnigraph` and `omnigraph-server`.
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path

import httpx

from bench.record import DATA_SEED, store, timing

SCHEMA = """\
node Person {
  slug: String @key
  name: String
  age: I32
  city: String
}
edge Follows: Person -> Person
"""
WIDE = "".join(f"node T{n} {{\n  slug: String @key\n  value: I32\n}}\n" for n in range(8))
POINT = "query q($s: String) { match { $p: Person { slug: $s } } return { $p.name, $p.age } }"
TWO = (
    "query q($s: String) { match { $p: Person { slug: $s } $p follows $a $a follows $b } "
    "return { $b.slug } }"
)
FOUR = (
    "query q($s: String) { match { $p: Person { slug: $s } $p follows $a $a follows $b "
    "$b follows $c $c follows $d } return { count($d) as n } }"
)
ADD = (
    "query q($s: String, $n: String) { insert Person { slug: $s, name: $n, age: 30, "
    'city: "Oslo" } }'
)
GRAPH = "social"
CONNECTIONS = 8
# Upstream refuses a load of more than 32 MiB, and one of more rows than this in any mode but
# `overwrite`, which replaces what is there.
UPSTREAM_LINES = (250_000, 8_192)


@dataclass(frozen=True, slots=True)
class Product:
    """One of the two: how its command line and its server are called."""

    name: str
    command: tuple[str, ...]
    server: tuple[str, ...]
    prepares: tuple[tuple[str, ...], ...]
    options_of_load: tuple[str, ...] = ()
    most_lines: tuple[int, int] | None = None

    def load(self, data: Path, graph: Path) -> "Ran":
        """Load a file into an empty graph, in as few pieces as the product takes."""
        if self.most_lines is None:
            return self._load(data, graph, "overwrite")
        with tempfile.TemporaryDirectory() as folder:
            first, *others = pieces(data, self.most_lines, Path(folder))
            ran = [self._load(first, graph, "overwrite")]
            ran += [self._load(each, graph, "append") for each in others]
        return Ran(
            sum(each.seconds for each in ran),
            max(each.megabytes for each in ran),
            sum(each.processor for each in ran),
        )

    def _load(self, data: Path, graph: Path, mode: str) -> "Ran":
        words = ("load", "--data", str(data), "--mode", mode)
        return self.run(*words, *self.options_of_load, str(graph))

    def run(self, *words: str, into: Path | None = None) -> "Ran":
        """Run a command in a new process, and return its time and the memory it took at most."""
        target = into.open("wb") if into else subprocess.DEVNULL
        begun = time.perf_counter()
        process = subprocess.Popen(
            [*self.command, *words],
            stdout=target,
            stderr=subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        taken = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{self.name} {' '.join(words)}: {told.decode()[-2_000:]}")
        return Ran(taken, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process took: seconds, megabytes at most, seconds of processors."""

    seconds: float
    megabytes: float
    processor: float


@dataclass
class Findings:
    """What was found, by workload and product."""

    by_name: dict[str, object] = field(default_factory=dict)

    def add(self, workload: str, product: Product, found: object) -> None:
        """Keep a figure and print it."""
        self.by_name[f"{product.name}_{workload}"] = found
        print(f"{workload:34} {product.name:9} {found}", flush=True)


def products(peer: Path) -> list[Product]:
    """Return this product, from this environment, and the one in a folder."""
    own = Path(sys.executable).parent
    return [
        Product(
            "here",
            (str(own / "omnigraph"),),
            (str(own / "omnigraph-server"),),
            (("cluster", "apply"),),
            ("--yes",),
        ),
        Product(
            "upstream",
            (str(peer / "omnigraph"),),
            (str(peer / "omnigraph-server"),),
            (("cluster", "import"), ("cluster", "apply")),
            most_lines=UPSTREAM_LINES,
        ),
    ]


def pieces(data: Path, most_lines: tuple[int, int], folder: Path) -> list[Path]:
    """Cut a file into the lines that a first load takes, and those that each later one does."""
    mosts = chain(most_lines[:1], repeat(most_lines[1]))
    found: list[Path] = []
    with data.open() as lines:
        for text in iter(lambda: "".join(islice(lines, next(mosts))), ""):
            found.append(folder / f"{len(found)}.jsonl")
            found[-1].write_text(text)
    return found


def write_people(path: Path, persons: int, follows: int) -> None:
    """Write persons and whom they follow as JSON lines; it is always the same data."""
    chance = random.Random(DATA_SEED)
    with path.open("w") as file:
        for number in range(persons):
            data = {
                "slug": f"p{number}",
                "name": f"Person {number}",
                "age": chance.randrange(18, 90),
                "city": f"City {chance.randrange(500)}",
            }
            file.write(json.dumps({"type": "Person", "data": data}) + "\n")
        seen: set[tuple[int, int]] = set()
        while len(seen) < follows:
            ends = chance.randrange(persons), chance.randrange(persons)
            if ends not in seen:
                seen.add(ends)
                line = {"edge": "Follows", "from": f"p{ends[0]}", "to": f"p{ends[1]}", "data": {}}
                file.write(json.dumps(line) + "\n")


def write_wide(path: Path, rows: int) -> None:
    """Write as many rows of each of eight types."""
    with path.open("w") as file:
        for number in range(8):
            for row in range(rows):
                line = {"type": f"T{number}", "data": {"slug": f"r{row}", "value": row % 1_000}}
                file.write(json.dumps(line) + "\n")


def deployment(product: Product, folder: Path, schema: str) -> Path:
    """Make a deployment with one graph and return where the graph lies."""
    folder.mkdir(parents=True)
    (folder / "cluster.yaml").write_text(
        f"version: 1\nmetadata:\n  name: bench\ngraphs:\n  {GRAPH}:\n    schema: graph.pg\n"
    )
    (folder / "graph.pg").write_text(schema)
    for words in product.prepares:
        product.run(*words, "--config", str(folder))
    (found,) = (each for each in folder.rglob("__manifest*") if each.is_dir())
    return found.parent


@contextmanager
def served(product: Product, folder: Path) -> Iterator[tuple[httpx.Client, int]]:
    """Serve a deployment; yields a client at its graph, and the id of the process."""
    port = _free_port()
    words = ["--cluster", str(folder), "--bind", f"127.0.0.1:{port}"]
    if product.name == "upstream":
        words.append("--unauthenticated")
    log = folder.with_suffix(".log")
    with log.open("wb") as out:
        process = subprocess.Popen([*product.server, *words], stdout=out, stderr=out)
    try:
        base = f"http://127.0.0.1:{port}"
        _wait(base, process, log)
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        with httpx.Client(base_url=f"{base}/graphs/{GRAPH}", limits=limits, timeout=600) as client:
            yield client, process.pid
    finally:
        process.terminate()
        process.wait(60)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(base: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{base}/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError(log.read_text(errors="replace")[-2_000:])


def post(client: httpx.Client, path: str, **body: object) -> httpx.Response:
    """Send a request that has to succeed."""
    answer = client.post(path, json=body)
    if answer.status_code not in {200, 201}:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:500]}")
    return answer


def read(client: httpx.Client, query: str, **params: object) -> object:
    """Read, and return the rows."""
    return post(client, "/read", query_source=query, params=params).json()["rows"]


def repeated(work: Callable[[int], object], times: int, *, warm_up: int = 0) -> list[float]:
    """Return the seconds of each of several runs, after some that do not count."""
    found = []
    for number in range(warm_up + times):
        begun = time.perf_counter()
        work(number)
        found.append(time.perf_counter() - begun)
    return found[warm_up:]


def p99(seconds: list[float]) -> float:
    """Return the time in milliseconds that one of a hundred exceeds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1_000


def memory_mb(process: int) -> float:
    """Return the resident memory of a process and of those that it started."""
    found = _resident(process)
    for each in Path(f"/proc/{process}/task").glob("*/children"):
        found += sum(memory_mb(int(child)) for child in each.read_text().split())
    return found


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = re.search(r"VmRSS:\s+(\d+)", status)
    return int(kilobytes[1]) / 1024 if kilobytes else 0.0


def loads(found: Findings, each: Product, root: Path, sizes: dict[str, Path]) -> dict[str, Path]:
    """Measure init and loads; returns the deployment of each size."""
    made = {}
    schema = root / "graph.pg"
    schema.write_text(SCHEMA)
    ran = [
        each.run("init", "--schema", str(schema), str(root / f"{each.name}-init-{n}"))
        for n in range(5)
    ]
    found.add("init", each, timing([one.seconds for one in ran]))
    for size, data in sizes.items():
        folder = root / f"{each.name}-{size}"
        graph = deployment(each, folder, SCHEMA)
        done = each.load(data, graph)
        found.add(f"load_{size}_s", each, done.seconds)
        found.add(f"load_{size}_mb", each, done.megabytes)
        made[size] = graph
    return made


def cold(found: Findings, each: Product, graph: Path, folder: Path) -> None:
    """Measure a point read and an export, each in a new process."""
    query = folder / f"{each.name}.gq"
    query.write_text(POINT)
    words = ["read", "--query", str(query), "--params", '{"s": "p77"}', "--json"]
    words += ["--store", str(graph)] if each.name == "upstream" else [str(graph)]
    ran = [each.run(*words) for _ in range(7)]
    found.add("cold_point_read", each, timing([one.seconds for one in ran]))
    found.add("cold_point_read_mb", each, max(one.megabytes for one in ran))
    out = folder / f"{each.name}.jsonl"
    done = each.run("export", str(graph), into=out)
    found.add("export_s", each, done.seconds)
    found.add("export_lines", each, sum(1 for _ in out.open("rb")))


def reads(found: Findings, each: Product, folder: Path, persons: int) -> None:
    """Measure reads of a server, one by one and from several connections."""
    chance = random.Random(DATA_SEED)
    slugs = [f"p{chance.randrange(persons)}" for _ in range(3_000)]
    with served(each, folder) as (client, process):
        for name, query, times in (
            ("point", POINT, 1_000),
            ("two_hops", TWO, 300),
            ("four_hops", FOUR, 100),
        ):
            took = repeated(partial(_read_of, client, query, slugs), times, warm_up=20)
            found.add(f"served_{name}", each, timing(took))
            found.add(f"served_{name}_p99_ms", each, p99(took))
        found.add("reads_per_second_8", each, _rate(client, slugs))
        found.add("server_mb", each, memory_mb(process))


def _read_of(client: httpx.Client, query: str, slugs: list[str], number: int) -> object:
    return read(client, query, s=slugs[number])


def _rate(client: httpx.Client, slugs: list[str]) -> float:
    begun = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        done = list(pool.map(lambda s: read(client, POINT, s=s), slugs))
    assert len(done) == len(slugs)
    return len(slugs) / (time.perf_counter() - begun)


def writes(found: Findings, each: Product, folder: Path, commits: int) -> None:
    """Measure mutations of one row as history grows, and new branches."""
    with served(each, folder) as (client, process):
        took = repeated(
            lambda n: post(
                client, "/change", query_source=ADD, params={"s": f"new{n}", "n": "New"}
            ),
            commits,
        )
        for at in (50, commits):
            found.add(f"mutation_at_{at}", each, timing(took[at - 25 : at]))
        branches = repeated(
            lambda n: post(client, "/branches", name=f"b{n}", **{"from": "main"}), 20
        )
        found.add("branch_create", each, timing(branches))
        found.add("server_after_commits_mb", each, memory_mb(process))


def merges(found: Findings, each: Product, root: Path, data: Path) -> None:
    """Measure merges of 1, 50 and 600 changed rows into a branch that moved, of eight types."""
    folder = root / f"{each.name}-wide"
    graph = deployment(each, folder, WIDE)
    each.load(data, graph)
    with served(each, folder) as (client, _):
        for changes in (1, 50, 600):
            took = [_merge(client, changes, number) for number in range(5)]
            found.add(f"merge_{changes}", each, timing(took))


def _merge(client: httpx.Client, changes: int, number: int) -> float:
    branch = f"m{changes}-{number}"
    post(client, "/branches", name=branch, **{"from": "main"})
    start = number * changes + 10_000
    lines = [
        json.dumps({"type": f"T{n % 8}", "data": {"slug": f"r{start + n}", "value": -number - 1}})
        for n in range(changes)
    ]
    post(client, "/load", data="\n".join(lines) + "\n", branch=branch, mode="merge")
    other = {"type": "T0", "data": {"slug": f"r{number}", "value": -changes}}
    post(client, "/load", data=json.dumps(other) + "\n", branch="main", mode="merge")
    begun = time.perf_counter()
    post(client, "/branches/merge", source=branch, target="main")
    return time.perf_counter() - begun


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(prog="python -m bench.upstream", description=__doc__)
    options.add_argument("--peer", type=Path, required=True)
    options.add_argument("--commits", type=int, default=1_000)
    options.add_argument("--scale", type=float, default=1.0, help="a share of the rows")
    options.add_argument("--no-store", action="store_true")
    chosen = options.parse_args()
    found = Findings()
    both = products(chosen.peer)
    # `init` leaves a file in the folder where it is called.
    with tempfile.TemporaryDirectory() as name, chdir(name):
        root = Path(name)
        sizes, persons = _data(root, chosen.scale)
        made = {each.name: loads(found, each, root, sizes) for each in both}
        for each in both:
            cold(found, each, made[each.name]["1m"], root)
        for each in both:
            reads(found, each, root / f"{each.name}-1m", persons)
        for each in both:
            writes(found, each, root / f"{each.name}-100k", chosen.commits)
        for each in both:
            merges(found, each, root, root / "wide.jsonl")
            shutil.rmtree(root / f"{each.name}-wide")
    if not chosen.no_store:
        told = subprocess.run(
            [*both[1].command, "version"], capture_output=True, text=True, check=True
        ).stdout.strip()
        about = {"upstream_version": told, "load_average": os.getloadavg()[0]}
        store("upstream", ["pylance"], {**about, **found.by_name})


def _data(root: Path, scale: float) -> tuple[dict[str, Path], int]:
    sizes = {}
    for name, rows in (("100k", 100_000), ("1m", 1_000_000)):
        sizes[name] = root / f"{name}.jsonl"
        write_people(sizes[name], int(rows * scale / 4), int(rows * scale * 3 / 4))
    write_wide(root / "wide.jsonl", int(100_000 * scale))
    return sizes, int(250_000 * scale)


if __name__ == "__main__":
    main()
