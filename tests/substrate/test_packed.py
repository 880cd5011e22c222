"""Ids of edges and indexes of ids take few bytes, and rows are found by them as before."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.file import LanceFileReader

from omnigraph import Graph, init
from omnigraph.schema.arrow import PACKED, arrow_schema
from omnigraph.storage.indexes import LEAST_PACKED
from omnigraph.storage.table import Table

SCHEMA = """
node Person { name: String @key  age: I64 }
edge Knows: Person -> Person { since: I64 }
edge Sent: Person -> Person { letter: Blob? }
"""
PEOPLE, EDGES = 500, LEAST_PACKED + 5_000
# Lance takes about 26 bytes for an id and its entry in the index.
MOST_BYTES = 12


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return _loaded(tmp_path_factory.mktemp("packed") / "g")


def _loaded(root: Path) -> Graph:
    graph = init(root, SCHEMA, durable=False)
    names = [f"p{number}" for number in range(PEOPLE)]
    people = pa.table({"name": names, "age": list(range(PEOPLE))})
    graph.load(people, type="Person", engine="inline")
    ends = [names[number * 7 % PEOPLE] for number in range(EDGES)]
    starts = [names[number % PEOPLE] for number in range(EDGES)]
    knows = pa.table({"from": starts, "to": ends, "since": list(range(EDGES))})
    graph.load(knows, type="Knows", engine="inline")
    return graph


def _knows(graph: Graph) -> Table:
    return graph.snapshot().table("edge:Knows")


def _pages(root: Path, table: Table, column: str) -> Path:
    named = {each.name: each for each in table.dataset.describe_indices()}
    segment = named[f"{column}_btree"].segments[0]
    return root / table.path / "_indices" / segment.uuid / "page_data.lance"


def _id_bytes(graph: Graph, root: Path) -> float:
    """Return the bytes of an id in the data and in the index."""
    table = _knows(graph)
    (file,) = [each for one in table.dataset.get_fragments() for each in one.metadata.files]
    reader = LanceFileReader(str(root / table.path / "data" / file._path), columns=["id"])
    data = sum(each.size_bytes for each in reader.file_statistics().columns[:1])
    return (data + _pages(root, table, "id").stat().st_size) / table.count()


def test_an_id_of_an_edge_takes_few_bytes(graph: Graph) -> None:
    root = Path(graph.repository.store.root)

    assert _id_bytes(graph, root) < MOST_BYTES
    assert not list(root.rglob("*.packed"))


def test_every_edge_is_found_by_its_id(graph: Graph) -> None:
    table = _knows(graph)
    rows = table.scan(["id", "since"])
    assert table.count() == EDGES

    for number in range(0, EDGES, 997):
        found = table.scan(["since"], pc.field("id") == rows["id"][number].as_py())
        assert found["since"].to_pylist() == [rows["since"][number].as_py()]
    many = rows["id"].take(pa.array(range(0, EDGES, 13))).combine_chunks()
    assert table.count_where(pc.field("id").isin(many)) == len(many)
    assert table.count_where(pc.field("id") == "nobody") == 0


@pytest.mark.parametrize("column", ["src", "dst"])
def test_ends_of_edges_take_half_of_what_lance_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    """Where most edges have an end of their own, which no other has."""
    names = [f"person-{number:07}" for number in range(0, EDGES * 40, 40)]
    people = pa.table({"name": names, "age": list(range(EDGES))})
    knows = pa.table({"from": names[::-1], "to": names, "since": list(range(EDGES))})
    sizes = []
    for least in (LEAST_PACKED, 1 << 40):
        monkeypatch.setattr("omnigraph.storage.indexes.LEAST_PACKED", least)
        root = tmp_path / str(least)
        graph = init(root, SCHEMA, durable=False)
        graph.load(people, type="Person", engine="inline")
        graph.load(knows, type="Knows", engine="inline")
        sizes.append(_pages(root, _knows(graph), column).stat().st_size)
        found = _knows(graph).scan(["since"], pc.field(column).isin(names[5:25]))
        assert found.num_rows == 20

    assert sizes[0] < 0.6 * sizes[1]


def test_edges_are_deleted_by_their_ids_and_the_graph_is_sound(tmp_path: Path) -> None:
    graph = _loaded(tmp_path / "g")

    graph.mutate("query q() { delete Knows where since < 100 }")
    graph.mutate('query q() { update Person set { age: 7 } where name = "p3" }')
    graph.optimize()

    assert _knows(graph).count() == EDGES - 100
    assert graph.fsck().is_sound
    assert _knows(graph).schema.field("id").metadata == {
        key.encode(): value.encode() for key, value in PACKED.items()
    }


def test_edges_with_blobs_are_stored_too(graph: Graph) -> None:
    sent = pa.table({"from": ["p1", "p2"], "to": ["p2", "p1"], "letter": [b"a" * 5_000, None]})

    graph.load(sent, type="Sent", engine="inline")

    found = graph.query("query q() { match { $p: Person  $p sent $q } return { $q.name as name } }")
    assert sorted(str(each["name"]) for each in found) == ["p1", "p2"]


def test_a_table_that_was_made_without_it_takes_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a release did that did not know how to pack."""
    with monkeypatch.context() as patched:
        patched.setattr("omnigraph.versioning.repository.file_schema", arrow_schema)
        patched.setattr("omnigraph.storage.indexes.LEAST_PACKED", 1 << 40)
        graph = _loaded(tmp_path / "g")
    before = _knows(graph)
    assert before.schema.field("id").metadata is None
    assert _pages(tmp_path / "g", before, "id").stat().st_size > MOST_BYTES * EDGES

    more = pa.table({"from": ["p1"] * 20_000, "to": ["p2"] * 20_000, "since": [1] * 20_000})
    graph.load(more, type="Knows", engine="inline")

    assert _knows(graph).count() == EDGES + 20_000
    assert graph.fsck().is_sound
