"""Rules between rows cost what is new: each value once, in full parcels, and look-ups by price."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph, init
from omnigraph.errors import Code
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import InlineRunner, Parcel
from omnigraph.storage.staging import place_of
from omnigraph.write.load import checks, gathered, keys, lookups
from omnigraph.write.load import load as loading
from omnigraph.write.load.aside import new_aside
from omnigraph.write.load.gathered import GatheredKeys, KeyGatherer, KeyWriter
from omnigraph.write.load.lookups import is_quicker_looked_up, share_of_value
from omnigraph.write.load.rules import RuleReading
from tests.pipeline.loads import broken, edge, engine, node, refused, text
from tests.templates import fresh_graph

__all__ = ["engine"]

Item = TypeVar("Item")
Found = TypeVar("Found")

SCHEMA = """
node Person { slug: String @key  email: String? @unique }
edge Knows: Person -> Person
"""
ENDS = RuleReading("Knows", ("dst",), staged=True)
IDS = RuleReading("Person", ("id",), staged=True)


def batch(values: Iterable[str], name: str = "id") -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.utf8())], names=[name])


def unpacked(parcels: Iterable[Parcel]) -> Counter[str]:
    """Return the values of parcels and how often each came."""
    found: Counter[str] = Counter()
    for parcel in parcels:
        table = keys.unpack(parcel.payload)
        for value, count in zip(
            table[0].to_pylist(), gathered.counts_of(table).to_pylist(), strict=True
        ):
            found[value] += count
    return found


def test_a_hub_with_many_edges_is_one_value_of_each_split() -> None:
    gatherer = KeyGatherer(buckets=64)
    edges = batch(["hub"] * 20_000, "dst")

    early = [parcel for _ in range(100) for parcel in gatherer.add(ENDS, edges)]
    parcels = gatherer.finish()

    assert early == []
    assert unpacked(parcels) == {"hub": 2_000_000}
    assert sum(len(each.payload) for each in parcels) < 1_000


def test_values_that_hardly_repeat_are_sent_without_counts() -> None:
    ends = [f"person-{number % 9_500}" for number in range(10_000)]
    gatherer = KeyGatherer(buckets=8)

    parcels = [*gatherer.add(ENDS, batch(ends, "dst")), *gatherer.finish()]

    assert {keys.unpack(each.payload).num_columns for each in parcels} == {1}
    assert unpacked(parcels) == Counter(ends)


@pytest.mark.parametrize("often", [80, 2_000])
def test_a_value_that_comes_often_among_others_is_sent_once(often: int) -> None:
    ends = [f"person-{number}" for number in range(20_000)] + ["hub"] * often
    gatherer = KeyGatherer(buckets=8)

    parcels = [*gatherer.add(ENDS, batch(ends, "dst")), *gatherer.finish()]

    values = [value for each in parcels for value in keys.unpack(each.payload)[0].to_pylist()]
    assert values.count("hub") == 1
    assert unpacked(parcels) == Counter(ends)


def test_pairs_of_equal_values_are_sent_once() -> None:
    ends = [f"person-{number // 2}" for number in range(20_000)]
    gatherer = KeyGatherer(buckets=8)

    parcels = [*gatherer.add(ENDS, batch(ends, "dst")), *gatherer.finish()]

    assert sum(len(keys.unpack(each.payload)) for each in parcels) == 10_000
    assert unpacked(parcels) == Counter(ends)


def test_many_rows_go_to_more_buckets_than_numbers_of_16_bits_have() -> None:
    ids = batch([f"person-{number}" for number in range(2_000)])

    parts = dict(keys.split_into_buckets(ids, 100_000))

    assert max(parts) > 1 << 16
    assert sorted(value for each in parts.values() for value in each[0].to_pylist()) == sorted(
        ids[0].to_pylist()
    )


def test_more_buckets_hardly_make_more_bytes() -> None:
    ids = batch([f"person-{number}" for number in range(100_000)])

    def size(buckets: int) -> int:
        gatherer = KeyGatherer(buckets)
        return sum(len(each.payload) for each in [*gatherer.add(IDS, ids), *gatherer.finish()])

    assert size(1_024) < 1.6 * size(1)


@given(
    batches=st.lists(st.lists(st.text(max_size=4), max_size=8), max_size=8),
    most_bytes=st.sampled_from([1, 40, 1 << 20]),
    buckets=st.integers(1, 5),
)
def test_gathered_values_are_those_that_came_however_often_they_are_joined(
    batches: list[list[str]], most_bytes: int, buckets: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered, "_MOST_BYTES", most_bytes)
        gatherer = KeyGatherer(buckets)
        parcels = [parcel for each in batches for parcel in gatherer.add(IDS, batch(each))]
        parcels += gatherer.finish()

    assert unpacked(parcels) == Counter(value for each in batches for value in each)
    places = {
        value: parcel.bucket
        for parcel in parcels
        for value in keys.unpack(parcel.payload)[0].to_pylist()
    }
    again = keys.split_into_buckets(batch(sorted(places)), buckets)
    assert {value: place for place, part in again for value in part[0].to_pylist()} == places


def test_equal_texts_meet_however_long_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_HASHED_BYTES", 5)
    monkeypatch.setattr(keys, "_SLICE_BYTES", 12)
    texts = ["", "å" * 40, "a", "", "bcd", "å" * 40, "a", *map(str, range(50))]

    whole = dict[str, set[int]]()
    for bucket, part in keys.split_into_buckets(batch(texts).slice(1), 7):
        for value in part[0].to_pylist():
            whole.setdefault(value, set()).add(bucket)

    assert set(whole) == set(texts)
    assert all(len(places) == 1 for places in whole.values())
    assert len({place for places in whole.values() for place in places}) > 3


class Counted(InlineRunner):
    """Runs tasks in this process, and counts what they send to buckets and what comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[object] = []
        self.sent = 0

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Callable[[Sequence[Parcel]], Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,
    ) -> list[Found]:
        def emitted(item: Item) -> Iterable[Parcel]:
            for parcel in task(item):
                self.sent += len(parcel.payload)
                yield parcel

        self.items += items
        return super().map_reduce(emitted, items, reduce, progress, buckets=buckets)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Let the rules of a load be checked by a runner that counts."""
    runner, find = Counted(), checks.find_broken_values
    monkeypatch.setattr(
        "omnigraph.write.load.load.find_broken_values",
        lambda _, check, progress: find(runner, check, progress),
    )
    monkeypatch.setattr(checks, "_FEW_VALUES", -1)
    return runner


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


def people(first: int, count: int) -> pa.Table:
    slugs = [f"p{number:07}" for number in range(first, first + count)]
    return pa.table({"slug": slugs, "email": [f"{slug}@here" for slug in slugs]})


def test_what_was_staged_is_not_read_again_to_be_checked(graph: Graph, counted: Counted) -> None:
    lines = [node("Person", slug=slug) for slug in "abc"]
    graph.load(text(*lines, edge("Knows", "a", "b"), edge("Knows", "a", "c")), engine="inline")

    assert [type(each) for each in counted.items] == [GatheredKeys]


def test_an_append_costs_what_is_new_and_not_what_is_there(graph: Graph, counted: Counted) -> None:
    graph.load(people(0, 100_000), type="Person", engine="inline")
    counted.sent = 0
    graph.load(people(100_000, 20), type="Person", engine="inline")
    few = counted.sent
    graph.load(people(100_020, 20), type="Person", engine="inline")

    assert counted.sent == 2 * few < 10_000
    error = refused(graph, people(99_999, 2), type_name="Person", engine="inline")
    assert [(each.line, each.code) for each in error.violations] == [
        (1, Code.EXISTING_KEY),
        (1, Code.UNIQUE_VALUE),
        (2, Code.EXISTING_KEY),
        (2, Code.UNIQUE_VALUE),
    ]


def test_no_number_of_new_rows_is_a_cliff() -> None:
    assert is_quicker_looked_up(4_999, 100_000_000)
    assert is_quicker_looked_up(5_001, 100_000_000)
    assert is_quicker_looked_up(1_000_000, 1_000_000_000)
    assert not is_quicker_looked_up(1_000, 1_000)
    for rows in (10_000, 1_000_000, 10**9):
        turns = [is_quicker_looked_up(sought, rows) for sought in range(0, rows, rows // 100)]
        assert turns == sorted(turns, reverse=True)


PARTS = """
node Part { vendor: String  code: String  @unique(vendor, code) }
node Cell { x: I64  y: I64  z: I64  @unique(x, y, z) }
"""


def parts(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    vendors = [f"v{number % 4}" for number in numbers]
    return pa.table({"vendor": vendors, "code": [f"c{number // 4}" for number in numbers]})


def test_values_of_several_columns_are_looked_up_by_the_one_that_says_most(
    tmp_path: Path, counted: Counted
) -> None:
    graph = init(tmp_path / "parts", PARTS, durable=False)
    graph.load(parts(0, 20_000), type="Part", engine="inline")
    counted.items.clear()
    graph.load(parts(20_000, 40), type="Part", engine="inline")

    assert [type(each) for each in counted.items] == [GatheredKeys]
    error = refused(graph, parts(19_998, 4), type_name="Part", engine="inline")
    assert [(each.line, each.code) for each in error.violations] == [
        (line, Code.UNIQUE_VALUE) for line in (1, 2, 3, 4)
    ]


def test_columns_that_say_little_are_read_rather_than_looked_up(
    tmp_path: Path, counted: Counted
) -> None:
    graph = init(tmp_path / "cells", PARTS, durable=False)
    cells = [(n % 27, n // 27 % 27, n // 729) for n in range(19_683)]
    whole = pa.Table.from_pylist([dict(zip("xyz", each, strict=True)) for each in cells])
    graph.load(whole, type="Cell", engine="inline")
    counted.items.clear()
    more = pa.table({"x": list(range(20)), "y": [0] * 20, "z": [99] * 20})
    graph.load(more, type="Cell", engine="inline")

    assert len(counted.items) == 2, "the rows that are there are one more thing to read"
    assert len(broken(graph, more, type_name="Cell", engine="inline")) == 20


def test_how_much_a_value_says_is_estimated_from_a_sample_and_rather_too_little() -> None:
    distinct = pa.chunked_array([list(range(1_000))])
    halves = pa.chunked_array([[1, 2] * 500, [None]])

    assert 0 < share_of_value(distinct) < 1e-5
    assert share_of_value(halves) == pytest.approx(0.5, abs=0.01)
    assert share_of_value(pa.chunked_array([[]], pa.int64())) == 1.0
    assert is_quicker_looked_up(5_001, 100_000_000, 1e-7)
    assert not is_quicker_looked_up(5_001, 100_000_000, 0.001)


def test_few_values_come_back_with_the_answer_of_a_task_and_many_through_a_file(
    graph: Graph,
) -> None:
    aside = new_aside(place_of(graph.snapshot().table("node:Person")).store)
    for count in (10, 50_000):
        ids = [f"person-{number}" for number in range(count)]
        writer = KeyWriter(aside, buckets=8, most_held=10_000)
        writer.add(IDS, batch(ids))
        found = writer.finish()
        assert len(pickle.dumps(found)) < 10_000
        assert unpacked(found.parcels({IDS.tag})) == Counter(ids)
        assert list(found.parcels({ENDS.tag})) == []
    aside.discard()


def test_values_are_found_whether_they_came_back_or_wait_in_files(
    graph: Graph, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_HELD_BYTES", 0)
    monkeypatch.setattr(checks, "_FEW_VALUES", 0)
    monkeypatch.setattr(lookups, "_SCAN_SECONDS", 1.0)
    graph.load(people(0, 100), type="Person", engine=engine)

    assert broken(graph, text(edge("Knows", "p0000001", "nobody")), engine=engine)
    assert graph.load(text(edge("Knows", "p0000001", "p0000002")), engine=engine).commit
    assert not list(Path(graph.uri, "_aside").glob("*"))
