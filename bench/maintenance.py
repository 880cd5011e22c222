"""Maintenance: what optimize and cleanup bring a graph of many small commits back to."""

import argparse
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.record import DATA_SEED, measure, measure_in_turn, over, seconds, store
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.maintain import cleanup
from omnigraph.maintain.reports import Cleaned, Optimized
from omnigraph.storage import indexes
from omnigraph.versioning.publish import publish
from omnigraph.versioning.writes import Append, WriteSet, stage

ROWS, COMMITS, POINTS = 100_000, 1_000, 200
VECTORS, DIMENSION = 400_000, 128
PERSON = "node:Person"
SCHEMA = "node Person { number: I64 @key  name: String @index  age: I64 @index  about: String }"
DOCUMENTS = f"node Doc {{ number: I64 @key  place: Vector({DIMENSION}) @index }}"
NEAR = f"""query near($wanted: Vector({DIMENSION})) {{
  match {{ $d: Doc }} return {{ $d.number }} order {{ nearest($d.place, $wanted) }} limit 10
}}"""


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--commits", type=int, default=COMMITS)
    options.add_argument("--rows", type=int, default=ROWS)
    options.add_argument("--vectors", type=int, default=VECTORS)
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    # As if the last commit were long past: Lance keeps an hour of the manifest, and so do we.
    cleanup.MANIFEST_AGE = timedelta(0)
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        findings |= dict(_commits(Path(folder), chosen.rows, chosen.commits, chosen.runs))
        findings |= dict(_vectors(Path(folder), chosen.vectors, chosen.runs))
    for key, each in findings.items():
        print(f"{key:32} {each}")
    path = store("maintenance", ["pylance", "pyarrow"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def _commits(folder: Path, rows: int, commits: int, runs: int) -> Iterator[tuple[str, object]]:
    """Compare a graph of many one-row commits with the same rows freshly loaded."""
    fresh, worn = (init(folder / name, SCHEMA, durable=False) for name in ("fresh", "worn"))
    fresh.load(_people(0, rows + commits), type="Person", engine="inline")
    worn.load(_people(0, rows), type="Person", engine="inline")
    for number in range(rows, rows + commits):
        _append(worn, _people(number, 1))
    yield from _latencies("before", fresh, worn, runs)
    yield "optimize_s", seconds(worn.optimize)
    yield from _latencies("after", fresh, worn, runs)
    done: list[Cleaned] = []
    yield "cleanup_s", seconds(lambda: done.append(worn.cleanup(keep=1, grace="0s", confirm=True)))
    yield "cleanup_versions", done[0].old_versions_removed
    yield "cleanup_mib", done[0].bytes_removed / 2**20
    yield "space_over_fresh", _size(worn) / _size(fresh)
    yield "fsck_s", seconds(worn.fsck)


def _latencies(when: str, fresh: Graph, worn: Graph, runs: int) -> Iterator[tuple[str, object]]:
    """Time whole scans and look-ups of single rows, on handles that know nothing yet."""
    graphs = {
        name: open_graph(each.uri, read_only=True)
        for name, each in (("fresh", fresh), ("worn", worn))
    }
    for what, work, times in (("scan", _scan, runs), ("point", _point, POINTS)):
        numbers = count()
        works = {name: partial(work, each, numbers) for name, each in graphs.items()}
        found = measure_in_turn(works, runs=times, warm_up=3)
        yield f"{what}_{when}", found["worn"]
        yield f"{what}_{when}_over_fresh", over(found["worn"], found["fresh"])


def _scan(graph: Graph, _: Iterator[int]) -> None:
    graph.snapshot().table(PERSON).scan(["id", "age", "name"])


def _point(graph: Graph, numbers: Iterator[int]) -> None:
    wanted = str(next(numbers) * 7_919 % ROWS)
    found = graph.snapshot().table(PERSON).scan(["id", "age"], pc.field("id") == wanted)
    assert found.num_rows <= 1


def _append(graph: Graph, rows: pa.Table) -> None:
    table = graph.snapshot().table(PERSON)
    ids = pa.array([str(number) for number in rows["number"].to_pylist()])
    whole = rows.add_column(0, "id", ids).select(table.schema.names).cast(table.schema)
    write_set = WriteSet(base=graph.snapshot(), writes={PERSON: (Append(whole),)})
    publish(graph.repository, "main", stage(write_set, "main"))


def _people(first: int, many: int) -> pa.Table:
    numbers = np.arange(first, first + many)
    return pa.table(
        {
            "number": numbers,
            "name": [f"Name {number % 997} of {number % 31}" for number in numbers],
            "age": numbers % 90,
            "about": [_text(number) for number in numbers.tolist()],
        }
    )


def _text(number: int) -> str:
    """Return a text of 240 characters that is like no other."""
    return b64encode(np.random.default_rng((DATA_SEED, number)).bytes(180)).decode()


def _size(graph: Graph) -> int:
    return sum(path.stat().st_size for path in Path(graph.uri).rglob("*") if path.is_file())


def _vectors(folder: Path, many: int, runs: int) -> Iterator[tuple[str, object]]:
    """Compare a search by index with one that compares all vectors."""
    graph = init(folder / "vectors", DOCUMENTS, durable=False)
    chance = np.random.default_rng(DATA_SEED)
    centres = chance.normal(size=(200, DIMENSION))
    for first in range(0, many, 50_000):
        graph.load(_documents(chance, centres, first, min(50_000, many - first)), type="Doc")
    wanted = iter(
        centres[chance.integers(0, 200, 1_000)] + 0.3 * chance.normal(size=(1_000, DIMENSION))
    )
    near = partial(_near, graph, wanted)
    exact = measure(near, runs=runs, warm_up=2)
    yield "nearest_exact", exact
    indexes.LEAST_VECTORS = min(indexes.LEAST_VECTORS, many)
    done: list[Optimized] = []
    yield "vector_index_s", seconds(lambda: done.append(graph.optimize()))
    indexed = measure(near, runs=runs, warm_up=2)
    yield "nearest_indexed", indexed
    yield "nearest_speedup", over(exact, indexed)
    recall = [each.recall for table in done[0].tables for each in table.indexes if each.recall]
    yield "vector_recall", recall[0]


def _near(graph: Graph, wanted: "Iterator[np.ndarray]") -> None:
    assert len(graph.query(NEAR, wanted=next(wanted).tolist())) == 10


def _documents(
    chance: np.random.Generator, centres: "np.ndarray", first: int, many: int
) -> pa.Table:
    found = centres[chance.integers(0, len(centres), many)]
    found = found + 0.5 * chance.normal(size=(many, DIMENSION))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    places = pa.FixedSizeListArray.from_arrays(pa.array(found.astype("f4").ravel()), DIMENSION)
    return pa.table({"number": np.arange(first, first + many), "place": places})


if __name__ == "__main__":
    main()
