"""A branch arrives: a person sees what it changed, settles its conflicts one by one, and merges."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.studio.browsing import SCREENS, browsing, serious_findings, settle
from tests.studio.scene import TOKENS, Scene, served

SET = """query s($slug: String, $name: String, $status: String) {
  update Person set { name: $name, status: $status } where slug = $slug
}"""
PREVIEW = "**/branches/merge"
MERGED = re.compile(r"Merged\.|is in main already")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Three properties in conflict between main and a branch, and something new on both sides."""
    with served(tmp_path) as scene:
        graph = scene.graph
        draft = graph.create_branch("agent/bob/names")
        draft.mutate(SET, slug="bo", name="Bo Agent", status="away")
        draft.mutate(SET, slug="chie", name="Chie Agent", status="active")
        graph.branch().mutate(SET, slug="bo", name="Bo Main", status="former")
        graph.branch().mutate(SET, slug="chie", name="Chie Main", status="active")
        yield scene


def open_review(page: Page, scene: Scene, branch: str = "agent%2Fbob%2Fnames") -> None:
    page.goto(f"{scene.origin}/studio#/review?branch={branch}")
    settle(page)


@contextmanager
def held(page: Page, path: str, do: Callable[[], None]) -> Iterator[None]:
    """Do what sends a request, and let the answer come when the block has ended."""
    requests: list[Route] = []
    # Playwright notes something on what it calls, which a method has no room for.
    page.route(path, lambda route: requests.append(route))  # noqa: PLW0108
    with page.expect_request(path):
        do()
    yield
    for each in requests:
        each.continue_()
    page.unroute(path)


def names(scene: Scene) -> dict[object, object]:
    found = scene.graph.branch().query("match { $p: Person } return { $p.slug as s, $p.name as n }")
    return {row["s"]: row["n"] for row in found}


def test_three_conflicts_are_settled_one_by_one_and_merged(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/review")
        page.get_by_role("link", name="agent/bob/names").click()
        settle(page)
        merge = page.get_by_role("button", name="Merge into main")
        expect(page.get_by_text("3 conflicts left of 3")).to_be_visible()
        expect(merge).to_be_disabled()
        page.screenshot(path=str(SCREENS / "review-conflicts.png"), full_page=True)
        assert serious_findings(page) == []

        bo = page.get_by_role("article", name="Person bo")
        bo.get_by_role("group", name="name").get_by_label("theirs").check()
        expect(page.get_by_text("2 conflicts left of 3")).to_be_visible()
        chie = page.get_by_role("article", name="Person chie")
        with held(page, PREVIEW, bo.get_by_role("group", name="status").get_by_label("ours").check):
            chie.get_by_label("Another value of name").fill("Chie Both")
        expect(page.get_by_text("1 conflict left of 3")).to_be_visible()
        expect(chie.get_by_label("Another value of name")).to_have_value("Chie Both")
        chie.get_by_label("Another value of name").press("Enter")
        chie.get_by_label("another value", exact=True).check()
        expect(page.get_by_text("all 3 conflicts settled")).to_be_visible()
        page.get_by_label("Message").fill("names, settled")
        merge.click()
        expect(page.get_by_text(MERGED)).to_be_visible()
    assert names(scene)["bo"] == "Bo Agent"
    assert names(scene)["chie"] == "Chie Both"
    newest = scene.graph.branch().commit
    assert (newest.actor, newest.message) == ("ana", "names, settled")


@pytest.mark.long
def test_one_click_takes_a_side_for_a_type_and_back(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        open_review(page, scene)
        all_theirs = page.get_by_role("group", name="For every Person").get_by_text("theirs")
        all_theirs.click()
        expect(page.get_by_text("all 3 conflicts settled")).to_be_visible()
        all_theirs.click()
        expect(page.get_by_text("3 conflicts left of 3")).to_be_visible()


def test_the_second_reviewer_is_told_that_the_branch_moved(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        open_review(page, scene, "review%2Fhires")
        expect(page.get_by_text("no conflicts")).to_be_visible()
        scene.graph.branch("review/hires").mutate(SET, slug="gus", name="Gus", status="away")
        page.get_by_role("button", name="Merge into main").click()
        expect(page.get_by_text("A branch moved while you were looking.")).to_be_visible()
        page.get_by_role("button", name="Look again").click()
        settle(page)
        expect(page.locator(".change").filter(has_text=re.compile("status"))).not_to_have_count(0)
        page.get_by_role("button", name="Merge into main").click()
        expect(page.get_by_text(MERGED)).to_be_visible()


def test_a_branch_is_handed_back_with_a_reason_and_approved_later(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        open_review(page, scene, "review%2Fhires")
        hand_back = page.get_by_role("button", name="Hand back")
        expect(hand_back).to_be_disabled()
        page.get_by_label("Your words").fill("<b>Which</b> mill?")
        hand_back.click()
        said = page.get_by_role("region", name="What was said")
        expect(said.get_by_text("changes asked")).to_be_visible()
        expect(said.get_by_text("<b>Which</b> mill?")).to_be_visible()
        page.get_by_role("button", name="Approve").click()
        expect(page.locator("header .badge", has_text="approved").first).to_be_visible()


def test_who_may_not_merge_is_not_offered_it(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        open_review(page, scene, "review%2Fhires")
        expect(page.get_by_text("You may not merge into main.")).to_be_visible()
        expect(page.get_by_role("button", name="Merge into main")).to_have_count(0)
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def test_who_may_comment_on_a_branch_does_so_without_a_right_on_where_it_goes(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, token=TOKENS["bob"]) as (page, _):
        open_review(page, scene, "review%2Fhires")
        expect(page.get_by_text("You may not merge into main.")).to_be_visible()
        page.get_by_label("Your words").fill("Which mill?")
        page.get_by_role("button", name="Comment").click()
        said = page.get_by_role("region", name="What was said")
        expect(said.get_by_text("Which mill?")).to_be_visible()


def test_a_right_that_could_not_be_asked_for_is_not_said_to_be_missing(
    browser: Browser, scene: Scene
) -> None:
    refusal = {"error": "too many requests", "code": "too_many_requests"}
    rights = re.compile(r"config\.json\?.*branch=main")
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.route(rights, lambda route: route.fulfill(status=429, json=refusal))
        page.goto(f"{scene.origin}/studio#/review?branch=review%2Fhires")
        expect(page.get_by_text("too many requests")).to_be_visible()
        expect(page.get_by_text("You may not merge")).to_have_count(0)
        page.unroute(rights)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("button", name="Merge into main")).to_be_enabled()


def test_branches_past_the_first_are_not_left_unsaid(browser: Browser, scene: Scene) -> None:
    def with_more(route: Route) -> None:
        found = route.fetch()
        kept = {"branches": [], "cursor": "somewhere"}
        route.fulfill(response=found, json={**found.json(), **kept})

    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.route("**/branches/status*", with_more)
        page.goto(f"{scene.origin}/studio#/review")
        settle(page)
        expect(page.get_by_text("There are more branches; choose one with b.")).to_be_visible()
        expect(page.get_by_text("No branch is waiting")).to_have_count(0)
