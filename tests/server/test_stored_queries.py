"""Stored queries over HTTP: a catalogue, invocation by name, and a policy by names."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.serving import Served, serving

POLICY = """
version: 1
groups:
  owners: [owner]
  callers: [reader]
  writers: [drafter]
  scoped: [stranger]
protected_branches: [main]
rules:
  - id: owners
    allow: {actors: {group: owners}, actions: [read, change, invoke_query], branch_scope: any}
  - id: owners-branches
    allow: {actors: {group: owners}, actions: [branch_create], target_branch_scope: any}
  - id: callers
    allow: {actors: {group: callers}, actions: [invoke_query], queries: [all]}
  - id: writers-queries
    allow: {actors: {group: writers}, actions: [invoke_query], queries: [add]}
  - id: writers-changes
    allow: {actors: {group: writers}, actions: [change], branch_scope: unprotected}
  - id: scoped
    allow:
      actors: {group: scoped}
      actions: [invoke_query]
      queries: [all]
      branch_scope: unprotected
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("stored"), policy=POLICY) as found:
        found.graph.create_branch("draft")
        yield found


def names(served: Served, actor: str) -> list[str]:
    return [each["name"] for each in served.ask("GET", "/queries", actor=actor).json()["queries"]]


def without_id(answer: Any) -> Any:
    return {name: each for name, each in answer.json().items() if name != "request_id"}


def test_the_catalogue_tells_what_a_query_takes_and_returns(served: Served) -> None:
    found = {each["name"]: each for each in served.ask("GET", "/queries").json()["queries"]}

    assert found["all"]["kind"] == "read"
    assert found["all"]["columns"] == [{"name": "p.slug", "type": "String"}]
    assert found["add"]["kind"] == "change"
    assert found["add"]["params"] == {
        "type": "object",
        "properties": {"slug": {"type": "string"}},
        "required": ["slug"],
        "additionalProperties": False,
    }


def test_an_actor_sees_only_the_queries_that_it_may_run(served: Served) -> None:
    assert names(served, "owner") == ["add", "all"]
    assert names(served, "reader") == ["all"]
    assert names(served, "drafter") == ["add"]


@pytest.mark.parametrize(("branch", "may"), [("main", []), ("draft", ["invoke_query"])])
def test_the_scope_of_a_rule_is_told_as_it_is_kept(
    served: Served, branch: str, may: list[str]
) -> None:
    rights = served.ask("GET", "/rights", actor="stranger").json()
    config = served.ask("GET", f"/studio/config.json?branch={branch}", actor="stranger").json()
    run = served.ask("POST", "/queries/all", {"branch": branch}, actor="stranger")

    assert (rights["actions"], rights["on_main"]) == (["invoke_query"], [])
    assert config["may"] == may
    assert run.status_code == (200 if may else 404)


def test_queries_that_run_on_other_branches_alone_are_listed_for_who_asks(served: Served) -> None:
    def names(path: str, actor: str = "stranger") -> list[str]:
        found = served.ask("GET", path, actor=actor).json()["queries"]
        return [each["name"] for each in found]

    assert names("/queries") == []
    assert names("/queries?branch=draft") == ["all"]
    assert names("/queries?anywhere=true") == ["all"]
    assert names("/queries?anywhere=true", "reader") == ["all"]
    assert names("/queries?anywhere=true", "drafter") == ["add"]


def test_who_may_run_a_query_needs_no_other_right(served: Served) -> None:
    answer = served.ask("POST", "/queries/all", {}, actor="reader")

    assert answer.status_code == 200
    assert [row["p.slug"] for row in answer.json()["rows"]] == ["ana", "bob"]
    assert served.ask("POST", "/read", {"query_source": "query q() {}"}, actor="reader").status_code
    assert served.ask("GET", "/schema", actor="reader").status_code == 403


@pytest.mark.parametrize("actor", ["reader", "stranger"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_and_forbidden_are_the_same_answer(served: Served, actor: str, method: str) -> None:
    body = {"params": {"slug": "x"}} if method == "POST" else None
    forbidden = served.ask(method, "/queries/add", body, actor=actor)
    unknown = served.ask(method, "/queries/nix", body, actor=actor)

    assert forbidden.status_code == unknown.status_code == 404
    assert str(without_id(forbidden)).replace("'add'", "'nix'") == str(without_id(unknown))


def test_a_mutation_needs_the_right_to_change_as_well(served: Served) -> None:
    body = {"params": {"slug": "cy"}, "branch": "draft"}

    assert (
        served.ask("POST", "/queries/add", {**body, "branch": "main"}, actor="drafter").json()[
            "code"
        ]
        == "denied"
    )
    answer = served.ask("POST", "/queries/add", body, actor="drafter")

    assert answer.status_code == 200
    # Who may not read the branch learns no counts.
    assert answer.json()["affected_nodes"] is None
    assert {"p.slug": "cy"} in served.read(branch="draft")


def test_a_repeated_key_changes_once_and_a_read_takes_one_too(served: Served) -> None:
    keyed = {"idempotency-key": "k1"}
    body = {"params": {"slug": "dee"}}

    first = served.ask("POST", "/queries/add", body, headers=keyed)
    second = served.ask("POST", "/queries/add", body, headers=keyed)

    assert first.json()["commit"] == second.json()["commit"]
    read = served.ask("POST", "/queries/all", {}, headers={"idempotency-key": "k2"})
    assert read.status_code == 200


def test_expect_and_arrow_work_as_in_the_other_routes(served: Served) -> None:
    stale = served.graph.branch("draft").commit.parent
    body = {"params": {"slug": "eve"}, "branch": "draft", "expect": stale}

    assert served.ask("POST", "/queries/add", body).status_code == 409
    accept = {"accept": "application/vnd.apache.arrow.stream"}
    rows = served.ask("POST", "/queries/all", {}, headers=accept)
    assert rows.headers["content-type"] == accept["accept"]


def test_wrong_parameters_are_told_all_at_once(served: Served) -> None:
    answer = served.ask("POST", "/queries/add", {"params": {"slg": "x"}})

    assert answer.status_code == 400
    assert [each["code"] for each in answer.json()["detail"]["problems"]] == ["P2", "P1"]


def test_a_read_takes_no_notes_of_changes(served: Served) -> None:
    answer = served.ask("POST", "/queries/all", {"message": "why"})

    assert answer.status_code == 400
    assert "is a read" in answer.json()["error"]
