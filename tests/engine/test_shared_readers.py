"""Queries share what is derived from tables; whoever drops or makes it, ordinals and values fit."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.data.derived.memory import MemoryCache
from omnigraph.data.derived.numbering import Numbering
from omnigraph.data.derived.topology import Topology
from omnigraph.read.dense_reader import DenseReader
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import DeleteRows, Upsert
from tests.sample import PERSON, ages, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = new_graph(tmp_path / "graph")
    write(made, {PERSON: (Upsert(people({f"p{n:02}": n for n in range(20)})),)})
    return made


@pytest.fixture
def topology() -> Topology:
    return Topology(1 << 30)


def grown(graph: Graph, topology: Topology) -> DenseReader:
    """Return a reader whose ordinals came about by several versions, with gaps."""
    DenseReader.of(graph.snapshot(), topology).numbering("Person")
    for n in range(3):
        gone = pa.array([f"p{2 * n:02}", f"p{2 * n + 1:02}"])
        write(graph, {PERSON: (DeleteRows(gone), Upsert(people({f"a{n}": 100 + n})))})
        DenseReader.of(graph.snapshot(), topology).numbering("Person")
    reader = DenseReader.of(graph.snapshot(), topology)
    assert len(reader.numbering("Person").lineage) > 1
    return reader


def read(reader: DenseReader, column: str) -> list[object]:
    found: list[object] = reader.values(
        "Person", column, reader.numbering("Person").all()
    ).to_pylist()
    return found


def test_a_column_fits_the_ordinals_of_its_reader_when_the_numbering_was_dropped(
    graph: Graph, topology: Topology
) -> None:
    reader = grown(graph, topology)
    ids = read(reader, "id")
    topology.cache.clear()
    DenseReader.of(graph.snapshot(), topology).numbering("Person")

    assert dict(zip(ids, read(reader, "age"), strict=True)) == ages(graph)


def test_two_who_number_the_rows_of_a_reader_at_once_get_the_same_ordinals(
    graph: Graph, topology: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = DenseReader(graph.snapshot(), topology)
    make: Callable[[Table], Numbering] = topology.numbering
    first: list[Numbering] = []

    def overtaken(table: Table) -> Numbering:
        found = make(table)
        topology.cache.clear()
        monkeypatch.setattr(topology, "numbering", make)
        first.append(reader.numbering("Person"))
        return found

    monkeypatch.setattr(topology, "numbering", overtaken)

    assert reader.numbering("Person") is first[0]


def test_of_two_who_make_a_value_at_once_both_get_the_one_that_is_kept() -> None:
    cache = MemoryCache(1 << 20)

    def overtaken() -> pa.Array:
        cache.get("key", lambda: pa.array([1]), family="family")
        return pa.array([2])

    assert cache.get("key", overtaken, family="family").to_pylist() == [1]
    assert cache.get("key", overtaken, family="family").to_pylist() == [1]
