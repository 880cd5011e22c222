"""The page of a report fits every screen and paper, light and dark, and keeps nobody out."""

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from omnigraph.api.graph import Graph, init
from omnigraph.look.colours import colour_types
from tests.report.test_report import fifty_types
from tests.studio.browsing import SCREENS, browsing, serious_findings, settle
from tests.studio.scene import TOKENS, Scene

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
_NOTE = 'query note($t: String) { update Person set { name: $t } where slug = "ana" }'
_PEOPLE = "query people() { match { $p: Person } return { $p.name as name, $p.joined as joined } }"
_WIDE = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def folder(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the reports of a small graph with changes, and of fifty types."""
    made = tmp_path_factory.mktemp("reports")
    graph: Graph = scene.graph
    graph.create_branch("hostile", "review/hires")
    graph.branch("hostile", actor=HOSTILE, message=HOSTILE).mutate(_NOTE, t=HOSTILE)
    page = graph.report(
        "hostile",
        compared={HOSTILE: graph.review("hostile")},
        answered={"people": graph.at("hostile").query(_PEOPLE)},
    )
    (made / "small.html").write_text(page)
    with init(made / "large.omni", fifty_types(), durable=False) as large:
        (made / "large.html").write_text(large.report())
    return made


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("large", 360, "dark"),
        ("small", 1440, "light"),
        *(
            pytest.param(name, width, scheme, marks=pytest.mark.long)
            for name, width, scheme in product(("small", "large"), (360, 1440), ("light", "dark"))
            if (name, width, scheme) not in (("large", 360, "dark"), ("small", 1440, "light"))
        ),
    ],
)
def test_a_report_fits_and_axe_finds_nothing_serious(
    browser: Browser, folder: Path, name: str, width: int, scheme: str
) -> None:
    with browsing(browser, folder.as_uri(), width=width, color_scheme=scheme) as (page, watch):
        page.goto(f"{folder.as_uri()}/{name}.html")

        SCREENS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENS / f"report-{name}-{scheme}-{width}.png", full_page=True)
        assert page.evaluate(_WIDE) <= 0
        assert serious_findings(page) == []
        assert watch.addresses == [f"{folder.as_uri()}/{name}.html"]
        is_dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert is_dark == ("rgb(16, 23, 29)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_paper_is_light_and_shows_what_is_folded(browser: Browser, folder: Path) -> None:
    with browsing(browser, folder.as_uri(), width=794, color_scheme="dark") as (page, _):
        page.emulate_media(media="print")
        page.goto(f"{folder.as_uri()}/small.html")

        page.screenshot(path=SCREENS / "report-small-print.png", full_page=True)
        color = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert color == "rgb(255, 255, 255)"
        assert page.evaluate(_WIDE) <= 0
        assert page.get_by_text("slug: String", exact=True).first.bounding_box() is not None


def test_hostile_texts_of_a_report_are_shown_as_text(browser: Browser, folder: Path) -> None:
    with browsing(browser, folder.as_uri()) as (page, _):
        page.goto(f"{folder.as_uri()}/small.html")

        expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
        expect(page.locator("td.after").filter(has_text=HOSTILE)).to_be_visible()
        expect(page.locator("td.author").filter(has_text=HOSTILE).first).to_be_visible()
        assert page.locator("img, script").count() == 0
        assert "taken" not in page.title()


def test_types_have_the_colours_of_the_studio(browser: Browser, scene: Scene) -> None:
    with browsing(browser, scene.origin, token=TOKENS["ana"]) as (page, _):
        page.goto(f"{scene.origin}/studio")
        settle(page)
        shown = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.diagram .box')].map((each) =>"
            " [each.querySelector('.title').textContent, Number(each.dataset.colour)]))"
        )

    catalog = scene.graph.catalog
    chosen = colour_types(catalog.nodes, catalog.edges)
    assert shown == {name: chosen[name] for name in catalog.nodes}
