"""Reviews over HTTP: a branch is looked at, its conflicts are settled, and it is merged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.serving import Served, serving

AGE = "query age($slug: String, $age: I32) { update Person set { age: $age } where slug = $slug }"
NAME = "query n($slug: String, $to: String) { update Person set { name: $to } where slug = $slug }"
PEOPLE = "query p() { match { $p: Person } return { $p.slug, $p.name, $p.age } order { $p.slug } }"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


def conflicting(served: Served) -> None:
    """Let both sides change the same of three people."""
    graph = served.graph
    graph.load('{"type": "Person", "data": {"slug": "cid", "name": "Cid", "age": 40}}')
    graph.create_branch("draft")
    for branch, word, age in (("draft", "new", 1), ("main", "own", 2)):
        for slug in ("ana", "bob", "cid"):
            graph.branch(branch).mutate(NAME, slug=slug, to=f"{slug} {word}")
        graph.branch(branch).mutate(AGE, slug="ana", age=age)


def test_conflicts_are_settled_by_property_row_type_and_value(served: Served) -> None:
    conflicting(served)
    seen = served.ask("GET", "/review", params={"branch": "draft"}).json()
    assert (seen["outcome"], seen["conflicts"], seen["violations"]) == ("conflicts", 4, 0)
    preview = {"source": "draft", "preview": True}
    found = served.ask("POST", "/branches/merge", preview).json()["merge_conflicts"]
    by_place = {(each["row_id"], each["property"]): each for each in found}
    chosen = [
        {**by_place["ana", "age"], "take": "theirs"},
        {**by_place["ana", "name"], "value": "Ana the third"},
        {"type_name": "Person", "row_id": "bob", "take": "theirs"},
    ]
    heads = {"expect": seen["into_head"], "expect_source": seen["head"]}
    body = {"source": "draft", "types": {"Person": "ours"}, "resolutions": chosen, **heads}

    left = served.ask("POST", "/branches/merge", {**body, "preview": True}).json()
    done = served.ask("POST", "/branches/merge", body)

    assert left.get("merge_conflicts") == [], left
    assert done.status_code == 200, done.text
    rows = {each["p.slug"]: (each["p.name"], each["p.age"]) for each in served.read(PEOPLE)}
    assert rows == {"ana": ("Ana the third", 1), "bob": ("bob new", None), "cid": ("cid own", 40)}


def test_the_second_reviewer_is_told_that_the_branch_moved(served: Served) -> None:
    served.graph.create_branch("draft").mutate(NAME, slug="ana", to="Ana B")
    seen = served.ask("GET", "/review", params={"branch": "draft"}).json()
    heads = {"expect": seen["into_head"], "expect_source": seen["head"]}
    served.graph.branch("draft").mutate(NAME, slug="bob", to="Bob B")

    approved = {"branch": "draft", "state": "approved", "expect": seen["head"]}
    for path, body in (
        ("/reviews", approved),
        ("/branches/merge", {"source": "draft", **heads}),
        ("/branches/merge", {"source": "draft", "preview": True, **heads}),
    ):
        refused = served.ask("POST", path, body)
        assert (refused.status_code, refused.json()["code"]) == (409, "head_moved")


def test_who_may_only_read_sees_the_review_and_says_nothing(served: Served) -> None:
    served.graph.create_branch("draft").mutate(NAME, slug="ana", to="Ana B")
    served.ask("POST", "/reviews", {"branch": "draft", "state": "open", "message": "look"})

    found = served.ask("GET", "/reviews", actor="reader", params={"branch": "draft"}).json()
    comment = {"branch": "draft", "message": "hm"}

    assert [each["message"] for each in found["review"]["events"]] == ["look"]
    assert served.ask("POST", "/reviews/comments", comment, actor="reader").status_code == 403
    status = served.ask("GET", "/branches/status", actor="reader").json()["branches"]
    assert [(each["name"], each["ahead"], each["review"]) for each in status] == [
        ("main", 0, None),
        ("draft", 1, "open"),
    ]
