"""Every route: who may send it, what it answers, and what it refuses."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from omnigraph.api.operation import Audience, Shape
from omnigraph.policy.actions import Action
from omnigraph.server.handlers import HealthShape, health
from omnigraph.server.refusal import STATUSES
from omnigraph.server.routes.openapi import openapi
from omnigraph.server.routes.route import Route
from omnigraph.server.table import TABLE
from tests.docs.blocks import ROOT
from tests.server.raw import exchange
from tests.server.samples import ROUTES, SAMPLES, UNKNOWN, nothing, path_of
from tests.server.serving import TOKENS, Served, serving

GUARDED = [route for route in ROUTES if route.guard is not Audience.ANYBODY]
JUDGED = [route for route in ROUTES if not isinstance(route.guard, Audience)]
WITH_BODY = [route for route in ROUTES if route.fields is not None]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("routes")) as found:
        yield found


def _id(value: object) -> str:
    return value.name if isinstance(value, Route) else str(value)


def test_every_route_has_a_sample() -> None:
    assert {route.name for route in ROUTES} == set(SAMPLES)


def test_thedocument_has_every_route_with_its_action() -> None:
    document = msgspec.json.decode(openapi(TABLE, has_tokens=True))
    told = {
        (method.upper(), path): found.get("x-action")
        for path, methods in document["paths"].items()
        for method, found in methods.items()
    }
    assert told == {
        (route.method, route.template): str(route.guard)
        if isinstance(route.guard, Action)
        else None
        for route in TABLE
    }
    assert document["openapi"] == "3.1.0"
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_the_page_of_the_server_names_every_status_of_a_refusal() -> None:
    page = (ROOT / "docs/server.md").read_text()
    told = {int(line[2:5]) for line in page.splitlines() if re.match(r"\| [45]\d\d \|", line)}
    refused = {status for _, status in STATUSES}.union(*(each.statuses for each in TABLE))
    assert told == refused | {405}


def test_a_route_that_does_not_say_who_may_send_it_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="does not say who may send it"):
        Route(
            method="GET",
            path="/x",
            name="x",
            guard=None,  # type: ignore[arg-type]
            handler=health,
            answer=HealthShape,
        )


@pytest.mark.parametrize("route", GUARDED, ids=_id)
@pytest.mark.parametrize(
    "given",
    [None, "Bearer wrong", "Bearer", "Basic dG9rZW4=", f"bearer  {TOKENS['owner']}x"],
    ids=["none", "wrong", "empty", "basic", "longer"],
)
def test_without_a_valid_token_nothing_is_served(
    served: Served, route: Route, given: str | None
) -> None:
    headers = {} if given is None else {"authorization": given}
    sample = nothing(route)
    answer = served.ask(
        route.method, path_of(route, sample), sample.body, actor=None, headers=headers
    )
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("route", JUDGED, ids=_id)
def test_who_is_in_no_rule_is_denied_before_the_body_is_read(served: Served, route: Route) -> None:
    # The body never comes, so that an answer shows that nobody waited for it.
    head = f"{route.method} {path_of(route, nothing(route))} HTTP/1.1\r\nHost: localhost\r\n"
    token = f"Authorization: Bearer {TOKENS['stranger']}\r\nContent-Length: 10\r\n"
    kind = "Content-Type: application/json\r\nConnection: close\r\n\r\n"
    reply = exchange(served.address, (head + token + kind).encode(), seconds=0.5)
    if route.guard is Action.INVOKE_QUERY:  # what may not be run is not there
        assert reply.statuses == [200 if route.name == "queries" else 404]
    else:
        assert reply.statuses == [403]
        assert reply.document["code"] == "denied"


# The graph has no blobs and no vectors; tests of these ask for them.
@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.name not in ("blob", "embed_again")], ids=_id
)
def test_who_may_gets_an_answer_of_the_declared_shape(served: Served, route: Route) -> None:
    sample = SAMPLES[route.name](served)
    answer = served.ask(route.method, path_of(route, sample), sample.body, params=sample.query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == route.media_type
    if isinstance(route.answer, type) and issubclass(route.answer, Shape):
        strict = msgspec.defstruct(
            "Strict",
            [],
            bases=(route.answer,),
            forbid_unknown_fields=True,
            kw_only=True,
            frozen=True,
        )
        msgspec.json.decode(answer.content, type=strict)


@pytest.mark.parametrize("route", WITH_BODY, ids=_id)
@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"[]", "application/json", 400),
        (b'{"nonsense": 1}', "application/json", 400),
        (b"{", "application/json", 400),
        (b'"\xff"', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"a=b", "application/x-www-form-urlencoded", 415),
    ],
    ids=["list", "unknown-field", "half", "no-utf-8", "deep", "plain", "form"],
)
def test_a_bad_body_is_refused(
    served: Served, route: Route, content: bytes, kind: str, status: int
) -> None:
    path = path_of(route, nothing(route))
    answer = served.ask(route.method, path, headers={"content-type": kind}, content=content)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) >= {"error", "code", "detail", "request_id"}


@pytest.mark.parametrize("route", WITH_BODY, ids=_id)
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_body_over_the_limit_is_refused(served: Served, route: Route, chunked: bool) -> None:
    limits = served.server.app.limits
    most = limits.ingest_bytes if route.lines else limits.body_bytes
    piece = b" " * (1 << 20)
    body = (piece for _ in range(most // len(piece) + 1)) if chunked else b" " * (most + 1)
    path = path_of(route, nothing(route))
    headers = {"content-type": "application/json"}
    answer = served.ask(route.method, path, headers=headers, content=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_there_is_not_found(served: Served, name: str) -> None:
    route = next(each for each in ROUTES if each.name == name)
    sample = UNKNOWN[name]
    answer = served.ask(route.method, path_of(route, sample), sample.body, params=sample.query)
    assert answer.status_code == 404, answer.text
    assert answer.json()["code"].endswith("_not_found")


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.method == "GET" and not each.is_page], ids=_id
)
def test_a_query_string_is_read_strictly(served: Served, route: Route) -> None:
    sample = nothing(route)
    path = path_of(route, sample)
    answer = served.ask("GET", path, params={"nonsense": "1"})
    assert answer.status_code == 400


def test_a_path_that_is_not_there_and_a_method_that_is_not_taken(served: Served) -> None:
    assert served.ask("GET", "/nothing").status_code == 404
    refused = served.ask("PUT", "/branches")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize("name", ["plain", "with/a/slash", "ünïcode/ß", "merge"])
@pytest.mark.parametrize("encoded", [False, True], ids=["as-it-is", "percent-encoded"])
def test_any_branch_can_be_named_in_every_place(served: Served, name: str, encoded: bool) -> None:
    from urllib.parse import quote

    assert served.ask("POST", "/branches", {"name": name}).status_code == 200
    assert served.ask("GET", "/snapshot", params={"branch": name}).json()["branch"] == name
    path = quote(name, safe="" if encoded else "/")
    assert served.ask("DELETE", f"/branches/{path}").json()["name"] == name
