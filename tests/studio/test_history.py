"""What happened: commits open as what they changed, are undone with a preview, and come in live."""

import json
import re
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.studio.browsing import browsing, settle
from tests.studio.scene import TOKENS, Scene, served

MOST_CLICKS = 30
AWAY = """query away($slug: String) { update Person set { status: "away" } where slug = $slug }"""
RENAME = """query rename($slug: String, $name: String) {
  update Person set { name: $name } where slug = $slug
}"""


def test_a_commit_opens_as_a_diff_and_is_undone_after_a_preview(
    browser: Browser, scene: Scene
) -> None:
    scene.graph.branch(message="Bo is away").mutate(AWAY, slug="bo")
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/history?all=1")
        settle(page)
        expect(page.get_by_role("button", name=re.compile("Gus joins the mill"))).to_be_visible()
        page.get_by_role("button", name=re.compile("Bo is away")).click()
        commit = page.get_by_role("region", name="Commit", exact=True)
        expect(commit.locator(".change")).to_have_count(1)
        expect(commit.locator(".change")).to_contain_text(re.compile(r"status\s*active → away"))

        page.get_by_role("button", name="Revert on main").click()
        dialog = page.get_by_role("dialog", name="Revert on main")
        expect(dialog.get_by_title("1 changed")).to_be_visible()
        dialog.get_by_role("button", name="Revert", exact=True).click()
        expect(page.get_by_role("heading", name=re.compile("^revert "))).to_be_visible()
        expect(commit.locator(".change")).to_contain_text(re.compile(r"status\s*away → active"))
    assert scene.graph.branch().commit.actor == "ana"


@pytest.mark.long
def test_what_later_commits_built_upon_is_not_offered_for_a_revert(
    browser: Browser, scene: Scene
) -> None:
    graph = scene.graph.branch()
    first = graph.mutate(RENAME, slug="chie", name="Chie M.").commit
    graph.mutate(RENAME, slug="chie", name="Chie Mori-Berg")
    assert first is not None
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/history?open={first.id}")
        settle(page)
        page.get_by_role("button", name="Revert on main").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("cannot simply be undone")).to_be_visible()
        expect(dialog.get_by_role("button", name="Revert", exact=True)).to_have_count(0)


def test_who_may_not_change_a_branch_is_not_offered_a_revert(
    browser: Browser, scene: Scene
) -> None:
    newest = scene.graph.branch().commit.id
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/history?open={newest}")
        settle(page)
        expect(page.get_by_role("button", name="Look at the graph here")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Revert"))).to_have_count(0)


@pytest.mark.long
def test_the_past_is_looked_at_and_left(browser: Browser, scene: Scene) -> None:
    first = [each.id for each in scene.graph.branch().log()][-1]
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/history?open={first}")
        settle(page)
        page.get_by_role("button", name="Look at the graph here").click()
        expect(page.get_by_role("heading", name="0 nodes, 0 edges")).to_be_visible()
        page.get_by_label("Back to the newest commit").click()
        expect(page.get_by_role("heading", name=re.compile("^18 nodes"))).to_be_visible()


@pytest.mark.long
def test_commits_come_in_live_also_after_the_server_was_away(
    browser: Browser, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with served(tmp_path) as first:
            origin, port = first.origin, int(first.origin.rpartition(":")[2])
            page, watch = stack.enter_context(browsing(browser, origin, token=TOKENS["eve"]))
            page.goto(f"{origin}/studio#/live")
            expect(page.get_by_text("Listening to main")).to_be_visible()
            expect(
                page.get_by_text("Nothing was committed since you opened this page")
            ).to_be_visible()
            first.graph.branch(message="Bo is away").mutate(AWAY, slug="bo")
            expect(page.get_by_text("Bo is away")).to_be_visible()
            expect(page.locator(".change")).to_contain_text(re.compile(r"active → away"))
            # What a stop waits for ends with the page's connection.
            page.get_by_role("button", name="Pause").click()
        with served(tmp_path, port=port) as second:
            second.graph.branch(message="Dag too").mutate(AWAY, slug="dag")
            page.get_by_role("button", name="Go on").click()
            expect(page.get_by_text("Dag too")).to_be_visible()
            expect(page.get_by_text("2 commits so far")).to_be_visible()
        assert not any("token-of" in each for each in watch.addresses)


def test_commits_stay_on_the_page_while_older_ones_come(browser: Browser, scene: Scene) -> None:
    held: list[Route] = []

    def with_more(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, body=json.dumps({**found.json(), "cursor": "more"}))

    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/commits?*limit=100*", with_more)
        page.route("**/commits?*limit=500*", lambda route: held.append(route))  # noqa: PLW0108
        page.goto(f"{scene.origin}/studio#/history")
        settle(page)
        with page.expect_request("**/commits?*limit=500*"):
            page.get_by_role("button", name="Older commits").click()
        expect(page.get_by_role("button", name="Older commits")).to_be_disabled()
        expect(page.get_by_text("people and where they work")).to_be_visible()
        held[0].continue_()
        expect(page.get_by_role("button", name="Older commits")).to_have_count(0)
        expect(page.get_by_text("people and where they work")).to_be_visible()


def test_commits_that_are_refused_do_not_stay_on_the_page(browser: Browser, scene: Scene) -> None:
    refusal = {"error": "you may not read main", "code": "policy_denied"}
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/history")
        settle(page)
        expect(page.get_by_text("people and where they work")).to_be_visible()
        page.route("**/commits?*", lambda route: route.fulfill(status=403, json=refusal))
        page.keyboard.press("r")
        expect(page.get_by_text("Not allowed: you may not read main")).to_be_visible()
        expect(page.get_by_text("people and where they work")).to_have_count(0)


def test_a_refused_feed_is_not_said_to_be_tried_again(browser: Browser, scene: Scene) -> None:
    refusal = {"error": "you may not read main", "code": "policy_denied"}
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/changes/stream*", lambda route: route.fulfill(status=403, json=refusal))
        page.goto(f"{scene.origin}/studio#/live")
        expect(page.get_by_text("Not allowed: you may not read main")).to_be_visible()
        expect(page.get_by_text("Not listening")).to_be_visible()
        expect(page.get_by_text("trying again")).to_have_count(0)


def test_the_oldest_commits_that_the_page_can_list_are_said_to_be_so(
    browser: Browser, scene: Scene
) -> None:
    limits: list[int] = []

    def with_more(route: Route) -> None:
        limits.append(int(parse_qs(urlsplit(route.request.url).query)["limit"][0]))
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), "cursor": "more"})

    older = "Older commits"
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/commits?*", with_more)
        page.goto(f"{scene.origin}/studio#/history")
        settle(page)
        for _ in range(MOST_CLICKS):
            if page.get_by_role("button", name=older).count() == 0:
                break
            page.get_by_role("button", name=older).click()
            expect(page.get_by_role("button", name=older, disabled=True)).to_have_count(0)
        expect(page.get_by_text("omnigraph commit list")).to_be_visible()
    assert max(limits) == 10_000


def test_a_commit_that_was_cut_in_the_middle_is_counted_once(
    browser: Browser, scene: Scene
) -> None:
    commit = json.loads(json.dumps(scene.graph.branch().commit.to_json()))
    rows = [f'{{"table_key": "node:City", "kind": "node", "id": "{n}"}}' for n in ("a", "b")]

    def part(number: int) -> str:
        row = {**json.loads(rows[number]), "type_name": "City", "op": "insert", "after": {}}
        return f"event: changes\ndata: {json.dumps({'changes': [row]})}\n\n"

    whole = json.dumps({"commit": commit, "stats": {}, "schema_steps": []})
    ends = f"event: commit\nid: c1\ndata: {whole}\n\n"
    answers = [part(0), part(0) + part(1) + ends]

    def answer(route: Route) -> None:
        if answers:
            route.fulfill(content_type="text/event-stream", body=answers.pop(0))

    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.route("**/changes/stream*", answer)
        page.goto(f"{scene.origin}/studio#/live")
        expect(page.get_by_text("1 commit so far")).to_be_visible()
        expect(page.locator(".feed summary")).to_have_text("2 rows")
