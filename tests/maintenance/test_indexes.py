"""Indexes are derived: whatever is in them, answers are the same; vectors are found by index."""

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.dataset import Index

from omnigraph.api.graph import Graph
from omnigraph.storage import indexes
from omnigraph.storage.finding.nearest import VectorIndex
from omnigraph.versioning.commit import CommitKind
from omnigraph.versioning.writes import DeleteRows, StagedVersion
from tests.maintenance.library import (
    NEAREST,
    answers,
    documents,
    nearest,
    new_library,
    truly_nearest,
    vectors,
)
from tests.sample import write

LEAST = 2_000
DOC = "node:Doc"


@pytest.fixture
def library(tmp_path: Path) -> Graph:
    return new_library(tmp_path / "graph")


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index vectors of small tables, in many parts."""
    monkeypatch.setattr(indexes, "LEAST_VECTORS", LEAST)
    monkeypatch.setattr(indexes, "VECTORS_PER_PARTITION", 32)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many rows an index of vectors was asked for, each time."""
    seen: list[int] = []
    find = VectorIndex.nearest

    def watched(self: VectorIndex, wanted: "np.ndarray", most: int) -> "np.ndarray":
        seen.append(most)
        return find(self, wanted, most)

    monkeypatch.setattr(VectorIndex, "nearest", watched)
    return seen


def _pending(graph: Graph) -> dict[str, int]:
    return {each.column: each.pending for each in graph.coverage()}


def _without_indexes(graph: Graph) -> Graph:
    """Return a graph on the same store whose newest version has no index at all."""
    table = graph.snapshot().table(DOC)
    named = [each.name for each in table.dataset.describe_indices()]
    gone = lance.dataset(f"{graph.uri}/{table.path}", version=table.version)
    segments = [each for name in named for each in _segments(gone, name)]
    bare = table._detached(LanceOperation.CreateIndex([], segments))
    assert bare.dataset.describe_indices() == []
    write(
        graph, {DOC: (StagedVersion(graph.repository.tables.remember(table.path, bare.dataset)),)}
    )
    return graph


def _segments(dataset: lance.LanceDataset, name: str) -> list[Index]:
    found = next(each for each in dataset.describe_indices() if each.name == name)
    version = dataset.version
    return [Index(each.uuid, name, [0], version, each.fragment_ids, 0) for each in found.segments]


def test_answers_are_the_same_with_no_some_and_full_coverage(library: Graph) -> None:
    library.load(documents(0, 1_500), type="Doc")
    library.load(documents(1_500, 5), type="Doc")
    library.load(documents(1_505, 5), type="Doc")
    some = answers(library)
    assert some["year 1900"]
    assert some["word winter"]
    assert some["like wintr"]
    assert _pending(library)["slug"] == 10

    library.ensure_indices()

    assert _pending(library) == {"id": 0, "slug": 0, "text": 0, "year": 0, "place": 1_510}
    assert answers(library) == some
    assert answers(_without_indexes(library)) == some


def test_ensure_indices_is_idempotent_and_leaves_the_fragments(library: Graph) -> None:
    for first in (0, 5, 10):
        library.load(documents(first, 5), type="Doc")

    done = library.ensure_indices()

    assert done.commit is not None
    assert done.commit.kind is CommitKind.PHYSICAL
    assert [each.fragments_removed for each in done.tables] == [0]
    assert library.ensure_indices().commit is None


def test_coverage_says_why_rows_are_not_in_an_index(library: Graph) -> None:
    library.load(documents(0, 50), type="Doc")

    found = {each.column: each for each in library.coverage()}

    assert found["text"].reason is None
    assert (found["text"].indexed, found["text"].pending) == (50, 0)
    assert found["slug"].pending == 50
    assert "scanning so few rows is faster" in (found["slug"].reason or "")
    assert "all are compared" in (found["place"].reason or "")
    assert found["place"].to_json()["rows_pending"] == 50


def test_below_the_threshold_vectors_are_compared_one_by_one(
    library: Graph, asked: list[int]
) -> None:
    library.load(documents(0, 300), type="Doc")
    library.optimize()
    wanted = vectors(1, 99)[0]

    assert nearest(library, wanted) == truly_nearest(library, wanted)
    assert asked == []


@pytest.mark.usefixtures("early")
def test_above_the_threshold_optimize_indexes_vectors_and_measures_recall(
    library: Graph, asked: list[int]
) -> None:
    library.load(documents(0, 3 * LEAST, missing=10), type="Doc")

    (table,) = library.optimize().tables

    measured = next(each for each in table.indexes if each.kind == "vector")
    assert (measured.indexed, measured.pending) == (3 * LEAST, 0)
    assert measured.recall is not None
    assert measured.recall > 0.9
    hasty = VectorIndex(library.snapshot().table(DOC), "place", probes=1).recall()
    assert hasty is not None
    assert hasty < measured.recall
    asked.clear()
    hits = 0
    for wanted in vectors(20, 7):
        hits += len({*nearest(library, wanted)} & {*truly_nearest(library, wanted)})
    assert hits > 0.9 * 200
    assert len(asked) == 20


@pytest.mark.usefixtures("early")
def test_rows_that_are_not_in_the_index_are_found_and_deleted_ones_are_not(library: Graph) -> None:
    library.load(documents(0, 2 * LEAST), type="Doc")
    library.optimize()
    library.load(documents(5_000, 30), type="Doc")
    late = vectors(30, 5_000)
    assert [nearest(library, each, 1)[0] for each in late] == [f"d0{5_000 + n}" for n in range(30)]

    write(library, {DOC: (DeleteRows(pa.array([f"d0{5_000 + n}" for n in range(30)])),)})

    assert not {f"d0{5_000 + n}" for n in range(30)} & {*nearest(library, late[0], 50)}


@pytest.mark.usefixtures("early")
def test_a_query_about_few_rows_finds_all_of_them(library: Graph, asked: list[int]) -> None:
    library.load(documents(0, 2 * LEAST), type="Doc")
    library.optimize()
    asked.clear()
    wanted = vectors(1, 3)[0]
    ordered = truly_nearest(library, wanted, 2 * LEAST)

    rows = library.query(NEAREST, "near_in", wanted=wanted.tolist(), year=1907)
    everything = library.query(NEAREST, "all_near", wanted=wanted.tolist())

    of_year = [name for name in ordered if int(name[1:]) % 40 == 7]
    assert [row["slug"] for row in rows] == of_year[:5]
    assert [row["slug"] for row in everything] == ordered
    assert asked == []


@pytest.mark.usefixtures("early")
def test_optimize_extends_an_index_of_vectors_when_that_is_worth_it(library: Graph) -> None:
    library.load(documents(0, 2 * LEAST), type="Doc")
    library.optimize()
    library.load(documents(6_000, 40), type="Doc")
    library.ensure_indices()
    assert _pending(library)["place"] == 40

    library.load(documents(7_000, LEAST), type="Doc")
    library.ensure_indices()

    assert _pending(library)["place"] == 0
    late = vectors(LEAST, 7_000)[:10]
    assert [nearest(library, each, 1)[0] for each in late] == [f"d0{7_000 + n}" for n in range(10)]


@pytest.mark.usefixtures("early")
def test_vectors_of_no_length_and_too_few_vectors_do_no_harm(library: Graph) -> None:
    rows = documents(0, 2 * LEAST, missing=1)
    library.load(rows, type="Doc")
    assert library.optimize().tables[0].indexes[-1].recall is None
    wanted = vectors(1, 3)[0]
    assert nearest(library, wanted) == []

    zeros = pa.array([[0.0] * 16] * (2 * LEAST), rows["place"].type)
    library.load(rows.set_column(3, "place", zeros), type="Doc", mode="merge")
    library.optimize()

    assert nearest(library, wanted) == []
