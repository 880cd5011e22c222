"""Rows keep their numbers through small changes, and are found by id and by address."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.data.derived import numbering as module
from omnigraph.data.derived.numbering import NO_ROW, Numbering, Numbers, SortedRows

IDS = ("a", "b", "c", "aa", "B", "é", "9", "10", "", "a b", "Z", "zz", "𝛼", "ab", "m")


@dataclass
class Model:
    """The rows of a table: where each id lies, and the number it got when it first came."""

    where: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    free: int = 0

    def put(self, each: str) -> int:
        """Write a row, new or again; gives its address."""
        self.where[each] = self.free
        self.numbers.setdefault(each, len(self.numbers))
        self.free += 1
        return self.where[each]


# What a change does: ids to write, new ones or such as are there, and ids to remove.
Changes = list[tuple[list[str], list[str]]]
some_ids = st.lists(st.sampled_from(IDS), unique=True, max_size=6)
changes = st.lists(st.tuples(some_ids, some_ids), max_size=5)


def numbered(first: list[str]) -> tuple[Numbering, Model]:
    """Return the rows of a first version and the model of them."""
    model = Model()
    for each in first:
        model.put(each)
    ids = sorted(first)
    model.numbers = {each: number for number, each in enumerate(ids)}
    places = np.array([model.where[each] for each in ids], np.int64)
    base = SortedRows(pa.array(ids, pa.utf8()), places.astype(np.uint64), places)
    return Numbering(base, (1,)), model


def extended(
    found: Numbering, model: Model, version: int, put: list[str], cut: list[str]
) -> Numbering:
    """Return the rows after a change, in the model and as they are extended."""
    touched = dict.fromkeys([*put, *cut])
    removed = [model.where.pop(each) for each in touched if each in model.where]
    added = [model.put(each) for each in put]
    return found.extend(
        version,
        np.array(removed, np.uint64),
        pa.array(put, pa.utf8()),
        np.array(added, np.uint64),
    )


def check(found: Numbering, model: Model) -> None:
    """Fail unless the rows are those of the model."""
    here = sorted(model.where, key=lambda each: model.numbers[each])
    ordinals = np.array([model.numbers[each] for each in here], np.int64)
    addresses = np.array([model.where[each] for each in here], np.uint64)
    assert len(found) == len(model.numbers)
    assert found.all().tolist() == ordinals.tolist()
    wanted = [model.numbers[each] if each in model.where else NO_ROW for each in IDS]
    assert found.find(pa.array(IDS)).tolist() == wanted
    assert [found.find(pa.array([each]))[0] for each in IDS] == wanted
    assert [found.find_one(each) for each in IDS] == wanted
    assert found.find_with_removed(pa.array(IDS)).tolist() == [
        model.numbers.get(each, NO_ROW) for each in IDS
    ]
    with_none = np.append(ordinals, NO_ROW)
    assert found.ids_of(with_none).to_pylist() == [*here, None]
    assert found.addresses_of(ordinals).tolist() == addresses.tolist()
    assert found.at(addresses[::-1]).tolist() == ordinals[::-1].tolist()
    by_rank = np.argsort(found.ranks(with_none), kind="stable")
    assert by_rank[0] == len(here), "NONE comes before all others"
    assert [here[at] for at in by_rank[1:]] == sorted(here, key=str.encode)


@given(first=st.lists(st.sampled_from(IDS), unique=True), story=changes)
def test_after_any_chain_of_changes_the_rows_are_the_true_ones(
    first: list[str], story: Changes
) -> None:
    found, model = numbered(first)
    check(found, model)
    for version, (put, cut) in enumerate(story, start=2):
        found = extended(found, model, version, put, [each for each in cut if each not in put])
        check(found, model)
        assert found.version == version


@given(story=changes)
def test_addresses_that_are_used_again_by_another_branch_mean_its_rows(story: Changes) -> None:
    found, model = numbered(["a", "b", "c"])
    for version, (put, cut) in enumerate(story, start=2):
        model.free = max(model.where.values(), default=-1) + 1
        found = extended(found, model, version, put, [each for each in cut if each not in put])
        check(found, model)


@given(story=changes)
def test_the_rows_of_earlier_versions_stay_as_they_were(story: Changes) -> None:
    found, model = numbered(["a", "b", "c", "m"])
    seen = [(found, Model(dict(model.where), dict(model.numbers)))]
    for version, (put, cut) in enumerate(story, start=2):
        found = extended(found, model, version, put, [each for each in cut if each not in put])
        seen.append((found, Model(dict(model.where), dict(model.numbers))))

    for earlier, then in seen:
        check(earlier, then)


def test_the_numbering_tells_through_which_versions_the_ordinals_came() -> None:
    found, model = numbered(["a"])
    later = extended(found, model, 7, ["b"], [])

    assert (found.lineage, found.is_base) == ((1,), True)
    assert (later.lineage, later.is_base, later.version) == ((1, 7), False, 7)


def test_a_row_that_comes_back_has_its_old_number() -> None:
    found, model = numbered(["a", "b"])
    without = extended(found, model, 2, [], ["a"])
    again = extended(without, model, 3, ["a"], [])

    assert without.find(pa.array(["a"])).tolist() == [NO_ROW]
    assert again.find(pa.array(["a"])).tolist() == [0]
    assert again.addresses_of(np.array([0])).tolist() == [2]


def test_what_differs_from_the_base_is_counted() -> None:
    found, model = numbered(["a", "b", "c"])
    later = extended(found, model, 2, ["a", "m"], ["b"])

    assert found.patch_size == 0
    assert later.patch_size == 3


def test_all_ordinals_are_the_same_array_each_time() -> None:
    found, _ = numbered(["a", "b"])

    assert found.all() is found.all()


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_few_ids_are_found_by_halving_and_many_by_hashing(count: int) -> None:
    ids = [f"{number:03}" for number in range(100)]
    found, model = numbered(ids)
    wanted = ["absent", *ids[:count], "zzz", ""]

    places: Numbers = found.find(pa.array(wanted))

    assert places.tolist() == [model.numbers.get(each, NO_ROW) for each in wanted]
    assert places.tolist() == [found.find_one(each) for each in wanted]


def test_one_of_many_ids_is_found_between_those_that_are_kept_as_texts() -> None:
    ids = sorted([f"{chr(97 + number * 37)}{number}" for number in range(3 * module._APART + 5)])
    rows = SortedRows(pa.array(ids), np.arange(len(ids), dtype=np.uint64), np.arange(len(ids)))

    assert [rows.find_one(each) for each in ids] == list(range(len(ids)))
    assert {rows.find_one(each + "-") for each in ("", *ids)} == {NO_ROW}
    assert {rows.find_one(each[:-1] + "\x00") for each in ids} == {NO_ROW}


def test_rows_without_any_base_are_numbered_as_they_come() -> None:
    found, model = numbered([])
    check(found, model)

    later = extended(found, model, 2, ["m", "a"], [])

    assert later.find(pa.array(["a", "m"])).tolist() == [1, 0]
    check(later, model)


def test_texts_have_ranks_from_one() -> None:
    assert module.rank_texts(pa.array(["b", "a", "b", "é"])).tolist() == [2, 1, 2, 3]
