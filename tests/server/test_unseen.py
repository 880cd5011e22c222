"""Unseen: an answer tells nobody what they may not read, nor where the server keeps it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sample import SCHEMA
from tests.server.serving import ADD, POLICY, Served, serving

# A drafter changes and merges into everything that is not protected, and reads only `open/...`.
BLIND = POLICY.replace(
    "protected_branches: [main]", "protected_branches: [main, secret, vault]"
).replace("readers: [reader, drafter]", "readers: [reader]")
BLIND += """\
  - {id: blind, allow: {actors: {group: drafters}, actions: [change], branch_scope: protected}}
  - {id: sees, allow: {actors: {group: drafters}, actions: [read], branch_scope: unprotected}}
  - id: merges
    allow:
      actors: {group: drafters}
      actions: [branch_merge, branch_create, branch_delete, run_publish, run_abort, schema_apply]
      target_branch_scope: any
"""
DELETE = "query gone($slug: String) { delete Person where slug = $slug }"


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("blind"), policy=BLIND) as served:
        served.graph.create_branch("secret")
        served.graph.create_branch("open")
        served.graph.branch("secret").mutate(ADD, slug="zed")
        served.graph.create_tag("hidden", "secret")
        yield served


def _ask(served: Served, path: str, body: object, actor: str = "drafter") -> dict[str, Any]:
    answer = served.ask("POST", path, body, actor=actor)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_merge_shows_where_its_target_stood_only_to_its_readers(blind: Served) -> None:
    head = blind.graph.snapshot("secret").commit.id
    blind.graph.branch("open").mutate(ADD, slug="new")

    done = _ask(blind, "/branches/merge", {"source": "open", "target": "secret"})

    assert done["outcome"] == "merged"
    assert (done["ours_commit"], done["stats"]) == (None, {})
    assert head not in json.dumps(done)

    seen = _ask(blind, "/branches/merge", {"source": "open", "target": "secret"}, "owner")
    assert seen["ours_commit"] == done["commit"]


@pytest.mark.parametrize("slug", ["zed", "nobody"])
def test_a_change_without_read_gives_no_counts(blind: Served, slug: str) -> None:
    body = {"query_source": DELETE, "params": {"slug": slug}, "branch": "secret"}

    done = _ask(blind, "/change", body)

    assert (done["affected_nodes"], done["affected_edges"], done["commits"]) == (None, None, {})


def test_a_load_without_read_gives_no_commits(blind: Served) -> None:
    line = json.dumps({"type": "Company", "data": {"name": "quarry"}})
    loaded = _ask(blind, "/load", {"branch": "secret", "data": line})
    assert loaded["commits"] == {}

    ingested = _ask(blind, "/ingest", {"branch": "secret", "data": line})
    assert ingested["loaded"]["commits"] == {}


def test_a_dry_run_gives_counts_of_a_new_branch_to_those_who_may_read_it(blind: Served) -> None:
    line = json.dumps({"type": "Company", "data": {"name": "quarry"}})
    body = {"branch": "fresh", "from": "open", "data": line, "dry_run": True}

    seen = _ask(blind, "/ingest", body)
    unseen = _ask(blind, "/ingest", {**body, "branch": "vault"})

    assert (seen["loaded"]["inserted"], unseen["loaded"]["inserted"]) == (1, None)
    assert {"fresh", "vault"}.isdisjoint(blind.graph.branches())


def test_readers_get_counts_and_commits(blind: Served) -> None:
    body = {"query_source": ADD, "params": {"slug": "seen"}, "branch": "open"}

    done = _ask(blind, "/change", body)

    assert done["affected_nodes"] == 1
    assert list(done["commits"]) == [done["commit"]]


@pytest.mark.parametrize("ending", ["publish", "abort", "fail"])
def test_a_run_shows_where_its_target_stands_only_to_its_readers(
    blind: Served, ending: str
) -> None:
    head = blind.graph.snapshot("secret").commit.id

    begun = _ask(blind, "/runs", {"target_branch": "secret"})
    ended = _ask(blind, f"/runs/{begun['run_id']}/{ending}", {} if ending == "publish" else None)

    for record in (begun, ended):
        assert head not in json.dumps(record)
        assert (record["base_snapshot_id"], record["base_manifest_version"]) == (None, None)
        assert record["published_snapshot_id"] is None
    seen = _ask(blind, "/runs", {"target_branch": "secret"}, "owner")
    assert seen["base_snapshot_id"] == head


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/change", {"query_source": ADD, "params": {"slug": "late"}}),
        ("/schema/apply", {"schema_source": SCHEMA}),
    ],
)
def test_where_a_branch_stands_instead_is_told_only_to_its_readers(
    blind: Served, path: str, body: dict[str, Any]
) -> None:
    expect = blind.graph.snapshot("secret").commit.parents[0]
    head = blind.graph.snapshot("secret").commit.id
    asked = {**body, "branch": "secret", "expect": expect}

    hidden = blind.ask("POST", path, asked, actor="drafter")
    shown = blind.ask("POST", path, asked)

    assert (hidden.status_code, hidden.json()["code"]) == (409, "head_moved")
    assert head not in hidden.text
    assert head in shown.text


def test_a_schema_that_is_applied_without_read_tells_nothing_of_rows(blind: Served) -> None:
    head = blind.graph.snapshot("secret").commit.id
    wider = SCHEMA.replace("age: I32?", 'mood: String @default("calm")  age: I32?')

    done = _ask(blind, "/schema/apply", {"schema_source": wider, "branch": "secret"})

    assert done["applied"]
    assert (done["steps"], done["commits"], done["plan"]["head"]) == ([], {}, None)
    assert head not in json.dumps(done)
    narrow = wider.replace("mood: String", "mood: String @unique")
    refused = blind.ask(
        "POST", "/schema/apply", {"schema_source": narrow, "branch": "secret"}, actor="drafter"
    )
    assert (refused.status_code, refused.json()["code"]) == (403, "denied")
    owner = blind.ask("POST", "/schema/apply", {"schema_source": narrow, "branch": "secret"})
    assert owner.json()["detail"]["violation_count"] > 0
    less = {"schema_source": SCHEMA, "branch": "secret"}
    refused = blind.ask("POST", "/schema/apply", less, actor="drafter")
    assert (refused.status_code, refused.json()["code"]) == (403, "denied")
    owner = blind.ask("POST", "/schema/apply", less)
    assert (owner.status_code, owner.json()["code"]) == (400, "data_loss")
    assert "hides" in owner.json()["detail"]["drops"][0]
    allowed = {**less, "allow_data_loss": True}
    assert _ask(blind, "/schema/apply", allowed)["applied"]


NAMED: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/snapshot?branch=NAME", None),
    ("GET", "/commits?branch=NAME", None),
    ("GET", "/branches/base?one=open&other=NAME", None),
    ("GET", "/blame?branch=NAME&type=Person&id=ana", None),
    ("POST", "/diff", {"from": "NAME", "to": "open"}),
    ("POST", "/branches", {"name": "made", "from": "NAME"}),
    ("POST", "/tags", {"name": "made", "target": "NAME"}),
    ("POST", "/branches/merge", {"source": "NAME", "target": "open"}),
    ("DELETE", "/tags/NAME", None),
    ("DELETE", "/branches/NAME", None),
]


@pytest.mark.parametrize(("method", "path", "body"), NAMED)
def test_a_hidden_tag_is_refused_as_one_that_is_not_there(
    blind: Served, method: str, path: str, body: dict[str, Any] | None
) -> None:
    said = []
    for name in ("hidden", "absent"):
        given = None if body is None else json.loads(json.dumps(body).replace("NAME", name))
        answer = blind.ask(method, path.replace("NAME", name), given, actor="drafter")
        document = {**answer.json(), "request_id": None}
        said.append((answer.status_code, json.dumps(document).replace(name, "NAME")))

    assert said[0] == said[1]
    assert said[0][0] in (403, 404)


def test_no_answer_says_where_the_graph_lies(blind: Served) -> None:
    folder = blind.graph.uri.rpartition("/")[0]
    line = json.dumps({"type": "Company", "data": {"name": "dock"}})
    for method, path, body in [
        ("POST", "/load", {"data": line}),
        ("POST", "/ingest", {"branch": "main", "data": line}),
        ("POST", "/branches", {"name": "place"}),
        ("DELETE", "/branches/place", None),
        ("GET", "/coverage", None),
        ("GET", "/fsck", None),
        ("POST", "/optimize", {}),
        ("POST", "/cleanup", {"keep": 100}),
        ("POST", "/schema/plan", {"schema_source": "node A { x: I32 }"}),
    ]:
        answer = blind.ask(method, path, body)
        assert answer.status_code == 200, answer.text
        assert folder not in answer.text
        assert answer.json()["uri"] == "graph"


def test_resolutions_with_unknown_keys_are_refused(blind: Served) -> None:
    choice = {"type_name": "Person", "row_id": "ana", "tkae": "ours"}
    body = {"source": "open", "target": "main", "resolutions": [choice]}

    answer = blind.ask("POST", "/branches/merge", body)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert answer.json()["error"] == "unknown key 'tkae' in the resolutions"
    assert answer.json()["detail"]["hint"] == "did you mean 'take'?"
