"""Two graphs of one deployment in one page: each has its own rows and stands in the address."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.deploy.folder import SERVER_POLICY, TWO, write
from tests.deploy.serving import TOKENS, Fleet, applied, fleet
from tests.studio.browsing import browsing, serious_findings, settle

ADD = "query add($name: String) { insert Person { name: $name } }"
ALL = "query q() { match { $p: Person } return { $p.name as name } order { name } }"
# Ann may see that there are graphs, and read one of them.
POLICY = """\
version: 1
groups: {readers: [ann, bob], writers: [bob]}
rules:
  - {id: read, allow: {actors: {group: readers}, actions: [read], branch_scope: any}}
  - {id: change, allow: {actors: {group: writers}, actions: [change], branch_scope: any}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Serve two graphs, each with one person of its name."""
    folder = write(
        tmp_path_factory.mktemp("deployed") / "brain",
        cluster__yaml=TWO,
        base__policy__yaml=POLICY,
        server__policy__yaml=SERVER_POLICY.replace("[bob]", "[ann, bob]"),
    )
    applied(folder)
    with fleet(folder) as found:
        for graph in ("people", "other"):
            body = {"query_source": ADD, "params": {"name": f"somebody of {graph}"}}
            assert found.ask("POST", f"/graphs/{graph}/change", body).status_code == 200
        yield found


def test_one_goes_from_graph_to_graph_and_each_has_its_own_rows(
    browser: Browser, served: Fleet
) -> None:
    origin = f"http://{served.server.address}"
    with browsing(browser, origin, token=TOKENS["bob"]) as (page, watch):
        page.goto(f"{origin}/studio")
        settle(page)
        expect(page).to_have_url(re.compile(r"#/overview\?graph=other$"))
        expect(page.get_by_role("link", name="other", exact=True)).to_be_visible()
        expect(page).to_have_title(re.compile("other"))

        page.keyboard.press("b")
        graphs = page.get_by_role("region", name="Graphs")
        expect(graphs.get_by_role("button", name="other")).to_have_attribute("aria-current", "true")
        graphs.get_by_role("button", name="people").click()
        settle(page)
        expect(page).to_have_url(re.compile("graph=people"))
        expect(page).to_have_title(re.compile("people"))
        expect(page.get_by_role("link", name="people", exact=True)).to_be_visible()

        for graph, other in (("people", "other"), ("other", "people")):
            page.goto(f"{origin}/studio#/query?graph={graph}&q={ALL}&run=1")
            shown = page.get_by_role("grid", name="Rows")
            expect(shown.get_by_role("gridcell", name=f"somebody of {graph}")).to_be_visible()
            expect(shown.get_by_role("gridcell", name=f"somebody of {other}")).to_have_count(0)
        page.go_back()
        expect(page.get_by_role("gridcell", name="somebody of people")).to_be_visible()
        assert serious_findings(page) == []
        assert not any("token-of" in address for address in watch.addresses)


def test_a_graph_that_is_not_there_is_said_and_another_can_be_chosen(
    browser: Browser, served: Fleet
) -> None:
    origin = f"http://{served.server.address}"
    with browsing(browser, origin, token=TOKENS["bob"]) as (page, _):
        page.goto(f"{origin}/studio#/overview?graph=none")
        expect(page.locator(".failure").first).to_contain_text("none")
        page.get_by_role("link", name="Go to another graph").click()
        settle(page)
        expect(page).to_have_url(re.compile("graph=other"))
        expect(page.get_by_role("button", name="Person")).to_be_visible()
