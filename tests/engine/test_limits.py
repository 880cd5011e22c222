"""A query ends when it is cancelled, and within its time, its rows and its memory."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.data.derived import topology
from omnigraph.data.values import capacity
from omnigraph.data.values.columns import to_array
from omnigraph.errors import BudgetError, CancelledError
from omnigraph.query.planning.arrange import PatternLink
from omnigraph.read import answer
from omnigraph.read.execution import Budget
from omnigraph.read.operators import walk
from tests.engine.asking import made
from tests.pipeline.loads import edge, node

SCHEMA = """
node Person { slug: String @key }
edge Knows: Person -> Person
"""
COUNT = 400
CROSS = """query q() {
  match { $a: Person  $b: Person  $a.slug != $b.slug }
  return { count(distinct $a) as n }
}"""
CUBE = """query q() {
  match { $a: Person  $b: Person  $c: Person }
  return { $a.slug as a, $b.slug as b, $c.slug as c }
}"""
HOPS = "query q() { match { $a: Person  $a knows {1,} $b } return { count(distinct $b) as n } }"
FRIENDS = "query q() { match { $a: Person  $a knows $b } return { $a.slug, $b.slug } }"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Many persons, each of whom knows the next."""
    slugs = [f"p{number:03}" for number in range(COUNT)]
    lines = [node("Person", slug=slug) for slug in slugs]
    lines += [edge("Knows", *pair) for pair in pairwise(slugs)]
    graph = made(tmp_path_factory.mktemp("limits"), SCHEMA, *lines)
    graph.query(FRIENDS)
    return graph


@contextmanager
def set_after(seconds: float) -> Iterator[Event]:
    """Return an event that another thread sets soon."""
    event = Event()

    def later() -> None:
        time.sleep(seconds)
        event.set()

    thread = Thread(target=later)
    thread.start()
    try:
        yield event
    finally:
        thread.join()


def ask_again_and_again(view: View, query: str) -> None:
    for _ in range(500):
        view.query(query)


def test_cross_products_stop_soon_after_another_thread_cancels_them(graph: Graph) -> None:
    began = time.monotonic()
    with set_after(0.1) as event:
        view = graph.at(cancelled=event)
        with pytest.raises(CancelledError, match="the query was cancelled"):
            ask_again_and_again(view, CROSS)

    assert time.monotonic() - began < 2


def test_a_walk_stops_soon_after_another_thread_cancels_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One start at a time: the walk alone takes many seconds.
    monkeypatch.setattr(walk, "_MOST_MARKS", 1)
    began = time.monotonic()
    with set_after(0.2) as event, pytest.raises(CancelledError):
        graph.at(cancelled=event).query(HOPS)

    assert time.monotonic() - began < 2


def test_a_query_that_was_cancelled_before_does_nothing(graph: Graph) -> None:
    event = Event()
    event.set()
    view = graph.at(cancelled=event)

    for query in (FRIENDS, HOPS):
        with pytest.raises(CancelledError) as raised:
            view.query(query)
        assert raised.value.code == "cancelled"
    with pytest.raises(CancelledError):
        view.profile(FRIENDS)
    event.clear()
    assert len(view.query(FRIENDS)) == COUNT - 1


def test_other_views_go_on_when_one_is_cancelled(graph: Graph) -> None:
    event = Event()
    event.set()
    graph.at(cancelled=event)

    assert len(graph.query(FRIENDS)) == COUNT - 1


@pytest.mark.parametrize("query", [FRIENDS, HOPS, CROSS])
def test_a_query_that_takes_too_long_names_its_time(graph: Graph, query: str) -> None:
    with pytest.raises(BudgetError, match=r"longer than 0 s") as raised:
        graph.at(budget=Budget(seconds=0)).query(query)

    assert (raised.value.code, raised.value.limit) == ("budget_exceeded", "seconds")


def test_a_long_walk_stops_soon_after_its_time(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "_MOST_MARKS", 1)
    began = time.monotonic()

    with pytest.raises(BudgetError, match=r"longer than 0.2 s"):
        graph.at(budget=Budget(seconds=0.2)).query(HOPS)

    assert time.monotonic() - began < 2


@pytest.mark.parametrize("query", [FRIENDS, HOPS, CROSS])
def test_a_query_that_makes_too_many_rows_names_their_number(graph: Graph, query: str) -> None:
    most = COUNT - 2

    with pytest.raises(BudgetError, match=f"more than {most} rows") as raised:
        graph.at(budget=Budget(rows=most)).query(query)

    assert raised.value.limit == "rows"


def test_as_many_rows_as_are_allowed_are_given(graph: Graph) -> None:
    assert len(graph.at(budget=Budget(rows=COUNT)).query(FRIENDS)) == COUNT - 1


@pytest.mark.parametrize("query", [FRIENDS, HOPS, CROSS])
def test_a_query_that_needs_too_much_memory_names_how_much(graph: Graph, query: str) -> None:
    with pytest.raises(BudgetError, match="needs more than 0 MiB") as raised:
        graph.at(budget=Budget(bytes=1000)).query(query)

    assert raised.value.limit == "bytes"


def test_a_product_is_refused_before_it_is_made(graph: Graph) -> None:
    began = time.monotonic()

    with pytest.raises(BudgetError, match="more than 50,000,000 rows"):
        graph.query(CUBE)

    assert time.monotonic() - began < 2


def test_a_text_for_each_row_is_refused_where_a_column_cannot_hold_them(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "query q($t: String) { match { $p: Person } return { $t as t } }"
    monkeypatch.setattr(capacity, "MOST_TEXT", 10 * COUNT)

    assert len(graph.query(body, t="x" * 10)) == COUNT
    with pytest.raises(BudgetError, match="GiB of text") as raised:
        graph.query(body, t="x" * 11)
    assert raised.value.limit == "bytes"


def most_text() -> pa.Array:
    """Return a text as large as a column can be; nothing of its memory is touched."""
    size = capacity.MOST_TEXT - 1
    offsets = pa.py_buffer(np.array([0, size], np.int32))
    return pa.Array.from_buffers(pa.utf8(), 1, [None, offsets, pa.py_buffer(np.empty(size, "u1"))])


@pytest.mark.parametrize(
    "use",
    [
        lambda text: pa.concat_arrays([text, text]),
        lambda text: pc.binary_join_element_wise(text, text, ""),
        lambda text: pc.if_else(pa.array([True]), text, text),
    ],
)
def test_arrow_does_not_tell_of_too_much_text_in_its_own_words(use: Callable[..., Any]) -> None:
    with pytest.raises(BudgetError, match="more than 2 GiB of text"), capacity.within_capacity():
        use(most_text())


@pytest.mark.parametrize("shown", ["$t.text as x", "count(distinct $t.text) as n"])
def test_a_whole_column_with_too_much_text_exceeds_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    graph = made(tmp_path, "node T { text: String }", *(node("T", text=each) for each in "ab"))

    def overflowing(column: pa.ChunkedArray) -> pa.Array:
        is_text = set(column.to_pylist()) == {"a", "b"}
        return to_array(pa.chunked_array([most_text()] * 2) if is_text else column)

    monkeypatch.setattr(topology, "to_array", overflowing)
    with pytest.raises(BudgetError, match="GiB of text"):
        graph.query(f"query q() {{ match {{ $t: T }} return {{ {shown} }} }}")


def chained(count: int, shown: str) -> str:
    """Return a read that follows so many edges one after the other."""
    links = " ".join(f"$v{at} knows $v{at + 1}" for at in range(count))
    return (
        f'query q() {{ match {{ $v0: Person {{ slug: "p000" }} {links} }} return {{ {shown} }} }}'
    )


def test_the_order_of_many_traversals_is_found_by_looking_at_the_links_beside_each(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counting(link: PatternLink) -> tuple[str, str]:
        asked.append(1)
        return (link.source, link.target)

    monkeypatch.setattr(PatternLink, "ends", property(counting))
    shown = " ".join(f"$v{at}.slug as s{at}" for at in range(101))
    found = graph.query(chained(100, shown))

    assert [list(row.values()) for row in found] == [[f"p{at:03}" for at in range(101)]]
    assert len(asked) < 10 * 100


def test_finding_the_order_of_many_traversals_counts_towards_the_time(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "_execute", None)

    with pytest.raises(BudgetError, match=r"longer than 0 s"):
        graph.at(budget=Budget(seconds=0)).query(chained(50, "$v9.slug as s"))


@pytest.mark.parametrize("shown", ["count(*) as n", "count(distinct $v0) as n", "count($v5) as n"])
def test_more_edges_can_be_counted_one_after_the_other_than_python_calls_itself(
    graph: Graph, shown: str
) -> None:
    assert graph.query(chained(COUNT - 1, shown)).to_dicts() == [{"n": 1}]
    assert graph.query(chained(COUNT, shown)).to_dicts() == [{"n": 0}]
    assert graph.query(chained(2 * COUNT, shown)).to_dicts() == [{"n": 0}]
