"""Asking: a mistake is shown and mended, answers are looked at, only some may change."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.studio.browsing import browsing, settle
from tests.studio.scene import TOKENS, Scene

CIRCLE = """query circle($slug: String) {
  match { $p: Person { slug: $slug }  $p $e:knows $f }
  return { $p, $e, $f }
}"""
ADD = """query add($slug: String, $country: String) {
  insert City { slug: $slug, name: $slug, country: $country }
}"""
MOST = 100_000


def query_address(scene: Scene, text: str, **extra: str) -> str:
    """Return a link to a question."""
    fields = {"q": text, **extra}
    return f"{scene.origin}/studio#/query?" + "&".join(f"{k}={quote(v)}" for k, v in fields.items())


def rows_shown(page: Page) -> str:
    """Return how many rows the answer has, as the page says."""
    status = page.get_by_role("region", name="Answer").get_by_text(re.compile(r"[\d,]+ rows? in "))
    expect(status).to_be_visible()
    return (status.text_content() or "").partition(" in ")[0]


def test_a_mistake_is_shown_as_one_types_and_mended_and_the_answer_is_a_link(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, CIRCLE.replace("Person", "Persn")))
        settle(page)
        problem = page.get_by_role("list", name="Problems").get_by_role("button")
        expect(problem).to_contain_text("unknown type 'Persn': did you mean 'Person'?")
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()

        problem.click()
        page.keyboard.press("Control+ArrowRight")
        page.keyboard.press("Control+Backspace")
        page.keyboard.type("Per")
        page.keyboard.press("Control+Space")
        page.get_by_role("option", name=re.compile("Person")).click()
        expect(page.get_by_role("list", name="Problems")).to_have_count(0)
        page.get_by_label("$slug").fill("ana")
        page.get_by_label("$slug").press("Enter")
        assert rows_shown(page) == "1 row"

        with browsing(browser, scene.origin, token=TOKENS["bob"]) as (other, _):
            other.goto(page.url)
            settle(other)
            assert rows_shown(other) == "1 row"


def test_an_answer_is_a_table_a_graph_and_json(browser: Browser, scene: Scene) -> None:
    text = "query all() { match { $a $e:worksAt $b } return { $a, $e, $b, $a.joined as joined } }"
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, text, run="1"))
        grid = page.get_by_role("grid", name="Rows")
        expect(grid.get_by_role("gridcell", name="Ana Reis · ana").first).to_be_visible()
        grid.focus()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("region", name="The whole value")).to_contain_text('"slug": "ana"')

        page.get_by_role("tab", name="Graph").click()
        canvas = page.get_by_role("application")
        expect(canvas).to_have_attribute("aria-label", re.compile("6 nodes and 5 edges"))
        canvas.focus()
        page.keyboard.press("ArrowRight")
        expect(page).to_have_url(re.compile(r"select=Person"))

        page.get_by_role("tab", name="JSON").click()
        shown = page.get_by_role("region", name="Rows as JSON").text_content() or ""
        assert json.loads(shown)[0]["a"]["id"] == "ana"
        expect(page).to_have_url(re.compile("view=json"))


@pytest.mark.long
def test_a_plan_and_a_profile_say_how_and_how_long(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, CIRCLE, params='{"slug": "ana"}'))
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("row", name=re.compile(r"Expand \$p -Knows-> \$f"))).to_be_visible()
        page.get_by_role("button", name="Profile", exact=True).click()
        expect(page.get_by_text(re.compile(r"\d m?s in all"))).to_be_visible()
        expect(page.get_by_role("columnheader", name="Time")).to_be_visible()


@pytest.mark.long
def test_a_hundred_thousand_rows_scroll(browser: Browser, scene: Scene) -> None:
    rows = "\n".join(
        json.dumps({"type": "City", "data": {"slug": f"c{n}", "name": f"City {n}", "country": "X"}})
        for n in range(MOST)
    )
    scene.graph.create_branch("many")
    scene.graph.branch("many").load(rows, mode="append", engine="inline")
    text = 'query many() { match { $c: City { country: "X" } } return { $c.slug, $c.name } }'
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, text, run="1", branch="many"))
        assert rows_shown(page) == "100,000 rows"
        grid = page.get_by_role("grid", name="Rows")
        assert page.locator(".virtual .line").count() < 100
        grid.focus()
        page.keyboard.press("Control+ArrowDown")
        expect(page.get_by_text("row 100,000 of 100,000")).to_have_count(1)
        expect(grid.locator("[aria-rowindex='100001']")).to_be_visible()
        grid.evaluate("grid => { grid.scrollTop = grid.scrollHeight / 2 }")
        expect(grid.locator("[aria-rowindex='50001']")).to_be_visible()
    scene.graph.delete_branch("many")


@pytest.mark.long
def test_of_an_answer_that_is_too_large_the_first_rows_are_shown_and_that_is_said(
    browser: Browser, scene: Scene
) -> None:
    rows = [{"slug": f"c{n:03}", "name": "x" * 1_000_000, "country": "L"} for n in range(80)]
    scene.graph.create_branch("large").load(rows, type="City", mode="append", engine="inline")
    text = 'query large() { match { $c: City { country: "L" } } return { $c.slug, $c.name } }'
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, text, run="1", branch="large"))
        said = page.get_by_role("alert").filter(has_text="larger than the page holds")
        expect(said).to_contain_text(re.compile(r"Only the first 6\d of 80 rows are here"))
        assert rows_shown(page) == "80 rows"
        expect(page.get_by_role("gridcell", name="c000")).to_be_visible()
    scene.graph.delete_branch("large")


def test_only_those_who_may_are_offered_a_change(browser: Browser, scene: Scene) -> None:
    address = query_address(scene, ADD, params='{"slug": "oslo", "country": "Norway"}')
    with browsing(browser, scene.origin, token=TOKENS["bob"]) as (page, _):
        page.goto(address)
        expect(page.get_by_text("You may not change main")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Commit to"))).to_have_count(0)

        page.goto(f"{address}&branch=review/hires")
        page.get_by_label("Message of the commit").fill("Oslo is missing")
        page.get_by_role("button", name="Commit to review/hires").click()
        expect(page.get_by_text("Changed review/hires")).to_be_visible()
    newest = scene.graph.branch("review/hires").commit
    assert (newest.actor, newest.message) == ("bob", "Oslo is missing")


@pytest.mark.long
def test_stored_queries_are_run_by_name_and_what_was_asked_is_listed(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, CIRCLE, params='{"slug": "bo"}'))
        page.get_by_role("button", name="Run", exact=True).click()
        rows_shown(page)
        shelf = page.get_by_role("complementary", name="Stored and asked")
        expect(shelf.get_by_role("button", name=re.compile("query circle"))).to_be_visible()
        shelf.get_by_role("button", name=re.compile("^by_prefix")).click()
        shelf.get_by_label("$prefix").fill("A")
        shelf.get_by_label("$count").fill("5")
        shelf.get_by_role("button", name="Run by_prefix").click()
        expect(shelf.get_by_role("gridcell", name="Ana Reis")).to_be_visible()


@pytest.mark.long
def test_hostile_values_are_shown_as_text(browser: Browser, scene: Scene) -> None:
    hostile = "<img src=x onerror=\"document.title='taken'\"><script>alert(1)</script>"
    names = {"h1": hostile, "h2": "\u202egnp.exe \U0001f469\u200d\U0001f680", "h3": "x" * 1_000_000}
    scene.graph.create_branch("hostile")
    scene.graph.branch("hostile").load(
        "\n".join(
            json.dumps({"type": "City", "data": {"slug": slug, "name": name, "country": "H"}})
            for slug, name in names.items()
        ),
        message=hostile,
    )
    text = (
        'query h() { match { $c: City { country: "H" } } return { $c, $c.name } order { $c.slug } }'
    )
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, text, run="1", branch="hostile"))
        assert rows_shown(page) == "3 rows"
        cells = page.get_by_role("gridcell")
        expect(cells.filter(has_text="<script>").first).to_be_visible()
        cells.filter(has_text="xxxx").first.click()
        expect(page.get_by_role("region", name="The whole value")).to_be_visible()
        page.get_by_role("tab", name="Graph").click()
        expect(page.get_by_role("application")).to_be_visible()
        page.goto(f"{scene.origin}/studio#/history?branch=hostile")
        settle(page)
        page.get_by_role("button", name=re.compile("<img src=x")).click()
        expect(page.get_by_role("heading", name=hostile)).to_be_visible()
        expect(page.get_by_role("button", name="all 1,000,000 characters")).to_be_visible()
        assert page.title() != "taken"
        assert page.locator("main img, main script").count() == 0
    scene.graph.delete_branch("hostile")


def test_what_is_typed_while_an_answer_is_on_its_way_is_not_asked(
    browser: Browser, scene: Scene
) -> None:
    held: list[Route] = []
    cities = "query cities() { match { $c: City } return { $c.slug as slug } limit 1 }"
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/read", lambda route: held.append(route))  # noqa: PLW0108
        page.goto(query_address(scene, cities))
        settle(page)
        with page.expect_request("**/read"):
            page.get_by_role("button", name="Run", exact=True).click()
        page.locator(".cm-content").press("Control+End")
        with page.expect_response("**/lint"):
            page.keyboard.type("// and more")
        expect(page).to_have_url(re.compile("more"))
        held[0].continue_()
        assert rows_shown(page) == "1 row"
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
        assert "run=1" not in page.url
        assert len(held) == 1


def test_a_change_whose_answer_was_lost_is_made_once_when_it_is_sent_again(
    browser: Browser, scene: Scene
) -> None:
    lost: list[Route] = []

    def lose(route: Route) -> None:
        if not lost:
            lost.append(route)
            route.fetch()
            route.abort()
        else:
            route.continue_()

    change = """query begin() { insert Document { slug: "notes", title: "Notes", text: "" } }"""
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.route("**/change", lose)
        page.goto(f"{query_address(scene, change)}&branch=review/hires")
        page.get_by_role("button", name="Commit to review/hires").click()
        expect(page.get_by_text("send it again as it is, and it is done once")).to_be_visible()
        made = scene.graph.branch("review/hires").commit.id
        page.get_by_role("button", name="Commit to review/hires").click()
        expect(page.get_by_text("Changed review/hires")).to_be_visible()
    assert scene.graph.branch("review/hires").commit.id == made


def test_the_answer_of_another_commit_is_not_left_standing(browser: Browser, scene: Scene) -> None:
    cities = "query cities() { match { $c: City } return { $c.slug as slug } limit 1 }"
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, cities))
        settle(page)
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("table")).to_be_visible()
        page.get_by_role("button", name="main").click()
        page.get_by_role("region", name="Tags").get_by_role("button", name="loaded").click()
        expect(page.get_by_label("Back to the newest commit")).to_be_visible()
        expect(page.get_by_text("Not asked yet")).to_be_visible()
        expect(page.get_by_role("table")).to_have_count(0)


FIRST = "query first() { match { $c: City } return { $c.slug as one } order { one } limit 1 }"
SECOND = FIRST.replace("first", "second").replace("one", "other")


def names_sent(page: Page) -> list[str]:
    """Return a list to which the names of the queries come that the page asks."""
    found: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/read"):
            found.append(json.loads(request.post_data or "{}")["query_name"])

    page.on("request", note)
    return found


def test_a_link_is_answered_with_what_is_known_of_its_own_text(
    browser: Browser, scene: Scene
) -> None:
    held: list[Route] = []
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        sent = names_sent(page)
        page.goto(query_address(scene, FIRST, run="1"))
        assert rows_shown(page) == "1 row"
        page.route("**/lint", lambda route: held.append(route))  # noqa: PLW0108
        with page.expect_request("**/lint"):
            page.goto(query_address(scene, SECOND, run="1"))
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
        held[0].continue_()
        expect(page.get_by_role("columnheader", name="other")).to_be_visible()
    assert sent == ["first", "second"]


def test_a_text_that_is_run_as_soon_as_it_is_typed_is_run_when_it_is_known(
    browser: Browser, scene: Scene
) -> None:
    held: list[Route] = []
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        sent = names_sent(page)
        page.goto(query_address(scene, FIRST))
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
        page.route("**/lint", lambda route: held.append(route))  # noqa: PLW0108
        page.locator(".cm-content").press("Control+Home")
        for _ in "query ":
            page.keyboard.press("ArrowRight")
        with page.expect_request("**/lint"):
            page.keyboard.type("the_")
            page.keyboard.press("Control+Enter")
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
        held[-1].continue_()
        assert rows_shown(page) == "1 row"
    assert sent == ["the_first"]


def test_a_change_that_has_begun_is_not_stopped_also_by_who_leaves(
    browser: Browser, scene: Scene
) -> None:
    held: list[Route] = []
    change = """query begin() { insert Document { slug: "held", title: "Held", text: "" } }"""
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.route("**/change", lambda route: held.append(route))  # noqa: PLW0108
        page.goto(f"{query_address(scene, change)}&branch=review/hires")
        page.get_by_label("Message of the commit").fill("made while nobody looks")
        with page.expect_request("**/change"):
            page.get_by_role("button", name="Commit to review/hires").click()
        expect(page.get_by_text("It goes on when you go to another room")).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        page.get_by_role("link", name="History").click()
        settle(page)
        held[0].continue_()
        expect(page.get_by_text("made while nobody looks")).to_be_visible()


def test_a_stored_query_can_be_stopped(browser: Browser, scene: Scene) -> None:
    held: list[Route] = []
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/queries/by_prefix", lambda route: held.append(route))  # noqa: PLW0108
        page.goto(f"{scene.origin}/studio#/query")
        settle(page)
        shelf = page.get_by_role("complementary", name="Stored and asked")
        shelf.get_by_role("button", name=re.compile("^by_prefix")).click()
        shelf.get_by_label("$prefix").fill("A")
        shelf.get_by_label("$count").fill("5")
        with page.expect_request("**/queries/by_prefix"):
            shelf.get_by_role("button", name="Run by_prefix").click()
        with page.expect_event("requestfailed"):
            shelf.get_by_role("button", name="Stop").click()
        expect(shelf.get_by_role("button", name="Run by_prefix")).to_be_enabled()
        expect(shelf.get_by_text("running")).to_have_count(0)
