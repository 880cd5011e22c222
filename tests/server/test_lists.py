"""Lists: they come a page at a time, and handles and commands put the pages together."""

import pytest

import omnigraph
from omnigraph.api.operations.branches import ListBranches, ListTags
from omnigraph.api.operations.commits import ListCommits
from omnigraph.api.operations.runs import ListRuns
from tests.server.serving import ADD, TOKENS, Served

PAGE = ListCommits().limit or 0


@pytest.fixture(scope="module")
def filled(served: Served) -> Served:
    """Return a server with more commits and runs than one page holds, and some names."""
    graph = served.graph
    for number in range(PAGE + 5):
        graph.mutate(ADD, slug=f"s{number}")
    for number in range(5):
        graph.create_branch(f"b/{number}")
        graph.create_branch(f"Z/{number}")
        graph.create_tag(f"t{number}")
        graph.begin_run()
    return served


@pytest.mark.parametrize("path", ["commits", "branches", "tags", "runs"])
def test_the_pages_of_a_list_are_the_whole_list(filled: Served, path: str) -> None:
    whole = filled.ask("GET", f"/{path}", params={"limit": 10_000}).json()
    found: list[object] = []
    after: dict[str, str] = {}
    while True:
        page = filled.ask("GET", f"/{path}", params={"limit": 3, **after}).json()
        assert len(page[path]) <= 3
        found += page[path]
        if page["cursor"] is None:
            break
        after = {"after": page["cursor"]}

    assert whole["cursor"] is None
    assert found == whole[path]
    assert len(found) >= 5


def test_without_a_limit_a_page_is_given(filled: Served) -> None:
    page = filled.ask("GET", "/commits").json()

    assert len(page["commits"]) == PAGE
    assert page["cursor"] == page["commits"][-1]["graph_commit_id"]
    assert ListBranches().limit == ListTags().limit == 1_000
    assert ListRuns().limit == 100


def test_handles_put_the_pages_together(filled: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    local = filled.graph
    remote = omnigraph.connect(f"http://{filled.address}", token=TOKENS["owner"])

    for limit in (None, 3, 103):
        ids = [each.id for each in local.log(limit=limit)]
        assert [each.id for each in remote.log(limit=limit)] == ids
    monkeypatch.setattr("omnigraph.api.http._MOST_AT_A_TIME", 2)
    assert remote.branches() == local.branches()
    assert remote.tags() == local.tags()
    assert remote.runs() == local.runs()
    assert remote.runs(limit=3) == local.runs(limit=3)
    third = local.runs()[2].run_id
    assert remote.runs(after=third) == local.runs(after=third) == local.runs()[3:]


@pytest.mark.parametrize("limit", ["0", "10001", "x"])
def test_a_limit_that_is_none_is_refused(filled: Served, limit: str) -> None:
    answer = filled.ask("GET", "/branches", params={"limit": limit})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
