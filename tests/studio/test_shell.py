"""The frame of the studio: who is here, where one looks, and what happens when the server goes."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from omnigraph.server.studio.handover import Handover
from tests.studio.browsing import browsing, settle
from tests.studio.scene import TOKENS, Scene, served

ROME = 'query add() { insert City { slug: "rome" name: "Rome" country: "Italy" } }'


def test_a_code_of_the_address_becomes_a_token_and_leaves_no_trace(
    browser: Browser, tmp_path: Path
) -> None:
    with served(tmp_path) as scene:
        handover = scene.server.settings.handover
        assert isinstance(handover, Handover)
        with browsing(browser, scene.origin) as (page, watch):
            page.goto(f"{scene.origin}/studio#code={handover.code}")
            settle(page)
            expect(page.get_by_text("people and where they work")).to_be_visible()
            expect(page.get_by_title("You are this actor")).to_have_text("ana")

            assert page.url == f"{scene.origin}/studio"
            assert not any(TOKENS["ana"] in each for each in watch.addresses)
            page.reload()
            settle(page)
            expect(page.get_by_text("people and where they work")).to_be_visible()


def test_without_a_token_one_is_asked_for_and_a_wrong_one_is_refused(
    browser: Browser, scene: Scene
) -> None:
    with browsing(browser, scene.origin) as (page, watch):
        page.goto(f"{scene.origin}/studio#/overview?branch=review%2Fhires")
        page.get_by_label("Token").fill("not-a-token-at-all")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_text("does not know this token")).to_be_visible()

        page.get_by_label("Token").fill(TOKENS["eve"])
        page.keyboard.press("Enter")
        settle(page)

        expect(page.get_by_title("Choose a branch")).to_contain_text("review/hires")
        assert not any("token-of" in each for each in watch.addresses)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


def test_branch_commit_and_selection_stand_in_the_address(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio")
        settle(page)
        page.keyboard.press("b")
        page.get_by_label("A part of its name").fill("hires")
        expect(
            page.get_by_role("dialog").get_by_role("button", name="review/hires")
        ).to_be_visible()
        page.keyboard.press("Enter")
        settle(page)
        page.get_by_role("button", name="Company").click()

        expect(page).to_have_url(re.compile(r"#/overview\?branch=review%2Fhires&type=Company$"))
        page.keyboard.press("b")
        page.get_by_role("button", name=re.compile("loaded")).click()
        expect(page).to_have_url(re.compile(r"commit=[0-9A-Z]{26}"))
        page.get_by_label("Back to the newest commit").click()
        expect(page).to_have_url(re.compile(r"branch=review%2Fhires&type=Company$"))
        page.go_back()
        expect(page).to_have_url(re.compile(r"commit=[0-9A-Z]{26}"))


def test_the_keys_go_to_every_room_and_are_listed(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/overview")
        settle(page)
        for link in page.get_by_role("navigation").get_by_role("link").all():
            key = str(link.get_attribute("title")).split()[-1]
            page.keyboard.press("g")
            page.keyboard.press(key)
            expect(link).to_have_attribute("aria-current", "page")
            settle(page)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.long
def test_a_server_that_goes_away_is_told_and_what_it_says_when_it_is_back_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with served(tmp_path) as first:
            origin, port = first.origin, int(first.origin.rpartition(":")[2])
            page, _ = stack.enter_context(browsing(browser, origin, token=TOKENS["ana"]))
            page.goto(f"{origin}/studio#/overview")
            settle(page)
        page.keyboard.press("r")
        expect(page.locator(".gone")).to_contain_text("The server does not answer")
        expect(page.get_by_text("people and where they work")).to_be_visible()
        with served(tmp_path, port=port) as second:
            second.graph.branch().mutate(ROME)
            expect(page.locator(".gone")).to_have_count(0)
            page.keyboard.press("r")
            expect(page.get_by_role("row", name=re.compile("^City"))).to_contain_text("4")


def test_a_branch_that_is_gone_is_not_shown_any_more(browser: Browser, scene: Scene) -> None:
    scene.graph.create_branch("agent/short")
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/overview?branch=agent%2Fshort")
        settle(page)
        types = page.get_by_role("region", name="Types", exact=True)
        expect(types).to_be_visible()
        scene.graph.delete_branch("agent/short")
        page.locator("main").press("r")
        expect(page.get_by_text("no branch, tag or commit 'agent/short'").first).to_be_visible()
        expect(types).to_have_count(0)


def test_keys_do_nothing_behind_a_dialog(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/overview")
        settle(page)
        page.locator("main").press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("h")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("heading", name="Overview")).to_be_attached()
        page.keyboard.press("g")
        page.keyboard.press("h")
        expect(page.get_by_role("heading", name="History")).to_be_attached()
