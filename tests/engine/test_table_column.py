"""A column that was changed bit by bit has the values of the newest rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.data.derived.numbering import NO_ROW
from omnigraph.data.derived.table_column import TableColumn

ROWS = 12
values = st.none() | st.text(max_size=3)
changes = st.lists(st.dictionaries(st.integers(0, ROWS - 1), values, max_size=4), max_size=5)


def column(first: list[str | None]) -> TableColumn:
    """Return the column of a first version."""
    found = pa.array(first, pa.utf8())
    return TableColumn((1,), found, np.empty(0, np.int64), found.slice(0, 0))


def changed(found: TableColumn, version: int, change: dict[int, str | None]) -> TableColumn:
    """Return the column of the next version."""
    ordinals = np.array(list(change), np.int64)
    fresh = pa.array(list(change.values()), pa.utf8())
    return found.change((*found.lineage, version), ordinals, fresh)


@given(first=st.lists(values, max_size=ROWS), story=changes)
def test_after_any_chain_of_changes_rows_have_their_newest_values(
    first: list[str | None], story: list[dict[int, str | None]]
) -> None:
    found, truth = column(first), dict(enumerate(first))
    for version, change in enumerate(story, start=2):
        before, known = found, dict(truth)
        found = changed(found, version, change)
        truth |= change

        for each, expected in ((found, truth), (before, known)):
            ordinals = [*reversed(expected), NO_ROW, *expected, NO_ROW]
            wanted = [expected.get(ordinal) for ordinal in ordinals]
            assert each.take(np.array(ordinals)).to_pylist() == wanted
        assert found.changed.tolist() == sorted(set(found.changed.tolist()))
        assert found.lineage == (*before.lineage, version)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.int32())])
def test_values_keep_their_type(kind: pa.DataType) -> None:
    empty = pa.array([None, None], kind)
    found = TableColumn((1,), empty, np.empty(0, np.int64), empty.slice(0, 0))

    later = found.change((1, 2), np.array([5, 1]), pa.nulls(2, kind))

    for each in (found, later):
        assert each.take(np.array([0, 1, NO_ROW])).type == kind
        assert each.take(np.empty(0, np.int64)).type == kind


def test_rows_that_came_later_and_were_not_read_are_null() -> None:
    later = changed(column(["a"]), 2, {3: "d"})

    assert later.take(np.array([2])).to_pylist() == [None]
    assert later.take(np.array([0, 2, 3])).to_pylist() == ["a", None, "d"]


def test_its_bytes_are_those_of_what_it_holds() -> None:
    first = column(["a", "b"])

    assert changed(first, 2, {0: "longer"}).nbytes > first.nbytes > 0
