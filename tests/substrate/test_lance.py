"""Every behaviour of Lance that storage and versioning rely on, seen on real tables.

When one of these fails after an upgrade of pylance, the code that relies on it is wrong now.
"""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.dataset import Index, Transaction
from lance.fragment import FragmentMetadata, write_fragments
from lance.indices import IndexSegmentDescription
from lance.lance import _Session as Session
from lance.query import MatchQuery, PhraseQuery
from lance.schema import LanceSchema

from omnigraph.storage import layout
from omnigraph.storage.indexes import TOKENIZER

SCHEMA = pa.schema(
    [pa.field("id", pa.utf8(), nullable=False), pa.field("text", pa.utf8()), ("size", pa.uint64())]
)
DETACHED = 1 << 63
KEY_MARK = b"lance-schema:unenforced-primary-key"


@dataclass(frozen=True)
class Place:
    """Where a table lies."""

    folder: Path

    @property
    def uri(self) -> str:
        return str(self.folder)

    def manifest(self, version: int) -> Path:
        return self.folder / "_versions" / f"{2**64 - 1 - version:020d}.manifest"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "table")


@pytest.fixture
def table(place: Place) -> LanceDataset:
    """A table of two rows at version 1."""
    return lance.write_dataset(rows(a="one", b="two"), place.uri, mode="create")


@pytest.fixture
def indexed(place: Place) -> LanceDataset:
    """A table whose indexes were made before it had rows."""
    made = lance.write_dataset(SCHEMA.empty_table(), place.uri, mode="create")
    made.create_scalar_index("id", "BTREE", name="id_btree")
    made.create_scalar_index("text", "INVERTED", name="text_inverted", **TOKENIZER)
    return lance.dataset(place.uri)


def rows(**texts: str) -> pa.Table:
    columns = {"id": list(texts), "text": list(texts.values()), "size": [1] * len(texts)}
    return pa.table(columns, schema=SCHEMA)


def written(table: LanceDataset, **texts: str) -> list[FragmentMetadata]:
    return list(write_fragments(rows(**texts), table, schema=table.schema))


def detached(table: LanceDataset, change: LanceOperation.BaseOperation) -> LanceDataset:
    return detached_transaction(table, Transaction(table.version, change))


def detached_transaction(table: LanceDataset, change: Transaction) -> LanceDataset:
    return LanceDataset.commit(table, change, detached=True)


def appended(table: LanceDataset, **texts: str) -> LanceDataset:
    return detached(table, LanceOperation.Append(written(table, **texts)))


def attached(table: LanceDataset, change: LanceOperation.BaseOperation) -> LanceDataset:
    return LanceDataset.commit(table, change, read_version=table.version)


def set_key(table: LanceDataset, key: str, value: str | None) -> LanceDataset:
    update = LanceOperation.UpdateMap({key: value})
    return attached(table, LanceOperation.UpdateConfig(table_metadata_updates=update))


def fold(table: LanceDataset) -> LanceOperation.Update:
    """Return the change that swaps all fragments for one."""
    old = [each.fragment_id for each in table.get_fragments()]
    new = list(write_fragments(table.scanner().to_reader(), table, schema=table.schema))
    return LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)


def segment(table: LanceDataset, column: str, kind: str, fragments: list[int]) -> Index:
    options = TOKENIZER if kind == "INVERTED" else {}
    name = f"{column}_{kind.lower()}"
    return table.create_index_uncommitted(
        column, kind, name=name, fragment_ids=fragments, replace=True, **options
    )


def segments(table: LanceDataset, name: str) -> list[IndexSegmentDescription]:
    found = [each.segments for each in table.describe_indices() if each.name == name]
    return found[0] if found else []


def covered(table: LanceDataset, *names: str) -> LanceDataset:
    """Add a segment to each index for the fragments that it does not cover."""
    added = []
    for name in names or ("id_btree", "text_inverted"):
        column, _, kind = name.partition("_")
        known = {number for each in segments(table, name) for number in each.fragment_ids}
        missing = [f.fragment_id for f in table.get_fragments() if f.fragment_id not in known]
        made = segment(table, column, kind.upper(), missing)
        added.append(table.merge_existing_index_segments([made]) if kind == "inverted" else made)
    return detached(table, LanceOperation.CreateIndex(added, []))


def ids(table: LanceDataset, where: pc.Expression | None = None) -> list[str]:
    found: list[str] = table.to_table(columns=["id"], filter=where)["id"].to_pylist()
    return sorted(found)


def search(table: LanceDataset, text: str) -> list[str]:
    query = MatchQuery(text, "text")
    found: list[str] = table.to_table(columns=["id"], full_text_query=query)["id"].to_pylist()
    return sorted(found)


def phrase(table: LanceDataset, text: str) -> list[str]:
    query = PhraseQuery(text, "text")
    found: list[str] = table.to_table(columns=["id"], full_text_query=query)["id"].to_pylist()
    return sorted(found)


def test_a_detached_version_leaves_the_newest_one_alone(table: LanceDataset, place: Place) -> None:
    appended(table, c="three")

    newest = lance.dataset(place.uri)
    assert newest.version == newest.latest_version == 1
    assert [each["version"] for each in newest.versions()] == [1]
    assert ids(newest) == ["a", "b"]


def test_a_detached_version_has_the_top_bit_set(table: LanceDataset) -> None:
    assert appended(table, c="three").version & DETACHED


def test_a_detached_version_is_opened_by_its_number(table: LanceDataset, place: Place) -> None:
    staged = appended(table, c="three")

    session = Session(1 << 20, 1 << 20)
    opened = lance.dataset(place.uri, version=staged.version, session=session)
    assert opened.version == staged.version
    assert ids(opened) == ["a", "b", "c"]


def test_a_detached_version_carries_another(table: LanceDataset, place: Place) -> None:
    second = appended(appended(table, c="three"), d="four")

    assert ids(lance.dataset(place.uri, version=second.version)) == ["a", "b", "c", "d"]
    assert ids(lance.dataset(place.uri)) == ["a", "b"]


def test_a_detached_version_outlives_commits_to_the_newest(
    table: LanceDataset, place: Place
) -> None:
    staged = appended(table, c="three")

    attached(table, LanceOperation.Append(written(table, d="four")))

    assert ids(lance.dataset(place.uri, version=staged.version)) == ["a", "b", "c"]
    assert ids(lance.dataset(place.uri)) == ["a", "b", "d"]


def test_detached_commits_of_one_parent_never_conflict(table: LanceDataset) -> None:
    first, second = detached(table, fold(table)), detached(table, fold(table))

    assert first.version != second.version
    assert ids(first) == ids(second) == ["a", "b"]


def test_children_of_one_parent_do_not_disturb_each_other_in_one_session(
    indexed: LanceDataset, place: Place
) -> None:
    session = Session(64 << 20, 16 << 20)
    parent = lance.dataset(place.uri, session=session)
    texts = {"left": "green river", "right": "red mountain"}
    staged = {key: covered(appended(parent, **{key: text})) for key, text in texts.items()}
    opened = {
        key: lance.dataset(place.uri, version=each.version, session=session)
        for key, each in staged.items()
    }

    def seen(key: str) -> tuple[list[str], list[str], list[str], list[str]]:
        at = opened[key]
        return ids(at), ids(at, pc.field("id") == key), search(at, "river"), search(at, "mountain")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(seen, ["left", "right"] * 10))
    assert answers[0::2] == [(["left"], ["left"], ["left"], [])] * 10
    assert answers[1::2] == [(["right"], ["right"], [], ["right"])] * 10


def test_an_attached_append_to_an_old_version_is_silently_put_on_top(
    table: LanceDataset, place: Place
) -> None:
    attached(table, LanceOperation.Append(written(table, c="three")))

    late = attached(table, LanceOperation.Append(written(table, d="four")))

    assert late.version == 3
    assert ids(lance.dataset(place.uri)) == ["a", "b", "c", "d"]


def test_the_newest_fragment_is_the_one_appended_even_on_top_of_another(
    table: LanceDataset,
) -> None:
    attached(table, LanceOperation.Append(written(table, c="three")))

    late = attached(table, LanceOperation.Append(written(table, d="four")))

    newest = max(each.fragment_id for each in late.get_fragments())
    fragment = late.get_fragment(newest)
    assert fragment is not None
    assert fragment.to_table(columns=["id"])["id"].to_pylist() == ["d"]


def test_a_fragment_that_is_gone_is_none(table: LanceDataset) -> None:
    folded = attached(table, fold(table))

    assert folded.get_fragment(0) is None
    assert [each.fragment_id for each in folded.get_fragments()] == [1]


def test_a_key_that_changed_meanwhile_is_not_set(table: LanceDataset, place: Place) -> None:
    set_key(table, "branch/main", "first")

    with pytest.raises(CommitConflictError):
        set_key(table, "branch/main", "second")

    newest = lance.dataset(place.uri)
    assert newest.version == 2
    assert newest.metadata == {"branch/main": "first"}


def test_a_conflict_is_an_error_of_the_operating_system_too() -> None:
    assert issubclass(CommitConflictError, OSError)


def test_a_key_removed_meanwhile_is_not_set(table: LanceDataset, place: Place) -> None:
    keyed = set_key(table, "branch/main", "first")
    set_key(keyed, "branch/main", None)

    with pytest.raises(CommitConflictError):
        set_key(keyed, "branch/main", "second")

    assert lance.dataset(place.uri).metadata == {}


@pytest.mark.parametrize(
    "rival",
    [
        lambda at: set_key(at, "branch/other", "x"),
        lambda at: attached(at, LanceOperation.Append(written(at, c="three"))),
        lambda at: attached(at, fold(at)),
    ],
    ids=["another key", "an append", "a fold"],
)
def test_a_key_is_set_although_something_else_changed_meanwhile(
    rival: Callable[[LanceDataset], LanceDataset], table: LanceDataset
) -> None:
    before = rival(table)

    after = set_key(table, "branch/main", "x")

    assert after.version == before.version + 1
    assert after.metadata == {**before.metadata, "branch/main": "x"}
    assert ids(after) == ids(before)


def test_a_fold_goes_on_top_of_an_append(table: LanceDataset) -> None:
    change = fold(table)
    attached(table, LanceOperation.Append(written(table, c="three")))

    folded = attached(table, change)

    assert ids(folded) == ["a", "b", "c"]


def test_of_two_folds_of_the_same_fragments_one_is_rejected(
    table: LanceDataset, place: Place
) -> None:
    first, second = fold(table), fold(table)
    attached(table, first)

    with pytest.raises(CommitConflictError):
        attached(table, second)

    assert ids(lance.dataset(place.uri)) == ["a", "b"]


def test_keys_are_kept_by_every_later_version(table: LanceDataset) -> None:
    keyed = set_key(table, "branch/main", "x")

    later = attached(keyed, LanceOperation.Append(written(keyed, c="three")))

    assert attached(later, fold(later)).metadata == {"branch/main": "x"}


def test_of_many_writers_one_creates_the_table_when_none_tries_again(place: Place) -> None:
    ready = threading.Barrier(6)

    def create(number: int) -> str | None:
        name = f"id-{number}"
        new = list(write_fragments(rows(**{name: "x"}), place.uri, schema=SCHEMA))
        ready.wait(60)
        try:
            LanceDataset.commit(place.uri, LanceOperation.Overwrite(SCHEMA, new), max_retries=0)
        except OSError:
            return None
        return name

    with ThreadPoolExecutor(6) as pool:
        winners = [each for each in pool.map(create, range(6)) if each is not None]
    assert ids(lance.dataset(place.uri)) == winners
    assert len(winners) == 1


def test_a_table_written_in_mode_create_overwrites_one_made_meanwhile(place: Place) -> None:
    def slowly() -> Iterator[pa.RecordBatch]:
        yield from rows(late="x").to_batches()
        made = lance.write_dataset(rows(early="x"), place.uri, mode="create")
        attached(made, LanceOperation.Append(written(made, kept="x")))
        yield from rows(later="x").to_batches()

    reader = pa.RecordBatchReader.from_batches(SCHEMA, slowly())
    lance.write_dataset(reader, place.uri, mode="create")

    assert ids(lance.dataset(place.uri)) == ["late", "later"]


def test_a_table_that_is_there_is_not_created_again(table: LanceDataset, place: Place) -> None:
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(c="three"), place.uri, mode="create")


def test_a_missing_table_is_said_to_be_not_found(place: Place) -> None:
    with pytest.raises((OSError, ValueError), match=r"(?i)not found"):
        lance.dataset(place.uri)


def test_schema_and_field_metadata_come_back(place: Place) -> None:
    field = pa.field("id", pa.utf8(), nullable=False, metadata={KEY_MARK: b"true"})
    schema = pa.schema([field], metadata={"omnigraph:stamp": "2"})
    lance.write_dataset(schema.empty_table(), place.uri, mode="create")

    found = lance.dataset(place.uri).schema

    assert found.metadata == {b"omnigraph:stamp": b"2"}
    assert found.field("id").metadata == {KEY_MARK: b"true"}
    assert found.equals(schema)


def test_schema_and_field_metadata_can_be_added_later(table: LanceDataset, place: Place) -> None:
    field = table.lance_schema.field("id")
    assert field is not None
    mark = {field.id(): LanceOperation.UpdateMap({KEY_MARK.decode(): "true"})}
    marked = attached(table, LanceOperation.UpdateConfig(field_metadata_updates=mark))
    stamp = LanceOperation.UpdateMap({"omnigraph:stamp": "2"})

    attached(marked, LanceOperation.UpdateConfig(schema_metadata_updates=stamp))

    found = lance.dataset(place.uri).schema
    assert found.metadata == {b"omnigraph:stamp": b"2"}
    assert found.field("id").metadata == {KEY_MARK: b"true"}


def test_manifest_files_are_named_after_their_version(table: LanceDataset, place: Place) -> None:
    staged = appended(table, c="three")
    attached(table, LanceOperation.Append(written(table, d="four")))

    found = {each.name for each in (place.folder / "_versions").glob("*.manifest")}
    attached_names = {place.manifest(1).name, place.manifest(2).name}
    assert found == attached_names | {f"d{staged.version}.manifest"}


def test_the_hint_names_the_newest_attached_version(table: LanceDataset, place: Place) -> None:
    hint = place.folder / "_versions" / "latest_version_hint.json"
    newest = attached(table, LanceOperation.Append(written(table, c="three")))
    appended(newest, d="four")

    assert json.loads(hint.read_bytes())["version"] == 2


def test_a_version_is_made_of_files_at_known_places(indexed: LanceDataset, place: Place) -> None:
    full = covered(appended(indexed, a="one", b="two"))
    merge = full.merge_insert("id").when_matched_delete()
    staged = detached_transaction(full, merge.execute_uncommitted(pa.table({"id": ["a"]}))[0])

    fragment = staged.get_fragments()[0]
    described = staged.describe_indices()
    folders = [f"_indices/{each.uuid}" for index in described for each in index.segments]
    data = [f"data/{each.path}" for each in fragment.metadata.files]
    deletions = fragment.deletion_file()
    assert deletions is not None
    assert all((place.folder / each).exists() for each in [*folders, *data, deletions])
    assert (fragment.physical_rows, fragment.num_deletions) == (2, 1)
    assert (fragment.metadata.files[0].file_size_bytes or 0) > 0


SENTENCES = {"x": "The Running foxes, near a Café", "y": "foxes the running"}


@pytest.fixture(params=["unindexed", "indexed"])
def searched(request: pytest.FixtureRequest, indexed: LanceDataset) -> LanceDataset:
    """Rows that came after the empty index, with and without a segment of their own."""
    added = appended(indexed, **SENTENCES)
    return covered(added) if request.param == "indexed" else added


@pytest.mark.parametrize("word", ["run", "runs", "FOXES", "fox", "foxes"])
def test_an_index_made_empty_stems_and_lowers_later_rows(word: str, searched: LanceDataset) -> None:
    assert search(searched, word) == ["x", "y"]


def test_an_index_made_empty_keeps_stop_words_of_later_rows(searched: LanceDataset) -> None:
    assert search(searched, "a") == ["x"]


def test_an_index_made_empty_folds_accents_of_later_rows(searched: LanceDataset) -> None:
    assert search(searched, "cafe") == search(searched, "CAFÉ") == ["x"]


def test_an_index_made_empty_knows_the_places_of_words_in_later_rows(
    searched: LanceDataset,
) -> None:
    assert phrase(searched, "the running") == ["x", "y"]
    assert phrase(searched, "running foxes") == ["x"]
    assert phrase(searched, "near foxes") == []


def test_segments_of_one_index_answer_together(indexed: LanceDataset) -> None:
    first = covered(appended(indexed, a="a river"))
    second = covered(appended(first, b="the river"))

    assert len(segments(second, "text_inverted")) >= 2
    assert search(second, "river") == ["a", "b"]
    assert ids(second, pc.field("id") == "b") == ["b"]


def test_a_btree_segment_is_used_by_a_condition(indexed: LanceDataset) -> None:
    staged = covered(appended(indexed, a="one", b="two"))

    plan = staged.scanner(filter=pc.field("id") == "b", columns=["id"]).explain_plan()
    assert "ScalarIndexQuery" in plan


def test_a_text_segment_has_to_be_merged_before_it_can_be_read(indexed: LanceDataset) -> None:
    added = appended(indexed, a="a river")
    bare = segment(added, "text", "INVERTED", [each.fragment_id for each in added.get_fragments()])

    broken = detached(added, LanceOperation.CreateIndex([bare], []))

    with pytest.raises((OSError, ValueError, RuntimeError)):
        search(broken, "river")


def test_an_index_tells_what_is_needed_to_extend_and_replace_it(indexed: LanceDataset) -> None:
    staged = covered(appended(indexed, a="one"))

    described = {each.name: each for each in staged.describe_indices()}
    kinds = {each.index_type.upper() for each in described.values()}
    assert kinds == {"BTREE", "INVERTED"}
    assert described["text_inverted"].field_names == ["text"]
    newest = described["id_btree"].segments[-1]
    assert set(newest.fragment_ids) == {0}
    assert newest.uuid
    assert newest.dataset_version_at_last_update


@pytest.mark.parametrize("name", ["id_btree", "text_inverted"])
def test_segments_are_replaced_by_one(name: str, indexed: LanceDataset) -> None:
    second = covered(appended(covered(appended(indexed, a="river one")), b="river two"))
    old = segments(second, name)
    column, _, kind = name.partition("_")
    made = segment(second, column, kind.upper(), [0, 1])
    made = second.merge_existing_index_segments([made]) if kind == "inverted" else made
    gone = [
        Index(each.uuid, name, [0], each.dataset_version_at_last_update, each.fragment_ids, 0)
        for each in old
    ]

    replaced = detached(second, LanceOperation.CreateIndex([made], gone))

    assert [set(each.fragment_ids) for each in segments(replaced, name)] == [{0, 1}]
    assert search(replaced, "river") == ids(replaced, pc.field("id") >= "a") == ["a", "b"]


def test_swapping_fragments_keeps_indexes_and_what_they_find(indexed: LanceDataset) -> None:
    full = covered(appended(covered(appended(indexed, a="the Rivers")), b="a hill"))

    folded = detached(full, fold(full))

    names = {each.name for each in folded.describe_indices()}
    assert names == {"id_btree", "text_inverted"}
    for state in (folded, covered(folded)):
        assert search(state, "river") == ["a"]
        assert search(state, "the") == ["a"]
        assert ids(state, pc.field("id") == "b") == ["b"]


def test_swapping_all_fragments_for_new_ones_forgets_the_old_rows(indexed: LanceDataset) -> None:
    full = covered(appended(indexed, a="river", b="hill"))
    old = [each.fragment_id for each in full.get_fragments()]
    new = written(full, c="river", d="sea")

    change = LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)
    for state in (swapped := detached(full, change), covered(swapped)):
        assert ids(state) == ["c", "d"]
        assert search(state, "river") == ["c"]
        assert ids(state, pc.field("id") == "a") == []


def test_merge_insert_replaces_and_adds_rows_unseen(indexed: LanceDataset) -> None:
    full = covered(appended(indexed, a="river", b="hill"))
    merge = full.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()

    change = merge.execute_uncommitted(rows(b="river", c="sea"))[0]

    for state in (upserted := detached_transaction(full, change), covered(upserted)):
        assert ids(state) == ["a", "b", "c"]
        assert search(state, "river") == ["a", "b"]
        assert search(state, "hill") == []
    assert ids(full) == ["a", "b"]


def test_merge_insert_deletes_by_key_alone(indexed: LanceDataset) -> None:
    full = covered(appended(indexed, a="river", b="hill"))
    merge = full.merge_insert("id").when_matched_delete()

    change = merge.execute_uncommitted(pa.table({"id": ["a", "nobody"]}))[0]

    left = detached_transaction(full, change)
    assert ids(left) == ["b"]
    assert search(left, "river") == ids(left, pc.field("id") == "a") == []
    assert ids(full) == ["a", "b"]


def test_row_ids_are_not_stable(table: LanceDataset) -> None:
    assert not table.has_stable_row_ids


def test_a_panic_is_no_exception_and_known_by_its_name(
    indexed: LanceDataset, capfd: pytest.CaptureFixture[str]
) -> None:
    full = covered(appended(indexed, a="river"))
    twice = full.merge_existing_index_segments([segment(full, "text", "INVERTED", [0])])

    with pytest.raises(BaseException, match=r".") as caught:
        search(detached(full, LanceOperation.CreateIndex([twice], [])), "river")

    assert caught.type.__name__ == "PanicException"
    assert not issubclass(caught.type, Exception)
    assert "panicked" in capfd.readouterr().err


def test_no_condition_on_an_unsigned_column_can_be_given_as_an_expression(
    table: LanceDataset,
) -> None:
    with pytest.raises((OSError, ValueError, NotImplementedError, pa.ArrowInvalid)):
        table.to_table(filter=pc.field("size") == 1)


def test_conditions_on_text_can_be_given_as_expressions(table: LanceDataset) -> None:
    assert ids(table, pc.field("id").isin(pa.array(["a", "x"]))) == ["a"]
    assert ids(table, (pc.field("id") >= "b") & (pc.field("id") <= "c")) == ["b"]


def test_a_scan_can_be_limited_to_some_fragments(table: LanceDataset) -> None:
    more = appended(appended(table, c="three"), d="four")

    some = more.get_fragments()[1:]
    reader = more.scanner(fragments=some, batch_size_bytes=1 << 20).to_reader()
    assert reader.read_all()["id"].to_pylist() == ["c", "d"]


def test_null_in_a_required_column_is_refused(table: LanceDataset) -> None:
    given = pa.table({"id": pa.array([None], pa.utf8()), "text": ["x"], "size": [1]})

    with pytest.raises((OSError, ValueError)):
        list(write_fragments(given, table, schema=table.schema))


def test_rows_are_taken_by_address_unless_deleted_and_by_count_within_a_fragment(
    tmp_path: Path,
) -> None:
    table = lance.write_dataset(pa.table({"id": ["a", "b", "c", "d"]}), tmp_path / "taken")
    table.delete("id = 'b'")
    (fragment,) = table.get_fragments()

    by_address = [
        table._take_rows(pa.array([at], pa.uint64()), columns=["id"])["id"].to_pylist()
        for at in (1, 2)
    ]

    assert by_address == [[], ["c"]]
    assert fragment.take([1], columns=["id"])["id"].to_pylist() == ["c"]


def test_a_schema_keeps_the_numbers_of_its_columns_when_some_are_left_out(
    tmp_path: Path,
) -> None:
    rows = pa.table({"id": ["a"], "tags": [["x"]], "age": [1], "name": ["n"]})
    dataset = lance.write_dataset(rows, tmp_path / "t")
    reduced: tuple[Any, ...] = tuple(dataset.lance_schema.__reduce__())
    make, (metadata, *fields) = reduced
    # The list has a field for its items.
    left = make(metadata, fields[0], fields[4], fields[1], fields[2])

    change = Transaction(dataset.version, LanceOperation.Project(left))
    dropped = lance.LanceDataset.commit(dataset, change, detached=True)

    assert [(each.name(), each.id()) for each in dropped.lance_schema.fields()] == [
        ("id", 0),
        ("name", 4),
        ("tags", 1),
    ]
    assert dropped.to_table().to_pylist() == [{"id": "a", "name": "n", "tags": ["x"]}]
    assert dataset.checkout_version(dataset.version).to_table() == rows


def test_the_number_of_a_column_that_files_still_have_is_not_given_to_another(
    tmp_path: Path,
) -> None:
    dataset = lance.write_dataset(pa.table({"id": ["a"], "age": [1]}), tmp_path / "t")
    reduced: tuple[Any, ...] = tuple(dataset.lance_schema.__reduce__())
    make, (metadata, *fields) = reduced
    change = Transaction(dataset.version, LanceOperation.Project(make(metadata, fields[0])))
    dropped = lance.LanceDataset.commit(dataset, change, detached=True)
    fragments = [each.metadata for each in dropped.get_fragments()]
    wider = LanceSchema.from_pyarrow(pa.schema([*dropped.schema, pa.field("size", pa.int64())]))

    with pytest.raises(OSError, match="already used by current or dropped fields"):
        lance.LanceDataset.commit(
            dropped,
            Transaction(dropped.version, LanceOperation.Merge(fragments, wider)),
            detached=True,
        )


def test_a_handle_is_made_of_a_manifest_that_was_written_elsewhere(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    dataset = lance.write_dataset(pa.table({"id": ["a"], "n": [1]}), here)
    dataset.create_scalar_index("id", "BTREE", name="id_btree")
    (there / "_versions").mkdir(parents=True)
    name = layout.manifest_name(dataset.version)
    (there / "_versions" / name).write_bytes((here / "_versions" / name).read_bytes())
    near = lance.dataset(there, version=dataset.version)
    rows = pa.table({"id": ["b"], "n": [2]})
    change = Transaction(near.version, LanceOperation.Append(write_fragments(rows, near)))

    made = lance.LanceDataset.commit(near, change, detached=True)
    for file in [each for each in there.rglob("*") if each.is_file()]:
        target = here / file.relative_to(there)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.read_bytes())
    manifest = made._ds.serialized_manifest()
    handle = lance.LanceDataset(here, version=made.version, serialized_manifest=manifest)

    assert handle.version == made.version
    assert [each.name for each in handle.describe_indices()] == ["id_btree"]
    assert handle.to_table(filter="id = 'b'").to_pylist() == [{"id": "b", "n": 2}]
    assert handle.to_table()["n"].to_pylist() == [1, 2]
