"""An adjacency that was changed bit by bit is the one that would be made anew."""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.data.derived import adjacency
from omnigraph.data.derived.adjacency import (
    Adjacency,
    AnyAdjacency,
    EdgeEntries,
    PatchedAdjacency,
    build_adjacency,
    patch_adjacency,
)
from omnigraph.data.derived.numbering import Numbers, is_row_range, row_range

TARGETS = 7
EDGES = 14

# Where each edge starts and ends; a change says None for an edge that goes.
Edges: TypeAlias = dict[int, tuple[int, int]]
Change: TypeAlias = dict[int, tuple[int, int] | None]


@dataclass(frozen=True)
class Story:
    """Some sources and edges, and how there come to be more and others."""

    count: int
    first: Edges
    changes: tuple[tuple[int, Change], ...]


@st.composite
def stories(draw: st.DrawFn, most_changes: int = 4) -> Story:
    """Make a story; an edge may be replaced by one with other ends, and come back."""
    count = draw(st.integers(1, 6))
    first = draw(st.dictionaries(st.integers(0, EDGES - 1), ends(count), max_size=EDGES))
    changes, sources = [], count
    for _ in range(draw(st.integers(1, most_changes))):
        sources += draw(st.integers(0, 2))
        what = st.none() | ends(sources)
        change = draw(st.dictionaries(st.integers(0, EDGES - 1), what, max_size=5))
        changes.append((sources, change))
    return Story(count, first, tuple(changes))


def ends(count: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, count - 1), st.integers(0, TARGETS - 1))


def entries(edges: Edges, *, named: bool) -> EdgeEntries:
    """Return edges as entries, with their own numbers or without."""
    pairs = np.array(list(edges.values()), np.int64).reshape(-1, 2)
    own = np.array(list(edges), np.int64) if named else None
    return EdgeEntries(pairs[:, 0], pairs[:, 1], own)


def told(story: Story, *, named: bool) -> list[tuple[AnyAdjacency, Adjacency]]:
    """Return after each change the adjacency that was patched, and the one made anew."""
    edges = dict(story.first)
    current: AnyAdjacency = build_adjacency(entries(edges, named=named), story.count)
    found = []
    for count, change in story.changes:
        gone = {each: edges[each] for each in change if each in edges}
        new = {each: place for each, place in change.items() if place is not None}
        edges = {each: place for each, place in edges.items() if each not in gone} | new
        if not named:
            # A pair is gone when no other edge joins it.
            gone = {each: pair for each, pair in gone.items() if pair not in edges.values()}
        current = patch_adjacency(
            current, count, entries(gone, named=named), entries(new, named=named)
        )
        found.append((current, build_adjacency(entries(edges, named=named), count)))
    return found


def followed(found: AnyAdjacency, sources: Numbers) -> list[tuple[int, ...]]:
    """Return the entries of sources in their order; entries of one source in that of targets."""
    owners, targets, edges = found.follow(sources)
    assert (np.diff(owners) >= 0).all()
    columns = (owners, targets) if edges is None else (owners, targets, edges)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def all_pairs(count: int) -> tuple[Numbers, Numbers]:
    return np.repeat(np.arange(count), TARGETS), np.tile(np.arange(TARGETS), count)


def targets_of(found: Adjacency) -> Iterator[Numbers]:
    for source in range(len(found)):
        yield found.follow(np.array([source]))[1]


def check_same(one: AnyAdjacency, other: Adjacency) -> None:
    """Fail unless both say the same to every question."""
    count = len(other)
    assert len(one) == count
    some = np.array([count - 1, 0, count // 2, 0])
    for sources in (np.arange(count), some, some[:0]):
        assert followed(one, sources) == followed(other, sources)
        assert one.list_targets(sources).tolist() == other.follow(sources)[1].tolist()
        assert other.list_targets(sources).tolist() == other.follow(sources)[1].tolist()
    singly = [(at, *rest) for at in range(count) for _, *rest in followed(one, np.array([at]))]
    assert followed(one, np.arange(count)) == singly
    pairs = all_pairs(count)
    assert one.are_joined(*pairs).tolist() == other.are_joined(*pairs).tolist()
    values = np.arange(TARGETS) ** 3 - 5
    assert one.sum_targets(values).tolist() == other.sum_targets(values).tolist()
    truth = values % 2 == 0
    sums = [truth[targets].sum() for targets in targets_of(other)]
    assert one.sum_targets(truth).tolist() == sums
    assert one.most_degree >= max(one.degrees, default=0)
    assert one.degrees.tolist() == other.degrees.tolist()
    for room in (TARGETS, TARGETS + 3):
        assert one.indegrees(room).tolist() == other.indegrees(room).tolist()


@pytest.mark.parametrize("named", [False, True])
@given(story=stories())
def test_after_any_chain_of_patches_it_is_the_one_made_anew(named: bool, story: Story) -> None:
    for one, other in told(story, named=named):
        check_same(one, other)


@given(story=stories(most_changes=2))
def test_what_was_prepared_early_is_what_is_computed_late(story: Story) -> None:
    edges = dict(story.first)
    base = build_adjacency(entries(edges, named=False), story.count)
    base.indegrees(TARGETS)
    assert base.degrees.sum() == base.size
    new = {each: place for each, place in story.changes[0][1].items() if place is not None}

    found = patch_adjacency(
        base, story.changes[0][0], entries({}, named=False), entries(new, named=False)
    )
    if isinstance(found, PatchedAdjacency):
        found.prepare()

    edges_after = {**{each + EDGES: place for each, place in new.items()}, **edges}
    check_same(found, build_adjacency(entries(edges_after, named=False), story.changes[0][0]))


@pytest.mark.parametrize("block", [1, 2, 3, 5])
@given(story=stories())
def test_sums_over_several_blocks_are_those_over_one(block: int, story: Story) -> None:
    values = np.arange(TARGETS) * 10 + 1
    whole = [
        (one, other, one.sum_targets(values).tolist()) for one, other in told(story, named=True)
    ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacency, "_BLOCK", block)
        for one, other, expected in whole:
            assert (
                one.sum_targets(values).tolist() == other.sum_targets(values).tolist() == expected
            )


@given(story=stories())
def test_sums_follow_their_definition(story: Story) -> None:
    values = np.array([3, -1, 4, 1, -5, 9, 2])

    for one, _ in told(story, named=True):
        owners, targets, _ = one.follow(np.arange(len(one)))
        naive = [int(values[targets[owners == each]].sum()) for each in range(len(one))]
        assert one.sum_targets(values).tolist() == naive


@given(story=stories())
def test_pairs_are_joined_when_there_is_an_edge_between_them(story: Story) -> None:
    found = build_adjacency(entries(story.first, named=False), story.count)
    sources, targets = all_pairs(story.count)

    expected = [pair in story.first.values() for pair in zip(sources, targets, strict=True)]

    assert found.are_joined(sources, targets).tolist() == expected
    assert found._search(sources, targets).tolist() == expected
    assert found.size == len(set(story.first.values()))


def test_no_change_gives_the_adjacency_itself() -> None:
    base = build_adjacency(entries({0: (0, 1), 1: (2, 2)}, named=False), 3)
    nothing = entries({}, named=False)

    assert patch_adjacency(base, 3, nothing, nothing) is base


def test_more_sources_alone_have_no_entries() -> None:
    base = build_adjacency(entries({0: (0, 1)}, named=False), 1)
    nothing = entries({}, named=False)

    found = patch_adjacency(base, 4, nothing, nothing)

    assert found.degrees.tolist() == [1, 0, 0, 0]
    assert followed(found, np.array([3, 0])) == [(1, 1)]


def test_a_patch_leaves_what_it_was_made_of_as_it_was() -> None:
    base = build_adjacency(entries({0: (0, 1), 1: (1, 2)}, named=False), 2)
    before = followed(base, np.arange(2))
    base.indegrees(TARGETS)

    first = patch_adjacency(base, 2, entries({0: (0, 1)}, named=False), entries({}, named=False))
    first.indegrees(TARGETS)
    patch_adjacency(first, 3, entries({1: (1, 2)}, named=False), entries({2: (2, 6)}, named=False))

    assert followed(base, np.arange(2)) == before
    assert base.indegrees(TARGETS).tolist() == [0, 1, 1, 0, 0, 0, 0]
    assert followed(first, np.arange(2)) == [(1, 2)]


def test_a_change_of_a_change_is_laid_over_the_same_base() -> None:
    base = build_adjacency(entries({0: (0, 1)}, named=True), 2)

    once = patch_adjacency(base, 2, entries({}, named=True), entries({1: (1, 3)}, named=True))
    twice = patch_adjacency(
        once, 2, entries({1: (1, 3)}, named=True), entries({2: (1, 5)}, named=True)
    )

    assert isinstance(twice, PatchedAdjacency)
    assert twice.base is base
    assert followed(twice, np.arange(2)) == [(0, 1, 0), (1, 5, 2)]


def test_sources_without_edges_at_the_end_sum_to_nothing() -> None:
    found = build_adjacency(entries({0: (0, 1), 1: (0, 2)}, named=False), 5)

    assert found.sum_targets(np.arange(TARGETS)).tolist() == [3, 0, 0, 0, 0]
    assert build_adjacency(entries({}, named=False), 3).sum_targets(
        np.arange(TARGETS)
    ).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("count", "is_kept"), [(1_000, True), (5_000_000, False)])
def test_the_numbers_below_a_count_are_one_array_and_only_small_ones_are_kept(
    count: int, is_kept: bool
) -> None:
    first = row_range(count)
    held = weakref.ref(first)

    assert row_range(count) is first
    assert is_row_range(first)
    assert not is_row_range(np.arange(count))
    del first
    assert (held() is not None) == is_kept
