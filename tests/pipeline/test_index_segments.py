"""Promise: an index has few segments, however many rows were loaded and in however many loads."""

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph.storage import indexes
from omnigraph.storage.indexes import IndexKind, IndexSpec, due_segments, segment_rows

SPEC = IndexSpec("id", IndexKind.BTREE)
ROWS = 20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rules for millions of rows hold for a few."""
    monkeypatch.setattr(indexes, "MOST_SEGMENTS", 4)
    for name in ("SMALL_SEGMENT_ROWS", "JOINED_SEGMENT_ROWS", "MOST_UNCOVERED"):
        monkeypatch.setattr(indexes, name, 0)


def append(folder: Path, number: int) -> LanceDataset:
    rows = pa.table({"id": [f"{number}-{row}" for row in range(ROWS)]})
    return lance.write_dataset(rows, folder, mode="append" if number else "create")


def extend(dataset: LanceDataset, most_joined: int) -> tuple[LanceDataset, int]:
    """Build what is due; returns the table and how many fragments were indexed."""
    due, replaced = due_segments(dataset, [SPEC], most_joined)
    built = [indexes.build_segment(lance.dataset(dataset.uri), each) for each in due]
    change = LanceOperation.CreateIndex(built, replaced)
    done = LanceDataset.commit(dataset, change, read_version=dataset.version)
    return done, sum(len(each.fragments) for each in due)


def count_segments(dataset: LanceDataset) -> int:
    (index,) = dataset.describe_indices()
    return len(index.segments)


def test_loads_join_segments_so_that_few_are_left_and_little_is_built_twice(
    tmp_path: Path,
) -> None:
    most = built = 0
    for number in range(48):
        dataset, fragments = extend(append(tmp_path / "t", number), most_joined=16 * ROWS)
        most, built = max(most, count_segments(dataset)), built + fragments

    assert most <= indexes.MOST_SEGMENTS + 48 // 16 + 4
    assert built <= 48 * 5
    assert dataset.count_rows("id = '7-3'") == dataset.count_rows("id = '47-19'") == 1


def test_what_writes_a_few_rows_joins_no_large_segments(tmp_path: Path) -> None:
    for number in range(8):
        dataset, fragments = extend(append(tmp_path / "t", number), most_joined=0)
        assert fragments == 1

    assert count_segments(dataset) == 8


def test_ten_billion_rows_do_not_make_thousands_of_segments() -> None:
    for kind, least in ((IndexKind.BTREE, 10_000_000), (IndexKind.TEXT, 1_000_000)):
        assert segment_rows(10_000, kind) == segment_rows(200_000_000, kind) == least
        assert 10_000_000_000 / segment_rows(10_000_000_000, kind) <= indexes.MOST_LARGE_SEGMENTS
