"""Every room fits every screen, light and dark, and keeps nobody out."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.studio.browsing import SCREENS, browsing, serious_findings, settle
from tests.studio.scene import TOKENS, Scene

_PAIRS = "query pairs() { match { $a: Person  $a $e:worksAt $b } return { $a, $e, $b } }"
_ANA = '["Person","ana"]'
_GROWN = '[["Person","ana","Knows","in",1],["Person","ana","WorksAt","out",1]]'
ROOMS = {
    "overview": "#/overview?type=Person",
    "explore": f"#/explore?q=ana&node={quote(_ANA)}&grown={quote(_GROWN)}",
    "query": f"#/query?q={quote(_PAIRS)}&run=1",
    "query-graph": f"#/query?q={quote(_PAIRS)}&run=1&view=graph",
    "history": "#/history?all=1&open={head}",
    "review": "#/review?branch=review%2Fhires",
    "live": "#/live",
}
READY = {"query": [".virtual .body .line >> nth=0"], "query-graph": ["canvas[data-layout=still]"]}
SIZES = {"narrow": (360, 740), "desk": (1440, 900), "wall": (3840, 2160)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_fits_and_axe_finds_nothing_serious(
    browser: Browser, scene: Scene, room: str, size: str, scheme: str
) -> None:
    width, height = SIZES[size]
    with browsing(
        browser, scene.origin, token=TOKENS["ana"], width=width, height=height, color_scheme=scheme
    ) as (page, _):
        head = scene.graph.branch("review/hires").commit.id
        page.goto(f"{scene.origin}/studio{ROOMS[room].replace('{head}', head)}")
        settle(page)
        for selector in READY.get(room, ()):
            expect(page.locator(selector)).to_be_visible()

        SCREENS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENS / f"{room}-{scheme}-{size}.png")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert serious_findings(page) == []


@pytest.mark.parametrize("room", ["overview", "explore", "query", "history", "review", "live"])
def test_a_room_fits_also_with_the_longest_name_of_a_branch(
    browser: Browser, scene: Scene, room: str
) -> None:
    name = f"agent/{'x' * 120}"
    if name not in scene.graph.branches():
        scene.graph.create_branch(name, "review/hires")
    with browsing(browser, scene.origin, token=TOKENS["ana"], width=360) as (page, _):
        page.goto(f"{scene.origin}/studio#/{room}?branch={quote(name)}")
        settle(page)
        expect(page.locator("main")).to_contain_text(re.compile("[a-z]{5}"))
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
