"""The widget of a notebook answers to mouse and keys, and shows texts as texts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from omnigraph.notebook.picture import Picture
from omnigraph.notebook.widget import widget_style
from tests.studio.browsing import SCREENS, browsing, serious_findings
from tests.studio.scene import Scene

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
_PAIRS = "query pairs() { match { $a: Person  $a $e:worksAt $b } return { $a, $e, $b } }"
# What a notebook does: it loads the module, and gives it a model and an element.
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>notebook</title>
<style>{style}</style></head><body data-jp-theme-light="{is_light}"><main></main>
<script type="module">
{module}
const listeners = []
const values = {values}
globalThis.model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; listeners.forEach((each) => each()) }},
  on: (_, listener) => listeners.push(listener),
  off: (_, listener) => listeners.splice(listeners.indexOf(listener), 1),
  listeners,
}}
globalThis.leave = widget.render({{ model, el: document.querySelector('main') }})
</script></body></html>"""


@contextmanager
def mounted(
    browser: Browser, folder: Path, picture: Picture, *, is_dark: bool = False
) -> Iterator[Page]:
    """Open a page that shows the widget of a picture, as a notebook does."""
    module = picture.widget._esm.replace("export default", "const widget =")
    values = json.dumps({"html": picture.html, "details": picture.details})
    page_text = _PAGE.format(
        style=widget_style(),
        module=module,
        values=values.replace("</", "<\\/"),
        is_light=str(not is_dark).lower(),
    )
    (folder / "notebook.html").write_text(page_text)
    with browsing(browser, folder.as_uri(), width=1000) as (page, watch):
        page.goto(f"{folder.as_uri()}/notebook.html")
        yield page
        assert watch.addresses == [f"{folder.as_uri()}/notebook.html"]


@pytest.fixture(scope="module")
def graph_picture(scene: Scene) -> Picture:
    """Return the picture of people and where they work, one of them with a hostile name."""
    text = 'query n($t: String) { update Person set { name: $t } where slug = "bo" }'
    scene.graph.mutate(text, t=HOSTILE)
    return scene.graph.query(_PAIRS).graph()


def test_a_node_that_is_chosen_tells_its_properties_and_dims_the_rest(
    browser: Browser, tmp_path: Path, graph_picture: Picture
) -> None:
    with mounted(browser, tmp_path, graph_picture) as page:
        ana = page.get_by_role("button", name="Ana Reis")
        ana.locator("circle").click()
        expect(page.get_by_role("status")).to_contain_text("ana@harbour.example")
        expect(ana).to_have_attribute("aria-pressed", "true")
        expect(page.locator("[data-node='0 dag']")).to_have_class("dot far")
        expect(page.locator("[data-node='1 harbour']")).to_have_class("dot")
        page.screenshot(path=SCREENS / "widget-graph.png")

        ana.locator("circle").click()
        expect(page.get_by_role("status")).to_be_hidden()
        expect(page.locator(".far")).to_have_count(0)


def test_the_keyboard_alone_chooses_and_leaves(
    browser: Browser, tmp_path: Path, graph_picture: Picture
) -> None:
    with mounted(browser, tmp_path, graph_picture) as page:
        page.get_by_role("button", name="Fit").focus()
        page.keyboard.press("Tab")
        expect(page.locator("[data-node]:focus")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator("[data-node][aria-pressed=true]:focus")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("[aria-pressed=true]")).to_have_count(0)


def test_one_comes_closer_and_goes_back(
    browser: Browser, tmp_path: Path, graph_picture: Picture
) -> None:
    with mounted(browser, tmp_path, graph_picture) as page:
        svg = page.locator("svg.diagram")
        before = svg.get_attribute("viewBox") or ""
        page.get_by_role("button", name="Closer").click()
        expect(svg).not_to_have_attribute("viewBox", before)
        page.get_by_role("button", name="Fit").click()
        expect(svg).to_have_attribute("viewBox", before)


def test_hostile_texts_of_a_widget_are_texts(
    browser: Browser, tmp_path: Path, graph_picture: Picture
) -> None:
    with mounted(browser, tmp_path, graph_picture) as page:
        page.get_by_role("button", name=HOSTILE).locator("circle").click()
        expect(page.get_by_role("status")).to_contain_text(HOSTILE)
        assert page.locator("img").count() == 0
        assert page.title() == "notebook"


def test_a_type_of_a_schema_tells_its_properties(
    browser: Browser, tmp_path: Path, scene: Scene
) -> None:
    with mounted(browser, tmp_path, scene.graph.schema_view(), is_dark=True) as page:
        page.get_by_role("button", name="Company").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("founded")
        expect(page.locator("[data-node=Document]")).to_have_class("box far")
        page.screenshot(path=SCREENS / "widget-schema.png")
        assert serious_findings(page) == []
        color = page.evaluate("getComputedStyle(document.querySelector('.part')).backgroundColor")
        assert color == "rgb(16, 23, 29)"


def test_changes_of_a_review_are_chosen_by_kind_type_and_text(
    browser: Browser, tmp_path: Path, scene: Scene
) -> None:
    with mounted(browser, tmp_path, scene.graph.review("review/hires").picture()) as page:
        shown = page.locator("tbody:visible")
        expect(shown).to_have_count(2)
        page.get_by_role("button", name="WorksAt").click()
        expect(shown).to_have_count(1)
        expect(page.get_by_role("status")).to_have_text("1 of 2")
        page.get_by_role("button", name="WorksAt").click()
        page.get_by_label("Show changes with this text").fill("gus@mill")
        expect(shown).to_have_count(1)
        expect(shown).to_contain_text("gus@mill.example")
        page.screenshot(path=SCREENS / "widget-review.png")
        assert serious_findings(page) == []


def test_a_picture_that_changes_is_drawn_anew_until_it_is_left(
    browser: Browser, tmp_path: Path, graph_picture: Picture
) -> None:
    with mounted(browser, tmp_path, graph_picture) as page:
        page.evaluate("model.set('html', '<p>another</p>')")
        expect(page.get_by_text("another")).to_be_visible()
        page.evaluate("leave()")
        assert page.evaluate("model.listeners.length") == 0
