"""What was paid once is not paid again."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.embedding import EmbeddingTask, with_cache
from omnigraph.embedding.embedder import MOST_BYTES, MOST_TEXTS, Vectors, batches
from omnigraph.embedding.mock import MockEmbedder
from omnigraph.errors import EmbeddingError

TEXTS = [f"text number {number}" for number in range(1000)]


@dataclass(slots=True)
class Kept:
    """A cache in memory."""

    entries: dict[str, bytes] = field(default_factory=dict)

    def read(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def write(self, key: str, data: bytes) -> None:
        self.entries[key] = data


@dataclass(slots=True)
class Paying:
    """Embeds like the mock, notes what it was asked for, and fails when its money is spent."""

    model: str = "dear"
    money: int = 1_000_000
    paid: list[list[str]] = field(default_factory=list)

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:
        if self.money < len(texts):
            raise EmbeddingError("no money left")
        self.money -= len(texts)
        self.paid.append(list(texts))
        return MockEmbedder().embed(texts, dimension, task)


def paid_for(texts: Sequence[str], cache: Kept) -> list[list[str]]:
    """Embed texts through a cache, check the vectors, and give what was paid."""
    paying = Paying()
    vectors = with_cache(paying, cache).embed(texts, 8, EmbeddingTask.DOCUMENT)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, MockEmbedder().embed(texts, 8, EmbeddingTask.DOCUMENT))
    return paying.paid


def flat(cut: list[list[str]]) -> list[str]:
    return [text for batch in cut for text in batch]


def test_the_second_time_nothing_is_paid() -> None:
    cache = Kept()
    assert flat(paid_for(TEXTS, cache)) == TEXTS
    assert paid_for(TEXTS, cache) == []


def test_no_batch_is_larger_than_a_request() -> None:
    assert max(map(len, paid_for(TEXTS, Kept()))) <= MOST_TEXTS


def test_equal_texts_are_paid_once() -> None:
    assert flat(paid_for(["a", "b", "a", "a", "c", "b"], Kept())) == ["a", "b", "c"]


def test_no_texts_are_no_rows() -> None:
    assert with_cache(Paying(), Kept()).embed([], 8, EmbeddingTask.QUERY).shape == (0, 8)


def test_what_was_paid_before_a_failure_is_not_paid_again() -> None:
    cache, poor = Kept(), Paying(money=500)
    with pytest.raises(EmbeddingError, match="no money left"):
        with_cache(poor, cache).embed(TEXTS, 8, EmbeddingTask.DOCUMENT)
    assert 400 < sum(map(len, poor.paid)) <= 500

    rest = paid_for(TEXTS, cache)

    assert flat(poor.paid + rest) == TEXTS


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data + b"\0",
        lambda data: bytes(len(data)),
        lambda data: b"\xff" * len(data),
    ],
    ids=["short", "empty", "long", "zeros", "not numbers"],
)
def test_a_damaged_entry_is_paid_again_and_nothing_else_is(
    damage: Callable[[bytes], bytes],
) -> None:
    cache = Kept()
    batch = paid_for(TEXTS, cache)[3]
    key, data = list(cache.entries.items())[3]
    paying = Paying()

    damaged = Kept({**cache.entries, key: damage(data)})
    with_cache(paying, damaged).embed(TEXTS, 8, EmbeddingTask.DOCUMENT)

    assert paying.paid == [batch]
    assert damaged.entries == cache.entries


def test_an_edited_text_pays_for_its_batch_only() -> None:
    cache = Kept()
    batch = next(each for each in paid_for(TEXTS, cache) if TEXTS[500] in each)
    edited = [text if text != TEXTS[500] else "text number five hundred!" for text in TEXTS]

    assert paid_for(edited, cache) == [
        [text if text != TEXTS[500] else "text number five hundred!" for text in batch]
    ]


@pytest.mark.parametrize("at", [0, 1, 333, 700, 999])
def test_after_an_inserted_text_the_later_batches_are_the_same_again(at: int) -> None:
    cache = Kept()
    paid_for(TEXTS, cache)

    assert sum(map(len, paid_for([*TEXTS[:at], "a new one", *TEXTS[at:]], cache))) <= 3 * MOST_TEXTS


@pytest.mark.parametrize(
    ("model", "dimension", "task"),
    [
        ("other", 8, EmbeddingTask.DOCUMENT),
        ("dear", 9, EmbeddingTask.DOCUMENT),
        ("dear", 8, EmbeddingTask.QUERY),
    ],
    ids=["model", "dimension", "task"],
)
def test_another_model_dimension_or_task_is_paid_for(
    model: str, dimension: int, task: EmbeddingTask
) -> None:
    cache, paying = Kept(), Paying(model)
    paid_for(["Ada"], cache)

    with_cache(paying, cache).embed(["Ada"], dimension, task)

    assert paying.paid == [["Ada"]]


def test_entries_have_names_that_any_store_takes() -> None:
    cache = Kept()
    paid_for(TEXTS, cache)
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in cache.entries)


def test_an_empty_text_is_refused_before_anything_is_paid() -> None:
    paying = Paying()
    with pytest.raises(EmbeddingError, match="text 1001 of 1001 is empty"):
        with_cache(paying, Kept()).embed([*TEXTS, " "], 8, EmbeddingTask.DOCUMENT)
    assert paying.paid == []


def test_a_cached_embedder_keeps_the_name_of_its_model_and_survives_pickling() -> None:
    revived = pickle.loads(pickle.dumps(with_cache(MockEmbedder(), Kept())))
    assert revived.model == "mock"
    assert revived.embed(["Ada"], 8, EmbeddingTask.QUERY).shape == (1, 8)


@given(
    st.lists(
        st.one_of(st.text("abc", min_size=1), st.integers(1, 300_000).map("x".__mul__)),
        max_size=300,
    )
)
def test_batches_hold_all_texts_in_order_and_fit_a_request(texts: list[str]) -> None:
    cut = list(batches(texts))
    assert flat(cut) == texts
    for batch in cut:
        assert 1 <= len(batch) <= MOST_TEXTS
        assert len(batch) == 1 or sum(map(len, batch)) <= MOST_BYTES
