"""A change may be of any number of rows, also of a table that is indexed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.storage import fragments, table
from tests.sample import PERSON, new_graph, people

# Keys of this length fill Lance's pool as twice as many short ones would.
MANY = 250_000
KEY = "a-key-that-is-rather-long-so-that-few-are-enough-{:06d}"
SCHEMA = "node Item { slug: String @key  size: I64 }"
SIZE = "query size() { match { $i: Item } return { count($i) as rows, sum($i.size) as size } }"
CLEAR = "query clear() { delete Item where size > 0 }"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """Return a graph with many indexed rows; tests work on branches of their own."""
    graph = init(tmp_path_factory.mktemp("many") / "graph", SCHEMA, durable=False)
    graph.load(_items(0), type="Item", engine="inline")
    yield graph
    graph.close()


def _items(size: int, count: int = MANY) -> pa.Table:
    slugs = [KEY.format(number) for number in range(count)]
    return pa.table({"slug": slugs, "size": np.full(count, size)})


def _size(graph: Graph, branch: str) -> tuple[object, object]:
    [row] = graph.branch(branch).query(SIZE).to_dicts()
    return row["rows"], row["size"]


def test_a_load_may_replace_all_rows_of_a_large_table(items: Graph) -> None:
    branch = items.create_branch("replaced")

    branch.load(_items(1), type="Item", mode="merge", engine="inline")

    assert _size(items, "replaced") == (MANY, MANY)


def test_a_delete_may_take_most_rows_of_a_large_table(items: Graph) -> None:
    branch = items.create_branch("cleared")
    branch.load(_items(1, MANY - 1), type="Item", mode="merge", engine="inline")

    done = branch.mutate(CLEAR)

    assert done.affected_nodes == MANY - 1
    assert _size(items, "cleared") == (1, 0)


def test_a_merge_may_bring_many_changed_rows_to_a_large_table(items: Graph) -> None:
    ours, theirs = items.create_branch("ours"), items.create_branch("theirs")
    ours.load(_items(3, MANY + 1).slice(MANY), type="Item", engine="inline")
    theirs.load(_items(2), type="Item", mode="merge", engine="inline")

    ours.merge(theirs)

    assert _size(items, "ours") == (MANY + 1, 2 * MANY + 3)


def test_a_change_may_be_of_few_rows_that_are_large(tmp_path: Path) -> None:
    graph, slugs = new_graph(tmp_path), [f"p{number}" for number in range(20_000)]
    table = graph.snapshot().table(PERSON).appended(people(dict.fromkeys(slugs, 1))).settled()
    large = people(dict.fromkeys(slugs, 2))
    large = large.set_column(2, large.schema.field("name"), [pa.repeat("x" * 10_000, len(slugs))])

    assert table.upserted(large).scan(["age"])["age"].unique().to_pylist() == [2]


def test_very_many_rows_are_deleted_by_their_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_MOST_JOINED_IDS", 3)
    monkeypatch.setattr(fragments, "_SOUGHT", 4)
    monkeypatch.setattr(fragments, "_READ_ROWS", 2)
    with init(tmp_path / "graph", SCHEMA, durable=False) as graph:
        for first in range(0, 40, 10):
            graph.load(_items(1, first + 10).slice(first), type="Item", engine="inline")
        graph.load(_items(0, 13), type="Item", mode="merge", engine="inline")

        done = graph.branch().mutate(CLEAR)

        assert done.affected_nodes == 27
        assert _size(graph, "main") == (13, 0)
        assert graph.branch().mutate("query rest() { delete Item where size = 0 }")
        assert _size(graph, "main") == (0, None)
        assert graph.fsck().is_sound
