"""Values of neither side: whole integers, wrong ones, and conflicts that a value itself raises."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

import omnigraph as og
from omnigraph.server.serve import Settings
from tests.server.serving import started
from tests.studio.browsing import browsing, settle
from tests.studio.scene import LIMITS, Scene

SCHEMA = """
node Account {
  slug: String @key
  number: I64?
  email: String? @unique
  floor: I32?
  @range(floor, 0..150)
}
"""
ADD = "query add($slug: String, $email: String) { insert Account { slug: $slug, email: $email } }"
SET = """query s($number: I64, $email: String, $floor: I32) {
  update Account set { number: $number, email: $email, floor: $floor } where slug = "a"
}"""
LARGE = 2**53
DRAFT = f"agent/{'x' * 120}"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Three properties of one account in conflict, and another account whose e-mail is taken."""
    with og.init(tmp_path / "bank.omni", SCHEMA, durable=False) as graph:
        main = graph.branch()
        main.mutate(ADD, slug="a", email="a@x")
        main.mutate(ADD, slug="b", email="b@x")
        draft = graph.create_branch(DRAFT)
        draft.mutate(SET, number=LARGE + 3, email="theirs@x", floor=9)
        main.mutate(SET, number=LARGE + 1, email="ours@x", floor=8)
    uri = str(tmp_path / "bank.omni")
    settings = Settings(uri=uri, host="127.0.0.1", port=0, limits=LIMITS)
    with started(settings) as server:
        yield Scene(server)


def choose(conflict: Locator, name: str, value: str) -> None:
    """Type a value of neither side."""
    conflict.get_by_label(f"Another value of {name}").fill(value)
    conflict.get_by_label(f"Another value of {name}").press("Enter")


def held_if_chosen(route: Route, held: list[Route]) -> None:
    """Keep back a request that says what was chosen."""
    if "resolutions" in (route.request.post_data or ""):
        held.append(route)
    else:
        route.continue_()


def one(page: Page, name: str, says: str = "updated by both sides") -> Locator:
    return page.get_by_role("group", name=name).filter(has_text=says)


def test_an_integer_past_2_53_and_a_conflict_that_a_value_raises_are_settled(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin) as (page, _):
        page.goto(f"{scene.origin}/studio#/review?branch={quote(DRAFT)}")
        settle(page)
        choose(one(page, "number"), "number", str(LARGE + 7))
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        one(page, "floor").get_by_label("theirs").check()
        choose(one(page, "email"), "email", "b@x")
        raised = one(page, "email", "is that of 'b' already")
        expect(page.get_by_text("1 conflict left of 4")).to_be_visible()
        expect(raised).to_have_attribute("data-state", "left")
        choose(raised, "email", "free@x")
        expect(page.get_by_text("all 4 conflicts settled")).to_be_visible()
        expect(raised).to_have_attribute("data-state", "settled")
        changed = one(page, "email").get_by_label("Another value of email")
        expect(changed).to_have_value("free@x")
        page.get_by_role("button", name="Merge into main").click()
        expect(page.get_by_text("Merged.")).to_be_visible()
    rows = scene.graph.branch().query(
        'match { $a: Account { slug: "a" } }'
        " return { $a.number as number, $a.email as email, $a.floor as floor }"
    )
    assert list(rows) == [{"number": LARGE + 7, "email": "free@x", "floor": 9}]


def test_a_value_that_does_not_fit_takes_the_earlier_one_back(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, width=360) as (page, _):
        page.goto(f"{scene.origin}/studio#/review?branch={quote(DRAFT)}")
        settle(page)
        floor = one(page, "floor")
        choose(floor, "floor", "12")
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        choose(floor, "floor", "the twelfth")
        expect(floor.get_by_text("a whole number is expected")).to_be_visible()
        expect(page.get_by_text("3 conflicts left of 3")).to_be_visible()
        expect(floor.get_by_label("another value", exact=True)).not_to_be_checked()
        expect(floor.get_by_label("Another value of floor")).to_have_value("the twelfth")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_choices_and_words_outlast_another_room_and_a_new_sign_in(
    browser: Browser, scene: Scene
) -> None:
    refusal = {"error": "unknown token", "code": "unauthorized"}
    with browsing(browser, scene.origin) as (page, _):
        page.goto(f"{scene.origin}/studio#/review?branch={quote(DRAFT)}")
        settle(page)
        choose(one(page, "floor"), "floor", "12")
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        page.get_by_label("Your words").fill("Which floor?")
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("region", name="Commits")).to_be_visible()
        held: list[Route] = []
        page.route("**/branches/merge", lambda route: held_if_chosen(route, held))
        page.get_by_role("link", name="Review").click()
        expect(page.get_by_text("asking the server")).to_be_visible()
        expect(page.locator(".one-conflict[data-state=settled]")).to_have_count(0)
        expect(page.locator(".one-conflict[data-state=left]")).to_have_count(3)
        page.unroute("**/branches/merge")
        for each in held:
            each.continue_()
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        expect(page.get_by_label("Your words")).to_have_value("Which floor?")

        page.route("**/reviews/comments", lambda route: route.fulfill(status=401, json=refusal))
        page.get_by_role("button", name="Comment").click()
        page.get_by_label("Token").fill("another")
        page.get_by_label("Token").press("Enter")
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        expect(page.get_by_label("Another value of floor")).to_have_value("12")
        expect(page.get_by_label("Your words")).to_have_value("Which floor?")
