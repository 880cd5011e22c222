"""Repeating: a write with an Idempotency-Key is done once, however often it is sent."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from omnigraph.api.backend import CallOptions
from omnigraph.api.operations.reviews import CommentReview
from omnigraph.errors import InputError, OutcomeUnknownError, StorageError
from omnigraph.merge.review import reviews
from omnigraph.server.call import Answer, KeyedRequest, ServedBackend, WholeAnswer, json_answer
from omnigraph.server.idempotency import AnswerLog
from omnigraph.server.routes.route import Route
from tests.server.samples import ROUTES, SAMPLES, path_of
from tests.server.serving import ADD, Served

# The graph here has no vectors to make anew.
WRITES = [route for route in ROUTES if route.writes and route.name != "embed_again"]
LINES = "application/x-ndjson"


def _id(route: Route) -> str:
    return route.name


@pytest.mark.parametrize("route", WRITES, ids=_id)
def test_a_write_that_is_sent_again_gets_the_first_answer_and_does_nothing(
    served: Served, route: Route
) -> None:
    sample = SAMPLES[route.name](served)
    key = {"idempotency-key": uuid4().hex}
    path = path_of(route, sample)

    first = served.ask(route.method, path, sample.body, headers=key)
    heads = served.graph.repository.manifest.newest().version
    second = served.ask(route.method, path, sample.body, headers=key)

    assert first.status_code == 200, first.text
    assert second.content == first.content
    assert served.graph.repository.manifest.newest().version == heads


def test_the_key_is_the_operation_id_of_the_commit(served: Served) -> None:
    key = uuid4().hex
    body = {"query_source": ADD, "params": {"slug": key}}
    done = served.ask("POST", "/change", body, headers={"idempotency-key": key}).json()
    assert done["operation_id"] == key
    assert served.graph.commit(done["commit"]).operation_id == key


def test_a_key_for_another_request_is_refused(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    bodies = [{"query_source": ADD, "params": {"slug": uuid4().hex}} for _ in range(2)]
    assert served.ask("POST", "/change", bodies[0], headers=key).status_code == 200
    refused = served.ask("POST", "/change", bodies[1], headers=key)
    assert refused.status_code == 400
    assert "another request" in refused.json()["error"]


def test_the_same_key_of_two_actors_is_two_keys(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    bodies = [{"branch": f"of/{actor}", "data": ""} for actor in ("owner", "drafter")]
    served.graph.create_branch("of/drafter")
    first = served.ask("POST", "/ingest", bodies[0], headers=key)
    second = served.ask("POST", "/ingest", bodies[1], actor="drafter", headers=key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.json()["branch"] == "of/drafter"


def test_the_same_key_of_two_actors_makes_two_changes(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    branch = served.graph.create_branch("of/two").name
    body = {"query_source": ADD, "branch": branch}
    slugs = {actor: f"{actor}-{uuid4().hex}" for actor in ("owner", "drafter")}
    made = [
        served.ask("POST", "/change", {**body, "params": {"slug": slug}}, actor=actor, headers=key)
        for actor, slug in slugs.items()
    ]
    assert [each.status_code for each in made] == [200, 200], made[1].text
    assert [each.actor for each in served.graph.log(branch, limit=2)] == ["drafter", "owner"]


def test_the_same_key_of_two_actors_begins_two_runs(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    served.graph.create_branch("of/both")
    body = {"target_branch": "of/both"}
    begun = [
        served.ask("POST", "/runs", body, actor=actor, headers=key).json()
        for actor in ("owner", "drafter")
    ]
    assert [each["actor_id"] for each in begun] == ["owner", "drafter"]


def test_keys_are_forgotten_after_two_periods_whatever_else_lies_there(served: Served) -> None:
    objects = served.graph.repository.store.objects
    for path in ("_operations/1/old.answered", "_operations/notes/a"):
        objects.write(path, b"{}")
    served.server.app.sweep()
    assert "1/old.answered" not in objects.names("_operations")
    assert "notes/a" in objects.names("_operations")


def test_what_may_have_been_done_stays_so_after_a_repetition_that_failed(served: Served) -> None:
    log, repeated = AnswerLog(served.graph.repository), []
    outcomes = [OutcomeUnknownError("who knows"), StorageError("the store is away")]

    def run(keyed: KeyedRequest) -> Answer:
        repeated.append(keyed.repeats)
        if outcomes:
            raise outcomes.pop(0)
        return json_answer({})

    keyed = KeyedRequest(key=uuid4().hex, request="create_branch")
    for error in (OutcomeUnknownError, StorageError):
        with pytest.raises(error):
            log.answered("owner", keyed, run)
    log.answered("owner", keyed, run)
    assert repeated == [False, True, True]


def test_a_change_is_not_denied_where_the_store_fails_behind_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the store failed; nothing was done")

    slug = f"owner-{uuid4().hex}"
    monkeypatch.setattr(ServedBackend, "pin", fail, raising=False)
    answer = served.ask("POST", "/change", {"query_source": ADD, "params": {"slug": slug}})
    assert (answer.status_code, answer.json()["affected_nodes"]) == (200, None)
    assert answer.json()["commit"] == served.graph.branch().commit.id


def test_a_comment_is_not_denied_where_the_store_fails_behind_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the store failed; nothing was done")

    served.graph.create_branch("of/commented")
    monkeypatch.setattr(reviews, "find_review", fail)
    said = served.ask("POST", "/reviews/comments", {"branch": "of/commented", "message": "why?"})
    assert said.json()["code"] == "outcome_unknown"


def test_what_failed_can_be_tried_again_with_its_key(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    body = {"source": "later"}
    assert served.ask("POST", "/branches/merge", body, headers=key).status_code == 404
    served.graph.create_branch("later")
    assert served.ask("POST", "/branches/merge", body, headers=key).status_code == 200


def test_a_key_is_not_used_up_by_a_body_that_cannot_be_read(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    assert served.ask("POST", "/branches", {"nome": "x"}, headers=key).status_code == 400
    assert served.ask("POST", "/branches", {"name": "readable"}, headers=key).status_code == 200


@pytest.mark.parametrize("key", ["", "two words", "ä", "x" * 201])
def test_a_key_that_is_none_is_refused(served: Served, key: str) -> None:
    headers: Any = {"idempotency-key": key.encode()}
    answer = served.ask("POST", "/branches", {"name": "never"}, headers=headers)
    assert answer.status_code == 400
    assert "never" not in served.graph.branches()


def test_many_at_the_same_time_with_one_key_are_one(served: Served) -> None:
    key = {"idempotency-key": uuid4().hex}
    body = {"query_source": ADD, "params": {"slug": uuid4().hex}}
    before = served.graph.snapshot().version
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: served.ask("POST", "/change", body, headers=key), range(8))
        )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert served.graph.snapshot().version == before + 1


def test_lines_that_are_sent_again_are_loaded_once(served: Served) -> None:
    headers = {"idempotency-key": uuid4().hex, "content-type": LINES}
    slugs = [uuid4().hex for _ in range(3)]
    rows = [{"type": "Person", "data": {"slug": slug, "name": slug}} for slug in slugs]
    lines = "\n".join(map(json.dumps, rows))
    first, second = (served.ask("POST", "/load", headers=headers, content=lines) for _ in range(2))
    assert first.status_code == 200, first.text
    assert first.content == second.content
    other = served.ask("POST", "/load", headers=headers, content=lines + "\n")
    assert other.status_code == 400


def test_a_load_whose_answer_was_lost_gets_it_when_it_is_sent_again(served: Served) -> None:
    key, slug = uuid4().hex, uuid4().hex
    line = json.dumps({"type": "Person", "data": {"slug": slug, "name": slug}})
    body, headers = {"data": line}, {"idempotency-key": key}
    first = served.ask("POST", "/load", body, headers=headers)
    _lose_answers(served)

    second = served.ask("POST", "/load", body, headers=headers)

    assert second.json() == first.json()


@pytest.mark.parametrize(
    "name",
    [
        "create_branch",
        "delete_branch",
        "rename_branch",
        "create_tag",
        "delete_tag",
        "publish_run",
        "abort_run",
        "fail_run",
        "set_review",
        "comment_review",
        "revert",
        "apply_schema",
    ],
)
def test_what_was_done_before_the_server_died_is_answered_as_done(
    served: Served, name: str
) -> None:
    route = next(each for each in ROUTES if each.name == name)
    sample = SAMPLES[name](served)
    headers = {"idempotency-key": uuid4().hex}
    first = served.ask(route.method, path_of(route, sample), sample.body, headers=headers)
    _lose_answers(served)

    second = served.ask(route.method, path_of(route, sample), sample.body, headers=headers)

    assert second.json() == first.json()


def test_a_comment_that_was_made_before_the_server_died_is_not_refused_as_the_branch_moved(
    served: Served,
) -> None:
    branch = served.graph.create_branch(f"drafts/{uuid4().hex}")
    headers = {"idempotency-key": uuid4().hex}
    body = {"branch": branch.name, "message": "why?", "expect": branch.commit.id}
    first = served.ask("POST", "/reviews/comments", body, headers=headers)
    branch.mutate(ADD, slug=uuid4().hex)
    _lose_answers(served)

    second = served.ask("POST", "/reviews/comments", body, headers=headers)

    assert first.status_code == 200, first.text
    assert second.json() == first.json()


def test_two_servers_with_one_key_at_once_say_one_thing(served: Served) -> None:
    """The second worker asks while the first one has begun and not yet answered."""
    branch = served.graph.create_branch(f"drafts/{uuid4().hex}").name
    one, other = (AnswerLog(served.graph.repository) for _ in range(2))
    key, repeated = uuid4().hex, []
    comment = CommentReview(branch=branch, message="why?")

    def say(keyed: KeyedRequest) -> Answer:
        if not keyed.repeats:
            other.answered("owner", KeyedRequest(key=key, request="comment"), say)
            with pytest.raises(InputError, match="another request"):
                other.answered("owner", KeyedRequest(key=key, request="other"), say)
        repeated.append(keyed.repeats)
        options = CallOptions(actor="owner", new_id=keyed.id)
        return json_answer(served.graph.backend.run(comment, options).to_json())

    answer = one.answered("owner", KeyedRequest(key=key, request="comment"), say)

    assert repeated == [True, False]
    assert isinstance(answer, WholeAnswer)
    assert [each["message"] for each in json.loads(answer.body)["events"]] == ["why?"]


@pytest.mark.parametrize("outcome", ["fast_forward", "merged"])
def test_a_merge_whose_answer_was_lost_gets_it_when_it_is_sent_again(
    served: Served, outcome: str
) -> None:
    key, slug = uuid4().hex, uuid4().hex
    draft = served.graph.create_branch(f"drafts/{key}")
    target = served.graph.create_branch(f"targets/{key}")
    draft.mutate(ADD, slug=slug)
    if outcome == "merged":
        target.mutate(ADD, slug=slug[::-1])
    body = {"source": draft.name, "target": target.name}
    first = served.ask("POST", "/branches/merge", body, headers={"idempotency-key": key})
    draft.mutate(ADD, slug=key)
    _lose_answers(served)

    second = served.ask("POST", "/branches/merge", body, headers={"idempotency-key": key})

    assert first.json()["outcome"] == outcome
    assert second.json() == first.json()


def _lose_answers(served: Served) -> None:
    """Leave of all keys what a server leaves that dies before it has answered."""
    objects = served.graph.repository.store.objects
    for name in objects.names("_operations"):
        if name.endswith(".answered"):
            objects.delete(f"_operations/{name}")
