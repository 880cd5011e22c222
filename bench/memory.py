"""Memory: what a process holds while it commits, reads and merges ten thousand times."""

import argparse
import ctypes
import gc
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from bench.record import store
from omnigraph import Graph, init

COMMITS, FIRST, EVERY, MADE = 10_000, 1_000, 500, 4
PEOPLE, CITIES = 2_000, 20
SCHEMA = """
node Person { name: String @key  age: I64 @index  city: String }
node City { name: String @key }
edge Lives: Person -> City
"""
_ADD = """query add($name: String, $age: I64, $city: String) {
  insert Person { name: $name, age: $age, city: $city }
  insert Lives { from: $name, to: $city }
}"""
_UPDATE = (
    "query older($name: String, $age: I64) { update Person set { age: $age } where name = $name }"
)
_ONE = "query one($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
_HOP = """query near($name: String) {
  match { $p: Person { name: $name }  $p lives $c  $q lives $c } return { count($q) as n }
}"""
_SCAN = "query old($age: I64) { match { $p: Person  $p.age > $age } return { count($p) as n } }"


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds, in megabytes, and how many files and threads it has."""

    resident: float
    anonymous: float
    in_use: float
    freed: float
    arrow: float
    files: int
    threads: int

    def __str__(self) -> str:
        return "  ".join(f"{name} {each:.5g}" for name, each in asdict(self).items())


def main() -> None:
    """Measure, print and store; a run of fewer commits is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    options.add_argument("--commits", type=int, default=COMMITS)
    chosen = options.parse_args()
    found: dict[int, Held] = {}
    with tempfile.TemporaryDirectory() as folder:
        graph = _people(Path(folder, "graph"))
        for number in range(chosen.commits // MADE + 1):
            if number * MADE % EVERY == 0:
                found[number * MADE] = held = held_now()
                print(f"{number * MADE:6}", held, flush=True)
            _round(graph, number)
    findings: dict[str, object] = {
        f"resident_mb_after_{commits}": held.resident for commits, held in found.items()
    }
    last = max(found)
    grown = found[last].resident - found[min(FIRST, last)].resident
    findings["grown_mb"] = grown
    print(f"grown after the first {FIRST} commits: {grown:.1f} MB")
    if chosen.commits == COMMITS:
        path = store("memory", ["pylance", "pyarrow"], findings)
        print(f"stored in {path.relative_to(Path.cwd())}")


def _people(root: Path) -> Graph:
    graph = init(root, SCHEMA, durable=False)
    graph.load(
        pa.table({"name": [f"c{each}" for each in range(CITIES)]}), type="City", engine="inline"
    )
    names = [f"p{each}" for each in range(PEOPLE)]
    cities = [f"c{each % CITIES}" for each in range(PEOPLE)]
    people = pa.table({"name": names, "age": [each % 90 for each in range(PEOPLE)], "city": cities})
    graph.load(people, type="Person", engine="inline")
    graph.load(pa.table({"from": names, "to": cities}), type="Lives", engine="inline")
    return graph


def _round(graph: Graph, number: int) -> None:
    """Update, insert and merge, which makes four commits, and read after each."""
    name, city = f"p{number % PEOPLE}", f"c{number % CITIES}"
    graph.mutate(_UPDATE, name=name, age=100 + number)
    _read(graph, name)
    graph.mutate(_ADD, name=f"n{number}", age=number % 90, city=city)
    _read(graph, name)
    branch = graph.create_branch(f"task/{number}")
    branch.mutate(_UPDATE, name=name, age=200 + number)
    graph.merge(branch.name)
    graph.delete_branch(branch.name)
    _read(graph, name)


def _read(graph: Graph, name: str) -> None:
    graph.query(_ONE, name=name)
    graph.query(_HOP, name=name)
    graph.query(_SCAN, age=80)


class _Blocks(ctypes.Structure):
    """What malloc says of itself: `mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def held_now() -> Held:
    """Return what this process holds, after a collection."""
    gc.collect()
    status = Path("/proc/self/status").read_text().splitlines()
    lines = dict(line.split(":", 1) for line in status)
    info = ctypes.CDLL(None).mallinfo2
    info.restype = _Blocks
    blocks = info()
    return Held(
        resident=_megabytes(lines["VmRSS"]),
        anonymous=_megabytes(lines["RssAnon"]),
        in_use=(blocks.uordblks + blocks.hblkhd) / 2**20,
        freed=blocks.fordblks / 2**20,
        arrow=pa.total_allocated_bytes() / 2**20,
        files=len(list(Path("/proc/self/fd").iterdir())),
        threads=int(lines["Threads"]),
    )


def _megabytes(line: str) -> float:
    return int(line.split()[0]) / 1024


if __name__ == "__main__":
    main()
