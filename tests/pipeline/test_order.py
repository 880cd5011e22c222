"""Rows come in the order of their ids, however few of them fit in memory."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import StorageError
from omnigraph.export.sorting import sort_by_id


def batches_of(ids: list[str], size: int) -> list[pa.RecordBatch]:
    table = pa.table({"id": pa.array(ids, pa.utf8()), "place": range(len(ids))})
    batches: list[pa.RecordBatch] = table.to_batches(max_chunksize=size)
    return batches


@settings(max_examples=100)
@given(
    st.lists(st.text(max_size=4), unique=True, max_size=60),
    st.integers(1, 20),
    st.sampled_from([1, 100, 400, 10_000]),
)
def test_rows_are_in_the_order_of_the_bytes_of_their_ids(
    ids: list[str], size: int, most_held: int
) -> None:
    found = pa.Table.from_batches(
        sort_by_id(batches_of(ids, size), most_held),
        pa.schema([("id", pa.utf8()), ("place", pa.int64())]),
    )
    assert found["id"].to_pylist() == sorted(ids, key=str.encode)
    assert [ids[place] for place in found["place"].to_pylist()] == found["id"].to_pylist()


def test_no_more_is_held_than_is_allowed() -> None:
    ids = [f"{number * 7919 % 50_000:05}" for number in range(50_000)]
    batches = batches_of(ids, 500)
    most_held = sum(batch.nbytes for batch in batches) // 20

    sizes = [batch.nbytes for batch in sort_by_id(batches, most_held)]

    assert len(sizes) >= 20
    assert max(sizes) <= most_held


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = sort_by_id(batches_of([f"{n:03}" for n in range(100)], 10), 100)

    assert next(rows)["id"][0].as_py() == "000"

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StorageError, match="cannot sort rows") as raised:
        list(sort_by_id(batches_of([f"{n:03}" for n in range(100)], 10), 100))
    assert "TMPDIR" in (raised.value.hint or "")
