"""The change feed gives every commit of a branch once and in order, from where one left off."""

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitNotFoundError
from tests.merging.statements import edge, person, remove, update
from tests.merging.village import OURS, THEIRS, each, part

Told = list[tuple[str, list[str]]]


def told(graph: Graph, branch: str = OURS, since: str | None = None, **filters: list[str]) -> Told:
    """Return the cursors, and the lines of what each commit changed."""
    return [
        (one.cursor, sorted(map(str, one.changes)))
        for one in graph.changes(branch, since=since, **filters)
    ]


def test_a_feed_begins_with_the_first_change_and_goes_in_order(graph: Graph) -> None:
    each(graph, person("dan"), update("ada", age=31), remove("cy"))

    found = told(graph)

    commits = [commit.id for commit in graph.log()][::-1][1:]
    assert [cursor for cursor, _ in found] == commits
    assert [lines for _, lines in found[1:]] == [
        ["+ Person dan"],
        ["~ Person ada  age 30 → 31"],
        ["- Person cy"],
    ]
    assert len(found[0][1]) == 7


def test_a_cursor_goes_on_after_the_graph_was_opened_again(graph: Graph) -> None:
    each(graph, update("ada", age=1), update("ada", age=2))
    cursor = told(graph)[-2][0]
    each(graph, update("ada", age=3))

    again = open_graph(graph.uri, read_only=True)

    lines = [lines for _, lines in told(again, since=cursor)]
    assert lines == [["~ Person ada  age 1 → 2"], ["~ Person ada  age 2 → 3"]]
    assert told(again, since=again.snapshot().commit.id) == []


def test_whoever_keeps_the_cursor_after_each_step_misses_nothing(graph: Graph) -> None:
    cursor, seen = graph.snapshot().commit.id, []
    for age in range(31, 36):
        each(graph, update("ada", age=age))
        if age % 2:
            for one in graph.changes(since=cursor):
                seen += [str(change) for change in one.changes]
                cursor = one.cursor

    assert seen == [f"~ Person ada  age {age - 1} → {age}" for age in range(31, 36)]


def test_a_merge_is_one_step_with_all_that_it_brought(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [person("dan"), edge("Knows", "dan", "ada")])
    start = graph.snapshot().commit.id
    graph.merge(THEIRS)

    ((_, lines),) = told(graph, since=start)

    assert lines == ["+ Person dan", "+ dan -Knows-> ada"]


def test_a_feed_is_narrowed_and_still_gives_every_cursor(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(graph, person("dan"), edge("Knows", "dan", "ada"), remove("dan"))

    found = told(graph, since=start, types=["Knows"], ops=["insert"])

    assert [lines for _, lines in found] == [[], ["+ dan -Knows-> ada"], []]


def test_a_branch_has_a_feed_of_its_own_from_where_it_began(graph: Graph) -> None:
    base = graph.snapshot().commit.id
    part(graph, [update("ada", age=1)], [update("ada", age=2)])

    assert [lines for _, lines in told(graph, THEIRS, base)] == [["~ Person ada  age 30 → 2"]]


def test_a_cursor_that_the_branch_never_stood_at_is_an_error(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", age=2)])
    elsewhere = graph.snapshot(THEIRS).commit.id

    for cursor in (elsewhere, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"):
        with pytest.raises(CommitNotFoundError, match=cursor):
            list(graph.changes(since=cursor))
