"""A client asks a server, and raises what a graph at hand would raise."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from uuid import UUID

import httpx
import pytest

from omnigraph import errors
from omnigraph.api.client import Client, segment
from omnigraph.api.graph import Graph
from omnigraph.api.http import HttpBackend
from omnigraph.api.operation import ARROW
from omnigraph.errors import Code, OmniGraphError, Problem, Violation
from omnigraph.span import Source, Span
from tests.api.answering import answering

QUERY = Source("people.gq", "query q() { match { $p: Persn } return { $p.name } }")
UNKNOWN = Problem(Code.UNKNOWN_TYPE, "unknown type 'Persn'", Span(24, 29), "did you mean 'Person'?")
CONFLICT: dict[str, errors.Json] = {"table_key": "node:Person", "message": "both changed it"}

ERRORS: list[OmniGraphError] = [
    errors.InputError("it is wrong", hint="mend it"),
    errors.QueryError([UNKNOWN], source=QUERY, total=3),
    errors.ParamsError([Problem(Code.MISSING_PARAM, "'$x' is missing")]),
    errors.ViolationsError(
        [Violation(code=Code.RECORD_FIELD, reason="no such field", type="Person", line=3)], total=2
    ),
    errors.BranchNotFoundError("no branch 'x'", hint="there is: main"),
    errors.BranchExistsError("there is a branch 'x'"),
    errors.HeadMovedError("the branch moved"),
    errors.ExpectedVersionMismatchError("node:Person", 3, None),
    errors.MergeConflictsError([CONFLICT, CONFLICT]),
    errors.SchemaConflictError(["Person.age"]),
    errors.UnsupportedMigrationError(["Person went"]),
    errors.DeniedError("eva", "change", "main"),
    errors.BudgetError("it took too long", limit="seconds"),
    errors.StorageError("the disk failed"),
    errors.OutcomeUnknownError("who knows"),
    errors.UnavailableError("not here"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_arrives_as_it_was_raised(error: OmniGraphError) -> None:
    body = {"error": error.message, "code": error.code, "detail": error.to_json()}
    said = json.dumps(body).encode()
    with answering(status=400, body=said) as server, pytest.raises(OmniGraphError) as raised:
        Client(server.url).ask("/read", {}, source=QUERY)
    assert type(raised.value) is type(error)
    assert raised.value.to_json() == error.to_json()
    assert raised.value.render() == error.render()
    assert str(raised.value) == str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InputError),
        (401, errors.UnauthorizedError),
        (404, errors.NotFoundError),
        (409, errors.ConflictError),
        (413, errors.InputError),
        (500, errors.RemoteError),
        (503, errors.RemoteError),
    ],
)
def test_a_code_that_is_not_known_here_is_told_by_its_status(
    status: int, kind: type[OmniGraphError]
) -> None:
    body = json.dumps({"error": "something new", "code": "brand_new"}).encode()
    with answering(status=status, body=body) as server, pytest.raises(kind) as raised:
        Client(server.url).get("/branches")
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.message) == ("brand_new", "something new")


@pytest.mark.parametrize(
    "detail",
    [
        {"error": "odd", "code": "T1", "problems": [{"code": "T999"}], "problem_count": 1},
        {"error": "odd", "code": "V1", "violations": ["x"], "violation_count": 1},
        {"error": "odd", "code": "merge_conflicts"},
        {"error": "odd", "code": 7},
    ],
)
def test_a_detail_that_cannot_be_read_is_still_an_error(detail: dict[str, object]) -> None:
    body = json.dumps({"error": "odd", "code": "x", "detail": detail}).encode()
    with answering(status=400, body=body) as server, pytest.raises(errors.InputError, match="odd"):
        Client(server.url).get("/branches")


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[1]", b'{"error": 3}', b"\xff"])
def test_a_failure_that_is_not_told_in_json_is_told_by_its_status(body: bytes) -> None:
    with answering(status=502, body=body) as server, pytest.raises(errors.RemoteError) as raised:
        Client(server.url).get("/branches")
    assert "status 502" in str(raised.value)


@pytest.mark.parametrize("key", [UUID(int=1), 3, "two words", "ü"])
def test_an_operation_id_that_no_server_takes_is_refused_before_anything_is_sent(
    key: object,
) -> None:
    with answering() as server, pytest.raises(errors.InputError, match="operation id"):
        Client(server.url).upload("/load", b"{}", key=key)  # type: ignore[arg-type]


def test_an_answer_that_is_no_json_is_not_taken_for_one() -> None:
    said = {"body": b"<p>", "kind": "text/html"}
    with answering(**said) as server, pytest.raises(errors.RemoteError) as raised:
        Client(server.url).get("/branches")
    assert "answered with text/html" in str(raised.value)


def test_an_answer_that_is_no_arrow_stream_is_not_taken_for_one() -> None:
    with answering(body=b"{}") as server, pytest.raises(errors.RemoteError):
        Client(server.url).ask_arrow("/read", {})
    with answering(body=b"bytes", kind=ARROW) as server:
        assert Client(server.url).ask_arrow("/read", {}) == b"bytes"
        assert server.asked[0].headers["accept"] == ARROW


def test_nobody_at_the_address_means_that_nothing_was_done() -> None:
    with answering() as server:
        url = server.url
    with pytest.raises(errors.UnreachableError, match="no server answers") as raised:
        Client(url).post("/change", {})
    assert raised.value.hint is not None


def test_a_read_without_an_answer_failed_and_a_change_may_have_been_done() -> None:
    with answering(hang_ups=99) as server, Client(server.url) as to:
        with pytest.raises(errors.RemoteError, match="did not answer"):
            to.ask("/read", {})
        with pytest.raises(errors.OutcomeUnknownError, match="may have been done"):
            to.post("/change", {})
        with pytest.raises(errors.OutcomeUnknownError):
            to.delete("/branches/x")


def test_what_can_be_repeated_is_when_the_connection_breaks() -> None:
    with answering(hang_ups=1) as server, Client(server.url) as to:
        assert to.ask("/read", {}) == {}
    with answering(hang_ups=1) as server, Client(server.url) as to:
        assert to.post("/change", {}, key="once") == {}
    assert [each.headers["idempotency-key"] for each in server.asked] == ["once", "once"]
    with answering(hang_ups=1) as server, Client(server.url) as to:
        with pytest.raises(errors.OutcomeUnknownError):
            to.post("/change", {})
        assert len(server.asked) == 1


class Steps(httpx.BaseTransport):
    """Answers requests as prepared: with an answer, or by failing."""

    def __init__(self, *steps: httpx.Response | Exception) -> None:
        self.steps = list(steps)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def replying(*steps: httpx.Response | Exception) -> Client:
    return Client("http://graph.test", transport=Steps(*steps))


@pytest.mark.parametrize(
    "second",
    [
        httpx.ConnectError("refused"),
        httpx.Response(429, json={"error": "too many", "code": "too_many_requests"}),
        httpx.Response(503, json={"error": "nothing was done", "code": "storage_failed"}),
        httpx.Response(504, text="late"),
        httpx.Response(401, json={"error": "no token", "code": "unauthorized"}),
        httpx.Response(403, json={"error": "not you", "code": "denied"}),
        httpx.Response(404, html="<h1>Not Found</h1>"),
        httpx.Response(302, headers={"location": "/login"}),
        httpx.Response(200, html="<h1>Please sign in</h1>"),
        httpx.Response(200, headers={"content-type": "application/json"}, content=b'{"a"'),
    ],
    ids=[
        "nobody is there",
        "too many requests",
        "the store failed",
        "a proxy",
        "the token has ended",
        "the policy has changed",
        "a page that is not there",
        "the way to a page",
        "a page",
        "half a document",
    ],
)
def test_a_change_that_was_broken_off_is_not_denied_by_its_repetition(
    second: httpx.Response | Exception,
) -> None:
    with pytest.raises(errors.OutcomeUnknownError, match="may have been done: ReadError"):
        replying(httpx.ReadError("reset"), second).post("/change", {}, key="once")


@pytest.mark.parametrize(
    ("second", "error"),
    [
        (409, errors.HeadMovedError("it moved")),
        (400, errors.InputError("no")),
        (404, errors.BranchNotFoundError("no branch 'x'")),
    ],
)
def test_what_the_repetition_of_a_change_says_of_it_is_believed(
    second: int, error: errors.OmniGraphError
) -> None:
    answer = httpx.Response(second, json=error.to_json())
    with pytest.raises(type(error)):
        replying(httpx.ReadError("reset"), answer).post("/change", {}, key="once")


PREVIEWS: Mapping[str, Callable[[Graph], object]] = {
    "merge": lambda graph: graph.preview_merge("draft"),
    "keyed merge": lambda graph: graph.branch(operation_id="k").preview_merge("draft"),
    "revert": lambda graph: graph.branch().preview_revert("01J8" + "0" * 22),
    "resolve": lambda graph: graph.branch().resolve(
        "Person", into="a", duplicate="b", dry_run=True
    ),
    "cleanup": lambda graph: graph.cleanup(keep=1),
    "load": lambda graph: graph.load('{"type": "Person", "data": {}}', dry_run=True),
    "ingest": lambda graph: graph.ingest(
        '{"type": "Person", "data": {}}', branch="x", dry_run=True
    ),
}


@pytest.mark.parametrize("broken", [httpx.ReadTimeout("late"), httpx.Response(502, text="late")])
@pytest.mark.parametrize("name", PREVIEWS)
def test_a_preview_without_an_answer_failed_and_nothing_was_done(
    name: str, broken: httpx.Response | Exception
) -> None:
    with pytest.raises(errors.RemoteError):
        PREVIEWS[name](Graph(HttpBackend(replying(broken))))


@pytest.mark.parametrize("name", sorted(PREVIEWS.keys() - {"load", "ingest"}))
def test_a_preview_is_repeated_when_the_connection_breaks(name: str) -> None:
    refused = httpx.Response(404, json=errors.BranchNotFoundError("no branch 'draft'").to_json())
    to = replying(httpx.ReadError("reset"), refused)
    with pytest.raises(errors.BranchNotFoundError):
        PREVIEWS[name](Graph(HttpBackend(to)))


def test_a_read_that_is_repeated_says_what_became_of_the_repetition() -> None:
    with pytest.raises(errors.UnreachableError):
        replying(httpx.ReadError("reset"), httpx.ConnectError("refused")).ask("/read", {})


def test_a_change_of_which_only_a_proxy_tells_may_have_been_done() -> None:
    late = httpx.Response(504, html="<h1>Gateway Time-out</h1>")
    with pytest.raises(errors.OutcomeUnknownError, match="may have been done: status 504"):
        replying(late).post("/change", {})
    with pytest.raises(errors.RemoteError, match="status 504"):
        replying(late).ask("/read", {})


def test_a_schema_that_was_applied_is_not_denied_when_the_server_goes() -> None:
    answer = {"plan": {"head": "01J8" + "0" * 22}, "commit": None, "commits": {}}
    to = replying(httpx.Response(200, json=answer), httpx.ConnectError("refused"))
    with pytest.raises(errors.OutcomeUnknownError, match="the schema is applied to 'main'"):
        Graph(HttpBackend(to)).apply_schema("node Person { name: String @key }")


@pytest.mark.parametrize("answer", [{"hello": "world"}, [], "branches", 1])
@pytest.mark.parametrize(
    "ask",
    [
        lambda graph: graph.branches(),
        lambda graph: graph.tags(),
        lambda graph: list(graph.log()),
        lambda graph: graph.commit("x"),
        lambda graph: graph.queries.describe(),
        lambda graph: graph.mutate("query q() { delete Person where name = 1 }"),
        lambda graph: graph.load('{"type": "Person", "data": {}}'),
    ],
)
def test_the_json_of_another_program_is_no_answer(
    ask: Callable[[Graph], object], answer: object
) -> None:
    graph = Graph(HttpBackend(replying(httpx.Response(200, json=answer))))
    with pytest.raises(errors.RemoteError, match="does not answer as an omnigraph-server does"):
        ask(graph)


def test_an_answer_that_cannot_be_unpacked_is_none() -> None:
    def torn() -> httpx.Response:
        packed = {"content-encoding": "gzip"}
        return httpx.Response(200, headers=packed, stream=httpx.ByteStream(b"not gzip"))

    with pytest.raises(errors.RemoteError, match="did not answer: DecodingError"):
        replying(torn()).get("/branches")
    with pytest.raises(errors.OutcomeUnknownError):
        replying(torn()).post("/change", {})


def test_what_is_sent_is_what_was_given() -> None:
    with answering() as server, Client(server.url + "/", "secret-token") as to:
        to.get("/commits", branch="a b/ü", after=None, limit=3)
        to.post("/change", {"query_source": "q"}, key="once")
        to.delete(f"/branches/{segment('a/b ü?')}")
        to.upload("/ingest", iter([b"1\n", b"2\n"]), branch="x", mode=None)
    get, post, delete, upload = server.asked
    assert (get.method, get.path) == ("GET", "/commits?branch=a+b%2F%C3%BC&limit=3")
    assert {each.headers["authorization"] for each in server.asked} == {"Bearer secret-token"}
    assert (json.loads(post.body), post.headers["idempotency-key"]) == (
        {"query_source": "q"},
        "once",
    )
    assert (delete.method, delete.path) == ("DELETE", "/branches/a%2Fb%20%C3%BC%3F")
    assert (upload.path, upload.body) == ("/ingest?branch=x", b"1\n2\n")
    assert upload.headers["content-type"] == "application/x-ndjson"


def test_a_download_comes_in_pieces_or_as_an_error() -> None:
    lines = "application/x-ndjson"
    with answering(body=b"x" * 300_000, kind=lines) as server, Client(server.url) as to:
        pieces = list(to.download("/export", {}))
        assert b"".join(pieces) == b"x" * 300_000
    body = json.dumps(errors.BranchNotFoundError("no branch 'x'").to_json()).encode()
    with answering(status=404, body=body) as server, pytest.raises(errors.BranchNotFoundError):
        next(Client(server.url).download("/export", {}))


def test_a_page_is_not_taken_for_rows_or_a_text() -> None:
    page = httpx.Response(200, html="<h1>Please sign in</h1>")
    with pytest.raises(errors.RemoteError, match="answered with text/html"):
        list(replying(page).download("/export", {}))
    page = httpx.Response(200, html="<h1>Please sign in</h1>")
    with pytest.raises(errors.RemoteError, match="answered with text/html"):
        replying(page).get_text("/schema")


def test_a_token_is_never_shown() -> None:
    assert "secret" not in repr(Client("http://127.0.0.1:1", "secret"))
    assert "secret" not in str(vars(Client("http://127.0.0.1:1"))["url"])


def test_an_empty_token_is_refused_with_what_to_do() -> None:
    with pytest.raises(errors.InputError, match="the token is empty"):
        Client("http://127.0.0.1:1", "")


@pytest.mark.parametrize("token", ["tök", "a\nb"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(errors.InputError) as raised:
        Client("http://127.0.0.1:1", token)
    assert token not in str(raised.value)


def test_what_cannot_be_written_is_refused_before_it_is_sent() -> None:
    with answering() as server, Client(server.url) as to:
        for name, key in (("\ud800", None), ("x", "ö"), ("x", "a b")):
            with pytest.raises(errors.InputError):
                to.post("/branches", {"name": name}, key=key)
    assert server.asked == []


def test_a_closed_client_asks_nobody() -> None:
    to = Client("http://127.0.0.1:1")
    to.close()
    to.close()
    with pytest.raises(errors.InputError, match="was closed"):
        to.get("/branches")


@pytest.mark.parametrize(
    "url",
    ["", "people.omni", "ftp://x", "http://", "http://user:pass@host", "http://host/?a=1"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(errors.InputError) as raised:
        Client(url)
    assert "pass" not in str(raised.value).replace("password", "").replace("holds no", "")


def test_a_client_loads_nothing_heavy() -> None:
    code = (
        "import sys; from omnigraph.api.client import Client; Client('http://127.0.0.1:1')\n"
        "print([n for n in ('lance', 'pyarrow', 'pyspark', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
