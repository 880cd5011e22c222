"""In a graph of many types, only the tables that an operation concerns are opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph

TYPES = 80
ADD = "query add($name: String) { insert T0 { name: $name } }"
READ = "query read() { match { $t: T0 } return { $t.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    types = "\n".join(f"node T{number} {{ name: String @key }}" for number in range(TYPES))
    return init(tmp_path / "g", types, durable=False)


@contextmanager
def opened(graph: Graph) -> Iterator[set[str]]:
    """Return the tables whose handles came to be cached meanwhile, by folder."""
    tables = graph.repository.tables
    before = set(tables._handles)
    found: set[str] = set()
    yield found
    found |= {path for path, version in set(tables._handles) - before if path != "__manifest"}


def test_an_insert_opens_one_table(graph: Graph) -> None:
    graph.query(READ)
    again = open_graph(graph.uri, durable=False)
    again.query(READ)

    with opened(again) as found:
        again.mutate(ADD, name="one")

    assert len(found) == 1


def test_a_diff_and_a_merge_open_one_table(graph: Graph) -> None:
    graph.create_branch("side")
    graph.branch("side").mutate(ADD, name="theirs")
    graph.mutate(ADD, name="ours")
    again = open_graph(graph.uri, durable=False)

    with opened(again) as found:
        assert len(list(again.diff("main", "side"))) == 2
        again.merge("side")

    assert len(found) == 1
    assert {row["t.name"] for row in again.query(READ)} == {"ours", "theirs"}


def test_a_wide_graph_is_whole(graph: Graph) -> None:
    found = open_graph(graph.uri, read_only=True)

    assert len(found.snapshot().commit.tables) == TYPES
    assert graph.fsck().findings == ()
