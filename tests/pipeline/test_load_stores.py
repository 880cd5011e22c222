"""A load reads from an object store and writes to one, with either engine."""

import gzip
import io
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

from omnigraph.errors import UnreadableError
from omnigraph.storage.store import store_at
from tests.pipeline.loads import broken, edge, engine, person, text, written
from tests.sample import PERSON, ages, edges, new_graph
from tests.stores import Lane

__all__ = ["engine"]


@pytest.fixture
def bucket_files(lane: Lane) -> str:
    """Put files beside a graph, and give their folder."""
    folder = f"{lane.root.rpartition('/')[0]}/data"
    store = S3Store.from_url(folder, client_options={"allow_http": True})
    table = io.BytesIO()
    pq.write_table(pa.table({"slug": ["eve"], "name": ["Eve"]}), table)
    for name, content in {
        "a.jsonl": text(person("ann"), person("bob")).encode(),
        "b.jsonl": text(edge("Knows", "ann", "cleo")).encode(),
        "c.jsonl.gz": gzip.compress(person("cleo").encode()),
        "d.csv": b"slug,name\ndan,Dan\n",
        "e.parquet": table.getvalue(),
    }.items():
        obstore.put(store, name, content)
    return folder


@pytest.mark.parametrize("lane", ["moto"], indirect=True)
def test_files_of_every_kind_come_from_a_bucket_and_rows_go_to_one(
    lane: Lane, bucket_files: str, engine: str, tmp_path: Path
) -> None:
    graph = new_graph(lane.root)

    graph.load([f"{bucket_files}/*.jsonl", f"{bucket_files}/c.jsonl.gz"], engine=engine)
    tables = [f"{bucket_files}/d.csv", f"{bucket_files}/e.parquet"]
    graph.load(tables, type="Person", engine=engine)
    graph.load(written(tmp_path / "f.jsonl", person("fay")), engine=engine)
    graph.load(pa.table({"slug": ["gil"], "name": ["Gil"]}), type="Person", engine=engine)

    assert sorted(ages(graph)) == ["ann", "bob", "cleo", "dan", "eve", "fay", "gil"]
    assert edges(graph) == {("ann", "cleo")}
    assert broken(graph, [f"{bucket_files}/a.jsonl"], engine=engine) == [
        f"error[V12]: {bucket_files}/a.jsonl:{line}: Person.id: Person '{slug}' exists already"
        for line, slug in ((1, "ann"), (2, "bob"))
    ]
    assert not store_at(lane.root).objects.names("_aside"), "the spool is left behind"
    assert graph.snapshot().table(PERSON).count() == 7


@pytest.mark.parametrize("lane", ["moto"], indirect=True)
def test_an_object_that_is_not_there_is_told(lane: Lane, bucket_files: str) -> None:
    graph = new_graph(lane.root)

    for name in ("nothing.jsonl", "nothing-*.jsonl"):
        with pytest.raises(UnreadableError, match="no object matches"):
            graph.load([f"{bucket_files}/{name}"], engine="inline")
