"""Promise: one change may replace or delete every row of a table, however many there are."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.data.values import lookup
from omnigraph.write.load import load as loading
from omnigraph.write.load import replaced
from tests.pipeline.loads import engine

__all__ = ["engine"]

# More than Lance can join by an index, whose hits have to fit in a small pool.
ROWS = 500_000
SCHEMA = "node Item { number: I64 @key  value: I64 }"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """Return a graph of many narrow rows, and a branch on which each of them was replaced."""
    graph = init(tmp_path_factory.mktemp("large") / "graph", SCHEMA, durable=False)
    graph.load(_items(0), type="Item", engine="inline")
    graph.create_branch("replaced")
    yield graph
    graph.close()


@pytest.fixture(scope="module")
def updated(graph: Graph) -> int:
    """Replace every row of a branch, and return how many that were."""
    done = graph.load(_items(1), type="Item", mode="merge", branch="replaced", engine="inline")
    assert done.counts is not None
    return done.counts.updated


def _items(value: int) -> pa.Table:
    return pa.table({"number": np.arange(ROWS), "value": np.full(ROWS, value)})


def _values(graph: Graph, branch: str) -> dict[int, int]:
    """Return how many rows there are of each value."""
    snapshot = graph.snapshot(branch)
    stored = snapshot.catalog.stored("Item")
    assert stored is not None
    rows = snapshot.table(stored.identity).scan(["id", "value"])
    assert len(rows["id"].unique()) == len(rows)
    found = rows["value"].combine_chunks().value_counts()
    return {each["values"]: each["counts"] for each in found.to_pylist()}


def test_a_load_replaces_every_row(graph: Graph, updated: int) -> None:
    assert updated == ROWS
    assert _values(graph, "replaced") == {1: ROWS}
    assert _values(graph, "main") == {0: ROWS}


@pytest.mark.long
def test_a_merge_takes_every_row_of_a_branch(graph: Graph, updated: int) -> None:
    graph.create_branch("ours")
    graph.load(pa.table({"number": [updated], "value": [5]}), type="Item", branch="ours")
    graph.branch("ours").mutate("query q() { delete Item where number = 7 }")

    graph.merge("replaced", into="ours", engine="inline", resolutions="ours")

    assert _values(graph, "ours") == {1: ROWS - 1, 5: 1}


def test_a_statement_deletes_most_rows(graph: Graph) -> None:
    graph.create_branch("emptied")

    graph.branch("emptied").mutate("query clear() { delete Item where number > 0 }")

    assert _values(graph, "emptied") == {0: 1}


def test_tasks_remove_the_rows_that_others_replace(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FEW_ROWS", "_MOST_HELD", "_ROWS_PER_TASK"):
        monkeypatch.setattr(replaced, name, 0)
    monkeypatch.setattr(loading, "_HELD_BYTES", 0)
    graph = init(tmp_path / "graph", SCHEMA, durable=False)
    for first in (0, 100, 200, 300):
        numbers = np.arange(first, first + 100)
        rows = pa.table({"number": numbers, "value": np.zeros(100, int)})
        graph.load(rows, type="Item", engine="inline")
    graph.create_branch("ours")
    some = pa.table({"number": np.arange(50, 350, 3), "value": np.arange(50, 350, 3) % 2})

    done = graph.load(some, type="Item", mode="merge", engine=engine)
    graph.branch("ours").mutate("query q() { delete Item where number = 52 }")
    graph.merge("main", into="ours", engine=engine)

    assert done.counts is not None
    assert (done.counts.updated, done.counts.unchanged) == (50, 50)
    assert _values(graph, "main") == {0: 350, 1: 50}
    assert _values(graph, "ours") == {0: 349, 1: 50}
    assert not list((tmp_path / "graph" / "_aside").glob("*"))


@pytest.mark.parametrize("most_bytes", [pytest.param(1, marks=pytest.mark.long), 64 << 20])
def test_rows_of_many_ids_are_found_however_many_are_read_at_a_time(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(lookup, "_MOST_BYTES", most_bytes)
    snapshot = graph.snapshot()
    stored = snapshot.catalog.stored("Item")
    assert stored is not None
    wanted = pa.array([str(number) for number in range(0, 2 * ROWS, 4)])

    found = lookup.look_up_rows(snapshot.table(stored.identity), "id", wanted, ["number"])

    assert sorted(found["number"].to_pylist()) == list(range(0, ROWS, 4))
