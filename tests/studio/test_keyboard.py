"""No hand on the mouse: a branch is found, reviewed, settled and merged by keys alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.studio.browsing import browsing, serious_findings, settle
from tests.studio.scene import TOKENS, Scene, served

SET = """query s($slug: String, $name: String) {
  update Person set { name: $name } where slug = $slug
}"""
_MOST_TABS = 120


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Two properties in conflict between main and a branch."""
    with served(tmp_path) as scene:
        draft = scene.graph.create_branch("agent/bob/names")
        for slug in ("bo", "chie"):
            draft.mutate(SET, slug=slug, name=f"{slug} of the agent")
            scene.graph.branch().mutate(SET, slug=slug, name=f"{slug} of main")
        yield scene


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus, and shows it."""
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("(each) => each === document.activeElement"):
            break
    expect(wanted).to_be_focused()
    shown = "(each) => getComputedStyle(each).outlineStyle"
    assert wanted.evaluate(shown) != "none", "nobody sees where the focus is"


def test_a_branch_is_found_settled_and_merged_by_keys_alone(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio")
        settle(page)

        page.keyboard.press("b")
        expect(page.get_by_label("A part of its name")).to_be_focused()
        page.keyboard.type("names")
        listed = page.get_by_role("region", name="Branches").get_by_role("button")
        expect(listed.first).to_contain_text("names")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        settle(page)
        page.keyboard.press("g")
        page.keyboard.press("v")
        settle(page)
        expect(page.get_by_text("2 conflicts left of 2")).to_be_visible()

        bo = page.get_by_role("article", name="Person bo").get_by_role("group", name="name")
        tab_to(page, bo.get_by_label("ours"))
        page.keyboard.press("ArrowRight")
        expect(bo.get_by_label("theirs")).to_be_checked()
        expect(bo.get_by_label("theirs")).to_be_focused()
        expect(page.get_by_text("1 conflict left of 2")).to_be_visible()
        expect(bo.get_by_label("theirs")).to_be_focused()

        other = page.get_by_role("article", name="Person chie").get_by_label(
            "Another value of name"
        )
        tab_to(page, other)
        page.keyboard.press("Control+a")
        page.keyboard.type("Chie of both")
        page.keyboard.press("Enter")
        expect(page.get_by_text("all 2 conflicts settled")).to_be_visible()

        message = page.get_by_label("Message")
        tab_to(page, message)
        page.keyboard.type("settled by keys")
        tab_to(page, page.get_by_role("button", name="Merge into main"))
        page.keyboard.press("Enter")
        done = page.get_by_role("region", name="Merge")
        expect(done).to_contain_text("Merged.")
        expect(done).to_be_focused()

        tab_to(page, page.get_by_label("Your words"))
    newest = scene.graph.branch().commit
    assert (newest.actor, newest.message) == ("ana", "settled by keys")
    found = scene.graph.query("match { $p: Person } return { $p.slug as s, $p.name as n }")
    names = {row["s"]: row["n"] for row in found}
    assert (names["bo"], names["chie"]) == ("bo of the agent", "Chie of both")


def test_the_editor_says_how_keys_leave_it_and_they_do(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio#/query")
        settle(page)
        editor = page.locator(".cm-content")
        expect(editor).to_have_attribute("aria-description", "Escape, then Tab leaves the editor")
        editor.focus()
        page.keyboard.press("Tab")
        expect(editor).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        expect(editor).not_to_be_focused()
        assert serious_findings(page) == []
        page.get_by_role("button", name="Run", exact=True).focus()
        page.keyboard.press("?")
        row = page.get_by_role("dialog", name="Keys").get_by_role("row")
        expect(row.filter(has_text="Esc Tab")).to_contain_text("leave the editor")
