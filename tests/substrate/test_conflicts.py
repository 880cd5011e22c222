"""Which changes of one table exclude each other, seen on real tables.

The model of the commit protocol (tests/protocol) assumes each of these. When one fails after an
upgrade of pylance, the model is wrong, and so may be the protocol.
"""

import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

SCHEMA = pa.schema([pa.field("id", pa.utf8(), nullable=False)])
Keys = Mapping[str, str | None]


@pytest.fixture
def table(tmp_path: Path) -> LanceDataset:
    """A table of two fragments with two keys."""
    uri = str(tmp_path / "table")
    lance.write_dataset(_rows("a"), uri)
    made = lance.write_dataset(_rows("b"), uri, mode="append")
    return _set(made, {"main": "c1", "draft": "c1"})


def _rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids)}, schema=SCHEMA)


def _commit(table: LanceDataset, change: LanceOperation.BaseOperation) -> LanceDataset:
    return LanceDataset.commit(table, change, read_version=table.version)


def _set(table: LanceDataset, keys: Keys) -> LanceDataset:
    update = LanceOperation.UpdateMap(dict(keys))
    return _commit(table, LanceOperation.UpdateConfig(table_metadata_updates=update))


def _append(table: LanceDataset, *ids: str) -> LanceDataset:
    written = list(write_fragments(_rows(*ids), table, schema=SCHEMA))
    return _commit(table, LanceOperation.Append(written))


def _fold(table: LanceDataset, *numbers: int) -> LanceDataset:
    """Write some fragments anew."""
    old = [each for each in table.get_fragments() if each.fragment_id in numbers]
    new = write_fragments(table.scanner(fragments=old).to_reader(), table, schema=SCHEMA)
    gone = [each.fragment_id for each in old]
    change = LanceOperation.Update(removed_fragment_ids=gone, new_fragments=list(new))
    return _commit(table, change)


def _index(table: LanceDataset) -> LanceDataset:
    numbers = [each.fragment_id for each in table.get_fragments()]
    made = table.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=numbers)
    return _commit(table, LanceOperation.CreateIndex([made], []))


def _newest(table: LanceDataset) -> LanceDataset:
    return lance.dataset(table.uri)


def _ids(table: LanceDataset) -> list[str]:
    found: list[str] = _newest(table).to_table()["id"].to_pylist()
    return sorted(found)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"main": "c2"}, {"main": "c3"}),
        ({"main": "c2"}, {"main": "c2"}),
        ({"main": "c1"}, {"main": "c1"}),
        ({"main": "c2"}, {"main": None}),
        ({"main": None}, {"main": "c2"}),
        ({"main": None}, {"main": None}),
        ({"never": "c1"}, {"never": "c1"}),
        ({"never": None}, {"never": None}),
        ({"main": "c2", "draft": "c2"}, {"draft": "c1", "other": "c1"}),
    ],
    ids=str,
)
def test_of_two_changes_that_share_a_key_the_second_is_rejected(
    table: LanceDataset, first: Keys, second: Keys
) -> None:
    after = _set(table, first)

    with pytest.raises(CommitConflictError):
        _set(table, second)

    assert _newest(table).version == after.version
    assert _newest(table).metadata == after.metadata


def test_two_changes_of_different_keys_are_both_made(table: LanceDataset) -> None:
    _set(table, {"main": "c2", "new": "c1"})
    _set(table, {"draft": None, "other": "c1"})

    assert _newest(table).metadata == {"main": "c2", "new": "c1", "other": "c1"}


def test_a_rival_is_found_without_the_file_of_its_transaction(table: LanceDataset) -> None:
    after = _append(_set(table, {"main": "c2"}), "c")
    shutil.rmtree(Path(table.uri) / "_transactions")

    with pytest.raises(CommitConflictError):
        _set(table, {"main": "c3"})
    _set(table, {"draft": "c2"})

    assert _newest(table).version == after.version + 1
    assert _newest(table).metadata == {"main": "c2", "draft": "c2"}
    assert _ids(table) == ["a", "b", "c"]


def test_an_append_goes_on_top_of_whatever_came_first(table: LanceDataset) -> None:
    _set(table, {"main": "c2"})
    _append(table, "c")
    _append(table, "d")
    _fold(table, 0, 1)
    _append(table, "e")

    assert _ids(table) == ["a", "b", "c", "d", "e"]
    assert _newest(table).metadata == {"main": "c2", "draft": "c1"}


def test_a_change_of_keys_goes_on_top_of_appends_folds_and_indexes(table: LanceDataset) -> None:
    _append(table, "c")
    _fold(table, 0)
    _index(_newest(table))
    _set(table, {"main": "c2"})

    assert _ids(table) == ["a", "b", "c"]
    assert _newest(table).metadata["main"] == "c2"


def test_folds_and_indexes_go_on_top_of_a_change_of_keys(table: LanceDataset) -> None:
    _set(table, {"main": "c2"})
    _index(table)
    _fold(table, 0)
    _fold(table, 1)

    assert _ids(table) == ["a", "b"]
    assert _newest(table).metadata["main"] == "c2"


def test_of_two_folds_of_one_fragment_the_second_is_rejected(table: LanceDataset) -> None:
    _fold(table, 0)

    with pytest.raises(CommitConflictError):
        _fold(table, 0, 1)

    assert _ids(table) == ["a", "b"]


def test_a_stale_change_is_silently_made_once_the_version_that_changed_its_key_is_removed(
    table: LanceDataset,
) -> None:
    _append(_set(table, {"main": "c2"}), "c")
    _newest(table).cleanup_old_versions(older_than=timedelta(0))

    _set(table, {"main": "c3"})

    assert _newest(table).metadata["main"] == "c3"


def test_a_change_that_is_the_newest_version_outlives_the_removal_of_old_ones(
    table: LanceDataset,
) -> None:
    _set(table, {"main": "c2"})
    _newest(table).cleanup_old_versions(older_than=timedelta(0))

    with pytest.raises(CommitConflictError):
        _set(table, {"main": "c3"})

    assert _newest(table).metadata["main"] == "c2"


def _set_both(table: LanceDataset, keys: Keys, schema: Keys) -> LanceDataset:
    both = (LanceOperation.UpdateMap(dict(each)) for each in (keys, schema))
    change = LanceOperation.UpdateConfig(
        table_metadata_updates=next(both), schema_metadata_updates=next(both)
    )
    return _commit(table, change)


def test_keys_of_the_table_and_of_its_schema_are_set_by_one_commit(table: LanceDataset) -> None:
    done = _set_both(table, {"draft": None, "layers": "L"}, {"stamp": "4"})

    assert done.version == table.version + 1
    assert done.metadata == {"main": "c1", "layers": "L"}
    assert done.schema.metadata == {b"stamp": b"4"}


def test_such_a_commit_excludes_those_of_its_keys_and_no_others(table: LanceDataset) -> None:
    _set(table, {"draft": "c2"})
    with pytest.raises(CommitConflictError):
        _set_both(table, {"draft": None}, {"stamp": "4"})

    _set_both(_newest(table), {"draft": None}, {"stamp": "4"})
    with pytest.raises(CommitConflictError):
        _set(table, {"draft": "c3"})
    _set(table, {"main": "c2"})
    _append(table, "c")

    assert _newest(table).metadata == {"main": "c2"}
    assert _ids(table) == ["a", "b", "c"]
