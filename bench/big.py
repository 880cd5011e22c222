"""Big: what large values and a large graph take, in memory and on disk.

Each piece of work runs in a process of its own, so that its memory is that of the work: the most
that it held, less what it held before.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.record import DATA_SEED, store
from omnigraph import init
from omnigraph import open as open_graph

MB = 1_000_000
NODES, EDGES_EACH = 1_000_000, 10
BLOB_MB, BLOBS_MB, BLOBS = 50, 20, 7
TEXT_MB, TEXTS = 10, 21
DIMENSIONS, VECTORS, BLOCK = 4_096, 100_000, 5_000
SCHEMAS = {
    "files": "node File { name: String @key  content: Blob }",
    "texts": "node Note { name: String @key  text: String }",
    "vectors": f"node Point {{ name: String @key  at: Vector({DIMENSIONS}) }}",
    "people": "node Person { name: String @key  age: I64 }\nedge Knows: Person -> Person",
}
_KEEP = (
    "query keep($name: String, $content: Blob) { insert File { name: $name, content: $content } }"
)
_TEXT = "query one($name: String) { match { $n: Note { name: $name } } return { $n.text as text } }"
_NEAR = f"""query near($at: Vector({DIMENSIONS})) {{
  match {{ $p: Point }} return {{ $p.name as name }} order {{ nearest($p.at, $at) }} limit 10
}}"""
_HOPS = """query hops() {
  match { $p: Person  $p knows $q  $q knows $r } return { count($r) as n }
}"""


def main() -> None:
    """Measure, print and store; a run of smaller sizes is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.big", description=__doc__)
    options.add_argument("--nodes", type=int, default=NODES)
    options.add_argument("--vectors", type=int, default=VECTORS)
    options.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.work is not None:
        print(json.dumps(_observed(WORKS[chosen.work], chosen.folder)))
        return
    findings: dict[str, object] = {"load_average": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        for name, found in _measure(Path(folder), chosen.nodes, chosen.vectors):
            print(f"{name:36} {found}", flush=True)
            findings[name] = found
    if (chosen.nodes, chosen.vectors) == (NODES, VECTORS):
        path = store("big", ["pylance", "pyarrow"], findings)
        print(f"stored in {path.relative_to(Path.cwd())}")


def _measure(folder: Path, nodes: int, vectors: int) -> Iterator[tuple[str, object]]:
    for name, schema in SCHEMAS.items():
        init(folder / name, schema, durable=False).close()
    insert = _alone("insert_blob", folder)
    yield "blob_insert_grown_over_size", insert["grown_mb"] / BLOB_MB
    yield "blob_disk_over_size", _disk_mb(folder / "files") / BLOB_MB
    _alone("insert_blobs", folder)
    every = BLOB_MB + BLOBS * BLOBS_MB
    yield "blobs_disk_over_size", _disk_mb(folder / "files") / every
    _alone("insert_texts", folder)
    yield "text_read_over_size", _alone("read_text", folder)["read_mb"] / TEXT_MB
    matrix = _write_vectors(folder / "vectors.parquet", vectors)
    yield "vectors_load_grown_mb", _alone("load_vectors", folder)["grown_mb"]
    yield "vectors_nearest_grown_over_matrix", _alone("nearest", folder)["grown_mb"] / matrix
    parquet = _write_people(folder, nodes)
    _alone("load_people", folder)
    yield "disk_over_parquet", _disk_mb(folder / "people") / parquet
    _alone("hop", folder)
    yield "disk_with_derived_over_parquet", _disk_mb(folder / "people") / parquet


def _alone(work: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.big", "--work", work, "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _observed(work: Callable[[Path], Callable[[], object]], folder: Path) -> dict[str, float]:
    """Do a piece of work, and return what it held and read beyond what its preparation did."""
    do = work(folder)
    Path("/proc/self/clear_refs").write_text("5")  # the most that was held counts from here
    held, read = _status("VmRSS"), _bytes_read()
    do()
    return {"grown_mb": _status("VmHWM") - held, "read_mb": (_bytes_read() - read) / MB}


def _status(line: str) -> float:
    found = re.search(rf"{line}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / MB


def _bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def _disk_mb(root: Path) -> float:
    return sum(each.stat().st_size for each in root.rglob("*") if each.is_file()) / MB


def _insert_blob(folder: Path) -> Callable[[], object]:
    graph, content = open_graph(folder / "files", durable=False), os.urandom(BLOB_MB * MB)
    return lambda: graph.mutate(_KEEP, name="large", content=content)


def _insert_blobs(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "files", durable=False)

    def insert() -> None:
        for number in range(BLOBS):
            graph.mutate(_KEEP, name=f"f{number}", content=os.urandom(BLOBS_MB * MB))

    return insert


def _insert_texts(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "texts", durable=False)

    def insert() -> None:
        for number in range(TEXTS):
            text = os.urandom(TEXT_MB * MB // 2).hex()
            graph.load(pa.table({"name": [f"t{number}"], "text": [text]}), type="Note")

    return insert


def _read_text(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "texts", durable=False)
    return lambda: graph.query(_TEXT, name="t7")


def _load_vectors(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "vectors", durable=False)
    return lambda: graph.load(folder / "vectors.parquet", type="Point", engine="inline")


def _nearest(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "vectors", durable=False)
    return lambda: graph.query(_NEAR, at=[1.0] * DIMENSIONS)


def _load_people(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "people", durable=False)

    def load() -> None:
        graph.load(folder / "nodes.parquet", type="Person", engine="inline")
        graph.load(folder / "edges.parquet", type="Knows", engine="inline")

    return load


def _hop(folder: Path) -> Callable[[], object]:
    graph = open_graph(folder / "people", durable=False)
    return lambda: graph.query(_HOPS)


WORKS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "insert_blob": _insert_blob,
    "insert_blobs": _insert_blobs,
    "insert_texts": _insert_texts,
    "read_text": _read_text,
    "load_vectors": _load_vectors,
    "nearest": _nearest,
    "load_people": _load_people,
    "hop": _hop,
}


def _write_vectors(path: Path, vectors: int) -> float:
    """Write random vectors, and return the size of their matrix in megabytes."""
    chance = np.random.default_rng(DATA_SEED)
    schema = pa.schema({"name": pa.utf8(), "at": pa.list_(pa.float32(), DIMENSIONS)})
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for first in range(0, vectors, BLOCK):
            count = min(BLOCK, vectors - first)
            values = pa.array(chance.random(count * DIMENSIONS, dtype=np.float32))
            names = [f"v{number}" for number in range(first, first + count)]
            points = pa.FixedSizeListArray.from_arrays(values, DIMENSIONS)
            writer.write_table(pa.table({"name": names, "at": points}, schema=schema))
    return vectors * DIMENSIONS * 4 / MB


def _write_people(folder: Path, nodes: int) -> float:
    """Write people and whom they know, and return the size of both files in megabytes."""
    chance = np.random.default_rng(DATA_SEED)
    names = pa.array([f"p{number}" for number in range(nodes)])
    ages = pa.array(chance.integers(0, 100, nodes))
    pq.write_table(pa.table({"name": names, "age": ages}), folder / "nodes.parquet")
    ends = (chance.integers(0, nodes, nodes * EDGES_EACH) for _ in range(2))
    edges = pa.table(dict(zip(("from", "to"), map(names.take, ends), strict=True)))
    pq.write_table(edges, folder / "edges.parquet")
    return sum((folder / each).stat().st_size for each in ("nodes.parquet", "edges.parquet")) / MB


if __name__ == "__main__":
    main()
