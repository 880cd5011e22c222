"""Review pages: what a branch would bring, counted at once and shown a page at a time."""

import time
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import InputError
from omnigraph.merge.review.page import ReviewedChange
from tests.sample import new_graph

ADD = "query add($slug: String, $age: I32?) { insert Person { slug: $slug name: $slug age: $age } }"
AGE = "query age($slug: String, $age: I32) { update Person set { age: $age } where slug = $slug }"
DROP = "query drop($slug: String) { delete Person where slug = $slug }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    found = new_graph(tmp_path / "g")
    for slug in ("ana", "bob", "cid"):
        found.mutate(ADD, slug=slug, age=30)
    found.create_branch("draft")
    return found


def every(graph: Graph, limit: int, **how: object) -> list[ReviewedChange]:
    """Return all changes of the draft, a page at a time."""
    found: list[ReviewedChange] = []
    cursor = None
    while True:
        page = graph.review_page("draft", limit=limit, after=cursor, **how)  # type: ignore[arg-type]
        assert len(page.changes) <= limit
        found += page.changes
        cursor = page.cursor
        if cursor is None:
            return found


def test_a_review_tells_what_differs_and_who_did_it(graph: Graph) -> None:
    graph.branch("draft", actor="ann").mutate(ADD, slug="dan")
    graph.branch("draft", actor="rob").mutate(AGE, slug="bob", age=31)
    graph.branch("draft").mutate(DROP, slug="cid")
    graph.branch("draft", actor="ann").load('{"edge": "Knows", "from": "ana", "to": "dan"}')
    graph.set_review("draft", "open")

    page = graph.review_page("draft")

    assert (page.branch, page.into, page.outcome) == ("draft", "main", "fast_forward")
    assert page.head == graph.branch("draft").commit.id
    assert page.into_head == page.base == graph.branch().commit.id
    told = [(each.type, each.inserted, each.updated, each.deleted) for each in page.counts]
    assert told == [("Person", 1, 1, 1), ("Knows", 1, 0, 0)]
    assert (page.conflicts, page.violations) == (0, 0)
    assert page.review is not None
    by_id = {each.label: each for each in page}
    assert {label: each.op for label, each in by_id.items()} == {
        "cid": "delete",
        "bob": "update",
        "dan": "insert",
        "ana → dan": "insert",
    }
    bob = by_id["bob"]
    assert bob.before is not None
    assert bob.after is not None
    assert (bob.before["age"], bob.after["age"], bob.fields) == (30, 31, ("age",))
    actors = {label: each.actor_id for label, each in by_id.items()}
    assert actors == {"cid": None, "bob": "rob", "dan": "ann", "ana → dan": "ann"}
    assert all(each.commit_id for each in page)
    assert by_id["dan"].fields == ("slug", "name")


def test_conflicts_and_broken_rules_are_counted(graph: Graph) -> None:
    graph.branch("draft").mutate(AGE, slug="bob", age=31)
    graph.branch("draft").load('{"edge": "Knows", "from": "ana", "to": "cid"}')
    graph.mutate(AGE, slug="bob", age=32)
    graph.mutate(DROP, slug="cid")

    page = graph.review_page("draft")

    assert (page.outcome, page.conflicts, page.violations) == ("conflicts", 1, 1)
    assert len(graph.preview_merge("draft").conflicts) == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1_000])
def test_pages_of_any_size_show_each_change_once(graph: Graph, limit: int) -> None:
    for number in range(5):
        graph.branch("draft").mutate(ADD, slug=f"p{number}")
    graph.branch("draft").mutate(AGE, slug="ana", age=1)
    graph.branch("draft").mutate(DROP, slug="cid")
    graph.branch("draft").load('{"type": "Company", "data": {"name": "mill"}}')

    found = every(graph, limit)

    assert len(found) == 8
    assert {(each.type, each.id, each.op) for each in found} == {
        (each.type_name, each.id, str(each.op)) for each in graph.review("draft")
    }
    assert [each.id for each in every(graph, limit, types=["Company"])] == ["mill"]


def test_pages_fit_together_although_the_branch_moves(graph: Graph) -> None:
    for number in range(4):
        graph.branch("draft").mutate(ADD, slug=f"p{number}")
    first = graph.review_page("draft", limit=2)
    graph.branch("draft").mutate(ADD, slug="a-late-one")

    rest = graph.review_page("draft", limit=9, after=first.cursor)

    assert rest.head == first.head
    assert sorted(each.id for each in (*first, *rest)) == ["p0", "p1", "p2", "p3"]
    assert (rest.outcome, rest.counts, rest.cursor) == (None, (), None)


def test_a_cursor_of_something_else_is_refused(graph: Graph) -> None:
    for cursor in ("", "x", "a.b.0.0", f"{graph.branch().commit.id}.x.0.0"):
        with pytest.raises(InputError):
            graph.review_page("draft", after=cursor or " ")


def test_a_review_of_100_000_rows_reads_a_page(tmp_path: Path) -> None:
    many = 100_000
    graph = init(tmp_path / "g", "node Item { slug: String @key  size: I64 }", durable=False)
    slugs = pa.array([f"i{number:06}" for number in range(many)])
    graph.load(pa.table({"slug": slugs, "size": pa.array(range(many))}), type="Item")
    draft = graph.create_branch("draft")
    rows = pa.table({"slug": slugs, "size": pa.array(range(1, many + 1))})
    draft.load(rows, type="Item", mode="merge")

    started = time.monotonic()
    page = graph.review_page("draft", limit=100)
    later = graph.review_page("draft", limit=100, after=page.cursor)

    assert [(each.updated, each.inserted) for each in page.counts] == [(many, 0)]
    assert len(page.changes) == len(later.changes) == 100
    assert not {each.id for each in page} & {each.id for each in later}
    assert time.monotonic() - started < 60


def test_the_authors_are_known_after_the_branch_was_brought_up_to_date(graph: Graph) -> None:
    graph.branch("draft", actor="eve").mutate(ADD, slug="dan")
    for age in (31, 32, 33):
        graph.mutate(AGE, slug="ana", age=age)
    graph.merge("main", "draft", actor="adam")

    (change,) = every(graph, 10)

    assert (change.id, change.actor_id) == ("dan", "eve")
