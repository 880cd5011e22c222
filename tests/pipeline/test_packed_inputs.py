"""Inputs are known by their first bytes: compressed texts, Parquet and Arrow, under any name."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import UnreadableError, ViolationsError
from tests.pipeline.loads import person, text
from tests.sample import ages, new_graph

LINES = text(*(person(f"p{number}", number) for number in range(3))).encode()
CSV = b"slug,name,age\np0,Ann,0\np1,Bob,1\np2,Cy,2\n"
AGES = {"p0": 0, "p1": 1, "p2": 2}
TABLE = pa.table({"slug": ["p0", "p1", "p2"], "name": ["Ann", "Bob", "Cy"], "age": [0, 1, 2]})


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zstd,
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def _file(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("named", [True, False], ids=["by name", "by another name"])
def test_compressed_records_are_read(
    graph: Graph, tmp_path: Path, ending: str, named: bool
) -> None:
    name = f"people.jsonl.{ending}" if named else "people.jsonl"
    graph.load(_file(tmp_path, name, PACKERS[ending](LINES)), engine="inline")
    assert ages(graph) == AGES


@pytest.mark.parametrize("ending", PACKERS)
def test_parts_that_were_joined_are_read_to_the_end(
    graph: Graph, tmp_path: Path, ending: str
) -> None:
    pack = PACKERS[ending]
    first, rest = LINES[:40], LINES[40:]
    graph.load(_file(tmp_path, f"p.{ending}", pack(first) + pack(rest)), engine="inline")
    assert ages(graph) == AGES


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_csv_is_read(graph: Graph, tmp_path: Path, ending: str) -> None:
    file = _file(tmp_path, f"people.csv.{ending}", PACKERS[ending](CSV))
    graph.load(file, type="Person", engine="inline")
    assert ages(graph) == AGES


@pytest.mark.parametrize("ending", PACKERS)
def test_what_was_cut_is_refused_whole(graph: Graph, tmp_path: Path, ending: str) -> None:
    many = text(*(person(f"p{number}", number) for number in range(5_000))).encode()
    data = PACKERS[ending](many)
    cut = _file(tmp_path, f"people.jsonl.{ending}", data[: len(data) * 2 // 3])
    with pytest.raises(UnreadableError, match=r"people\.jsonl"):
        graph.load(cut, engine="inline")
    assert ages(graph) == {}


def _arrow(kind: str, tmp_path: Path, compression: str | None = None) -> Path:
    path = tmp_path / "people.data"
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with make(str(path), TABLE.schema, options=options) as writer:
        for batch in TABLE.to_batches(max_chunksize=1):
            writer.write_batch(batch)
    return path


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_is_read(graph: Graph, tmp_path: Path, kind: str, compression: str | None) -> None:
    graph.load(_arrow(kind, tmp_path, compression), type="Person", engine="inline")
    assert ages(graph) == AGES


@pytest.mark.parametrize("name", ["PAR1", "ORC", "BZh1"])
def test_a_column_that_is_named_as_a_format_is_a_column(
    graph: Graph, tmp_path: Path, name: str
) -> None:
    file = _file(tmp_path, "people.csv", f"{name},slug\nx,ann\n".encode())
    with pytest.raises(ViolationsError, match=name):
        graph.load(file, type="Person", engine="inline")


def test_parquet_is_read_under_any_name(graph: Graph, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "people")
    graph.load(tmp_path / "people", type="Person", engine="inline")
    assert ages(graph) == AGES


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_broken_arrow_is_refused(graph: Graph, tmp_path: Path, kind: str) -> None:
    path = _arrow(kind, tmp_path)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(UnreadableError, match="Arrow file"):
        graph.load(path, type="Person", engine="inline")
    assert ages(graph) == {}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PK\x03\x04rest", "is a zip archive"),
        (b"\x04\x22\x4d\x18rest", "is compressed by lz4"),
        (b"Obj\x01rest", "is an Avro file"),
        (b"ORC\x11\0\0rest", "is an ORC file"),
        (b"SQLite format 3\0", "is an SQLite database"),
    ],
)
def test_what_is_not_read_is_named(graph: Graph, tmp_path: Path, data: bytes, told: str) -> None:
    with pytest.raises(UnreadableError, match=told) as raised:
        graph.load(_file(tmp_path, "people.jsonl", data), engine="inline")
    assert "Parquet" in (raised.value.hint or "")
