"""One action: who has a single right can use it, and is told nothing that it does not cover."""

from collections.abc import Iterator

import pytest

from tests.sample import SCHEMA
from tests.server.serving import Served, serving

POLICY = """
version: 1
groups:
  owners: [owner]
  exporters: [reader]
  shapers: [drafter]
  keepers: [stranger]
rules:
  - id: owners
    allow: {actors: {group: owners}, actions: [read, export], branch_scope: any}
  - id: owners-graph
    allow: {actors: {group: owners}, actions: [schema_apply, admin], target_branch_scope: any}
  - id: shape
    allow: {actors: {group: shapers}, actions: [schema_apply], target_branch_scope: any}
  - {id: keep, allow: {actors: {group: keepers}, actions: [admin], target_branch_scope: any}}
  - {id: export, allow: {actors: {group: exporters}, actions: [export], branch_scope: any}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("one"), policy=POLICY) as found:
        found.graph.create_branch("open")
        found.graph.create_tag("named", "open")
        yield found


@pytest.mark.parametrize("place", ["a branch", "a tag", "a commit"])
def test_who_may_export_needs_no_other_right(served: Served, place: str) -> None:
    commit = served.graph.snapshot("open").commit.id
    at = {"a branch": {"branch": "open"}, "a tag": {"branch": "named"}}
    body = at.get(place, {"snapshot": commit})

    answer = served.ask("POST", "/export", body, actor="reader")

    assert answer.status_code == 200, answer.text
    assert answer.content == served.ask("POST", "/export", body).content
    assert commit not in str(answer.headers)
    read = served.ask("GET", f"/snapshot?branch={body.get('branch', 'open')}", actor="reader")
    assert read.status_code == 403


GUESSES = {
    "a type that does not fit": (SCHEMA.replace("age: I32?", "age: String?"), "I32"),
    "an old name that is not there": (
        f'{SCHEMA}node Firm @rename_from("Compani") {{ name: String @key }}',
        "Company",
    ),
    "a property that is not there": (
        SCHEMA.replace("name: String @index", 'title: String @rename_from("nam")'),
        "did you mean 'name'",
    ),
    "a type that is left out": ("node Person { slug: String @key }", "Company"),
}


@pytest.mark.parametrize("guess", GUESSES)
def test_a_guess_at_the_schema_is_answered_to_its_readers_alone(served: Served, guess: str) -> None:
    source, told = GUESSES[guess]

    hidden, shown = (
        served.ask("POST", "/schema/apply", {"schema_source": source}, actor=actor)
        for actor in ("drafter", "owner")
    )

    assert (hidden.status_code, hidden.json()["code"]) == (403, "denied")
    assert hidden.json()["error"] == "the policy does not allow 'drafter' to 'read' on 'main'"
    assert shown.status_code == 400
    assert told in shown.text


def test_what_is_wrong_with_the_text_of_a_schema_is_told_to_its_author(served: Served) -> None:
    source = f'{SCHEMA}node Firm @rename_from("Compani") {{ name: Strng @key }}'

    answer = served.ask("POST", "/schema/apply", {"schema_source": source}, actor="drafter")

    assert answer.status_code == 400
    assert "Strng" in answer.json()["error"]
    assert "Compan" not in answer.text


def test_a_schema_that_is_applied_blindly_tells_nothing_of_the_graph(served: Served) -> None:
    body = {"schema_source": f"{SCHEMA}node City {{ name: String @key }}", "branch": "open"}

    done = served.ask("POST", "/schema/apply", body, actor="drafter").json()

    assert done["applied"]
    assert (done["manifest_version"], done["plan"]["drops_data"]) == (None, None)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/cleanup", {"keep": 100, "branches": ["opem"]}),
        ("POST", "/cleanup", {"keep": 100, "types": ["Persn"]}),
        ("POST", "/optimize", {"branch": "opem"}),
        ("POST", "/optimize", {"types": ["Persn"]}),
        ("GET", "/fsck?branch=opem", None),
        ("GET", "/fsck?type=Persn", None),
    ],
)
def test_who_cares_for_a_graph_is_told_no_name_of_it(
    served: Served, method: str, path: str, body: object
) -> None:
    hidden, shown = (served.ask(method, path, body, actor=actor) for actor in ("stranger", "owner"))

    assert hidden.status_code == shown.status_code == 404, hidden.text
    assert hidden.json()["error"] == shown.json()["error"]
    assert "did you mean" in shown.text
    assert "did you mean" not in hidden.text
