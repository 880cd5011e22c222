"""A person finds a node, sees who set what, follows its edges, and goes back in time."""

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.studio.browsing import SCREENS, browsing, serious_findings, settle
from tests.studio.scene import TOKENS, Scene

RENAME = """query r($slug: String, $name: String) {
  update Person set { name: $name } where slug = $slug
}"""
SEVERAL = re.compile(r"^[2-9]\d* nodes, \d+ edge")
HOSTILE = '<img src=x onerror="alert(1)"> \u202eevil'


def pages_of(addresses: list[str]) -> list[str]:
    """Return the requests for pages of neighbours."""
    return [each for each in addresses if "/neighbors?" in each and "edge=" in each]


def enter(page: Page, scene: Scene, more: str = "") -> None:
    page.goto(f"{scene.origin}/studio#/explore{more}")
    settle(page)


def test_a_node_is_found_opened_and_followed_to_its_neighbours(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        enter(page, scene)
        expect(page.get_by_text("Find a node")).to_be_visible()
        page.get_by_role("searchbox").fill("ana")
        page.get_by_role("button", name=re.compile("^Person Ana")).first.click()
        panel = page.get_by_role("region", name="Node")
        expect(panel.get_by_text("email")).to_be_visible()
        expect(panel.get_by_role("link", name=re.compile("somebody|ana")).first).to_be_visible()
        knows = panel.get_by_role("listitem").filter(has_text="Knows").first
        knows.get_by_role("button", name="Show").click()
        canvas = page.get_by_role("region", name="Canvas")
        expect(canvas.get_by_role("status").last).to_have_text(SEVERAL)
        page.screenshot(path=str(SCREENS / "explore.png"))
        assert serious_findings(page) == []
        link = page.url
        page.get_by_role("link", name="Take it to the Query room").click()
        settle(page)
        expect(page.locator(".cm-content")).to_contain_text("match {")

        page.goto(link)
        settle(page)
        expect(canvas.get_by_role("status").last).to_have_text(SEVERAL)
        knows.get_by_role("button", name="Hide").click()
        expect(canvas.get_by_role("status").last).to_have_text("1 node, 0 edges")


@pytest.mark.long
def test_the_slider_shows_what_was_there_before(browser: Browser, scene: Scene) -> None:
    scene.graph.branch(message="Dag has a new name").mutate(RENAME, slug="dag", name="Dag New")
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        enter(page, scene, "?node=%5B%22Person%22%2C%22dag%22%5D")
        panel = page.get_by_role("region", name="Node")
        expect(panel.get_by_role("heading", name="Dag New")).to_be_visible()
        page.get_by_label("Time").press("ArrowLeft")
        expect(page.get_by_label("Back to the newest commit")).to_be_visible()
        expect(panel.get_by_role("heading", name="Dag New")).to_have_count(0)
        expect(panel.get_by_role("heading", name=re.compile("^Dag"))).to_be_visible()
        # Whoever goes on by keys is still at the slider.
        expect(page.get_by_label("Time")).to_be_focused()
        page.keyboard.press("End")
        expect(panel.get_by_role("heading", name="Dag New")).to_be_visible()


@pytest.mark.long
def test_a_type_shows_its_first_nodes_without_words(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        enter(page, scene)
        page.get_by_role("group", name="Types").get_by_role("button", name="City").click()
        expect(page.locator(".card").first).to_be_visible()
        page.get_by_role("searchbox").fill("there is no such thing anywhere qqqq")
        expect(page.get_by_text("Nothing was found")).to_be_visible()


def test_hostile_values_are_shown_as_text(browser: Browser, scene: Scene) -> None:
    scene.graph.branch().mutate(RENAME, slug="finn", name=HOSTILE)
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        enter(page, scene, "?q=finn")
        page.locator(".card").first.click()
        panel = page.get_by_role("region", name="Node")
        expect(panel.get_by_role("heading", name=HOSTILE)).to_be_visible()
        assert page.locator("img").count() == 0


def test_the_slider_says_when_it_has_only_the_newest_commits(
    browser: Browser, scene: Scene
) -> None:
    def with_more(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), "cursor": "more"})

    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/commits?*", with_more)
        enter(page, scene, "?node=%5B%22Person%22%2C%22dag%22%5D")
        expect(page.get_by_text(re.compile(r"commit (\d+) of the newest \1"))).to_be_visible()


def test_what_is_typed_while_the_address_is_written_is_kept(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        enter(page, scene)
        page.evaluate("""() => {
            const write = history.replaceState.bind(history)
            history.replaceState = (...how) => {
                write(...how)
                history.replaceState = write
                const box = document.querySelector('input[type=search]')
                box.value += 'nn'
                box.dispatchEvent(new Event('input', { bubbles: true }))
            }
        }""")
        page.get_by_role("searchbox").fill("fi")
        expect(page).to_have_url(re.compile(r"q=finn$"))
        expect(page.get_by_role("searchbox")).to_have_value("finn")


def test_what_grew_before_is_not_asked_for_again(browser: Browser, scene: Scene) -> None:
    asked: list[str] = []
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.on("request", lambda request: asked.append(request.url))
        enter(page, scene, "?node=%5B%22Person%22%2C%22ana%22%5D")
        panel = page.get_by_role("region", name="Node")
        canvas = page.get_by_role("region", name="Canvas")
        for edge in ("Knows", "WorksAt"):
            group = panel.get_by_role("listitem").filter(has_text=edge).first
            group.get_by_role("button", name="Show").click()
            expect(group.get_by_role("button", name="Hide")).to_be_visible()
            settle(page)
        expect(canvas.get_by_role("status").last).to_have_text(SEVERAL)
        assert len(pages_of(asked)) == 2
        with page.expect_request(re.compile("/neighbors.*edge=WorksAt")):
            page.keyboard.press("r")
        assert len(pages_of(asked)) == 4
