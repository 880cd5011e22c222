"""Policy: the server asks before it reads, the engine before it acts; there is no way around."""

import json
import logging
import time

import pytest

from tests.server.serving import ADD, ALL, Served

_ROW = json.dumps({"type": "Company", "data": {"name": "sea"}})


def _change(branch: str | None) -> dict[str, object]:
    body: dict[str, object] = {"query_source": ADD, "params": {"slug": "eve"}}
    return body if branch is None else {**body, "branch": branch}


@pytest.fixture(autouse=True)
def _draft(served: Served) -> None:
    if "draft" not in served.graph.branches():
        served.graph.create_branch("draft")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/change", _change(None)),
        ("POST", "/change", _change("main")),
        ("POST", "/change", _change("MAIN")),
        ("POST", "/load", {"data": _ROW}),
        ("POST", "/ingest", {"data": _ROW, "branch": "main"}),
        ("POST", "/ingest", {"data": _ROW, "branch": "not/there"}),
        ("POST", "/branches/merge", {"source": "draft"}),
        ("POST", "/branches/merge", {"source": "draft", "target": "main"}),
        ("POST", "/branches", {"name": "other"}),
        ("POST", "/branches/rename", {"name": "draft", "new_name": "main2"}),
        ("DELETE", "/branches/draft", None),
        ("DELETE", "/branches/%64raft", None),
        ("POST", "/export", {}),
        ("POST", "/export", {"branch": "draft"}),
        ("POST", "/tags", {"name": "t"}),
        ("POST", "/runs", {"target_branch": "main"}),
        ("POST", "/schema/apply", {"schema_source": ""}),
        ("POST", "/optimize", {}),
        ("POST", "/cleanup", {"keep": 1}),
        ("GET", "/fsck", None),
    ],
)
def test_a_drafter_cannot_do_what_no_rule_allows(
    served: Served, method: str, path: str, body: object
) -> None:
    before = served.graph.repository.manifest.newest().version
    answer = served.ask(method, path, body, actor="drafter")
    assert answer.status_code == 403, answer.text
    assert answer.json()["code"] == "denied"
    assert served.graph.repository.manifest.newest().version == before


def test_a_drafter_changes_a_branch_that_is_not_protected(served: Served) -> None:
    done = served.ask("POST", "/change", _change("draft"), actor="drafter")
    assert done.status_code == 200, done.text
    assert done.json()["actor_id"] == "drafter"


def test_rows_for_a_protected_branch_are_denied_before_they_are_sent(served: Served) -> None:
    answer = served.ask(
        "POST",
        "/ingest",
        actor="drafter",
        params={"branch": "main"},
        headers={"content-type": "application/x-ndjson"},
        content=_ROW,
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(("target", "status"), [("draft", 200), ("main", 403)])
def test_rows_for_the_branch_of_a_run_are_judged_as_those_for_its_target(
    served: Served, target: str, status: int
) -> None:
    where = {"branch": served.graph.begin_run(target).run_branch, "mode": "merge"}
    headers = {"content-type": "application/x-ndjson"}

    lines = served.ask(
        "POST", "/load", actor="drafter", params=where, headers=headers, content=_ROW
    )
    whole = served.ask("POST", "/load", {**where, "data": _ROW}, actor="drafter")

    assert (lines.status_code, whole.status_code) == (status, status), lines.text
    assert lines.json().get("error") == whole.json().get("error")


def test_a_merge_can_be_looked_at_by_who_may_read(served: Served) -> None:
    body = {"source": "draft", "preview": True}
    assert served.ask("POST", "/branches/merge", body, actor="drafter").status_code == 200


def test_a_run_cannot_be_published_by_who_may_only_change(served: Served) -> None:
    run = served.graph.begin_run("main").run_id
    for verb in ("publish", "abort", "fail"):
        answer = served.ask("POST", f"/runs/{run}/{verb}", actor="drafter")
        assert answer.status_code == 403


def test_a_reader_reads_and_changes_nothing(served: Served) -> None:
    read = {"query_source": ALL}
    assert served.ask("POST", "/read", read, actor="reader").status_code == 200
    assert served.ask("POST", "/change", _change("draft"), actor="reader").status_code == 403


def test_the_actor_is_that_of_the_token_and_of_nothing_else(served: Served) -> None:
    body = {**_change("draft"), "params": {"slug": "zoe"}}
    headers = {"x-actor": "owner", "x-forwarded-user": "owner"}
    done = served.ask("POST", "/change", body, actor="drafter", headers=headers)
    assert done.json()["actor_id"] == "drafter"
    assert served.ask("POST", "/change", {**body, "actor": "owner"}).status_code == 400


def test_decisions_are_logged_with_actor_action_branch_and_rule(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "omnigraph.server"):
        change = served.ask("POST", "/change", _change("main"), actor="drafter")
        body = {"query_source": ALL, "branch": "draft"}
        read = served.ask("POST", "/read", body, actor="reader")
        denied, allowed = (_logged(caplog, each.headers["x-request-id"]) for each in (change, read))
    wanted = {"actor": "drafter", "action": "change", "branch": "main", "decision": "deny"}
    assert {name: denied[name] for name in wanted} == wanted
    assert denied["rule"] is None
    wanted = {"actor": "reader", "branch": "draft", "decision": "allow", "rule": "readers"}
    assert {name: allowed[name] for name in wanted} == wanted


def _logged(caplog: pytest.LogCaptureFixture, request_id: str) -> dict[str, object]:
    """Return the line about a request, which is written after its answer was sent."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for each in caplog.records:
            if each.getMessage() == "request" and vars(each)["fields"]["request_id"] == request_id:
                return dict(vars(each)["fields"])
        time.sleep(0.01)
    raise AssertionError(f"nothing was logged about the request {request_id} within 60 s")


def test_what_may_not_be_seen_looks_like_what_is_not_there(served: Served) -> None:
    missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    answers = [
        served.ask("GET", path, actor="stranger")
        for path in (
            f"/commits/{missing}",
            f"/commits/{served.graph.snapshot().commit.id}",
            "/snapshot?branch=nowhere",
            "/snapshot?branch=main",
        )
    ]
    assert {each.status_code for each in answers} == {403}
    assert len({each.json()["error"] for each in answers}) == 1
